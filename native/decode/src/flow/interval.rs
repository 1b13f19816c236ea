//! Packets and bytes of one direction of one flow per interval.

use crate::flow::by_time::{ByTime, OfInterval};

/// One interval in which the direction sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start_ns: i64,
    pub(crate) packets: i64,
    pub(crate) bytes: i64,
}

impl OfInterval for Interval {
    fn start_ns(&self) -> i64 {
        self.start_ns
    }

    fn join(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// The intervals of one direction, in order of time.
///
/// Those of a long flow are taken out from time to time; a packet that comes later than that for an
/// interval which is gone counts in the earliest one that is not.
#[derive(Debug, Default)]
pub(crate) struct IntervalSeries {
    kept: ByTime<Interval>,
    taken: i64,
    taken_until_ns: Option<i64>,
}

/// Room that is kept for other intervals.
const KEPT_INTERVALS: usize = 64;

impl IntervalSeries {
    /// An empty series in the memory of one that is of no use any more, unless that is much.
    pub(crate) fn in_memory_of(other: &mut Self) -> Self {
        let mut kept = std::mem::take(&mut other.kept);
        kept.clear_to(KEPT_INTERVALS);
        Self {
            kept,
            ..Self::default()
        }
    }

    /// Count a packet.
    pub(crate) fn add(&mut self, time_ns: i64, bytes: i64, interval_ns: i64) {
        // Most packets are of the latest interval; no division tells so.
        if let Some(last) = self.kept.last_mut() {
            if time_ns >= last.start_ns && time_ns.saturating_sub(last.start_ns) < interval_ns {
                last.packets += 1;
                last.bytes += bytes;
                return;
            }
        }
        let start_ns = time_ns.div_euclid(interval_ns).saturating_mul(interval_ns);
        let start_ns = self
            .taken_until_ns
            .map_or(start_ns, |taken_until_ns| start_ns.max(taken_until_ns));
        // Captures from several queues of a network card go back in time now and then.
        self.kept.add(Interval {
            start_ns,
            packets: 1,
            bytes,
        });
    }

    /// Put what came late in its place, before the intervals are taken out or looked at.
    pub(crate) fn merge(&mut self) {
        self.kept.merge();
    }

    /// Take out all intervals but the last `keep`, of which one always stays.
    pub(crate) fn take_all_but(&mut self, keep: usize) -> impl Iterator<Item = Interval> {
        self.kept.merge();
        let gone = self.kept.len().saturating_sub(keep.max(1));
        if gone > 0 {
            self.taken_until_ns = self.as_slice().get(gone).map(|interval| interval.start_ns);
            self.taken += gone as i64;
        }
        self.kept.take_first(gone)
    }

    /// Intervals with a packet, those taken out included, once they are merged.
    pub(crate) fn count(&self) -> i64 {
        self.taken + self.kept.len() as i64
    }

    /// How many are kept in memory.
    pub(crate) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Those that are kept, in order once they are merged.
    pub(crate) fn as_slice(&self) -> &[Interval] {
        self.kept.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_from_the_past_joins_its_interval() {
        let mut series = IntervalSeries::default();
        for time_ns in [5, 105, 210, 199, 305, 6] {
            series.add(time_ns, 10, 100);
        }
        series.merge();
        let intervals: Vec<_> = series
            .as_slice()
            .iter()
            .map(|i| (i.start_ns, i.packets, i.bytes))
            .collect();
        assert_eq!(intervals, [(0, 2, 20), (100, 2, 20), (200, 1, 10), (300, 1, 10)]);
    }

    #[test]
    fn a_packet_for_an_interval_that_is_gone_counts_in_the_next() {
        let mut series = IntervalSeries::default();
        for time_ns in [5, 105, 210, 305] {
            series.add(time_ns, 10, 100);
        }
        let starts: Vec<_> = series.take_all_but(2).map(|i| i.start_ns).collect();
        assert_eq!(starts, [0, 100]);
        series.add(7, 10, 100);
        assert_eq!(
            (series.as_slice()[0].start_ns, series.as_slice()[0].packets),
            (200, 2)
        );
        assert_eq!(series.count(), 4);
    }
}
