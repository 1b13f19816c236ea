//! Network and transport layers of one packet, snapped or whole.

use std::borrow::Cow;
use std::net::IpAddr;

use etherparse::{Ipv6ExtensionSlice, Ipv6FragmentHeaderSlice, LaxIpSlice};

use crate::capture::reader::CapturedPacket;
use crate::input::bytes::{be_u16, be_u32};
use crate::packet::fragments::{FragmentKey, FragmentTable};
use crate::packet::link::{LinkType, ip_offset};
use crate::packet::tcp_options::TcpOptions;
use crate::packet::tunnel::{Inner, inner};

pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;

/// One end of a packet; the port is 0 where the protocol has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Endpoint {
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
}

/// The fields of a TCP header that the analysis uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpSegment {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) flags: u16,
    pub(crate) window: u16,
    pub(crate) options: TcpOptions,
}

impl TcpSegment {
    pub(crate) const FIN: u16 = 0x01;
    pub(crate) const SYN: u16 = 0x02;
    pub(crate) const RST: u16 = 0x04;
    pub(crate) const ACK: u16 = 0x10;
    pub(crate) const ECE: u16 = 0x40;
    pub(crate) const CWR: u16 = 0x80;

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// What is above IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport<'p> {
    Tcp(TcpSegment),
    /// The captured part of the UDP payload.
    Udp(&'p [u8]),
    /// A later fragment: of its transport layer only the ports are known, from the first one.
    Fragment,
    Other,
}

/// A decoded packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'p> {
    pub(crate) source: Endpoint,
    pub(crate) destination: Endpoint,
    pub(crate) protocol: u8,
    pub(crate) congestion_experienced: bool,
    /// Payload of the transport layer in its original length.
    pub(crate) payload_bytes: u32,
    /// What carried the packet, where it was inside another one.
    pub(crate) tunnel: Option<Tunnel>,
    /// Identification of IPv4, or of an IPv6 fragment header; 0 where there is none.
    pub(crate) ip_id: u32,
    pub(crate) hop_limit: u8,
    /// The captured part of what follows the IP header.
    pub(crate) ip_payload: &'p [u8],
    pub(crate) transport: Transport<'p>,
}

/// An encapsulation that was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tunnel {
    IpInIp,
    Gre,
    Vxlan,
    GtpU,
}

impl Tunnel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IpInIp => "ip-in-ip",
            Self::Gre => "gre",
            Self::Vxlan => "vxlan",
            Self::GtpU => "gtp-u",
        }
    }
}

/// Name of an IP protocol number, as the tables spell it.
pub(crate) fn protocol_name(number: u8) -> Cow<'static, str> {
    match number {
        1 => "icmp".into(),
        PROTOCOL_TCP => "tcp".into(),
        PROTOCOL_UDP => "udp".into(),
        58 => "icmp6".into(),
        other => format!("ip-{other}").into(),
    }
}

/// Whether an IP protocol has ports that the decoder reads.
pub(crate) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP)
}

#[derive(Debug)]
struct Network<'p> {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    congestion_experienced: bool,
    hop_limit: u8,
    fragmented: bool,
    later_fragment: bool,
    id: u32,
    payload: &'p [u8],
    payload_bytes: usize,
}

impl Network<'_> {
    fn fragment_key(&self) -> FragmentKey {
        FragmentKey {
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            id: self.id,
        }
    }
}

/// Decoder of the layers; it remembers the ports of first fragments.
#[derive(Debug, Default)]
pub(crate) struct LayerDecoder {
    fragments: FragmentTable,
}

