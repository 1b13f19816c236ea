//! Histograms added up over any grouping of the cells they belong to.
//!
//! A histogram is a list of bins with their counts. All of them stand one after another in three arrays, so that
//! adding up a group reads memory in order; the sum of a group is dense and as short as the bins are few, so it stays
//! in the processor's first cache. Quantiles and counts below a bin are taken from that sum, which is never stored:
//! that is what makes a grouping of ten million bins a matter of milliseconds.

#![forbid(unsafe_code)]
// A test may panic: that is how it fails.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod groups;
mod histogram_set;
mod quantile;
mod sum;

pub use groups::Groups;
pub use histogram_set::{HistogramSet, MergedHistograms};
pub use quantile::Quantile;

/// Why histograms or groups of them are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistogramFault {
    /// Offsets do not ascend from 0 to the length of what they divide.
    Offsets,
    /// Bins and counts differ in number.
    Lengths,
    /// All counts together do not fit a signed 64-bit integer.
    Overflow,
    /// A group has a member that is no histogram.
    Member,
    /// A group has no counts, and so no quantiles.
    Empty,
    /// A quantile is not a ratio from 0 to 1.
    Quantile,
}

impl std::fmt::Display for HistogramFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Offsets => "offsets must ascend from 0 to the length of what they divide",
            Self::Lengths => "bins and counts differ in number",
            Self::Overflow => "the counts together do not fit 64 bits",
            Self::Member => "a group has a member that is no histogram",
            Self::Empty => "a group without counts has no quantile",
            Self::Quantile => "a quantile is a ratio from 0 to 1",
        })
    }
}

impl std::error::Error for HistogramFault {}
