//! Clock rate of RTP timestamps.

use crate::twos_complement::TwosComplement;

/// Every clock rate that RFC 3551 assigns, and those of the common dynamic payload types; text and data run at 1 kHz
/// (RFC 4103).
pub(crate) const CLOCK_RATES_HZ: [i32; 10] = [
    1000, 8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000,
];

/// An estimate this far from every known rate is discarded.
const TOLERANCE: f64 = 0.05;
/// Below this span the delay variation of a few packets outweighs the clock.
const SHORTEST_SPAN_S: f64 = 0.5;
const FEWEST_PACKETS: u64 = 5;

/// The clock rate of a static payload type (RFC 3551, tables 4 and 5).
pub(crate) fn static_rate_hz(payload_type: u8) -> Option<i32> {
    match payload_type {
        0 | 3 | 4 | 5 | 7 | 8 | 9 | 12 | 13 | 15 | 18 => Some(8000),
        6 => Some(16_000),
        10 | 11 => Some(44_100),
        16 => Some(11_025),
        17 => Some(22_050),
        14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
        _ => None,
    }
}

/// Regression of RTP timestamps on capture time, in one pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClockEstimator {
    packets: u64,
    first_ns: i64,
    last_timestamp: u32,
    /// Packets since the timestamps began, or began again.
    packets_in_row: u64,
    /// Timestamp units since then, beyond the wrap of the 32-bit field.
    elapsed_units: i64,
    span_s: f64,
    mean_time_s: f64,
    mean_units: f64,
    time_square: f64,
    time_units: f64,
}

impl ClockEstimator {
    pub(crate) fn add(&mut self, time_ns: i64, timestamp: u32, begins_again: bool) {
        if self.packets == 0 {
            self.first_ns = time_ns;
        }
        if self.packets == 0 || begins_again {
            // The slope is common to all rows of timestamps; each has means of its own.
            self.last_timestamp = timestamp;
            self.packets_in_row = 0;
            self.elapsed_units = 0;
            self.mean_time_s = 0.0;
            self.mean_units = 0.0;
        }
        self.elapsed_units += i64::from(timestamp.wrapping_sub(self.last_timestamp).signed());
        self.last_timestamp = timestamp;
        self.packets += 1;
        self.packets_in_row += 1;
        let time_s = (time_ns - self.first_ns) as f64 / 1e9;
        let units = self.elapsed_units as f64;
        let time_deviation = time_s - self.mean_time_s;
        self.mean_time_s += time_deviation / self.packets_in_row as f64;
        self.mean_units += (units - self.mean_units) / self.packets_in_row as f64;
        self.time_square += time_deviation * (time_s - self.mean_time_s);
        self.time_units += time_deviation * (units - self.mean_units);
        self.span_s = self.span_s.max(time_s);
    }

    /// The known clock rate that the stream runs at, if it runs at one.
    pub(crate) fn rate_hz(&self) -> Option<i32> {
        if self.packets < FEWEST_PACKETS || self.span_s < SHORTEST_SPAN_S || self.time_square <= 0.0 {
            return None;
        }
        let slope = self.time_units / self.time_square;
        CLOCK_RATES_HZ
            .into_iter()
            .map(|rate| (rate, (slope / f64::from(rate) - 1.0).abs()))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, error)| *error <= TOLERANCE)
            .map(|(rate, _)| rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_with_jitter_is_snapped_to_its_clock() {
        for rate in CLOCK_RATES_HZ {
            let mut estimator = ClockEstimator::default();
            for packet in 0..100i64 {
                let jitter_ns = (packet * 7919 % 13) * 1_000_000;
                let timestamp =
                    (u32::MAX - 1000).wrapping_add(u32::try_from(packet * i64::from(rate) / 50).unwrap());
                estimator.add(packet * 20_000_000 + jitter_ns, timestamp, false);
            }
            assert_eq!(estimator.rate_hz(), Some(rate));
        }
    }

    #[test]
    fn an_unknown_or_short_clock_is_none() {
        let mut odd = ClockEstimator::default();
        let mut short = ClockEstimator::default();
        for packet in 0..100u32 {
            odd.add(i64::from(packet) * 20_000_000, packet * 1200, false);
            short.add(i64::from(packet) * 1_000_000, packet * 90, false);
        }
        assert_eq!((odd.rate_hz(), short.rate_hz()), (None, None));
    }
}
