//! Flows: packets of the same two ends, by intervals, and what TCP shows of them.

pub(crate) mod batch;
pub(crate) mod by_time;
pub(crate) mod ecn;
pub(crate) mod interval;
pub(crate) mod naming;
pub(crate) mod record;
pub(crate) mod server_search;
pub(crate) mod spares;
pub(crate) mod spin;
pub(crate) mod table;
pub(crate) mod tcp;
