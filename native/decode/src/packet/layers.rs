//! All layers of one packet: link, tunnel, network and transport.

use crate::packet::captured::CapturedPacket;
use crate::packet::fragments::FragmentTable;
use crate::packet::ip::{Network, network};
use crate::packet::link::ip_offset;
use crate::packet::link_type::LinkType;
use crate::packet::protocol::has_ports;
use crate::packet::refusal::PacketRefusal;
use crate::packet::transport::{UDP_HEADER_BYTES, packet, transport};
use crate::packet::tunnel::{Inner, inner};
use crate::packet::types::{Packet, TUNNEL_LEVELS, Transport};

/// Decoder of the layers; it remembers the ports of first fragments.
#[derive(Debug, Default)]
pub(crate) struct LayerDecoder {
    fragments: FragmentTable,
}

impl LayerDecoder {
    /// Decode a captured packet, or say why it is refused.
    ///
    /// Two encapsulations are undone. Where what is inside cannot be decoded, the packet counts for the flow of
    /// the tunnel itself.
    pub(crate) fn decode<'p>(&mut self, captured: &CapturedPacket<'p>) -> Result<Packet<'p>, PacketRefusal> {
        // A result is handed on as it is wherever it can be: to take it apart is to copy the packet.
        let mut result = self.frame(captured.link, captured.frame, captured.wire_bytes as usize);
        for _ in 0..TUNNEL_LEVELS {
            let Ok(outer) = &result else {
                return result;
            };
            match self.inside(outer) {
                Some(packet) => result = Ok(packet),
                None => return result,
            }
        }
        result
    }

    /// The packet inside of one that carries it, if there is one that can be decoded.
    fn inside<'p>(&mut self, outer: &Packet<'p>) -> Option<Packet<'p>> {
        let udp = matches!(outer.transport, Transport::Udp(_));
        if !udp && outer.transport != Transport::Other {
            return None;
        }
        let (tunnel, inside) = inner(outer)?;
        let header_bytes = if udp { UDP_HEADER_BYTES } else { 0 };
        let start = header_bytes + inside.offset();
        let bytes = outer.ip_payload.get(start..).unwrap_or_default();
        let wire_bytes = (outer.payload_bytes as usize).saturating_sub(inside.offset());
        let decoded = match inside {
            Inner::Ip(_) => self.ip(bytes, wire_bytes),
            Inner::Ethernet(_) => self.frame(LinkType::Ethernet, bytes, wire_bytes),
            Inner::Ppp(_) => self.frame(LinkType::Ppp, bytes, wire_bytes),
        };
        decoded.ok().map(|packet| Packet {
            tunnels: outer.tunnels.with(tunnel),
            ..packet
        })
    }

    fn frame<'p>(
        &mut self,
        link: LinkType,
        frame: &'p [u8],
        wire_bytes: usize,
    ) -> Result<Packet<'p>, PacketRefusal> {
        let offset = ip_offset(link, frame)?;
        let bytes = frame.get(offset..).unwrap_or_default();
        self.ip(bytes, wire_bytes.saturating_sub(offset))
    }

    fn ip<'p>(&mut self, bytes: &'p [u8], wire_bytes: usize) -> Result<Packet<'p>, PacketRefusal> {
        let network = network(bytes, wire_bytes)?;
        if network.later_fragment {
            return self.later_fragment(&network);
        }
        let result = transport(&network);
        if network.fragmented && has_ports(network.protocol) {
            if let Ok(packet) = &result {
                self.fragments.remember(
                    network.fragment_key(),
                    (packet.source.port, packet.destination.port),
                );
            }
        }
        result
    }

    fn later_fragment<'p>(&mut self, network: &Network<'p>) -> Result<Packet<'p>, PacketRefusal> {
        let ports = if has_ports(network.protocol) {
            self.fragments
                .ports(&network.fragment_key())
                .ok_or(PacketRefusal::IpFragment)?
        } else {
            (0, 0)
        };
        Ok(packet(network, ports, 0, Transport::Fragment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::protocol::protocol_name;
    use crate::packet::tcp_options::TcpOptions;
    use crate::packet::types::TcpSegment;
    use crate::test_capture::{tcp_frame, udp6_frame};

    fn captured(frame: &[u8], wire_bytes: usize) -> CapturedPacket<'_> {
        CapturedPacket {
            time_ns: 0,
            wire_bytes: wire_bytes as u32,
            link: LinkType::Ethernet,
            frame,
        }
    }

    fn decode<'p>(captured: &CapturedPacket<'p>) -> Result<Packet<'p>, PacketRefusal> {
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
            checksum: u16::from_be_bytes([frame[50], frame[51]]),
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
            PacketRefusal::TcpHeaderCut
        );
        assert_eq!(
            decode(&captured(&frame[..30], frame.len())).unwrap_err(),
            PacketRefusal::IpHeaderCut
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
    fn only_the_first_fragment_has_ports() {
        let mut frame = tcp_frame(1, 100);
        frame[20] = 0x20;
        assert_eq!(payload_bytes(&frame, frame.len()), 100);
        frame[21] = 1;
        assert_eq!(
            decode(&captured(&frame, frame.len())).unwrap_err(),
            PacketRefusal::IpFragment
        );
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
        assert_eq!(
            decode(&captured(&frame, frame.len())).unwrap_err(),
            PacketRefusal::IpFragment
        );
    }

    #[test]
    fn congestion_marks_are_seen() {
        let mut frame = tcp_frame(1, 0);
        frame[15] = 3;
        assert!(
            decode(&captured(&frame, frame.len()))
                .unwrap()
                .congestion_experienced()
        );
        let mut frame = udp6_frame(&[]);
        frame[15] = 0x30;
        assert!(
            decode(&captured(&frame, frame.len()))
                .unwrap()
                .congestion_experienced()
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
            PacketRefusal::TcpHeaderInvalid
        );
        let mut frame = tcp_frame(1, 10);
        frame[14] = 0x42;
        assert_eq!(
            decode(&captured(&frame, frame.len())).unwrap_err(),
            PacketRefusal::IpHeaderInvalid
        );
    }
}
