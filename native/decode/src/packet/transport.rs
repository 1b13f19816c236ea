//! TCP (RFC 9293) and UDP (RFC 768) headers, snapped or whole.

use crate::input::bytes::{be_u16, be_u32};
use crate::packet::ip::Network;
use crate::packet::protocol::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::packet::refusal::PacketRefusal;
use crate::packet::tcp_options::TcpOptions;
use crate::packet::types::{Endpoint, Packet, TcpSegment, Transport, Tunnels};

const TCP_HEADER_BYTES: usize = 20;
pub(crate) const UDP_HEADER_BYTES: usize = 8;

/// The packet of a network layer that is not a later fragment.
///
/// Refuses TCP and UDP headers that are cut or too short.
pub(crate) fn transport<'p>(network: &Network<'p>) -> Result<Packet<'p>, PacketRefusal> {
    let bytes = network.payload;
    let port = |offset| be_u16(bytes, offset);
    // The headers are read field by field: a capture snapped inside the TCP options is still good for all
    // that is used here, while a parser of the whole header would have to refuse it.
    let (source_port, destination_port, header_bytes, transport) = match network.protocol {
        PROTOCOL_TCP => {
            let refusals = (PacketRefusal::TcpHeaderCut, PacketRefusal::TcpHeaderInvalid);
            let short = || header_refusal(network, TCP_HEADER_BYTES, refusals);
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
                Some(checksum_and_urgent),
            ) = fields
            else {
                return Err(short());
            };
            let header_bytes = usize::from(offset_and_flags >> 12) * 4;
            if header_bytes < TCP_HEADER_BYTES || header_bytes > network.payload_bytes {
                return Err(PacketRefusal::TcpHeaderInvalid);
            }
            let segment = TcpSegment {
                sequence,
                acknowledgement,
                flags: offset_and_flags & 0x01ff,
                window,
                checksum: (checksum_and_urgent >> 16) as u16,
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
                let refusals = (PacketRefusal::UdpHeaderCut, PacketRefusal::UdpHeaderInvalid);
                return Err(header_refusal(network, UDP_HEADER_BYTES, refusals));
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

/// The packet of a network layer and of what was read above it.
pub(crate) fn packet<'p>(
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
        ecn: network.ecn,
        payload_bytes: u32::try_from(network.payload_bytes.saturating_sub(header_bytes)).unwrap_or(u32::MAX),
        tunnels: Tunnels::default(),
        ip_id: network.id,
        hop_limit: network.hop_limit,
        ip_payload: network.payload,
        transport,
    }
}

/// Whether a header that is not there whole was cut by the capture, or was never sent.
fn header_refusal(
    network: &Network<'_>,
    needed: usize,
    (cut, invalid): (PacketRefusal, PacketRefusal),
) -> PacketRefusal {
    if network.payload_bytes >= needed {
        cut
    } else {
        invalid
    }
}
