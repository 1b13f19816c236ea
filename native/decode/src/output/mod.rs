//! What every decoder gives: columns of Arrow batches, and a summary of what was read and refused.

pub(crate) mod columns;
pub(crate) mod summary;
