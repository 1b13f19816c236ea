//! Two captures of one run, before and after the bottleneck: the same packets matched.

pub(crate) mod batch;
pub(crate) mod clock;
pub(crate) mod decoder;
pub(crate) mod matcher;
