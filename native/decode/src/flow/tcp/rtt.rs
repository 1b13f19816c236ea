//! Round-trip times of one direction of a TCP connection.

use crate::output::units::{LONGEST_DELAY_NS, microseconds};

/// Raw and smoothed RTT of the data of one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RttStatistics {
    samples: i64,
    min_ns: i64,
    max_ns: i64,
    sum_ns: i128,
    smoothed_us: f64,
    smoothed_min_us: f64,
    smoothed_max_us: f64,
    smoothed_sum_us: f64,
}

impl RttStatistics {
    /// RFC 6298, 2.3.
    const ALPHA: f64 = 1.0 / 8.0;

    /// Take a sample, unless a clock was set while it was taken.
    pub(crate) fn add(&mut self, sample_ns: i64) {
        if !(0..=LONGEST_DELAY_NS).contains(&sample_ns) {
            return;
        }
        let sample_us = sample_ns as f64 / 1e3;
        if self.samples == 0 {
            self.min_ns = sample_ns;
            self.max_ns = sample_ns;
            self.smoothed_us = sample_us;
            self.smoothed_min_us = sample_us;
            self.smoothed_max_us = sample_us;
        } else {
            self.min_ns = self.min_ns.min(sample_ns);
            self.max_ns = self.max_ns.max(sample_ns);
            self.smoothed_us = (1.0 - Self::ALPHA) * self.smoothed_us + Self::ALPHA * sample_us;
            self.smoothed_min_us = self.smoothed_min_us.min(self.smoothed_us);
            self.smoothed_max_us = self.smoothed_max_us.max(self.smoothed_us);
        }
        self.samples += 1;
        self.sum_ns += i128::from(sample_ns);
        self.smoothed_sum_us += self.smoothed_us;
    }

    pub(crate) fn samples(&self) -> i64 {
        self.samples
    }

    fn if_any<T>(&self, value: T) -> Option<T> {
        (self.samples > 0).then_some(value)
    }

    pub(crate) fn min_ns(&self) -> Option<i64> {
        self.if_any(self.min_ns)
    }

    pub(crate) fn min_us(&self) -> Option<i64> {
        self.if_any(microseconds(self.min_ns))
    }

    pub(crate) fn max_us(&self) -> Option<i64> {
        self.if_any(microseconds(self.max_ns))
    }

    pub(crate) fn avg_us(&self) -> Option<f64> {
        self.if_any(self.sum_ns as f64 / self.samples as f64 / 1e3)
    }

    pub(crate) fn smoothed_min_us(&self) -> Option<f64> {
        self.if_any(self.smoothed_min_us)
    }

    pub(crate) fn smoothed_avg_us(&self) -> Option<f64> {
        self.if_any(self.smoothed_sum_us / self.samples as f64)
    }

    pub(crate) fn smoothed_max_us(&self) -> Option<f64> {
        self.if_any(self.smoothed_max_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_follows_rfc_6298() {
        let mut rtt = RttStatistics::default();
        assert_eq!(rtt.min_us(), None);
        // A clock that was set gives no sample.
        for sample_us in [100_000, 3_600_000_001, 180_000, -1, 20_000] {
            rtt.add(sample_us * 1000);
        }
        // 100, then 7/8 100 + 1/8 180 = 110, then 7/8 110 + 1/8 20 = 98.75.
        assert_eq!(rtt.smoothed_min_us(), Some(98_750.0));
        assert_eq!(rtt.smoothed_max_us(), Some(110_000.0));
        assert_eq!(
            rtt.smoothed_avg_us(),
            Some((100_000.0 + 110_000.0 + 98_750.0) / 3.0)
        );
        assert_eq!(
            (rtt.min_us(), rtt.max_us(), rtt.avg_us()),
            (Some(20_000), Some(180_000), Some(100_000.0))
        );
    }
}
