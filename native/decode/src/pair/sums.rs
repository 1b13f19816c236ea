//! What became of the packets towards the bottleneck, one by one and in sums.

use crate::pair::clock::ClockEstimate;
use crate::pair::sighting::PairedPacket;

/// What became of a packet that was sent towards the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Delivered,
    Dropped,
    /// The second capture had ended before the packet could have passed it.
    InFlightAtEnd,
    /// Seen only behind the bottleneck: the first capture missed it.
    NotSeenBefore,
}

impl Fate {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Dropped => "dropped",
            Self::InFlightAtEnd => "in_flight_at_end",
            Self::NotSeenBefore => "not_seen_before",
        }
    }
}

/// Sums of one flow towards the bottleneck.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FlowSums {
    pub(crate) sent: i64,
    pub(crate) delivered: i64,
    pub(crate) dropped: i64,
    pub(crate) in_flight_at_end: i64,
    pub(crate) not_seen_before: i64,
    pub(crate) delay_min_ns: Option<i64>,
    pub(crate) delay_max_ns: Option<i64>,
    pub(crate) delay_sum_ns: i128,
}

impl FlowSums {
    pub(crate) fn add(&mut self, fate: Fate, delay_ns: Option<i64>) {
        match fate {
            Fate::Delivered => self.delivered += 1,
            Fate::Dropped => self.dropped += 1,
            Fate::InFlightAtEnd => self.in_flight_at_end += 1,
            Fate::NotSeenBefore => self.not_seen_before += 1,
        }
        self.sent += i64::from(fate != Fate::NotSeenBefore);
        if let Some(delay_ns) = delay_ns {
            self.delay_min_ns = Some(self.delay_min_ns.map_or(delay_ns, |least| least.min(delay_ns)));
            self.delay_max_ns = Some(self.delay_max_ns.map_or(delay_ns, |most| most.max(delay_ns)));
            self.delay_sum_ns += i128::from(delay_ns);
        }
    }

    pub(crate) fn delay_mean_us(&self) -> Option<f64> {
        self.delay_min_ns
            .map(|_| self.delay_sum_ns as f64 / self.delivered as f64 / 1e3)
    }
}

/// The totals of a pair of captures.
#[derive(Debug, Default, Clone)]
pub(crate) struct PairSums {
    pub(crate) rate_bps: i64,
    /// Bytes that the bottleneck lets pass at once; `None` where that is not known, which counts as none.
    pub(crate) burst_bytes: Option<u32>,
    pub(crate) before_packets: i64,
    pub(crate) after_packets: i64,
    pub(crate) all: FlowSums,
    pub(crate) reverse_matched: i64,
    pub(crate) delay_floor_ns: Option<i64>,
    /// Wire length of the packet with the floor.
    pub(crate) floor_wire_bytes: u32,
    pub(crate) after_end_ns: i64,
    pub(crate) clock: ClockEstimate,
}

impl PairSums {
    /// The time that the bottleneck needs for a packet though none is before it. A token bucket lets a packet within
    /// its burst pass at once; what it makes a packet wait for tokens is queuing.
    fn serialisation_ns(&self, wire_bytes: u32) -> i64 {
        let bytes = wire_bytes.saturating_sub(self.burst_bytes.unwrap_or_default());
        let serialisation_ns = i128::from(bytes) * 8_000_000_000 / i128::from(self.rate_bps);
        i64::try_from(serialisation_ns).unwrap_or(i64::MAX)
    }

    /// Time from point to point less the serialisation at the bottleneck, in the two captures' clocks.
    pub(crate) fn delay_ns(&self, packet: &PairedPacket) -> Option<i64> {
        let passed_ns = packet.after_ns? - packet.before_ns?;
        Some(passed_ns.saturating_sub(self.serialisation_ns(packet.wire_bytes)))
    }

