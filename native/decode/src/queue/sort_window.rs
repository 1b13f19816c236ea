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

/// By time, then rank and the order of reading, which share a word.
type Order = (i64, u64);
/// No log has so many events, nor do ranks need more than the two bits above them.
const NUMBER_BITS: u32 = 62;
const HIGHEST_RANK: u8 = 3;

#[derive(Debug)]
struct Held<T> {
    order: Order,
    item: T,
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
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
        // The heap gives its maximum first, and the earliest is wanted.
        other.order.cmp(&self.order)
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

    /// Take an event in; at the same time a smaller rank goes first, of at most [`HIGHEST_RANK`], then what was read first.
    pub(crate) fn push(&mut self, time_ns: i64, rank: u8, item: T) -> Result<(), TooLate> {
        if self.released_ns.is_some_and(|released| time_ns < released) {
            return Err(TooLate);
        }
        self.newest_ns = Some(self.newest_ns.map_or(time_ns, |newest| newest.max(time_ns)));
        let rank = u64::from(rank.min(HIGHEST_RANK));
        let order = (time_ns, rank << NUMBER_BITS | self.read);
        let held = Held { order, item };
        self.read += 1;
        self.held += 1;
        let place = self
            .runs
            .partition_point(|run| run.back().is_some_and(|last| last.order > order));
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

    /// Hand on the earliest event, once nothing earlier can come any more; whether there was one.
    pub(crate) fn next_due(&mut self, to: impl FnOnce(&mut T)) -> bool {
        let (Some(newest_ns), Some(earliest_ns)) = (self.newest_ns, self.earliest_ns()) else {
            return false;
        };
        let due = self.held > MOST_HELD || newest_ns.saturating_sub(earliest_ns) > WINDOW_NS;
        due && self.next(to)
    }

    fn earliest_ns(&self) -> Option<i64> {
        let of_runs = self.firsts.peek().map(|Reverse((first, _))| first.0);
        let of_rest = self.out_of_order.peek().map(|held| held.order.0);
        match (of_runs, of_rest) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Hand on the earliest event without waiting for others; whether there was one. It is handed on in place,
    /// because moving it costs more than ordering it.
    pub(crate) fn next(&mut self, to: impl FnOnce(&mut T)) -> bool {
        let from_heap = match (self.firsts.peek(), self.out_of_order.peek()) {
            (Some(Reverse((first, _))), Some(other)) => other.order < *first,
            (None, Some(_)) => true,
            _ => false,
        };
        let time_ns = if from_heap {
            self.out_of_order.pop().map(|mut held| {
                to(&mut held.item);
                held.order.0
            })
        } else {
            self.next_of_runs(to)
        };
        if let Some(time_ns) = time_ns {
            self.held -= 1;
            self.released_ns = Some(time_ns);
        }
        time_ns.is_some()
    }

    fn next_of_runs(&mut self, to: impl FnOnce(&mut T)) -> Option<i64> {
        let mut first = self.firsts.peek_mut()?;
        let Reverse((order, place)) = &mut *first;
        let run = self.runs.get_mut(*place)?;
        let held = run.front_mut()?;
        to(&mut held.item);
        let time_ns = held.order.0;
        run.pop_front();
        if let Some(next) = run.front() {
            *order = next.order;
            if run.capacity() > LEAST_SHRUNK && run.capacity() / 8 > run.len() {
                run.shrink_to(run.len() * 2);
            }
        } else {
            PeekMut::pop(first);
            self.runs.pop();
        }
        Some(time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(window: &mut SortWindow<i64>) -> Option<i64> {
        let mut popped = None;
        let there = window.next(|item| popped = Some(*item));
        assert_eq!(there, popped.is_some());
        popped
    }

    fn pop_due(window: &mut SortWindow<i64>) -> Option<i64> {
        let mut popped = None;
        let there = window.next_due(|item| popped = Some(*item));
        assert_eq!(there, popped.is_some());
        popped
    }

    fn drain(window: &mut SortWindow<i64>) -> Vec<i64> {
        std::iter::from_fn(|| pop(window)).collect()
    }

    #[test]
    fn what_lies_within_the_window_comes_in_order() {
        let mut window = SortWindow::default();
        for time in [5, 9, 1, 7, 3, 8] {
            window.push(time, 0, time).unwrap();
        }
        assert_eq!(pop_due(&mut window), None);
        assert_eq!(drain(&mut window), [1, 3, 5, 7, 8, 9]);
    }

    #[test]
    fn an_event_is_due_once_one_beyond_the_window_was_read() {
        let mut window = SortWindow::default();
        window.push(0, 0, 0).unwrap();
        window.push(WINDOW_NS, 0, 1).unwrap();
        assert_eq!(pop_due(&mut window), None);
        window.push(WINDOW_NS + 1, 0, 2).unwrap();
        assert_eq!((pop_due(&mut window), pop_due(&mut window)), (Some(0), None));
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
            let mut popped = Vec::new();
            for (number, time) in times.iter().enumerate() {
                window.push(*time, 0, *time).unwrap();
                if spread < 1000 && number % 3 > 0 && number > 1000 {
                    popped.extend(pop(&mut window));
                }
            }
            popped.extend(drain(&mut window));
            times.sort_unstable();
            assert_eq!(popped, times);
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
            pop(&mut window);
        }
        assert!(window.runs.iter().all(|run| run.capacity() <= 2 * LEAST_SHRUNK));
    }

    #[test]
    fn memory_is_bounded_at_any_rate() {
        let mut window = SortWindow::default();
        for number in 0..=MOST_HELD as i64 {
            window.push(0, 0, number).unwrap();
        }
        assert_eq!((pop_due(&mut window), pop_due(&mut window)), (Some(0), None));
    }
}
