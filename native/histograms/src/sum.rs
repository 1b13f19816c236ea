//! The sum of the histograms of one group.

use crate::quantile::Quantile;

/// Bins that are added up at once if a quantile is further on: the processor adds as many in a few steps.
const BLOCK: usize = 16;

/// The counts of a group.
pub(crate) enum Sum<'a> {
    /// Counts of every bin from the lowest to the highest occupied one.
    Dense { lowest: u16, counts: &'a [u64] },
    /// Bins, ascending and perhaps repeated, with their counts.
    Sparse { bins: &'a [u16], counts: &'a [u64] },
}

impl Sum<'_> {
    /// Write the bin of each quantile to its place; `ascending` are places and quantiles by ascending quantile.
    pub(crate) fn quantile_bins(&self, total: u64, ascending: &[(usize, Quantile)], row: &mut [i64]) {
        let (mut skipped, mut seen) = (0, 0);
        for (place, quantile) in ascending {
            let rank = quantile.rank(total);
            while let Some(sum) = self.block_sum(skipped).filter(|sum| seen + sum < rank) {
                seen += sum;
                skipped += BLOCK;
            }
            let mut within = seen;
            let offset = self.counts().iter().skip(skipped).position(|count| {
                within += count;
                within >= rank
            });
            if let (Some(offset), Some(slot)) = (offset, row.get_mut(*place)) {
                *slot = self.bin(skipped + offset);
            }
        }
    }

    /// Write how many values are in lower bins to each bin's place; `ascending` are places and bins by ascending bin.
    pub(crate) fn counts_below(&self, ascending: &[(usize, u32)], row: &mut [i64]) {
        let (mut passed, mut seen) = (0, 0);
        for (place, until) in ascending {
            let end = match self {
                Self::Dense { lowest, counts } => (*until as usize)
                    .saturating_sub(usize::from(*lowest))
                    .min(counts.len()),
                Self::Sparse { bins, .. } => bins.partition_point(|bin| u32::from(*bin) < *until),
            };
            seen += self
                .counts()
                .get(passed..end)
                .unwrap_or_default()
                .iter()
                .sum::<u64>();
            passed = end;
            if let Some(slot) = row.get_mut(*place) {
                *slot = seen as i64;
            }
        }
    }

    fn counts(&self) -> &[u64] {
        match self {
            Self::Dense { counts, .. } | Self::Sparse { counts, .. } => counts,
        }
    }

    fn bin(&self, place: usize) -> i64 {
        match self {
            Self::Dense { lowest, .. } => i64::from(*lowest) + place as i64,
            Self::Sparse { bins, .. } => bins.get(place).copied().map_or(0, i64::from),
        }
    }

    fn block_sum(&self, start: usize) -> Option<u64> {
        let counts = self.counts();
        let block = counts.get(start..counts.len().min(start + BLOCK))?;
        (!block.is_empty()).then(|| block.iter().sum())
    }
}
