//! Codepoints of one direction of one flow (RFC 3168, 5): in total and per interval.

use crate::flow::by_time::{ByTime, OfInterval};

/// Packets and bytes of one codepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Volume {
    pub(crate) packets: i64,
    pub(crate) bytes: i64,
}

/// What a direction sent with a codepoint other than Not-ECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marked {
    pub(crate) ect0: Volume,
    pub(crate) ect1: Volume,
    pub(crate) ce: Volume,
}

impl Marked {
    fn add(&mut self, ecn: u8, bytes: i64) {
        let volume = match ecn {
            1 => &mut self.ect1,
            2 => &mut self.ect0,
            3 => &mut self.ce,
            _ => return,
        };
        volume.packets += 1;
        volume.bytes += bytes;
    }

    /// All three together.
    pub(crate) fn sum(&self) -> Volume {
        let volumes = [self.ect0, self.ect1, self.ce];
        Volume {
            packets: volumes.iter().map(|volume| volume.packets).sum(),
            bytes: volumes.iter().map(|volume| volume.bytes).sum(),
        }
    }
}

/// One interval in which the direction sent with a codepoint other than Not-ECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EcnInterval {
    pub(crate) start_ns: i64,
    pub(crate) marked: Marked,
}

impl OfInterval for EcnInterval {
    fn start_ns(&self) -> i64 {
        self.start_ns
    }

    fn join(&mut self, other: &Self) {
        let marked = &mut self.marked;
        for (volume, added) in [
            (&mut marked.ect0, other.marked.ect0),
            (&mut marked.ect1, other.marked.ect1),
            (&mut marked.ce, other.marked.ce),
        ] {
            volume.packets += added.packets;
            volume.bytes += added.bytes;
        }
    }
}

/// The codepoints of one direction.
///
/// Its intervals are among those of the flow's `IntervalSeries`, and are taken out together with them.
#[derive(Debug, Default)]
pub(crate) struct Codepoints {
    pub(crate) total: Marked,
    kept: ByTime<EcnInterval>,
    taken_until_ns: Option<i64>,
}

impl Codepoints {
    /// Count a packet with a codepoint other than Not-ECT.
    pub(crate) fn add(&mut self, ecn: u8, time_ns: i64, bytes: i64, interval_ns: i64) {
        self.total.add(ecn, bytes);
        let start_ns = time_ns.div_euclid(interval_ns).saturating_mul(interval_ns);
        let start_ns = self
            .taken_until_ns
            .map_or(start_ns, |taken_until_ns| start_ns.max(taken_until_ns));
        let mut marked = Marked::default();
        marked.add(ecn, bytes);
        self.kept.add(EcnInterval { start_ns, marked });
    }

    /// Put what came late in its place, before the intervals are taken out or looked at.
    pub(crate) fn merge(&mut self) {
        self.kept.merge();
    }

    /// Take out the intervals before a time; what comes later for one of them counts in the interval at that time.
    pub(crate) fn take_before(&mut self, until_ns: i64) -> impl Iterator<Item = EcnInterval> {
        self.taken_until_ns = Some(until_ns);
        self.kept.merge();
        let gone = self
            .as_slice()
            .partition_point(|interval| interval.start_ns < until_ns);
        self.kept.take_first(gone)
    }

    /// Those that are kept, in order once they are merged.
    pub(crate) fn as_slice(&self) -> &[EcnInterval] {
        self.kept.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_codepoint_is_counted_in_its_interval() {
        let mut codepoints = Codepoints::default();
        for (ecn, time_ns) in [(1, 5), (3, 105), (2, 210), (3, 199), (1, 6), (0, 7)] {
            codepoints.add(ecn, time_ns, 10, 100);
        }
        assert_eq!(codepoints.total.ect1.packets, 2);
        assert_eq!(
            codepoints.total.sum(),
            Volume {
                packets: 5,
                bytes: 50
            }
        );
        codepoints.merge();
        let intervals: Vec<_> = codepoints
            .as_slice()
            .iter()
            .map(|interval| {
                let marked = &interval.marked;
                (
                    interval.start_ns,
                    marked.ect0.packets,
                    marked.ect1.packets,
                    marked.ce.packets,
                )
            })
            .collect();
        assert_eq!(intervals, [(0, 0, 2, 0), (100, 0, 0, 2), (200, 1, 0, 0)]);
    }

    #[test]
    fn what_comes_for_an_interval_that_is_gone_counts_in_the_next() {
        let mut codepoints = Codepoints::default();
        for time_ns in [5, 105, 210] {
            codepoints.add(3, time_ns, 10, 100);
        }
        let starts: Vec<_> = codepoints.take_before(200).map(|i| i.start_ns).collect();
        assert_eq!(starts, [0, 100]);
        codepoints.add(3, 7, 10, 100);
        codepoints.merge();
        assert_eq!(codepoints.as_slice()[0].marked.ce.packets, 2);
    }
}
