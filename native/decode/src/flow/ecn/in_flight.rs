//! Data segments on their way, to bound how many packets an acknowledgement can be about.

use std::collections::VecDeque;

use crate::flow::tcp::direction::give_back;
use crate::flow::tcp::sequence::distance;

/// Of a connection whose acknowledgements never pass, only so many segments are remembered.
const SEGMENTS: usize = 16_384;

#[derive(Debug, Clone, Copy)]
struct Sent {
    end: u32,
    payload_bytes: u32,
}

/// What an acknowledgement can be about at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newly {
    pub(crate) packets: i64,
    /// The smallest and the largest payload among them; 0 where there is none.
    pub(crate) smallest_bytes: u32,
    pub(crate) largest_bytes: u32,
}

/// Segments of one direction that no acknowledgement has been about yet.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// By their ends, so that an acknowledgement looks only at those that it is about.
    sent: VecDeque<Sent>,
    /// Packets that no acknowledgement number is about, or that were forgotten.
    uncounted: i64,
}

impl InFlight {
    /// A data segment passes; retransmissions are packets of their own.
    pub(crate) fn data(&mut self, end: u32, payload_bytes: u32) {
        if self.sent.len() == SEGMENTS {
            self.sent.pop_front();
            self.uncounted += 1;
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
        };
        let reported = self.sent.partition_point(|sent| distance(sent.end, highest) >= 0);
        for sent in self.sent.drain(..reported) {
            newly.packets += 1;
            newly.largest_bytes = newly.largest_bytes.max(sent.payload_bytes);
            newly.smallest_bytes = match newly.smallest_bytes {
                0 => sent.payload_bytes,
                smallest => smallest.min(sent.payload_bytes),
            };
        }
        give_back(&mut self.sent);
        newly
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
                largest_bytes: 100
            }
        );
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
