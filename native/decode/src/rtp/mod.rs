//! RTP streams: which packets are RTP, sequence, loss and jitter.

pub(crate) mod carrier;
pub(crate) mod clock;
pub(crate) mod hints;
pub(crate) mod interval;
pub(crate) mod sequence;
pub(crate) mod stream;
