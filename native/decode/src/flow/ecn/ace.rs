//! The counter of CE packets modulo 8 in the ACE field (RFC 9768, 3.2.2).

use crate::flow::ecn::in_flight::Newly;

const MODULUS: i64 = 8;

/// Increments of the counter, as bounds of how many CE packets arrived.
#[derive(Debug, Default)]
pub(crate) struct AceCounter {
    last: Option<u8>,
    /// At least so many CE packets arrived.
    pub(crate) min: i64,
    /// At most so many, by the packets that acknowledgements were about and by the bytes that options give.
    pub(crate) max: i64,
    /// Acknowledgements that were read.
    pub(crate) reports: i64,
    /// A value other than 0 was seen; a counter that begins at 5 and is always 0 was zeroed on its way.
    pub(crate) is_alive: bool,
}

impl AceCounter {
    /// Where the counter begins, by the handshake; no change once a value was read.
    pub(crate) fn begin_unless_begun(&mut self, value: u8) {
        self.last.get_or_insert(value & 7);
    }

    /// Another connection begins: the increments stay.
    pub(crate) fn restart(&mut self) {
        self.last = None;
    }

    /// An acknowledgement passes that is not older than the one before; return the bounds of its increment.
    ///
    /// `ce_bytes` are those that the options of this acknowledgement and of the one before differ by.
    pub(crate) fn report(&mut self, ace: u8, newly: Newly, ce_bytes: Option<i64>) -> (i64, i64) {
        self.reports += 1;
        self.is_alive |= ace != 0;
        let Some(last) = self.last.replace(ace) else {
            return (0, 0);
        };
        let least = i64::from(ace.wrapping_sub(last) & 7);
        let at_most = |packets: i64| least + (packets - least).max(0) / MODULUS * MODULUS;
        let mut most = at_most(newly.packets);
        let mut min = least;
        if let Some(ce_bytes) = ce_bytes {
            if newly.smallest_bytes > 0 {
                // Marked packets without data are in no byte counter, and each with data has at least the smallest payload,
                // but for the last one of a merged segment.
                let with_data = ce_bytes.div_euclid(i64::from(newly.smallest_bytes)) + newly.merged;
                most = most.min(at_most(with_data.max(least)));
                let needed = ce_bytes.div_euclid(i64::from(newly.largest_bytes));
                while min < needed && min + MODULUS <= most {
                    min += MODULUS;
                }
            }
        }
        self.min += min;
        self.max += most;
        (min, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newly(packets: i64) -> Newly {
        Newly {
            packets,
            smallest_bytes: 100,
            largest_bytes: 100,
            merged: 0,
        }
    }

    #[test]
    fn increments_are_modulo_eight() {
        let mut counter = AceCounter::default();
        counter.begin_unless_begun(5);
        for ace in [5, 6, 7, 0, 2, 2] {
            counter.report(ace, newly(2), None);
        }
        assert_eq!((counter.min, counter.max, counter.reports), (5, 5, 6));
    }

    #[test]
    fn an_acknowledgement_of_many_packets_may_hide_a_turn() {
        let mut counter = AceCounter::default();
        counter.begin_unless_begun(5);
        assert_eq!(counter.report(6, newly(20), None), (1, 17));
        assert_eq!(counter.report(6, newly(7), None), (0, 0));
    }

    #[test]
    fn bytes_narrow_both_bounds() {
        let mut counter = AceCounter::default();
        counter.begin_unless_begun(5);
        assert_eq!(counter.report(6, newly(40), Some(900)), (9, 9));
        assert_eq!(counter.report(6, newly(40), Some(0)), (0, 0));
        let uneven = Newly {
            packets: 40,
            smallest_bytes: 50,
            largest_bytes: 100,
            merged: 0,
        };
        assert_eq!(counter.report(7, uneven, Some(900)), (9, 17));
    }

    #[test]
    fn without_a_beginning_the_first_value_is_it() {
        let mut counter = AceCounter::default();
        assert_eq!(counter.report(3, newly(10), None), (0, 0));
        assert_eq!(counter.report(4, newly(1), None), (1, 1));
    }
}
