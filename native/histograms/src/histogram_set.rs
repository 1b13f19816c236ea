//! Histograms in memory, and what is told of groups of them.

use std::ops::Range;
use std::thread;

use crate::fault::HistogramFault;
use crate::groups::{Groups, checked_offsets};
use crate::quantile::Quantile;
use crate::sum::Sum;

/// Counts of 32 bits where they fit, since half the memory is half the time.
#[derive(Debug)]
enum Counts {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// Histograms one after another: bins, ascending and perhaps repeated, with their counts.
#[derive(Debug)]
pub struct HistogramSet {
    offsets: Vec<usize>,
    bins: Vec<u16>,
    counts: Counts,
    totals: Vec<u64>,
    /// One above the highest bin.
    bins_end: usize,
}

/// What a thread adds up in: as many counts as there are bins, and those of one histogram.
struct Scratch {
    dense: Vec<u64>,
    sparse: Vec<u64>,
}

/// The sums of groups of histograms.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MergedHistograms {
    /// How many bins of each group are occupied.
    pub lengths: Vec<i64>,
    /// The occupied bins of all groups one after another, each group's ascending.
    pub bins: Vec<u16>,
    /// Their counts.
    pub counts: Vec<i64>,
}

impl MergedHistograms {
    fn extend(&mut self, mut other: Self) {
        self.lengths.append(&mut other.lengths);
        self.bins.append(&mut other.bins);
        self.counts.append(&mut other.counts);
    }
}

impl HistogramSet {
    /// Return a set of histograms; `offsets` has one entry more than there are histograms. The bins of a histogram may
    /// be in any order.
    ///
    /// # Errors
    ///
    /// [`HistogramFault`] for offsets that do not divide the bins, other numbers of bins than of counts, and counts
    /// whose sum does not fit a signed 64-bit integer: the sum of any group does, then.
    pub fn new(offsets: &[u64], mut bins: Vec<u16>, mut counts: Vec<u64>) -> Result<Self, HistogramFault> {
        if bins.len() != counts.len() {
            return Err(HistogramFault::Lengths);
        }
        let offsets = checked_offsets(offsets, bins.len())?;
        let total = counts
            .iter()
            .try_fold(0u64, |total, count| total.checked_add(*count));
        if total.is_none_or(|total| i64::try_from(total).is_err()) {
            return Err(HistogramFault::Overflow);
        }
        let mut totals = Vec::with_capacity(offsets.len());
        for bound in offsets.windows(2) {
            let range = bound.first().copied().unwrap_or(0)..bound.last().copied().unwrap_or(0);
            if let (Some(bins), Some(counts)) = (bins.get_mut(range.clone()), counts.get_mut(range)) {
                sort_by_bin(bins, counts);
                totals.push(counts.iter().sum());
            }
        }
        let narrow: Result<Vec<u32>, _> = counts.iter().map(|count| u32::try_from(*count)).collect();
        let bins_end = bins.iter().max().map_or(0, |highest| usize::from(*highest) + 1);
        Ok(Self {
            offsets,
            bins,
            bins_end,
            counts: narrow.map_or(Counts::Wide(counts), Counts::Narrow),
            totals,
        })
    }

