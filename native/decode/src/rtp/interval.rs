//! A stream over time: packets, bytes, frames, loss and jitter of each second.

use crate::rtp::clock::CLOCK_RATES_HZ;
use crate::rtp::sequence::SequenceTracker;

/// Length of an interval of a stream that is no longer than the bound.
const SHORTEST_NS: i64 = 1_000_000_000;
/// Intervals kept of one stream, an hour of seconds; of a longer stream, they are joined two by two.
const INTERVALS: usize = 3600;

/// One interval in which the stream sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RtpInterval {
    pub(crate) start_ns: i64,
    pub(crate) packets: i64,
    pub(crate) payload_bytes: i64,
    pub(crate) frames: i64,
    /// Of the stream, up to the end of the interval.
    expected: i64,
    lost: i64,
    /// At the end of the interval and every clock rate.
    jitter_units: [f32; CLOCK_RATES_HZ.len()],
}

/// What of an interval depends on those before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    pub(crate) expected_packets: i64,
    pub(crate) lost_packets: i64,
}

/// The intervals of one stream in order of time.
#[derive(Debug)]
pub(crate) struct RtpIntervals {
    kept: Vec<RtpInterval>,
    length_ns: i64,
}

impl Default for RtpIntervals {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            length_ns: SHORTEST_NS,
        }
    }
}

impl RtpIntervals {
    /// Count a packet; what the stream was until then ends the interval before, if this packet opens one.
    ///
    /// A packet from before the latest interval counts in the latest.
    #[inline]
    pub(crate) fn add(
        &mut self,
        time_ns: i64,
        payload_bytes: u32,
        sequence: &SequenceTracker,
        jitter_units: &[f64; CLOCK_RATES_HZ.len()],
    ) {
        if let Some(last) = self.kept.last_mut() {
            if time_ns.saturating_sub(last.start_ns) < self.length_ns {
                last.packets += 1;
                last.payload_bytes += i64::from(payload_bytes);
                return;
            }
        }
        self.open(time_ns, payload_bytes, sequence, jitter_units);
    }

    fn open(
        &mut self,
        time_ns: i64,
        payload_bytes: u32,
        sequence: &SequenceTracker,
        jitter_units: &[f64; CLOCK_RATES_HZ.len()],
    ) {
        self.close(sequence, jitter_units);
        if self.kept.len() == INTERVALS {
            self.join();
        }
        let start_ns = self.start_of(time_ns);
        match self.kept.last_mut() {
            // After joining, the packet may belong to the last one.
            Some(last) if last.start_ns == start_ns => {
                last.packets += 1;
                last.payload_bytes += i64::from(payload_bytes);
            }
            _ => self.kept.push(RtpInterval {
                start_ns,
                packets: 1,
                payload_bytes: i64::from(payload_bytes),
                frames: 0,
                expected: 0,
                lost: 0,
                jitter_units: [0.0; CLOCK_RATES_HZ.len()],
            }),
        }
    }

    fn start_of(&self, time_ns: i64) -> i64 {
        time_ns.div_euclid(self.length_ns).saturating_mul(self.length_ns)
    }

    /// Count a frame in the latest interval.
    pub(crate) fn frame(&mut self) {
        if let Some(last) = self.kept.last_mut() {
            last.frames += 1;
        }
    }

