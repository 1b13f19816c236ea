//! The byte counters of Accurate ECN's options over a connection (RFC 9768, 3.2.3).

use crate::packet::accurate_ecn::AccurateEcn;

const MODULUS: u32 = 1 << 24;

/// One counter modulo 2^24.
#[derive(Debug, Default)]
struct Counter {
    last: Option<u32>,
    sum: i64,
    seen: bool,
}

impl Counter {
    fn begin(&mut self, value: Option<u32>) {
        self.last = value;
    }

    /// Bytes since the value before; `None` where there was none, or where the counter went back.
    fn report(&mut self, value: Option<u32>, backwards: &mut i64) -> Option<i64> {
        let value = value?;
        self.seen = true;
        let last = self.last.replace(value)?;
        let ahead = value.wrapping_sub(last) % MODULUS;
        if ahead >= MODULUS / 2 {
            *backwards += 1;
            return None;
        }
        self.sum += i64::from(ahead);
        Some(i64::from(ahead))
    }

    fn total(&self) -> Option<i64> {
        self.seen.then_some(self.sum)
    }
}

/// What the options of one receiver report.
#[derive(Debug, Default)]
pub(crate) struct ByteCounters {
    ect0: Counter,
    ce: Counter,
    ect1: Counter,
    /// Options by their order: ECT(0) first (kind 172) and ECT(1) first (kind 174).
    pub(crate) ect0_first_options: i64,
    pub(crate) ect1_first_options: i64,
    /// Counters that were below their value before, in segments in order.
    pub(crate) backwards: i64,
    has_begun: bool,
}

impl ByteCounters {
    /// The handshake passed: ECT counters begin at 1, that of CE at 0.
    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
        self.ect0.begin(Some(1));
        self.ce.begin(Some(0));
        self.ect1.begin(Some(1));
    }

    /// The same, unless the handshake or an option began them already.
    pub(crate) fn begin_unless_begun(&mut self) {
        if !self.has_begun {
            self.begin();
        }
    }

    /// Another connection begins: the sums stay.
    pub(crate) fn restart(&mut self) {
        self.has_begun = false;
        self.forget();
    }

    fn forget(&mut self) {
        for counter in [&mut self.ect0, &mut self.ce, &mut self.ect1] {
            counter.begin(None);
        }
    }

    /// An option passes; return the CE bytes since the one before.
    pub(crate) fn report(&mut self, option: &AccurateEcn) -> Option<i64> {
        if option.experimental && self.ect0_first_options + self.ect1_first_options == 0 {
            self.forget();
        }
        self.has_begun = true;
        if option.ect1_first {
            self.ect1_first_options += 1;
        } else {
            self.ect0_first_options += 1;
        }
        self.ect0.report(option.ect0, &mut self.backwards);
        self.ect1.report(option.ect1, &mut self.backwards);
        self.ce.report(option.ce, &mut self.backwards)
    }

    /// Payload bytes reported with ECT(0), ECT(1) and CE; `None` where no option has the counter.
    pub(crate) fn totals(&self) -> (Option<i64>, Option<i64>, Option<i64>) {
        (self.ect0.total(), self.ect1.total(), self.ce.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(ce: u32, ect1: u32) -> AccurateEcn {
        AccurateEcn {
            ect1_first: true,
            experimental: false,
            ect0: None,
            ce: Some(ce),
            ect1: Some(ect1),
        }
    }

    #[test]
    fn counters_wrap_and_say_when_they_go_back() {
        let mut counters = ByteCounters::default();
        counters.begin();
        assert_eq!(counters.report(&option(100, 1001)), Some(100));
        assert_eq!(
            counters.report(&option(MODULUS / 2, 1001)),
            Some(i64::from(MODULUS / 2) - 100)
        );
        assert_eq!(counters.report(&option(5, 1001)), None);
        assert_eq!(counters.backwards, 1);
        assert_eq!(
            counters.totals(),
            (None, Some(1000), Some(i64::from(MODULUS / 2)))
        );
        assert_eq!((counters.ect0_first_options, counters.ect1_first_options), (0, 3));
    }

    #[test]
    fn a_counter_wraps_at_two_to_the_twenty_four() {
        let mut counters = ByteCounters::default();
        counters.report(&option(MODULUS - 10, 1));
        assert_eq!(counters.report(&option(20, 1)), Some(30));
    }
}
