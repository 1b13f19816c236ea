//! A packet as one of the two captures has it, by what it is recognised, and what both say of it.

use crate::input::bytes::{be_u16, be_u32};
use crate::packet::fragments::EarlyFragment;
use crate::packet::types::{Packet, Transport};

/// Payload by which a packet is recognised, unless a capture has less of it.
pub(crate) const PAYLOAD_KEY_BYTES: usize = EarlyFragment::PAYLOAD_BYTES;

/// Which capture a packet is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    Before,
    After,
}

/// What of a payload, or of the numbers of TCP, a packet is recognised by.
pub(crate) type PayloadWords = (u32, u32, u32);

/// What a packet is recognised by at the other point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PacketKey {
    pub(crate) flow: u32,
    pub(crate) ip_id: u32,
    pub(crate) words: PayloadWords,
}

impl PacketKey {
    /// The key of a packet, of whose payload `key_bytes` are looked at, and maybe its timestamp.
    pub(crate) fn of(packet: &Packet<'_>, flow: u32, key_bytes: usize, by_timestamp: bool) -> Self {
        let words = match packet.transport {
            Transport::Tcp(segment) => {
                let kind = u32::from(segment.flags) << 16 | packet.payload_bytes & 0xffff;
                // Without an identification, a retransmission is told from the packet that was lost by its time.
                let sent = timestamp(packet).filter(|_| by_timestamp && packet.ip_id == 0);
                (
                    segment.sequence,
                    segment.acknowledgement,
                    kind.wrapping_mul(0x9e37_79b1) ^ sent.unwrap_or_default(),
                )
            }
            Transport::Udp(payload) => payload_words(first(payload, key_bytes)),
            Transport::Fragment | Transport::Other => payload_words(first(packet.ip_payload, key_bytes)),
        };
        Self {
            flow,
            ip_id: packet.ip_id,
            words,
        }
    }
}

/// The time at which a segment was sent, by its sender's clock (RFC 7323).
pub(crate) fn timestamp(packet: &Packet<'_>) -> Option<u32> {
    match packet.transport {
        Transport::Tcp(segment) => segment.options.timestamps.map(|stamps| stamps.value),
        _ => None,
    }
}

fn first(payload: &[u8], bytes: usize) -> &[u8] {
    payload.get(..bytes).unwrap_or(payload)
}

/// How much of the payload by which a packet is recognised its capture has, if that is not all.
pub(crate) fn cut_key_bytes(packet: &Packet<'_>) -> Option<usize> {
    let captured = match packet.transport {
        Transport::Tcp(_) => return None,
        Transport::Udp(payload) => payload.len(),
        Transport::Fragment | Transport::Other => packet.ip_payload.len(),
    };
    (captured < PAYLOAD_KEY_BYTES && captured < packet.payload_bytes as usize).then_some(captured)
}

/// The first twelve bytes hold sequence, timestamp and source of RTP; of other content, what follows is mixed
/// in. Only bytes that a capture with a small snaplen has too are used.
fn payload_words(payload: &[u8]) -> PayloadWords {
    let word = |offset| be_u32(payload, offset).unwrap_or_default();
    let mut mixed = word(8);
    for offset in (12..PAYLOAD_KEY_BYTES).step_by(4) {
        mixed = mixed.rotate_left(5).wrapping_mul(0x9e37_79b1) ^ word(offset);
    }
    (word(0), word(4), mixed)
}

/// What is kept of one sighting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    pub(crate) point: Point,
    /// Number of the packet in its capture.
    pub(crate) index: i64,
    pub(crate) time_ns: i64,
    pub(crate) wire_bytes: u32,
    pub(crate) hop_limit: u8,
    pub(crate) transport_word: Option<u32>,
    pub(crate) segment_bytes: Option<u32>,
}

/// A packet that was matched, or given up; in any direction while its direction is not known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairedPacket {
    pub(crate) flow: u32,
    pub(crate) ip_id: u32,
    pub(crate) transport_word: Option<u32>,
    pub(crate) segment_bytes: Option<u32>,
    pub(crate) wire_bytes: u32,
    /// Number in its capture when matched (the first one, if it is in both), in the pair when it is a row.
    pub(crate) index: i64,
    pub(crate) before_ns: Option<i64>,
    pub(crate) after_ns: Option<i64>,
    /// How many routers are between the points, negative against the direction; 0 unless in both.
    pub(crate) hops: i16,
}

impl PairedPacket {
    /// A packet that both points saw.
    pub(crate) fn matched(key: PacketKey, one: Sighting, other: Sighting) -> Self {
        let (before, after) = match one.point {
            Point::Before => (one, other),
            Point::After => (other, one),
        };
        Self {
            flow: key.flow,
            ip_id: key.ip_id,
            transport_word: before.transport_word,
            segment_bytes: before.segment_bytes,
            wire_bytes: before.wire_bytes,
            index: before.index,
            before_ns: Some(before.time_ns),
            after_ns: Some(after.time_ns),
            hops: i16::from(before.hop_limit) - i16::from(after.hop_limit),
        }
    }

    /// A packet that one point saw.
    pub(crate) fn unmatched(key: PacketKey, sighting: Sighting) -> Self {
        let before = sighting.point == Point::Before;
        Self {
            flow: key.flow,
            ip_id: key.ip_id,
            transport_word: sighting.transport_word,
            segment_bytes: sighting.segment_bytes,
            wire_bytes: sighting.wire_bytes,
            index: sighting.index,
            before_ns: before.then_some(sighting.time_ns),
            after_ns: (!before).then_some(sighting.time_ns),
            hops: 0,
        }
    }
}

/// Sequence number of TCP, or the first bytes of a UDP payload.
pub(crate) fn transport_word(packet: &Packet<'_>) -> Option<u32> {
    match packet.transport {
        Transport::Tcp(segment) => Some(segment.sequence),
        Transport::Udp(payload) => be_u32(payload, 0).or_else(|| be_u16(payload, 0).map(u32::from)),
        Transport::Fragment | Transport::Other => None,
    }
}

/// Payload of a segment of TCP, `None` for other packets.
pub(crate) fn segment_bytes(packet: &Packet<'_>) -> Option<u32> {
    matches!(packet.transport, Transport::Tcp(_)).then_some(packet.payload_bytes)
}

/// A packet of flow 0.
#[cfg(test)]
pub(crate) fn test_packet(
    index: i64,
    before_ns: Option<i64>,
    after_ns: Option<i64>,
    wire_bytes: u32,
) -> PairedPacket {
    PairedPacket {
        flow: 0,
        ip_id: 0,
        transport_word: None,
        segment_bytes: None,
        wire_bytes,
        index,
        before_ns,
        after_ns,
        hops: 0,
    }
}