impl LayerDecoder {
    /// Decode a captured packet, or say in one word why it is refused.
    ///
    /// One encapsulation is undone. Where what is inside cannot be decoded, the packet counts for the flow of
    /// the tunnel itself.
    pub(crate) fn decode<'p>(
        &mut self,
        captured: &CapturedPacket<'p>,
    ) -> Result<Packet<'p>, Cow<'static, str>> {
        // A result is handed on as it is wherever it can be: to take it apart is to copy the packet.
        let result = self.frame(captured.link, captured.frame, captured.wire_bytes as usize);
        let Ok(outer) = &result else {
            return result;
        };
        let udp = matches!(outer.transport, Transport::Udp(_));
        if !udp && outer.transport != Transport::Other {
            return result;
        }
        let Some((tunnel, inside)) = inner(outer) else {
            return result;
        };
        let header_bytes = if udp { UDP_HEADER_BYTES } else { 0 };
        let start = header_bytes + inside.offset();
        let bytes = outer.ip_payload.get(start..).unwrap_or_default();
        let wire_bytes = (outer.payload_bytes as usize).saturating_sub(inside.offset());
        let decoded = match inside {
            Inner::Ip(_) => self.ip(bytes, wire_bytes),
            Inner::Ethernet(_) => self.frame(LinkType::Ethernet, bytes, wire_bytes),
            Inner::Ppp(_) => self.frame(LinkType::Ppp, bytes, wire_bytes),
        };
        match decoded {
            Ok(packet) => Ok(Packet {
                tunnel: Some(tunnel),
                ..packet
            }),
            Err(_) => result,
        }
    }

    fn frame<'p>(
        &mut self,
        link: LinkType,
        frame: &'p [u8],
        wire_bytes: usize,
    ) -> Result<Packet<'p>, Cow<'static, str>> {
        let offset = ip_offset(link, frame)?;
        let bytes = frame.get(offset..).unwrap_or_default();
        self.ip(bytes, wire_bytes.saturating_sub(offset))
    }

    fn ip<'p>(&mut self, bytes: &'p [u8], wire_bytes: usize) -> Result<Packet<'p>, Cow<'static, str>> {
        let network = match plain_ipv4(bytes, wire_bytes) {
            Some(network) => network,
            None => network(bytes, wire_bytes)?,
        };
        if network.later_fragment {
            return self.later_fragment(&network);
        }
        let result = transport(&network);
        if network.fragmented
            && has_ports(network.protocol)
            && let Ok(packet) = &result
        {
            self.fragments.remember(
                network.fragment_key(),
                (packet.source.port, packet.destination.port),
            );
        }
        result
    }

    fn later_fragment<'p>(&mut self, network: &Network<'p>) -> Result<Packet<'p>, Cow<'static, str>> {
        let ports = if has_ports(network.protocol) {
            self.fragments
                .ports(&network.fragment_key())
                .ok_or(Cow::Borrowed("ip_fragment"))?
        } else {
            (0, 0)
        };
        Ok(packet(network, ports, 0, Transport::Fragment))
    }
}

/// IPv4 without options and fragments over TCP or UDP, which nearly every packet is; anything else, and anything
/// odd, is left to [`network`]. It takes a fifth of the time there.
fn plain_ipv4(bytes: &[u8], wire_bytes: usize) -> Option<Network<'_>> {
    let (header, rest) = bytes.split_first_chunk::<IPV4_HEADER_BYTES>()?;
    let [
        0x45,
        class,
        total_high,
        total_low,
        id_high,
        id_low,
        fragment_high,
        fragment_low,
        hop_limit,
        protocol @ (PROTOCOL_TCP | PROTOCOL_UDP),
        _,
        _,
        s0,
        s1,
        s2,
        s3,
        d0,
        d1,
        d2,
        d3,
    ] = *header
    else {
        return None;
    };
    let total_bytes = usize::from(u16::from_be_bytes([total_high, total_low]));
    if fragment_high & 0x3f != 0
        || fragment_low != 0
        || total_bytes < IPV4_HEADER_BYTES
        || total_bytes > wire_bytes
    {
        return None;
    }
    let payload_bytes = total_bytes - IPV4_HEADER_BYTES;
    Some(Network {
        source: [s0, s1, s2, s3].into(),
        destination: [d0, d1, d2, d3].into(),
        protocol,
        congestion_experienced: class & 3 == 3,
        hop_limit,
        fragmented: false,
        later_fragment: false,
        id: u16::from_be_bytes([id_high, id_low]).into(),
        payload: rest.get(..payload_bytes).unwrap_or(rest),
        payload_bytes,
    })
}

