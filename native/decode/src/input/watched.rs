//! Content that ends where it is more than is read of what is stored.

use std::io::{self, Read};

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
