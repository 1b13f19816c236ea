//! Groups of histograms.

use std::ops::Range;

use crate::fault::HistogramFault;

/// Which histograms each group adds up: the members of all groups one after another, and where each group starts.
#[derive(Debug)]
pub struct Groups {
    members: Vec<u32>,
    offsets: Vec<usize>,
}

impl Groups {
    /// Return groups of `members`; `offsets` has one entry more than there are groups. A histogram stands in at most
    /// one group.
    ///
    /// # Errors
    ///
    /// [`HistogramFault::Offsets`] for offsets that do not divide the members.
    pub fn new(members: Vec<u32>, offsets: &[u64]) -> Result<Self, HistogramFault> {
        let offsets = checked_offsets(offsets, members.len())?;
        Ok(Self { members, offsets })
    }

    /// Return how many groups there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Return whether there is no group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the members of each of some groups.
    pub(crate) fn members_of(&self, groups: Range<usize>) -> impl Iterator<Item = &[u32]> {
        let bounds = self.offsets.get(groups.start..=groups.end).unwrap_or_default();
        bounds.windows(2).map(|bound| match bound {
            [from, until] => self.members.get(*from..*until).unwrap_or_default(),
            _ => &[],
        })
    }

    /// Cut the groups into at most `parts` ranges of about as many members each.
    pub(crate) fn parts(&self, parts: usize) -> Vec<Range<usize>> {
        let parts = parts.clamp(1, self.len().max(1));
        let mut cuts: Vec<usize> = (0..=parts)
            .map(|part| {
                let members = self.members.len() / parts * part;
                if part == parts {
                    self.len()
                } else {
                    self.offsets.partition_point(|offset| *offset < members)
                }
            })
            .collect();
        cuts.sort_unstable();
        cuts.windows(2)
            .map(|cut| match cut {
                [from, until] => *from..*until,
                _ => 0..0,
            })
            .collect()
    }
}

/// Return offsets as places in memory, where they ascend from 0 to `length`.
pub(crate) fn checked_offsets(offsets: &[u64], length: usize) -> Result<Vec<usize>, HistogramFault> {
    let fits = offsets.first() == Some(&0)
        && offsets.is_sorted()
        && offsets.last().and_then(|last| usize::try_from(*last).ok()) == Some(length);
    if !fits {
        return Err(HistogramFault::Offsets);
    }
    offsets
        .iter()
        .map(|offset| usize::try_from(*offset).map_err(|_| HistogramFault::Offsets))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_do_not_divide_the_members_are_refused() {
        for offsets in [&[][..], &[0], &[1, 3], &[0, 2], &[0, 4], &[0, 2, 1, 3]] {
            assert_eq!(
                Groups::new(vec![1, 2, 3], offsets).err(),
                Some(HistogramFault::Offsets),
                "{offsets:?}"
            );
        }
    }

    #[test]
    fn parts_hold_every_group_once() {
        for sizes in [vec![], vec![5], vec![0, 7, 0, 1], vec![1; 100], vec![90, 1, 1, 1]] {
            let mut offsets = vec![0];
            for size in &sizes {
                offsets.push(offsets.last().unwrap() + size);
            }
            let members = (0..u32::try_from(*offsets.last().unwrap()).unwrap()).collect();
            let groups = Groups::new(members, &offsets).unwrap();
            for parts in [1, 2, 3, 200] {
                let all: Vec<usize> = groups.parts(parts).into_iter().flatten().collect();
                assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>(), "{sizes:?} in {parts}");
            }
        }
    }
}
