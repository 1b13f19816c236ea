//! What every decoder reads through: files and their compressions, lines, numbers and times.

pub(crate) mod before_damage;
pub(crate) mod bytes;
pub(crate) mod compression;
pub(crate) mod content_hash;
pub(crate) mod decimal;
pub(crate) mod decompressed;
pub(crate) mod fingerprint;
pub(crate) mod gzip;
pub(crate) mod lenient_json;
pub(crate) mod line_reader;
pub(crate) mod source;
pub(crate) mod utc_time;
pub(crate) mod watched;
pub(crate) mod xz;
