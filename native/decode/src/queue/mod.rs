//! Queue logs of every form: one row for each packet at the queue.

pub(crate) mod batch;
pub(crate) mod decoder;
pub(crate) mod event;
pub(crate) mod flow;
pub(crate) mod form;
pub(crate) mod format;
pub(crate) mod intake;
pub(crate) mod interval;
pub(crate) mod loss_spans;
pub(crate) mod packet_batch;
pub(crate) mod pairing;
pub(crate) mod queued_packet;
pub(crate) mod reader;
pub(crate) mod refusal;
pub(crate) mod silence;
pub(crate) mod sort_window;
