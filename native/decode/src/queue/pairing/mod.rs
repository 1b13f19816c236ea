//! One row for each packet out of the events of a log.

pub(crate) mod matching;
pub(crate) mod open_packet;
pub(crate) mod rows;
pub(crate) mod unlogged_drops;
