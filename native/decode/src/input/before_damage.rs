//! What of a compressed content stands before its damage.
//!
//! A decompressor that meets damage says so instead of handing out what it has made since it was last asked. So the
//! stored bytes are read again, in steps so small that nothing is left over when the damage is met.

use std::io::{self, BufRead, ErrorKind, Read};

use lzma_rust2::{Action, Status, XzStream};

use crate::input::compression::{Compression, XZ_MEMORY_KIB, plain};

/// Most that is read again beyond what is there already: far more than any decompressor holds back.
const MOST_BYTES: usize = 1 << 24;
const STEP_BYTES: usize = 1 << 16;

/// The plain content from the offset `read` up to the damage, which was met as an error of the kind `met`.
pub(crate) fn before_damage(
    stored: Box<dyn BufRead + Send>,
    compression: Compression,
    read: u64,
    met: ErrorKind,
) -> Vec<u8> {
    match compression {
        Compression::Xz if met == ErrorKind::UnexpectedEof => before_end_of_xz(stored, read),
        Compression::None => Vec::new(),
        // It drops what it made in the call that meets the damage, which may be the block before: with one stored byte
        // in each call, it has handed that block out by then.
        Compression::Zstd => byte_by_byte(plain(OneByte(stored), compression), read),
        Compression::Gzip | Compression::Xz => byte_by_byte(plain(stored, compression), read),
    }
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

fn byte_by_byte(mut content: Box<dyn Read + Send>, read: u64) -> Vec<u8> {
    let mut rest = Vec::new();
    if io::copy(&mut content.by_ref().take(read), &mut io::sink()).ok() != Some(read) {
        return rest;
    }
    let mut byte = [0];
    while rest.len() < MOST_BYTES && matches!(content.read(&mut byte), Ok(1)) {
        rest.extend(byte);
    }
    rest
}

/// The reader of xz wants a chunk whole, up to 64 KiB that hold up to 2 MiB; the decoder below it does not.
fn before_end_of_xz(mut stored: Box<dyn BufRead + Send>, read: u64) -> Vec<u8> {
    let mut decoder = XzStream::new_mem_limit(true, XZ_MEMORY_KIB);
    let mut rest = Vec::new();
    let mut buffer = vec![0; STEP_BYTES];
    let mut skipped = 0;
    while rest.len() < MOST_BYTES {
        let Ok(input) = stored.fill_buf() else {
            break;
        };
        let (action, room) = if input.is_empty() {
            // What is made in the call that meets the end is not told, so it is one byte at most.
            (Action::Finish, 1)
        } else {
            (Action::Run, STEP_BYTES)
        };
        let output = buffer.get_mut(..room).unwrap_or_default();
        let Ok(done) = decoder.process(input, output, action) else {
            break;
        };
        stored.consume(done.bytes_consumed);
        let made = buffer.get(..done.bytes_produced).unwrap_or_default();
        let passed = usize::try_from(read - skipped).map_or(made.len(), |left| left.min(made.len()));
        skipped += passed as u64;
        rest.extend(made.get(passed..).unwrap_or_default());
        if done.status == Status::StreamEnd || (room == 1 && made.is_empty()) {
            break;
        }
    }
    rest
}
