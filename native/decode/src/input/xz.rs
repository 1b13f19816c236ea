//! xz by its C library: one or several streams.

use std::io::{self, BufRead, Read};

use liblzma::stream::{Action, CONCATENATED, IGNORE_CHECK, Status, Stream};

use crate::input::decompressed::{Decompressed, Decompressor, End, Step};

/// A dictionary above this is a damaged header or an attack on memory; `xz -9` needs 65 MiB.
const MEMORY_BYTES: u64 = 160 << 20;

/// Decompressor of streams in a row, with padding between them.
pub(crate) struct Xz(Stream);

impl Xz {
    /// Fails only for want of memory.
    pub(crate) fn new() -> io::Result<Self> {
        Self::with(CONCATENATED)
    }

    fn with(flags: u32) -> io::Result<Self> {
        Ok(Self(Stream::new_stream_decoder(MEMORY_BYTES, flags)?))
    }
}

impl Decompressor for Xz {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let at_end = input.is_empty();
        let action = if at_end { Action::Finish } else { Action::Run };
        let (read, made) = (self.0.total_in(), self.0.total_out());
        let result = self.0.process(input, output, action);
        let (read_bytes, made_bytes) = (self.0.total_in() - read, self.0.total_out() - made);
        let end = match result {
            Ok(Status::StreamEnd) => Some(End::Whole),
            Ok(_) if at_end && made_bytes == 0 => Some(End::Cut),
            Ok(_) => None,
            Err(error) => Some(End::Damaged(error.to_string())),
        };
        Step {
            read_bytes,
            made_bytes,
            end,
        }
    }
}

/// Whether a content that is damaged after `read` bytes of it goes on there if its checksums are not looked at: the
/// library tells one that does not match from other damage in no other way.
pub(crate) fn only_checksum_differs(stored: impl BufRead, read: u64) -> bool {
    let Ok(unchecked) = Xz::with(CONCATENATED | IGNORE_CHECK) else {
        return false;
    };
    let mut content = Decompressed::new(stored, unchecked);
    let passed = io::copy(&mut content.by_ref().take(read), &mut io::sink());
    passed.is_ok_and(|passed| passed == read) && content.read(&mut [0]).is_ok()
}