    /// Return how many histograms there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Return whether there is no histogram.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty()
    }

    /// Return the bin of each quantile of each group, group after group, and the groups' totals.
    ///
    /// # Errors
    ///
    /// [`HistogramFault::Member`] for a member that is not a histogram, [`HistogramFault::Empty`] for a group without
    /// counts.
    pub fn quantile_bins(
        &self,
        groups: &Groups,
        quantiles: &[Quantile],
        threads: usize,
    ) -> Result<(Vec<i64>, Vec<i64>), HistogramFault> {
        let mut ascending: Vec<_> = quantiles.iter().copied().enumerate().collect();
        // At the greatest total, ranks have the order of the quantiles; equal ranks are in one bin.
        ascending.sort_by_key(|(_, quantile)| quantile.rank(i64::MAX as u64));
        self.table(groups, quantiles.len(), threads, |sum, total, row| {
            if total == 0 {
                return Err(HistogramFault::Empty);
            }
            sum.quantile_bins(total, &ascending, row);
            Ok(())
        })
    }

    /// Return how many values of each group are in bins below each of `bins`, group after group, and the totals.
    ///
    /// # Errors
    ///
    /// [`HistogramFault::Member`] for a member that is not a histogram.
    pub fn counts_below(
        &self,
        groups: &Groups,
        bins: &[u32],
        threads: usize,
    ) -> Result<(Vec<i64>, Vec<i64>), HistogramFault> {
        let mut ascending: Vec<_> = bins.iter().copied().enumerate().collect();
        ascending.sort_by_key(|(_, bin)| *bin);
        self.table(groups, bins.len(), threads, |sum, _, row| {
            sum.counts_below(&ascending, row);
            Ok(())
        })
    }

    /// Return the sum of each group.
    ///
    /// # Errors
    ///
    /// [`HistogramFault::Member`] for a member that is not a histogram.
    pub fn merged(&self, groups: &Groups, threads: usize) -> Result<MergedHistograms, HistogramFault> {
        let parts = self.each_part(
            groups,
            threads,
            |members, scratch, merged: &mut MergedHistograms| {
                let before = merged.bins.len();
                let span = self.add(members, &mut scratch.dense)?;
                let counts = between(&mut scratch.dense, span);
                for (bin, count) in (span.0..=u16::MAX)
                    .zip(counts.iter())
                    .filter(|(_, count)| **count > 0)
                {
                    merged.bins.push(bin);
                    merged.counts.push(*count as i64);
                }
                counts.fill(0);
                merged.lengths.push((merged.bins.len() - before) as i64);
                Ok(())
            },
        )?;
        let mut parts = parts.into_iter();
        let mut merged = parts.next().unwrap_or_default();
        parts.for_each(|part| merged.extend(part));
        Ok(merged)
    }

    /// Return a row of `width` numbers for each group, and the groups' totals.
    fn table<F>(
        &self,
        groups: &Groups,
        width: usize,
        threads: usize,
        fill: F,
    ) -> Result<(Vec<i64>, Vec<i64>), HistogramFault>
    where
        F: Fn(&Sum<'_>, u64, &mut [i64]) -> Result<(), HistogramFault> + Sync,
    {
        let parts = self.each_part(
            groups,
            threads,
            |members, scratch, output: &mut (Vec<i64>, Vec<i64>)| {
                let (table, totals) = output;
                let start = table.len();
                table.resize(start + width, 0);
                let row = table.get_mut(start..).unwrap_or_default();
                let total = self.total(members)?;
                totals.push(total as i64);
                if let [member] = members {
                    // Nothing to add: most groups of a fine grouping are one histogram.
                    let bins = self.copy(*member, &mut scratch.sparse);
                    let counts = scratch.sparse.as_slice();
                    return fill(&Sum::Sparse { bins, counts }, total, row);
                }
                let span = self.add(members, &mut scratch.dense)?;
                let counts = between(&mut scratch.dense, span);
                let filled = fill(
                    &Sum::Dense {
                        lowest: span.0,
                        counts,
                    },
                    total,
                    row,
                );
                counts.fill(0);
                filled
            },
        )?;
        let (mut table, mut totals) = (Vec::with_capacity(groups.len() * width), Vec::new());
        for (mut rows, mut of_rows) in parts {
            table.append(&mut rows);
            totals.append(&mut of_rows);
        }
        Ok((table, totals))
    }

    /// Give the members of each group to `take`, with one output for each thread; in the order of the groups.
    fn each_part<T, F>(&self, groups: &Groups, threads: usize, take: F) -> Result<Vec<T>, HistogramFault>
    where
        T: Default + Send,
        F: Fn(&[u32], &mut Scratch, &mut T) -> Result<(), HistogramFault> + Sync,
    {
        let part = |range| {
            let mut output = T::default();
            let mut scratch = Scratch {
                dense: vec![0; self.bins_end],
                sparse: Vec::new(),
            };
            for members in groups.members_of(range) {
                take(members, &mut scratch, &mut output)?;
            }
            Ok(output)
        };
        let ranges = groups.parts(threads);
        if ranges.len() < 2 {
            return ranges.into_iter().map(part).collect();
        }
        let part = &part;
        thread::scope(|scope| {
            let running: Vec<_> = ranges
                .into_iter()
                .map(|range| scope.spawn(move || part(range)))
                .collect();
            running
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    }

    fn total(&self, members: &[u32]) -> Result<u64, HistogramFault> {
        members.iter().try_fold(0u64, |sum, member| {
            let total = self.totals.get(*member as usize).ok_or(HistogramFault::Member)?;
            // All counts together fit, and no histogram is in two groups.
            Ok(sum.wrapping_add(*total))
        })
    }

    fn range(&self, member: u32) -> Option<Range<usize>> {
        let place = member as usize;
        Some(*self.offsets.get(place)?..*self.offsets.get(place + 1)?)
    }

    /// Put the counts of a histogram into `counts`, and return its bins.
    fn copy(&self, member: u32, counts: &mut Vec<u64>) -> &[u16] {
        let range = self.range(member).unwrap_or_default();
        counts.clear();
        match &self.counts {
            Counts::Narrow(all) => {
                let some = all.get(range.clone()).unwrap_or_default();
                counts.extend(some.iter().map(|count| u64::from(*count)));
            }
            Counts::Wide(all) => counts.extend_from_slice(all.get(range.clone()).unwrap_or_default()),
        }
        self.bins.get(range).unwrap_or_default()
    }

    /// Add histograms to `dense`, by bin, and return the lowest and highest bin.
    fn add(&self, members: &[u32], dense: &mut [u64]) -> Result<(u16, u16), HistogramFault> {
        match &self.counts {
            Counts::Narrow(counts) => self.add_counts(members, counts, dense),
            Counts::Wide(counts) => self.add_counts(members, counts, dense),
        }
    }

    fn add_counts<C: Copy + Into<u64>>(
        &self,
        members: &[u32],
        counts: &[C],
        dense: &mut [u64],
    ) -> Result<(u16, u16), HistogramFault> {
        // A span that holds no bin, until there is one.
        let mut span = (u16::MAX, 0);
        for member in members {
            let range = self.range(*member).ok_or(HistogramFault::Member)?;
            let bins = self.bins.get(range.clone()).unwrap_or_default();
            for (bin, count) in bins.iter().zip(counts.get(range).unwrap_or_default()) {
                if let Some(slot) = dense.get_mut(usize::from(*bin)) {
                    *slot = slot.wrapping_add((*count).into());
                }
            }
            if let (Some(lowest), Some(highest)) = (bins.first(), bins.last()) {
                span = (span.0.min(*lowest), span.1.max(*highest));
            }
        }
        Ok(span)
    }
}

/// Return the counts from the lowest to the highest bin.
fn between(dense: &mut [u64], span: (u16, u16)) -> &mut [u64] {
    dense
        .get_mut(usize::from(span.0)..=usize::from(span.1))
        .unwrap_or_default()
}

fn sort_by_bin(bins: &mut [u16], counts: &mut [u64]) {
    if bins.is_sorted() {
        return;
    }
    let mut pairs: Vec<(u16, u64)> = bins.iter().copied().zip(counts.iter().copied()).collect();
    pairs.sort_unstable();
    for ((bin, count), pair) in bins.iter_mut().zip(counts).zip(pairs) {
        (*bin, *count) = pair;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = 5_000_000_000;

    fn set(wide: bool) -> HistogramSet {
        let counts = vec![1, 2, 3, 4, if wide { LARGE } else { 5 }, 6];
        HistogramSet::new(&[0, 2, 2, 5, 6], vec![7, 3, 9, 3, 7, 0], counts).unwrap()
    }

    fn groups(members: &[u32], offsets: &[u64]) -> Groups {
        Groups::new(members.to_vec(), offsets).unwrap()
    }

    #[test]
    fn groups_are_the_sums_of_their_members() {
        for threads in [1, 2, 5] {
            let merged = set(false)
                .merged(&groups(&[2, 0, 1, 3], &[0, 2, 3, 4]), threads)
                .unwrap();
            assert_eq!(merged.lengths, [3, 0, 1]);
            assert_eq!(merged.bins, [3, 7, 9, 0]);
            assert_eq!(merged.counts, [6, 6, 3, 6]);
        }
        let merged = set(true).merged(&groups(&[0, 2], &[0, 2]), 1).unwrap();
        assert_eq!(merged.counts, [6, 1 + LARGE as i64, 3]);
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let values: Vec<i64> = [(3, 6), (7, 6), (9, 3)]
            .iter()
            .flat_map(|(bin, count)| vec![*bin; *count])
            .collect();
        let quantiles: Vec<Quantile> = (0..=30).rev().map(|k| Quantile::new(k, 30).unwrap()).collect();
        let (bins, totals) = set(false)
            .quantile_bins(&groups(&[0, 2, 3], &[0, 2, 3]), &quantiles, 2)
            .unwrap();
        let expected: Vec<i64> = (0..=30usize)
            .rev()
            .map(|k| values[(k * values.len()).div_ceil(30).max(1) - 1])
            .collect();
        assert_eq!(bins[..31], expected);
        assert_eq!(bins[31..], [0; 31]);
        assert_eq!(totals, [15, 6]);
    }

    #[test]
    fn counts_below_leave_out_the_bin_itself() {
        let (below, totals) = set(false)
            .counts_below(
                &groups(&[0, 2, 1], &[0, 2, 3]),
                &[100_000, 0, 3, 4, 7, 8, 9, 10],
                1,
            )
            .unwrap();
        assert_eq!(below[..8], [15, 0, 0, 6, 6, 12, 12, 15]);
        assert_eq!(below[8..], [0; 8]);
        assert_eq!(totals, [15, 0]);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let median = [Quantile::new(1, 2).unwrap()];
        assert_eq!(
            HistogramSet::new(&[0, 1], vec![1], vec![]).err(),
            Some(HistogramFault::Lengths)
        );
        assert_eq!(
            HistogramSet::new(&[0], vec![1], vec![1]).err(),
            Some(HistogramFault::Offsets)
        );
        for counts in [vec![u64::MAX, 1], vec![1 << 62, 1 << 62]] {
            let fault = HistogramSet::new(&[0, 2], vec![1, 2], counts).err();
            assert_eq!(fault, Some(HistogramFault::Overflow));
        }
        let unknown = set(false).merged(&groups(&[4], &[0, 1]), 1);
        assert_eq!(unknown.err(), Some(HistogramFault::Member));
        for members in [&[][..], &[1]] {
            let empty = set(false).quantile_bins(&groups(members, &[0, members.len() as u64]), &median, 1);
            assert_eq!(empty.err(), Some(HistogramFault::Empty));
        }
    }
}
