//! What of a content that Zstandard compressed stands before its damage.
//!
//! Its decompressor drops what it made in the call that meets damage, which may be the block before. So the stored bytes are
//! read again, one in each call: then it has handed that block out by the time it meets the damage.

use std::io::{self, BufRead, Read};

use crate::input::compression::{Compression, plain};

/// Most that is read again beyond what is there already: far more than any decompressor holds back.
const MOST_BYTES: usize = 1 << 24;

/// The plain content from the offset `read` up to the damage.
pub(crate) fn before_damage(stored: Box<dyn BufRead + Send>, read: u64) -> Vec<u8> {
    let mut content = plain(OneByte(stored), Compression::Zstd);
    let mut rest = Vec::new();
    if io::copy(&mut content.by_ref().take(read), &mut io::sink()).ok() == Some(read) {
        let mut byte = [0];
        while rest.len() < MOST_BYTES && matches!(content.read(&mut byte), Ok(1)) {
            rest.extend(byte);
        }
    }
    rest
}

/// Gives one byte at a time.
struct OneByte<R>(R);

impl<R: BufRead> Read for OneByte<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(1);
        self.0.read(buffer.get_mut(..room).unwrap_or_default())
    }
}

impl<R: BufRead> BufRead for OneByte<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let available = self.0.fill_buf()?;
        Ok(available.get(..1).unwrap_or(available))
    }

    fn consume(&mut self, bytes: usize) {
        self.0.consume(bytes);
    }
}