    /// By how much the floor is too low if the bottleneck let the packet that has it pass at once.
    pub(crate) fn floor_low_by_at_most_ns(&self) -> Option<i64> {
        self.delay_floor_ns
            .map(|_| self.serialisation_ns(self.floor_wire_bytes))
    }

    /// The same less the smallest of the whole recording, in which the clocks' offset falls out.
    pub(crate) fn queuing_delay_ns(&self, packet: &PairedPacket) -> Option<i64> {
        Some(self.delay_ns(packet)?.saturating_sub(self.delay_floor_ns?))
    }

    /// A packet that left so late that even without a queue it would have passed after the second capture's
    /// end says nothing about a drop.
    pub(crate) fn fate(&self, packet: &PairedPacket) -> Fate {
        match (packet.before_ns, packet.after_ns) {
            (Some(_), Some(_)) => Fate::Delivered,
            (None, _) => Fate::NotSeenBefore,
            (Some(before_ns), None) => {
                let earliest_ns = self
                    .delay_floor_ns
                    .map(|floor_ns| before_ns.saturating_add(floor_ns));
                if earliest_ns.is_some_and(|earliest_ns| earliest_ns > self.after_end_ns) {
                    Fate::InFlightAtEnd
                } else {
                    Fate::Dropped
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::sighting::test_packet as packet;

    const MS: i64 = 1_000_000;

    /// A token bucket of 1 Mbit/s: packets of 1514 bytes and of 200 that find it full pass in 25 ms, others wait for
    /// their tokens.
    #[test]
    fn a_bucket_that_lets_packets_pass_at_once_does_not_lower_the_floor() {
        let packets = [(1514, 25), (200, 25), (1514, 37), (200, 30)];
        for (burst_bytes, floor_bytes, delays, low_by_at_most_ns) in [
            // 1514 bytes take 12.112 ms, 200 bytes 1.6 ms.
            (None, 1514, [0, 10_512_000, 12_000_000, 15_512_000], 12_112_000),
            (Some(1514), 0, [0, 0, 12_000_000, 5_000_000], 0),
            (Some(1000), 514, [0, 4_112_000, 12_000_000, 9_112_000], 4_112_000),
        ] {
            let mut sums = PairSums {
                rate_bps: 1_000_000,
                burst_bytes,
                ..PairSums::default()
            };
            let packets = packets.map(|(bytes, ms)| packet(0, Some(0), Some(ms * MS), bytes));
            sums.delay_floor_ns = packets.iter().filter_map(|packet| sums.delay_ns(packet)).min();
            assert_eq!(sums.delay_floor_ns, Some(25 * MS - floor_bytes * 8000));
            sums.floor_wire_bytes = 1514;
            assert_eq!(sums.floor_low_by_at_most_ns(), Some(low_by_at_most_ns));
            assert_eq!(
                packets.map(|packet| sums.queuing_delay_ns(&packet).unwrap()),
                delays
            );
        }
    }

    #[test]
    fn queuing_delay_is_that_of_the_definition() {
        let mut sums = PairSums {
            rate_bps: 1_000_000,
            after_end_ns: 100 * MS,
            ..PairSums::default()
        };
        // 125 bytes take 1 ms at 1 Mbit/s.
        let quick = packet(0, Some(0), Some(26 * MS), 125);
        let slow = packet(0, Some(0), Some(47 * MS), 250);
        sums.delay_floor_ns = sums.delay_ns(&quick);
        assert_eq!(sums.delay_floor_ns, Some(25 * MS));
        assert_eq!(sums.queuing_delay_ns(&quick), Some(0));
        assert_eq!(sums.queuing_delay_ns(&slow), Some(20 * MS));
        assert_eq!(sums.fate(&packet(0, Some(70 * MS), None, 125)), Fate::Dropped);
        assert_eq!(
            sums.fate(&packet(0, Some(76 * MS), None, 125)),
            Fate::InFlightAtEnd
        );
    }
}
