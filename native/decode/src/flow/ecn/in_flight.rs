//! Data segments on their way, to bound how many packets an acknowledgement can be about.

use std::collections::VecDeque;

use crate::flow::tcp::sequence::distance;

/// Of a connection whose acknowledgements never pass, only so many segments are remembered.
const SEGMENTS: usize = 16_384;

#[derive(Debug, Clone, Copy)]
struct Sent {
    end: u32,
    payload_bytes: u32,
    /// An acknowledgement may have been about it already.
    reported: bool,
}

/// What an acknowledgement can be about at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newly {
    pub(crate) packets: i64,
    /// The smallest and the largest payload among them; 0 where there is none.
    pub(crate) smallest_bytes: u32,
    pub(crate) largest_bytes: u32,
}

/// Segments of one direction since the last acknowledgement of all of them.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    sent: VecDeque<Sent>,
    /// Packets that no acknowledgement number is about, or that were forgotten.
    uncounted: i64,
}

impl InFlight {
    /// A data segment passes; retransmissions are packets of their own.
    pub(crate) fn data(&mut self, end: u32, payload_bytes: u32) {
        if self.sent.len() == SEGMENTS {
            self.uncounted += i64::from(self.sent.pop_front().is_some_and(|sent| !sent.reported));
        }
        self.sent.push_back(Sent {
            end,
            payload_bytes,
            reported: false,
        });
    }

    /// A packet without data passes that may be marked.
    pub(crate) fn pure(&mut self) {
        self.uncounted += 1;
    }

    /// Whether packets without data passed since the last acknowledgement that may have been marked.
    pub(crate) fn may_have_marked_pure(&self) -> bool {
        self.uncounted > 0
    }

    /// What can have arrived between the acknowledgement before and this one.
    pub(crate) fn acknowledge(&mut self, acknowledgement: u32, selective_end: Option<u32>) -> Newly {
        let highest = selective_end.unwrap_or(acknowledgement);
        let mut newly = Newly {
            packets: std::mem::take(&mut self.uncounted),
            smallest_bytes: 0,
            largest_bytes: 0,
        };
        for sent in &mut self.sent {
            if sent.reported || distance(sent.end, highest) < 0 {
                continue;
            }
            sent.reported = true;
            newly.packets += 1;
            newly.largest_bytes = newly.largest_bytes.max(sent.payload_bytes);
            newly.smallest_bytes = match newly.smallest_bytes {
                0 => sent.payload_bytes,
                smallest => smallest.min(sent.payload_bytes),
            };
        }
        while self
            .sent
            .front()
            .is_some_and(|sent| distance(sent.end, acknowledgement) >= 0)
        {
            self.sent.pop_front();
        }
        newly
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
        assert_eq!(in_flight.acknowledge(100, Some(300)).packets, 3);
        assert_eq!(in_flight.acknowledge(200, Some(300)).packets, 0);
        in_flight.pure();
        let newly = in_flight.acknowledge(400, None);
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
        assert_eq!(in_flight.acknowledge(20_000, None).packets, 20_000);
    }
}
