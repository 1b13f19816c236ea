//! What every decoder gives: columns of Arrow batches, a summary of what was read and refused, and the first fault.

pub(crate) mod address_text;
pub(crate) mod columns;
pub(crate) mod decoded;
pub(crate) mod fault;
pub(crate) mod refusal;
pub(crate) mod summary;
pub(crate) mod units;
