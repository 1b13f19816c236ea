//! Results of M-Lab's speed tests NDT5 and NDT7.

pub(crate) mod document;
pub(crate) mod fields;
pub(crate) mod five;
pub(crate) mod result;
pub(crate) mod seven;
