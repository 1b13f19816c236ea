//! The latency spin bit of QUIC (RFC 9000, 17.4), as an observer on the path sees it.

pub(crate) mod batch;
pub(crate) mod state;
