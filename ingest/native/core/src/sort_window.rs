//! Events of several processors brought into the order of time.
//!
//! A probe hands over each processor's buffer in turn, so a log is only roughly in order. An event is held until one
//! that is later by the window's length was read, or until too many are held. What comes in order, which nearly
//! everything does, waits in a queue; the rest in a heap beside it.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Events may be so far apart from their place.
pub(crate) const WINDOW_NS: i64 = 1_000_000_000;
/// Bounds the memory at high rates.
const MOST_HELD: usize = 1 << 18;

#[derive(Debug)]
struct Held<T> {
    time_ns: i64,
    rank: u8,
    /// Order in which it was read, the last resort.
    number: u64,
    item: T,
}

impl<T> Held<T> {
    fn order(&self) -> (i64, u8, u64) {
        (self.time_ns, self.rank, self.number)
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap gives its greatest first, and the earliest is wanted.
        other.order().cmp(&self.order())
    }
}

/// An event that is earlier than one that was handed on already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLate;

#[derive(Debug)]
pub(crate) struct SortWindow<T> {
    in_order: VecDeque<Held<T>>,
    out_of_order: BinaryHeap<Held<T>>,
    newest_ns: Option<i64>,
    released_ns: Option<i64>,
    read: u64,
}

impl<T> Default for SortWindow<T> {
    fn default() -> Self {
        Self {
            in_order: VecDeque::new(),
            out_of_order: BinaryHeap::new(),
            newest_ns: None,
            released_ns: None,
            read: 0,
        }
    }
}

impl<T> SortWindow<T> {
    /// Time of the latest event read.
    pub(crate) fn newest_ns(&self) -> Option<i64> {
        self.newest_ns
    }

    /// Take an event in; at the same time a smaller rank goes first, then what was read first.
    pub(crate) fn push(&mut self, time_ns: i64, rank: u8, item: T) -> Result<(), TooLate> {
        if self.released_ns.is_some_and(|released| time_ns < released) {
            return Err(TooLate);
        }
        self.newest_ns = Some(self.newest_ns.map_or(time_ns, |newest| newest.max(time_ns)));
        let held = Held {
            time_ns,
            rank,
            number: self.read,
            item,
        };
        self.read += 1;
        if self
            .in_order
            .back()
            .is_none_or(|last| last.order() <= held.order())
        {
            self.in_order.push_back(held);
        } else {
            self.out_of_order.push(held);
        }
        Ok(())
    }

    /// The earliest event, once nothing earlier can come any more.
    pub(crate) fn pop_due(&mut self) -> Option<T> {
        let newest_ns = self.newest_ns?;
        let earliest_ns = match (self.in_order.front(), self.out_of_order.peek()) {
            (Some(one), Some(other)) => one.time_ns.min(other.time_ns),
            (Some(one), None) | (None, Some(one)) => one.time_ns,
            (None, None) => return None,
        };
        let full = self.in_order.len() + self.out_of_order.len() > MOST_HELD;
        if full || newest_ns.saturating_sub(earliest_ns) > WINDOW_NS {
            return self.pop();
        }
        None
    }

    /// The earliest event, whatever may still come.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let from_heap = match (self.in_order.front(), self.out_of_order.peek()) {
            (Some(one), Some(other)) => other.order() < one.order(),
            (None, Some(_)) => true,
            _ => false,
        };
        let held = if from_heap {
            self.out_of_order.pop()
        } else {
            self.in_order.pop_front()
        }?;
        self.released_ns = Some(held.time_ns);
        Some(held.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(window: &mut SortWindow<i64>) -> Vec<i64> {
        std::iter::from_fn(|| window.pop()).collect()
    }

    #[test]
    fn what_lies_within_the_window_comes_in_order() {
        let mut window = SortWindow::default();
        for time in [5, 9, 1, 7, 3, 8] {
            window.push(time, 0, time).unwrap();
        }
        assert_eq!(window.pop_due(), None);
        assert_eq!(drain(&mut window), [1, 3, 5, 7, 8, 9]);
    }

    #[test]
    fn an_event_is_due_once_one_beyond_the_window_was_read() {
        let mut window = SortWindow::default();
        window.push(0, 0, 0).unwrap();
        window.push(WINDOW_NS, 0, 1).unwrap();
        assert_eq!(window.pop_due(), None);
        window.push(WINDOW_NS + 1, 0, 2).unwrap();
        assert_eq!((window.pop_due(), window.pop_due()), (Some(0), None));
        assert_eq!(window.push(-1, 0, 3), Err(TooLate));
        window.push(0, 0, 4).unwrap();
        assert_eq!(drain(&mut window), [4, 1, 2]);
    }

    #[test]
    fn at_the_same_time_the_smaller_rank_goes_first_then_the_one_read_first() {
        let mut window = SortWindow::default();
        for (rank, item) in [(1, 10), (0, 20), (1, 11), (0, 21)] {
            window.push(7, rank, item).unwrap();
        }
        assert_eq!(drain(&mut window), [20, 21, 10, 11]);
    }

    #[test]
    fn memory_is_bounded_at_any_rate() {
        let mut window = SortWindow::default();
        for number in 0..=MOST_HELD as i64 {
            window.push(0, 0, number).unwrap();
        }
        assert_eq!((window.pop_due(), window.pop_due()), (Some(0), None));
    }
}