fn network(bytes: &[u8], wire_bytes: usize) -> Result<Network<'_>, Cow<'static, str>> {
    let cut = bytes.len() < wire_bytes;
    let broken = || Cow::Borrowed(if cut { "ip_header_cut" } else { "ip_header_invalid" });
    let (ip, stop) = LaxIpSlice::from_slice(bytes).map_err(|_| broken())?;
    let payload = ip.payload().clone();
    let network = match &ip {
        LaxIpSlice::Ipv4(slice) => {
            let header = slice.header();
            let header_bytes = header.slice().len();
            let declared = usize::from(header.total_len());
            // Segmentation offload leaves the length at 0; a length below the header says nothing either.
            let whole = if declared < header_bytes {
                wire_bytes
            } else {
                declared
            };
            let extension_bytes = usize::from(slice.extensions().auth.is_some())
                * slice
                    .extensions()
                    .auth
                    .as_ref()
                    .map_or(0, |auth| auth.slice().len());
            Network {
                source: header.source_addr().into(),
                destination: header.destination_addr().into(),
                protocol: payload.ip_number.0,
                congestion_experienced: header.ecn().value() == 3,
                hop_limit: header.ttl(),
                fragmented: header.more_fragments(),
                later_fragment: header.fragments_offset().value() != 0,
                id: header.identification().into(),
                payload: payload.payload,
                payload_bytes: whole.saturating_sub(header_bytes + extension_bytes),
            }
        }
        LaxIpSlice::Ipv6(slice) => {
            let header = slice.header();
            let declared = usize::from(header.payload_length());
            // 0 stands for a jumbogram or for segmentation offload; both are measured by the frame.
            let whole = if declared == 0 {
                wire_bytes.saturating_sub(IPV6_HEADER_BYTES)
            } else {
                declared
            };
            let fragment = payload
                .fragmented
                .then(|| {
                    slice
                        .extensions()
                        .clone()
                        .into_iter()
                        .find_map(|extension| match extension {
                            Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment),
                            _ => None,
                        })
                })
                .flatten();
            Network {
                source: header.source_addr().into(),
                destination: header.destination_addr().into(),
                protocol: payload.ip_number.0,
                congestion_experienced: header.traffic_class() & 3 == 3,
                hop_limit: header.hop_limit(),
                fragmented: fragment
                    .as_ref()
                    .is_some_and(Ipv6FragmentHeaderSlice::more_fragments),
                later_fragment: fragment
                    .as_ref()
                    .is_some_and(|fragment| fragment.fragment_offset().value() != 0),
                id: fragment
                    .as_ref()
                    .map_or(0, Ipv6FragmentHeaderSlice::identification),
                payload: payload.payload,
                payload_bytes: whole.saturating_sub(slice.extensions().slice().len()),
            }
        }
    };
    // The bytes of a later fragment are no header of the next layer, whatever they look like.
    if network.later_fragment {
        return Ok(network);
    }
    if stop.is_some() {
        return Err(broken());
    }
    Ok(network)
}

