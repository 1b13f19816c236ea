//! Which silences of a log have rows of `queue_interval`: a few lines could stand for billions of them.

/// Silent intervals that a log may have, and more for each change: ten days of 100 ms, and a second.
const INTERVALS: i64 = 10_000_000;
const INTERVALS_PER_CHANGE: i64 = 10;

/// The silences of one log, in the order of time.
#[derive(Debug)]
pub(crate) struct Silences {
    longest_ns: i64,
    /// How many more silent intervals have a row.
    intervals_left: i64,
    left_out: u64,
}

impl Silences {
    /// No silence longer than this has rows.
    pub(crate) fn new(longest_ns: i64) -> Self {
        Self {
            longest_ns,
            intervals_left: INTERVALS,
            left_out: 0,
        }
    }

    /// A queue changes once more: a packet comes, goes or is dropped, or its length is told.
    pub(crate) fn add_change(&mut self) {
        self.intervals_left = self.intervals_left.saturating_add(INTERVALS_PER_CHANGE);
    }

    /// Whether a silence of so many intervals has rows; it is counted if only their number speaks against it.
    pub(crate) fn have_rows(&mut self, silence_ns: i64, interval_ns: i64) -> bool {
        if silence_ns > self.longest_ns {
            return false;
        }
        let intervals = silence_ns / interval_ns;
        if intervals > self.intervals_left {
            self.left_out += 1;
            return false;
        }
        self.intervals_left -= intervals;
        true
    }

    /// How many silences have no rows because they would have too many.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn silences_have_rows_in_proportion_to_the_changes() {
        let mut silences = Silences::new(86_400_000 * MS);
        let mut have_rows = |changes: i64, silence_ms: i64| {
            (0..changes)
                .filter(|_| {
                    silences.add_change();
                    silences.have_rows(silence_ms * MS, 100 * MS)
                })
                .count()
        };
        assert_eq!(have_rows(1, 86_400_001), 0);
        // Eleven of 860,000 intervals each.
        assert_eq!(have_rows(20, 86_000_000), 11);
        // A change each second is no silence to speak of.
        assert_eq!(have_rows(100_000, 1_000), 100_000);
        assert_eq!(silences.left_out(), 9);
    }
}
