//! Data segments on their way, to bound how many packets an acknowledgement can be about.

use std::collections::VecDeque;

use crate::flow::tcp::direction::give_back;
use crate::flow::tcp::sequence::distance;

/// Of a connection whose acknowledgements never pass, only so many segments are remembered.
const SEGMENTS: usize = 16_384;

/// Options of a segment, at most; they take from what the maximum segment size leaves for payload (RFC 6691).
const OPTIONS_BYTES: u32 = 40;

/// Segments, with their retransmissions, of which an acknowledgement may be about parts.
const PARTLY_ACKNOWLEDGED: usize = 8;

#[derive(Debug, Clone, Copy)]
struct Sent {
    end: u32,
    payload_bytes: u32,
}

/// What an acknowledgement can be about at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newly {
    pub(crate) packets: i64,
    /// The smallest and the largest payload among them; 0 where there is none. The last packets of merged segments are
    /// not among them.
    pub(crate) smallest_bytes: u32,
    pub(crate) largest_bytes: u32,
    /// Segments that the host or the network card splits or merged, each of which may end in a packet of one byte.
    pub(crate) merged: i64,
}

impl Newly {
    /// Add packets whose payloads are between two sizes.
    fn add(&mut self, packets: i64, (least, most): (u32, u32)) {
        self.packets += packets;
        self.largest_bytes = self.largest_bytes.max(most);
        self.smallest_bytes = match self.smallest_bytes {
            0 => least,
            smallest => smallest.min(least),
        };
    }
}

/// Segments of one direction that no acknowledgement has been about yet.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// By their ends, so that an acknowledgement looks only at those that it is about.
    sent: VecDeque<Sent>,
    /// Packets that no acknowledgement number is about, or that were forgotten.
    uncounted: i64,
    /// Maximum segment size that the ends stated.
    maximum_segment_size: Option<u32>,
}

impl InFlight {
    /// The ends state their maximum segment size: a segment with more payload is several packets of the network.
    pub(crate) fn accept(&mut self, maximum_segment_size: u16) {
        self.maximum_segment_size = Some(u32::from(maximum_segment_size));
    }

    /// Bounds of the payload of a packet, if a segment is several.
    fn parts(&self, payload_bytes: u32) -> Option<(u32, u32)> {
        let largest = self.maximum_segment_size.filter(|most| payload_bytes > *most)?;
        Some((largest.saturating_sub(OPTIONS_BYTES).max(1), largest))
    }

    /// How many packets of the network a segment is at most.
    fn packets(&self, payload_bytes: u32) -> i64 {
        self.parts(payload_bytes)
            .map_or(1, |(smallest, _)| i64::from(payload_bytes.div_ceil(smallest)))
    }

    /// A data segment passes; retransmissions are packets of their own.
    pub(crate) fn data(&mut self, end: u32, payload_bytes: u32) {
        if self.sent.len() == SEGMENTS {
            let forgotten = self.sent.pop_front();
            self.uncounted += forgotten.map_or(0, |sent| self.packets(sent.payload_bytes));
        }
        let place = match self.sent.back() {
            Some(last) if distance(last.end, end) < 0 => {
                self.sent.partition_point(|sent| distance(sent.end, end) >= 0)
            }
            _ => self.sent.len(),
        };
        self.sent.insert(place, Sent { end, payload_bytes });
    }

    /// A packet without data passes that may be marked.
    pub(crate) fn pure(&mut self) {
        self.uncounted += 1;
    }

    /// Whether packets without data passed since the last acknowledgement that may have been marked.
    pub(crate) fn may_have_marked_pure(&self) -> bool {
        self.uncounted > 0
    }

    /// What can have arrived between the acknowledgement before and one that is about data up to `highest`.
    pub(crate) fn acknowledge(&mut self, highest: u32) -> Newly {
        let mut newly = Newly {
            packets: std::mem::take(&mut self.uncounted),
            smallest_bytes: 0,
            largest_bytes: 0,
            merged: 0,
        };
        let reported = self.sent.partition_point(|sent| distance(sent.end, highest) >= 0);
        for sent in self.sent.iter().take(reported) {
            let parts = self.parts(sent.payload_bytes);
            newly.merged += i64::from(parts.is_some());
            let sizes = parts.unwrap_or((sent.payload_bytes, sent.payload_bytes));
            newly.add(self.packets(sent.payload_bytes), sizes);
        }
        self.sent.drain(..reported);
        self.acknowledge_parts(highest, &mut newly);
        give_back(&mut self.sent);
        newly
    }