    /// End the latest interval with what the stream is now.
    pub(crate) fn close(&mut self, sequence: &SequenceTracker, jitter_units: &[f64; CLOCK_RATES_HZ.len()]) {
        if let Some(last) = self.kept.last_mut() {
            last.expected = sequence.expected();
            last.lost = sequence.lost();
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a jitter has no use for more digits"
            )]
            for (kept, now) in last.jitter_units.iter_mut().zip(jitter_units) {
                *kept = *now as f32;
            }
        }
    }

    fn join(&mut self) {
        self.length_ns = self.length_ns.saturating_mul(2);
        let mut joined: Vec<RtpInterval> = Vec::with_capacity(self.kept.len());
        for interval in &self.kept {
            let start_ns = self.start_of(interval.start_ns);
            match joined.last_mut() {
                Some(last) if last.start_ns == start_ns => {
                    *last = RtpInterval {
                        start_ns,
                        packets: last.packets + interval.packets,
                        payload_bytes: last.payload_bytes + interval.payload_bytes,
                        frames: last.frames + interval.frames,
                        ..*interval
                    };
                }
                _ => joined.push(RtpInterval {
                    start_ns,
                    ..*interval
                }),
            }
        }
        self.kept = joined;
    }

    /// How many are kept in memory.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Give up those that were looked at.
    pub(crate) fn clear(&mut self) {
        self.kept = Vec::new();
    }

    pub(crate) fn length_ns(&self) -> i64 {
        self.length_ns
    }

    /// The intervals, each with what it adds to those before it.
    pub(crate) fn with_changes(&self) -> impl Iterator<Item = (&RtpInterval, Change)> {
        let mut before = (0, 0);
        self.kept.iter().map(move |interval| {
            let change = Change {
                expected_packets: interval.expected - before.0,
                lost_packets: interval.lost - before.1,
            };
            before = (interval.expected, interval.lost);
            (interval, change)
        })
    }
}

impl RtpInterval {
    /// Jitter at the end, in milliseconds at the given clock rate.
    pub(crate) fn jitter_ms(&self, rate_hz: i32) -> Option<f64> {
        let place = CLOCK_RATES_HZ.iter().position(|rate| *rate == rate_hz)?;
        Some(f64::from(*self.jitter_units.get(place)?) * 1e3 / f64::from(rate_hz))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: [f64; CLOCK_RATES_HZ.len()] = [8.0; CLOCK_RATES_HZ.len()];

    #[test]
    fn each_second_has_its_own_loss() {
        let mut intervals = RtpIntervals::default();
        let mut sequence = SequenceTracker::new(0);
        // Ten numbers a second, of which every one ending in 5 is lost in the second second.
        for number in 0..30u16 {
            if number == 15 {
                continue;
            }
            intervals.add(500 + i64::from(number) * 100_000_000, 100, &sequence, &UNITS);
            intervals.frame();
            if number > 0 {
                sequence.receive(number);
            }
        }
        intervals.close(&sequence, &UNITS);
        let counts: Vec<_> = intervals
            .with_changes()
            .map(|(interval, change)| {
                let times = (interval.start_ns / SHORTEST_NS, interval.packets, interval.frames);
                (times, change.expected_packets, change.lost_packets)
            })
            .collect();
        assert_eq!(
            counts,
            [((0, 10, 10), 10, 0), ((1, 9, 9), 10, 1), ((2, 10, 10), 10, 0)]
        );
        let jitter_ms = intervals
            .with_changes()
            .next()
            .unwrap()
            .0
            .jitter_ms(8000)
            .unwrap();
        assert!((jitter_ms - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_long_stream_has_longer_intervals_and_nothing_is_lost_of_it() {
        let mut intervals = RtpIntervals::default();
        let sequence = SequenceTracker::new(0);
        for second in 0..20_000i64 {
            intervals.add(second * SHORTEST_NS, 10, &sequence, &UNITS);
            intervals.frame();
        }
        assert_eq!(intervals.length_ns(), 8 * SHORTEST_NS);
        assert_eq!(intervals.kept.len(), 2500);
        assert!(
            intervals
                .kept
                .iter()
                .all(|interval| (interval.packets, interval.frames) == (8, 8))
        );
    }

    #[test]
    fn a_packet_from_the_past_counts_in_the_latest_interval() {
        let mut intervals = RtpIntervals::default();
        let sequence = SequenceTracker::new(0);
        for time_ns in [0, 5 * SHORTEST_NS, 1, i64::MIN] {
            intervals.add(time_ns, 10, &sequence, &UNITS);
        }
        let packets: Vec<_> = intervals.kept.iter().map(|interval| interval.packets).collect();
        assert_eq!(packets, [1, 3]);
    }
}
