//! What every decoder reads through: files and their compressions, lines, numbers, times, and what can be wrong with them.

pub(crate) mod bytes;
pub(crate) mod decimal;
pub(crate) mod fault;
pub(crate) mod fingerprint;
pub(crate) mod lenient_json;
pub(crate) mod line_reader;
pub(crate) mod source;
pub(crate) mod utc_time;
pub(crate) mod zstd_frames;
