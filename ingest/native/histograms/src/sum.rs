//! The sum of the histograms of one group.

use crate::quantile::Quantile;

/// Counts of every bin from the lowest to the highest occupied one of a group.
pub(crate) struct Sum<'a> {
    pub(crate) lowest: u16,
    pub(crate) counts: &'a [u64],
}

impl Sum<'_> {
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Return the occupied bins, ascending, with their counts.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        (self.lowest..=u16::MAX)
            .zip(self.counts.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// Write the bin of each quantile to its place; `ascending` are places and quantiles by ascending quantile.
    pub(crate) fn quantile_bins(&self, total: u64, ascending: &[(usize, Quantile)], bins: &mut [i64]) {
        let mut counted = (self.lowest..=u16::MAX).zip(self.counts.iter().scan(0, |seen, count| {
            *seen += count;
            Some(*seen)
        }));
        let mut current = counted.next();
        for (place, quantile) in ascending {
            let rank = quantile.rank(total);
            while current.is_some_and(|(_, seen)| seen < rank) {
                current = counted.next();
            }
            if let (Some((bin, _)), Some(slot)) = (current, bins.get_mut(*place)) {
                *slot = i64::from(bin);
            }
        }
    }

    /// Write how many values lie in lower bins to each bin's place; `ascending` are places and bins by ascending bin.
    pub(crate) fn counts_below(&self, ascending: &[(usize, u32)], below: &mut [i64]) {
        let mut counted = (u32::from(self.lowest)..).zip(self.counts).peekable();
        let mut seen = 0;
        for (place, until) in ascending {
            while let Some((_, count)) = counted.next_if(|(bin, _)| bin < until) {
                seen += count;
            }
            if let Some(slot) = below.get_mut(*place) {
                *slot = seen as i64;
            }
        }
    }
}
