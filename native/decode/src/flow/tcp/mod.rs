//! What the segments of a TCP connection show of it.

pub(crate) mod connection;
pub(crate) mod direction;
pub(crate) mod handshake;
pub(crate) mod passed;
pub(crate) mod rtt;
pub(crate) mod sequence;