    /// Acknowledgements may end within merged segments.
    fn acknowledge_parts(&mut self, highest: u32, newly: &mut Newly) {
        for place in 0..self.sent.len().min(PARTLY_ACKNOWLEDGED) {
            let Some(sent) = self.sent.get(place).copied() else {
                return;
            };
            let start = sent.end.wrapping_sub(sent.payload_bytes);
            let acknowledged = distance(start, highest);
            let Some((least, most)) = self.parts(sent.payload_bytes).filter(|_| acknowledged > 0) else {
                continue;
            };
            let acknowledged = acknowledged.unsigned_abs();
            newly.merged += 1;
            newly.add(i64::from(acknowledged.div_ceil(least)), (least, most));
            if let Some(sent) = self.sent.get_mut(place) {
                sent.payload_bytes = sent.payload_bytes.saturating_sub(acknowledged);
            }
        }
    }

    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.sent.capacity() * size_of::<Sent>()
    }

    /// Another connection begins.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_reported_once() {
        let mut in_flight = InFlight::default();
        for end in [100, 200, 300, 400] {
            in_flight.data(end, 100);
        }
        assert_eq!(in_flight.acknowledge(300).packets, 3);
        assert_eq!(in_flight.acknowledge(300).packets, 0);
        in_flight.pure();
        let newly = in_flight.acknowledge(400);
        assert_eq!(
            newly,
            Newly {
                packets: 2,
                smallest_bytes: 100,
                largest_bytes: 100,
                merged: 0,
            }
        );
    }

    #[test]
    fn a_segment_beyond_what_the_receiver_accepts_is_several_packets() {
        let mut in_flight = InFlight::default();
        in_flight.accept(1460);
        in_flight.data(44 * 1448, 44 * 1448);
        in_flight.data(45 * 1448, 1448);
        assert_eq!(
            in_flight.acknowledge(45 * 1448),
            Newly {
                packets: 46,
                smallest_bytes: 1420,
                largest_bytes: 1460,
                merged: 1,
            }
        );
    }

    #[test]
    fn an_acknowledgement_within_a_merged_segment_is_about_its_first_packets() {
        let mut in_flight = InFlight::default();
        in_flight.accept(1460);
        in_flight.data(44 * 1448, 44 * 1448);
        in_flight.data(44 * 1448, 44 * 1448);
        for (acknowledged, packets) in [(20, 21), (20, 0), (43, 24), (44, 1)] {
            let newly = in_flight.acknowledge(acknowledged * 1448);
            assert_eq!(newly.packets, 2 * packets, "{acknowledged}");
        }
    }

    #[test]
    fn forgotten_packets_stay_in_the_bound() {
        let mut in_flight = InFlight::default();
        for end in 1..=20_000 {
            in_flight.data(end, 1);
        }
        assert_eq!(in_flight.acknowledge(20_000).packets, 20_000);
    }

    #[test]
    fn a_retransmission_is_reported_with_what_it_repeats_and_a_late_segment_in_its_place() {
        let mut in_flight = InFlight::default();
        for end in [100, 400, 300, 200, 300] {
            in_flight.data(end, end);
        }
        assert_eq!(in_flight.acknowledge(250).packets, 2);
        let newly = in_flight.acknowledge(350);
        assert_eq!(
            (newly.packets, newly.smallest_bytes, newly.largest_bytes),
            (2, 300, 300)
        );
        in_flight.data(100, 7);
        assert_eq!(in_flight.acknowledge(350).packets, 1);
    }

    #[test]
    fn acknowledgements_of_nothing_new_cost_nothing() {
        let mut in_flight = InFlight::default();
        for end in 2..=20_000 {
            in_flight.data(end, 1);
        }
        in_flight.acknowledge(1);
        let began = std::time::Instant::now();
        for _ in 0..100_000 {
            assert_eq!(in_flight.acknowledge(1).packets, 0);
        }
        // To look at all segments each time takes much longer.
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }
}
