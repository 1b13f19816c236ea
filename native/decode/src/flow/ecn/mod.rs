//! Explicit Congestion Notification: codepoints on the wire, what the handshake agreed on, and what receivers report.

pub(crate) mod ace;
pub(crate) mod batch;
pub(crate) mod byte_counters;
pub(crate) mod codepoints;
pub(crate) mod connection;
pub(crate) mod in_flight;
pub(crate) mod negotiation;
