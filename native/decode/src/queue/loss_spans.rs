//! When a probe may have lost events.
//!
//! A loss report has no time. What it counts was lost before the next event of the same processor, and the processors'
//! buffers are read within the sort window of each other: so it was lost between the latest event read before the report
//! and the first one after it, give or take the window.

use crate::queue::sort_window::WINDOW_NS;

/// Spans of time in which events may have been lost, in the order of time, none touching the next.
#[derive(Debug, Default)]
pub(crate) struct LossSpans {
    spans: Vec<(i64, i64)>,
    /// The last report was not followed by an event yet.
    open: bool,
}

impl LossSpans {
    /// A report was read; `newest_ns` is the latest event read by then.
    pub(crate) fn report(&mut self, newest_ns: Option<i64>) {
        if !self.open {
            let start_ns = newest_ns.map_or(i64::MIN, |newest| newest.saturating_sub(WINDOW_NS));
            self.spans.push((start_ns, i64::MAX));
            self.open = true;
        }
    }

    /// An event was read, after which `newest_ns` is the latest.
    pub(crate) fn event_read(&mut self, newest_ns: i64) {
        if !self.open {
            return;
        }
        self.open = false;
        if let Some((start_ns, _)) = self.spans.pop() {
            let end_ns = newest_ns.saturating_add(WINDOW_NS);
            match self.spans.last_mut() {
                Some((_, last_ns)) if *last_ns >= start_ns => *last_ns = (*last_ns).max(end_ns),
                _ => self.spans.push((start_ns, end_ns)),
            }
        }
    }

    /// Whether events may have been lost between two times.
    pub(crate) fn touch(&self, from_ns: i64, to_ns: i64) -> bool {
        self.spans
            .iter()
            .rev()
            .take_while(|(_, end_ns)| *end_ns >= from_ns)
            .any(|(start_ns, _)| *start_ns <= to_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_casts_doubt_on_the_time_around_it() {
        let mut spans = LossSpans::default();
        assert!(!spans.touch(i64::MIN, i64::MAX));
        spans.report(Some(10 * WINDOW_NS));
        assert!(spans.touch(50 * WINDOW_NS, 60 * WINDOW_NS));
        spans.event_read(12 * WINDOW_NS);
        assert!(!spans.touch(0, 9 * WINDOW_NS - 1));
        assert!(spans.touch(0, 9 * WINDOW_NS));
        assert!(spans.touch(13 * WINDOW_NS, 20 * WINDOW_NS));
        assert!(!spans.touch(13 * WINDOW_NS + 1, 20 * WINDOW_NS));
    }

    #[test]
    fn spans_that_touch_are_one() {
        let mut spans = LossSpans::default();
        for second in 1..1000 {
            spans.report(Some(second * WINDOW_NS));
            spans.report(Some(second * WINDOW_NS));
            spans.event_read(second * WINDOW_NS);
        }
        assert_eq!(spans.spans, [(0, 1000 * WINDOW_NS)]);
    }
}
