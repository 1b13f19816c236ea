//! Sums of intervals in order of time, into which those that come late are merged many at a time.

/// What is kept of one interval.
pub(crate) trait OfInterval: Copy {
    fn start_ns(&self) -> i64;

    /// Add what another has of the same interval.
    fn join(&mut self, other: &Self);
}

/// Late ones that are kept apart at least: to put one in its place moves all that come after it.
const LATE: usize = 64;

/// Intervals by their start, each once.
#[derive(Debug)]
pub(crate) struct ByTime<T> {
    ordered: Vec<T>,
    /// From before the last of those, and not among them; in order of arrival.
    late: Vec<T>,
}

impl<T> Default for ByTime<T> {
    fn default() -> Self {
        Self {
            ordered: Vec::new(),
            late: Vec::new(),
        }
    }
}

impl<T: OfInterval> ByTime<T> {
    /// The latest interval.
    #[inline]
    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.ordered.last_mut()
    }

    /// Add to an interval.
    pub(crate) fn add(&mut self, one: T) {
        let start_ns = one.start_ns();
        let there = match self.ordered.last_mut() {
            Some(last) if last.start_ns() > start_ns => {
                match self.ordered.binary_search_by_key(&start_ns, T::start_ns) {
                    Ok(place) => self.ordered.get_mut(place),
                    Err(_) => self.late.last_mut().filter(|late| late.start_ns() == start_ns),
                }
            }
            Some(last) if last.start_ns() == start_ns => Some(last),
            _ => return self.ordered.push(one),
        };
        if let Some(there) = there {
            return there.join(&one);
        }
        if self.late.len() >= LATE.max(self.ordered.len() / 4) {
            self.merge();
        }
        self.late.push(one);
    }

    /// Put what came late in its place.
    pub(crate) fn merge(&mut self) {
        if self.late.is_empty() {
            return;
        }
        // Its memory is given back: of many flows, each may be late once.
        self.ordered.append(&mut std::mem::take(&mut self.late));
        // Stable, and quick with runs that are in order.
        self.ordered.sort_by_key(T::start_ns);
        self.ordered.dedup_by(|later, kept| {
            let is_same = later.start_ns() == kept.start_ns();
            if is_same {
                kept.join(later);
            }
            is_same
        });
    }

    /// Take out the first `count`, and give back memory that is not needed for the rest; what came late must have been
    /// merged.
    pub(crate) fn take_first(&mut self, count: usize) -> impl Iterator<Item = T> {
        let rest = self.ordered.split_off(count.min(self.ordered.len()));
        std::mem::replace(&mut self.ordered, rest).into_iter()
    }

    /// All of them in order; what came late must have been merged.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.ordered
    }

    /// How many are kept in memory.
    pub(crate) fn len(&self) -> usize {
        self.ordered.len() + self.late.len()
    }

    /// Forget all, but keep the memory of `room`.
    pub(crate) fn clear_to(&mut self, room: usize) {
        self.ordered.clear();
        self.ordered.shrink_to(room);
        self.late = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    impl OfInterval for (i64, i64) {
        fn start_ns(&self) -> i64 {
            self.0
        }

        fn join(&mut self, other: &Self) {
            self.1 += other.1;
        }
    }

    #[test]
    fn what_came_late_keeps_no_memory() {
        let mut intervals = ByTime::default();
        for start_ns in (0..1000).rev() {
            intervals.add((start_ns, 1));
        }
        intervals.merge();
        assert_eq!((intervals.len(), intervals.late.capacity()), (1000, 0));
    }

    #[test]
    fn intervals_in_any_order_give_the_same_sums() {
        let mut state = 3u64;
        for range in [3, 50, 4000] {
            let (mut by_time, mut sums) = (ByTime::default(), BTreeMap::new());
            for value in 0..5000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let start_ns = i64::try_from((state >> 33) % range).unwrap() + value / 7;
                by_time.add((start_ns, value));
                *sums.entry(start_ns).or_insert(0) += value;
            }
            by_time.merge();
            assert!(by_time.as_slice().iter().copied().eq(sums));
        }
    }

    #[test]
    fn each_earlier_than_the_one_before_costs_no_more_than_in_order() {
        let mut by_time = ByTime::default();
        let began = std::time::Instant::now();
        for value in (0..500_000).rev() {
            by_time.add((value, 1));
        }
        by_time.merge();
        assert_eq!(by_time.len(), 500_000);
        // To move all that come after each takes much longer.
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}
