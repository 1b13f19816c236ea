//! Content that ends where it is more than is read of what is stored.

use std::io::{self, Read};

/// Plain content that is read whatever it was stored in.
const ALWAYS_READ_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 1 << 30 };
/// Beyond, this many plain bytes for one that is stored: about what deflate can do at most. One compression within
/// another, and those of zstd and xz, can do more.
const MOST_EXPANSION: u64 = 1100;

/// How much plain content is read of so many stored bytes.
pub(crate) fn most_plain_bytes(stored_bytes: u64) -> u64 {
    ALWAYS_READ_BYTES.max(MOST_EXPANSION.saturating_mul(stored_bytes))
}

/// Marks the end of a content that is larger than is read of so few stored bytes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ExpandsTooFar(pub(crate) String);

/// Is told how many plain bytes were read, and may end them.
pub(crate) type Watch = Box<dyn FnMut(usize) -> Result<(), ExpandsTooFar> + Send>;

/// A reader whose content is watched as it is read.
pub(crate) struct Watched {
    inner: Box<dyn Read + Send>,
    watch: Watch,
}

impl Watched {
    pub(crate) fn new(inner: Box<dyn Read + Send>, watch: Watch) -> Self {
        Self { inner, watch }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        (self.watch)(count).map_err(io::Error::other)?;
        Ok(count)
    }
}
