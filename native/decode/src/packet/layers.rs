//! All layers of one packet: link, tunnel, network and transport.

use crate::packet::captured::CapturedPacket;
use crate::packet::fragments::{EarlyFragment, FragmentTable};
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
    /// When the packet that is decoded passed.
    time_ns: i64,
}

impl LayerDecoder {
    /// Decode a captured packet, or say why it is refused.
    ///
    /// Two encapsulations are undone. Where what is inside cannot be decoded, the packet counts for the flow of
    /// the tunnel itself.
    pub(crate) fn decode<'p>(&mut self, captured: &CapturedPacket<'p>) -> Result<Packet<'p>, PacketRefusal> {
        self.time_ns = captured.time_ns;
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

    /// Hold a packet that was refused as a later fragment until the first one shows its ports; `place` is the number of its record
    /// in the recording, and of the recording's file.
    ///
    /// One in a tunnel is not held: it counts for the flow of the tunnel.
    pub(crate) fn hold(&mut self, captured: &CapturedPacket<'_>, place: (i64, usize)) {
        let CapturedPacket {
            time_ns, wire_bytes, ..
        } = *captured;
        let Ok(offset) = ip_offset(captured.link, captured.frame) else {
            return;
        };
        let bytes = captured.frame.get(offset..).unwrap_or_default();
        if let Ok(network) = network(bytes, (wire_bytes as usize).saturating_sub(offset)) {
            let packet = packet(&network, (0, 0), 0, Transport::Fragment);
            let fragment = EarlyFragment::new(&packet, place, time_ns, wire_bytes);
            self.fragments.hold(network.fragment_key(), fragment);
        }
    }

    /// Take out the held fragments whose ports have become known.
    #[inline]
    pub(crate) fn take_released(&mut self) -> Option<Vec<EarlyFragment>> {
        (!self.fragments.released.is_empty()).then(|| std::mem::take(&mut self.fragments.released))
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
                let (key, ports) = (
                    network.fragment_key(),
                    (packet.source.port, packet.destination.port),
                );
                self.fragments.remember(key, ports);
                self.fragments.release(&key, ports, self.time_ns);
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
    fn a_payload_is_never_longer_than_what_was_on_the_wire() {
        // IPv4 that declares 65,028 bytes in a frame of 154, whole and snapped; what is left is counted by hand.
        let mut frame = tcp_frame(1, 100);
        frame[16..18].copy_from_slice(&65_028_u16.to_be_bytes());
        assert_eq!(payload_bytes(&frame, 154), 154 - 14 - 20 - 20);
        assert_eq!(payload_bytes(&frame[..60], 154), 100);
        assert_eq!(payload_bytes(&frame[..60], 60), 6);
        // IPv6 that declares 60,000 bytes: 14 of Ethernet, 40 of IPv6 and 8 of UDP are before the payload.
        let mut frame = udp6_frame(&[9; 50]);
        frame[18..20].copy_from_slice(&60_000_u16.to_be_bytes());
        assert_eq!(payload_bytes(&frame, 112), 50);
        // The same behind a header of destination options of 8 bytes.
        frame[20] = 60;
        frame.splice(54..54, [17, 0, 1, 4, 0, 0, 0, 0]);
        assert_eq!(payload_bytes(&frame, 120), 50);
        // Inside of a tunnel: IPv4 in IPv4, where the inner header declares too much.
        let mut inside = tcp_frame(1, 100).split_off(14);
        inside[2..4].copy_from_slice(&9000_u16.to_be_bytes());
        let mut frame = tcp_frame(1, inside.len() - 20);
        frame[23] = 4;
        frame.truncate(34);
        frame.extend(&inside);
        let packet = decode(&captured(&frame, frame.len())).unwrap();
        assert_eq!((packet.source.port, packet.payload_bytes), (1000, 100));
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