fn transport<'p>(network: &Network<'p>) -> Result<Packet<'p>, Cow<'static, str>> {
    let bytes = network.payload;
    let port = |offset| be_u16(bytes, offset);
    // The headers are read field by field: a capture snapped inside the TCP options is still good for all
    // that is used here, while a parser of the whole header would have to refuse it.
    let (source_port, destination_port, header_bytes, transport) = match network.protocol {
        PROTOCOL_TCP => {
            let short = || header_refusal("tcp", network, TCP_HEADER_BYTES);
            let fields = (
                port(0),
                port(2),
                be_u32(bytes, 4),
                be_u32(bytes, 8),
                port(12),
                port(14),
                be_u32(bytes, 16),
            );
            let (
                Some(source),
                Some(destination),
                Some(sequence),
                Some(acknowledgement),
                Some(offset_and_flags),
                Some(window),
                Some(_),
            ) = fields
            else {
                return Err(short());
            };
            let header_bytes = usize::from(offset_and_flags >> 12) * 4;
            if header_bytes < TCP_HEADER_BYTES || header_bytes > network.payload_bytes {
                return Err("tcp_header_invalid".into());
            }
            let segment = TcpSegment {
                sequence,
                acknowledgement,
                flags: offset_and_flags & 0x01ff,
                window,
                options: TcpOptions::read(
                    acknowledgement,
                    bytes
                        .get(TCP_HEADER_BYTES..header_bytes.min(bytes.len()))
                        .unwrap_or_default(),
                ),
            };
            (source, destination, header_bytes, Transport::Tcp(segment))
        }
        PROTOCOL_UDP => {
            let (Some(source), Some(destination), Some(_)) = (port(0), port(2), be_u32(bytes, 4)) else {
                return Err(header_refusal("udp", network, UDP_HEADER_BYTES));
            };
            let payload = bytes.get(UDP_HEADER_BYTES..).unwrap_or_default();
            (source, destination, UDP_HEADER_BYTES, Transport::Udp(payload))
        }
        _ => (0, 0, 0, Transport::Other),
    };
    Ok(packet(
        network,
        (source_port, destination_port),
        header_bytes,
        transport,
    ))
}

fn packet<'p>(
    network: &Network<'p>,
    ports: (u16, u16),
    header_bytes: usize,
    transport: Transport<'p>,
) -> Packet<'p> {
    Packet {
        source: Endpoint {
            address: network.source,
            port: ports.0,
        },
        destination: Endpoint {
            address: network.destination,
            port: ports.1,
        },
        protocol: network.protocol,
        congestion_experienced: network.congestion_experienced,
        payload_bytes: u32::try_from(network.payload_bytes.saturating_sub(header_bytes)).unwrap_or(u32::MAX),
        tunnel: None,
        ip_id: network.id,
        hop_limit: network.hop_limit,
        ip_payload: network.payload,
        transport,
    }
}

