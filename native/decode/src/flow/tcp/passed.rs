//! Segments that passed shortly before, to tell a copy that the capture holds from one that was sent again.

use crate::packet::types::TcpSegment;

/// A mirror puts copies next to one another, at most a burst of a few packets apart.
const REMEMBERED: usize = 8;
/// A host uses an IP identification again after 65,536 packets; a copy takes another way only inside a network.
const WITH_ID_NS: i64 = 100_000_000;
/// What has no identification may also be sent again, after a round-trip time.
const WITHOUT_ID_NS: i64 = 1_000_000;

/// What a segment's packet is beside its TCP header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passing {
    pub(crate) payload_bytes: u32,
    pub(crate) ip_id: u32,
    /// The ECN field of its IP header.
    pub(crate) ecn: u8,
    pub(crate) time_ns: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    /// Sequence and acknowledgement number.
    numbers: u64,
    /// IP identification, TCP checksum (which covers the payload) and window.
    marks: u64,
    /// A checksum that the network card computes is the same for every segment of a length on the way to it.
    flags: u16,
    payload_bytes: u32,
    time_ns: i64,
}

/// The last few segments of one direction.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    segments: [Segment; REMEMBERED],
    newest: usize,
}

impl Passed {
    /// Whether a segment is one of those remembered; where it is not, or cannot be, it is remembered.
    pub(crate) fn is_copy(&mut self, segment: &TcpSegment, passing: &Passing, may_be: bool) -> bool {
        let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgement);
        let marks =
            u64::from(passing.ip_id) << 32 | u64::from(segment.checksum) << 16 | u64::from(segment.window);
        if may_be {
            // Acknowledgements that say the same are sent in rows, so that without an identification nothing tells
            // a copy of one.
            let takes_numbers = passing.payload_bytes > 0 || segment.has(TcpSegment::SYN | TcpSegment::FIN);
            let within_ns = match (passing.ip_id, takes_numbers) {
                (0, true) => WITHOUT_ID_NS,
                (0, false) => 0,
                _ => WITH_ID_NS,
            };
            let is_copy = |before: &Segment| {
                before.numbers == numbers
                    && before.marks == marks
                    && before.flags == segment.flags
                    && before.payload_bytes == passing.payload_bytes
                    && passing.time_ns.saturating_sub(before.time_ns).saturating_abs() < within_ns
            };
            if self.segments.iter().any(is_copy) {
                return true;
            }
        }
        self.newest = (self.newest + 1) % REMEMBERED;
        if let Some(oldest) = self.segments.get_mut(self.newest) {
            *oldest = Segment {
                numbers,
                marks,
                flags: segment.flags,
                payload_bytes: passing.payload_bytes,
                time_ns: passing.time_ns,
            };
        }
        false
    }
}
