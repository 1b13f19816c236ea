//! Two captures of one run, before and after the bottleneck: the same packets matched.

pub(crate) mod batch;
pub(crate) mod clock;
pub(crate) mod decoder;
pub(crate) mod flows;
pub(crate) mod matcher;
pub(crate) mod pass;
pub(crate) mod refusal;
pub(crate) mod row_order;
pub(crate) mod segments;
pub(crate) mod sighting;
pub(crate) mod sums;
pub(crate) mod survey;