fn header_refusal(layer: &str, network: &Network<'_>, needed: usize) -> Cow<'static, str> {
    let why = if network.payload_bytes >= needed {
        "cut"
    } else {
        "invalid"
    };
    format!("{layer}_header_{why}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::link::LinkType;
    use crate::test_capture::{tcp_frame, udp6_frame};

    fn captured(frame: &[u8], wire_bytes: usize) -> CapturedPacket<'_> {
        CapturedPacket {
            time_ns: 0,
            wire_bytes: wire_bytes as u32,
            link: LinkType::Ethernet,
            frame,
        }
    }

    fn decode<'p>(captured: &CapturedPacket<'p>) -> Result<Packet<'p>, Cow<'static, str>> {
        LayerDecoder::default().decode(captured)
    }

    fn payload_bytes(frame: &[u8], wire_bytes: usize) -> u32 {
        decode(&captured(frame, wire_bytes)).unwrap().payload_bytes
    }

    #[test]
    fn ports_and_segment_are_read() {
        let frame = tcp_frame(77, 100);
        let packet = decode(&captured(&frame, frame.len())).unwrap();
        assert_eq!(
            (packet.source.port, packet.destination.port, packet.payload_bytes),
            (1000, 80, 100)
        );
        let segment = TcpSegment {
            sequence: 77,
            acknowledgement: 1,
            flags: TcpSegment::ACK,
            window: 500,
            options: TcpOptions::default(),
        };
        assert_eq!(packet.transport, Transport::Tcp(segment));
    }

    #[test]
    fn a_snapped_packet_has_its_original_payload_length() {
        let frame = tcp_frame(1, 1000);
        for captured_bytes in [54, 64, 96] {
            assert_eq!(payload_bytes(&frame[..captured_bytes], frame.len()), 1000);
        }
        assert_eq!(
            decode(&captured(&frame[..50], frame.len())).unwrap_err(),
            "tcp_header_cut"
        );
        assert_eq!(
            decode(&captured(&frame[..30], frame.len())).unwrap_err(),
            "ip_header_cut"
        );
    }

    #[test]
    fn a_header_snapped_inside_its_options_is_read() {
        let mut frame = tcp_frame(1, 1000);
        frame[46] = 0x80;
        assert_eq!(payload_bytes(&frame[..60], frame.len()), 988);
    }

    #[test]
    fn ethernet_padding_is_not_payload() {
        let mut frame = tcp_frame(1, 0);
        frame.resize(60, 0);
        assert_eq!(payload_bytes(&frame, 60), 0);
    }

    #[test]
    fn segmentation_offload_is_measured_by_the_frame() {
        let mut frame = tcp_frame(1, 100);
        frame[16..18].fill(0);
        assert_eq!(payload_bytes(&frame, 70_000), 70_000 - 54);
    }

    #[test]
    fn the_short_way_and_the_whole_parser_agree() {
        let mut frame = tcp_frame(1, 100);
        frame[15] = 3;
        for (place, value) in [
            (0, 0),
            (15, 1),
            (17, 39),
            (17, 200),
            (20, 0x40),
            (22, 9),
            (23, 17),
        ] {
            let mut changed = frame.clone();
            changed[place] = value;
            for captured_bytes in [34, 50, 60, changed.len()] {
                let bytes = &changed[14..captured_bytes];
                if let Some(short) = plain_ipv4(bytes, changed.len() - 14) {
                    assert_eq!(
                        format!("{short:?}"),
                        format!("{:?}", network(bytes, changed.len() - 14).unwrap())
                    );
                }
            }
        }
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        let mut frame = tcp_frame(1, 100);
        frame[20] = 0x20;
        assert_eq!(payload_bytes(&frame, frame.len()), 100);
        frame[21] = 1;
        assert_eq!(decode(&captured(&frame, frame.len())).unwrap_err(), "ip_fragment");
    }

    #[test]
    fn ipv6_extension_headers_are_passed() {
        let plain = udp6_frame(&[9; 50]);
        assert_eq!(payload_bytes(&plain, plain.len()), 50);
        let mut frame = plain.clone();
        frame[20] = 0;
        frame[19] += 8;
        frame.splice(54..54, [17, 0, 1, 4, 0, 0, 0, 0]);
        let packet = decode(&captured(&frame, frame.len())).unwrap();
        assert_eq!(
            (packet.protocol, packet.source.port, packet.payload_bytes),
            (17, 5004, 50)
        );
        // The same as a fragment header, of the first fragment and of a later one.
        frame[20] = 44;
        frame.splice(54..62, [17, 0, 0, 1, 0, 0, 0, 9]);
        assert_eq!(payload_bytes(&frame, frame.len()), 50);
        frame[57] = 9;
        assert_eq!(decode(&captured(&frame, frame.len())).unwrap_err(), "ip_fragment");
    }

    #[test]
    fn congestion_marks_are_seen() {
        let mut frame = tcp_frame(1, 0);
        frame[15] = 3;
        assert!(
            decode(&captured(&frame, frame.len()))
                .unwrap()
                .congestion_experienced
        );
        let mut frame = udp6_frame(&[]);
        frame[15] = 0x30;
        assert!(
            decode(&captured(&frame, frame.len()))
                .unwrap()
                .congestion_experienced
        );
    }

    #[test]
    fn tunnels_and_icmp_have_no_ports() {
        for (protocol, name) in [(1, "icmp"), (47, "ip-47"), (41, "ip-41")] {
            let mut frame = tcp_frame(1, 80);
            frame[23] = protocol;
            let packet = decode(&captured(&frame, frame.len())).unwrap();
            assert_eq!((packet.source.port, packet.payload_bytes), (0, 100));
            assert_eq!(protocol_name(packet.protocol), name);
        }
    }

    #[test]
    fn contradictory_headers_are_refused() {
        let mut frame = tcp_frame(1, 10);
        frame[46] = 0x10;
        assert_eq!(
            decode(&captured(&frame, frame.len())).unwrap_err(),
            "tcp_header_invalid"
        );
        let mut frame = tcp_frame(1, 10);
        frame[14] = 0x42;
        assert_eq!(
            decode(&captured(&frame, frame.len())).unwrap_err(),
            "ip_header_invalid"
        );
    }
}
