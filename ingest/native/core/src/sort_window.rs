//! Events of several processors brought into the order of time.
//!
//! A probe hands over each processor's buffer in turn, so a log is only roughly in order. An event is held until one
//! that is later by the window's length was read, or until too many are held. Each buffer is in order by itself, so
//! events wait in as few runs as there are buffers, which are merged; a heap of whole events would move each of them
//! many times. What fits none of the runs, which only damage brings about, waits in a heap beside them.

use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// Events may be so far apart from their place.
pub(crate) const WINDOW_NS: i64 = 1_000_000_000;
/// Bounds the memory at high rates.
const MOST_HELD: usize = 1 << 18;
/// More than the processors of any host whose queues are watched.
const MOST_RUNS: usize = 256;
/// A run that once was long gives its memory back, so that many runs cannot keep that of many windows.
const LEAST_SHRUNK: usize = 1024;

/// By time, then rank, then the order of reading.
type Order = (i64, u8, u64);

#[derive(Debug)]
struct Held<T> {
    time_ns: i64,
    rank: u8,
    /// Order in which it was read, the last resort.
    number: u64,
    item: T,
}

impl<T> Held<T> {
    fn order(&self) -> Order {
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
    /// Each is in order, and the last of each is earlier than the last of the one before it: so a run is found by
    /// bisection, and it is always the hindmost that becomes empty.
    runs: Vec<VecDeque<Held<T>>>,
    /// The first of each run.
    firsts: BinaryHeap<Reverse<(Order, usize)>>,
    out_of_order: BinaryHeap<Held<T>>,
    held: usize,
    newest_ns: Option<i64>,
    released_ns: Option<i64>,
    read: u64,
}

impl<T> Default for SortWindow<T> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            firsts: BinaryHeap::new(),
            out_of_order: BinaryHeap::new(),
            held: 0,
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
        self.held += 1;
        let order = held.order();
        let place = self
            .runs
            .partition_point(|run| run.back().is_some_and(|last| last.order() > order));
        if let Some(run) = self.runs.get_mut(place) {
            run.push_back(held);
        } else if place < MOST_RUNS {
            self.runs.push(VecDeque::from([held]));
            self.firsts.push(Reverse((order, place)));
        } else {
            self.out_of_order.push(held);
        }
        Ok(())
    }

    /// The earliest event, once nothing earlier can come any more.
    pub(crate) fn pop_due(&mut self) -> Option<T> {
        let newest_ns = self.newest_ns?;
        let of_runs = self.firsts.peek().map(|Reverse(((time_ns, ..), _))| *time_ns);
        let of_rest = self.out_of_order.peek().map(|held| held.time_ns);
        let earliest_ns = match (of_runs, of_rest) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other)?,
        };
        if self.held > MOST_HELD || newest_ns.saturating_sub(earliest_ns) > WINDOW_NS {
            return self.pop();
        }
        None
    }

    /// The earliest event, whatever may still come.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let from_heap = match (self.firsts.peek(), self.out_of_order.peek()) {
            (Some(Reverse((first, _))), Some(other)) => other.order() < *first,
            (None, Some(_)) => true,
            _ => false,
        };
        let held = if from_heap {
            self.out_of_order.pop()
        } else {
            self.pop_of_runs()
        }?;
        self.held -= 1;
        self.released_ns = Some(held.time_ns);
        Some(held.item)
    }

    fn pop_of_runs(&mut self) -> Option<Held<T>> {
        let mut first = self.firsts.peek_mut()?;
        let Reverse((order, place)) = &mut *first;
        let run = self.runs.get_mut(*place)?;
        let held = run.pop_front()?;
        if let Some(next) = run.front() {
            *order = next.order();
            if run.capacity() > LEAST_SHRUNK && run.capacity() / 8 > run.len() {
                run.shrink_to(run.len() * 2);
            }
        } else {
            PeekMut::pop(first);
            self.runs.pop();
        }
        Some(held)
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
    fn any_order_comes_out_as_sorted() {
        // Linear congruential numbers, 1000 within the window: far more runs than processors, so the heap works too.
        for spread in [1, 4, 300, 100_000] {
            let mut window = SortWindow::default();
            let mut state = 12345_u64;
            let mut times: Vec<i64> = (0..5000)
                .map(|number| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    number - (state >> 33) as i64 % spread
                })
                .collect();
            let mut found = Vec::new();
            for (number, time) in times.iter().enumerate() {
                window.push(*time, 0, *time).unwrap();
                if spread < 1000 && number % 3 > 0 && number > 1000 {
                    found.extend(window.pop());
                }
            }
            found.extend(drain(&mut window));
            times.sort_unstable();
            assert_eq!(found, times);
            assert_eq!((window.held, window.runs.len()), (0, 0));
        }
    }

    #[test]
    fn more_runs_than_are_kept_wait_in_the_heap() {
        let mut window = SortWindow::default();
        for time in (0..1000).rev() {
            window.push(time, 0, time).unwrap();
        }
        assert_eq!(
            (window.runs.len(), window.out_of_order.len()),
            (MOST_RUNS, 1000 - MOST_RUNS)
        );
        assert!(drain(&mut window).is_sorted());
    }

    #[test]
    fn a_run_that_was_long_gives_memory_back() {
        let mut window = SortWindow::default();
        for time in 0..100_000 {
            window.push(time, 0, time).unwrap();
        }
        for _ in 0..99_999 {
            window.pop();
        }
        assert!(window.runs.iter().all(|run| run.capacity() <= 2 * LEAST_SHRUNK));
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
