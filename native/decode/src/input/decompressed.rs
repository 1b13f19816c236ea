//! Plain content of which nothing is lost at damage: what was made before it is handed out before it is told.

use std::io::{self, BufRead, ErrorKind, Read};

/// How a content ends.
#[derive(Debug, Clone)]
pub(crate) enum End {
    Whole,
    Cut,
    /// In the words of the library.
    Damaged(String),
}

/// What one call of a decompressor did.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) read_bytes: u64,
    pub(crate) made_bytes: u64,
    /// `None` while there may be more.
    pub(crate) end: Option<End>,
}

/// A decompressor that says what it made also in the call that meets damage.
pub(crate) trait Decompressor {
    /// Decompress once; an empty input is the end of what is stored.
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step;
}

/// Reads what a decompressor makes of what is stored.
pub(crate) struct Decompressed<R, D> {
    stored: R,
    decompressor: D,
    end: Option<End>,
}

impl<R, D> Decompressed<R, D> {
    pub(crate) fn new(stored: R, decompressor: D) -> Self {
        Self {
            stored,
            decompressor,
            end: None,
        }
    }
}

impl<R: BufRead, D: Decompressor> Read for Decompressed<R, D> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        if output.is_empty() {
            return Ok(0);
        }
        while self.end.is_none() {
            let step = self.decompressor.step(self.stored.fill_buf()?, output);
            self.stored
                .consume(usize::try_from(step.read_bytes).unwrap_or(usize::MAX));
            self.end = step.end;
            if step.made_bytes > 0 {
                return Ok(usize::try_from(step.made_bytes).unwrap_or(usize::MAX));
            }
        }
        match &self.end {
            None | Some(End::Whole) => Ok(0),
            Some(End::Cut) => Err(ErrorKind::UnexpectedEof.into()),
            Some(End::Damaged(words)) => Err(io::Error::new(ErrorKind::InvalidData, words.clone())),
        }
    }
}
