//! Histograms added up over any grouping of the cells they belong to.
//!
//! A histogram is a list of bins with their counts. All of them stand one after another in three arrays, so that
//! adding up a group reads memory in order; the sum of a group is dense and as short as the bins are few, so it stays
//! in the processor's first cache. Quantiles and counts below a bin are taken from that sum, which is never stored:
//! that is what makes a grouping of ten million bins a matter of milliseconds.

#![forbid(unsafe_code)]
// A test may panic: that is how it fails.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod fault;
mod groups;
mod histogram_set;
mod quantile;
mod sum;

pub use fault::HistogramFault;
pub use groups::Groups;
pub use histogram_set::{HistogramSet, MergedHistograms};
pub use quantile::Quantile;
