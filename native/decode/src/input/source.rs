//! Files as plain content: compression is recognised by magic number and undone on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use crate::input::compression::Compression;
use crate::input::zstd_frames::ZstdReader;
use crate::output::fault::{Fault, FaultKind};

const FILE_BUFFER_BYTES: usize = 128 * 1024;
const PLAIN_BUFFER_BYTES: usize = 256 * 1024;
/// A dictionary above this is a damaged header or an attack on memory; `xz -9` needs 65 MiB.
const XZ_MEMORY_KIB: u32 = 160 * 1024;

/// Marks an error of the file itself, so that it can be told from one of the compressed stream above it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct FileError(io::Error);

struct FileReader(File);

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io::Error::other(FileError(error))),
                Ok(count) => return Ok(count),
            }
        }
    }
}

/// The plain content under a compression; several members, frames or streams in a row are one content.
fn plain(stored: impl BufRead + Send + 'static, compression: Compression) -> Box<dyn Read + Send> {
    match compression {
        Compression::None => Box::new(stored),
        Compression::Gzip => Box::new(MultiGzDecoder::new(stored)),
        Compression::Zstd => Box::new(ZstdReader::new(stored)),
        Compression::Xz => Box::new(XzReader::new_mem_limit(stored, true, XZ_MEMORY_KIB)),
    }
}

/// Buffered reader of plain content that knows its offset and keeps the first fault.
pub(crate) struct PlainReader {
    inner: Box<dyn Read + Send>,
    compression: Compression,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    finished: bool,
    fault: Option<Fault>,
}

impl PlainReader {
    /// Open a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let refused = |error: &dyn std::fmt::Display| {
            Fault::new(
                FaultKind::SourceRead,
                format!("file: {}: {error}", path.display()),
                None,
            )
        };
        let file = File::open(path).map_err(|error| refused(&error))?;
        let mut file = BufReader::with_capacity(FILE_BUFFER_BYTES, FileReader(file));
        let compression = Compression::of(file.fill_buf().map_err(|error| refused(&error))?);
        Ok(Self::over(plain(file, compression), compression))
    }

    /// What a reader gives, compressed or not.
    pub(crate) fn stored(reader: Box<dyn Read + Send>) -> Result<Self, Fault> {
        let mut stored = BufReader::with_capacity(FILE_BUFFER_BYTES, reader);
        let head = stored
            .fill_buf()
            .map_err(|error| Fault::new(FaultKind::SourceRead, format!("file: {error}"), None))?;
        let compression = Compression::of(head);
        Ok(Self::over(plain(stored, compression), compression))
    }

    /// Content in memory, compressed or not.
    pub(crate) fn in_memory(content: Vec<u8>) -> Self {
        let compression = Compression::of(&content);
        Self::over(plain(io::Cursor::new(content), compression), compression)
    }

    fn over(inner: Box<dyn Read + Send>, compression: Compression) -> Self {
        Self {
            inner,
            compression,
            buffer: vec![0; PLAIN_BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            finished: false,
            fault: None,
        }
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Offset of the next byte in the plain content.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Make `needed` bytes available where the content has them; returns how many there are.
    ///
    /// A fault of the file or of its compression ends the content like an end of file; [`Self::fault`]
    /// tells the two apart.
    pub(crate) fn fill(&mut self, needed: usize) -> usize {
        while self.end - self.start < needed && !self.finished {
            if self.start > 0 && self.start + needed > self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if needed > self.buffer.len() {
                self.buffer.resize(needed.next_power_of_two(), 0);
            }
            let space = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.inner.read(space) {
                Ok(0) => self.finished = true,
                Ok(count) => self.end += count,
                Err(error) => {
                    self.finished = true;
                    let offset = self.offset + (self.end - self.start) as u64;
                    self.fault = Some(read_fault(&error, self.compression, offset));
                }
            }
        }
        self.end - self.start
    }

    /// The bytes that are available without reading on.
    pub(crate) fn available(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Move on by `count` bytes, at most as many as are available.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// The fault that ended the content early, once [`Self::fill`] has met it.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }
}

fn read_fault(error: &io::Error, compression: Compression, offset: u64) -> Fault {
    if error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<FileError>())
        .is_some()
    {
        return Fault::new(
            FaultKind::SourceRead,
            format!("file: {error} after {offset} bytes of content"),
            Some(offset),
        );
    }
    let what = if error.kind() == io::ErrorKind::UnexpectedEof {
        "the compressed stream ends early".to_owned()
    } else {
        format!("the compressed stream is damaged ({error})")
    };
    Fault::new(
        FaultKind::Compression,
        format!(
            "{}: {what} after {offset} bytes of plain content; copy the file again",
            compression.name()
        ),
        Some(offset),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// A reader over bytes in memory, recognising compression as for a file.
    pub(crate) fn reader_over(content: &[u8]) -> PlainReader {
        PlainReader::in_memory(content.to_vec())
    }

    pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(reader: &mut PlainReader) -> Vec<u8> {
        let mut content = Vec::new();
        loop {
            let count = reader.fill(1);
            if count == 0 {
                return content;
            }
            content.extend_from_slice(reader.available());
            reader.consume(count);
        }
    }

    #[test]
    fn several_gzip_members_are_one_content() {
        let stored = [gzip(b"first "), gzip(b"second")].concat();
        let mut reader = reader_over(&stored);
        assert_eq!(read_all(&mut reader), b"first second");
        assert!(reader.fault().is_none());
        assert_eq!(reader.offset(), 12);
    }

    #[test]
    fn a_cut_gzip_stream_yields_what_came_before_and_a_fault() {
        let plain: Vec<u8> = (0..400_000u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
            .collect();
        let stored = gzip(&plain);
        let mut reader = reader_over(&stored[..stored.len() / 2]);
        let content = read_all(&mut reader);
        assert!(content.len() > 100_000 && plain.starts_with(&content));
        let fault = reader.fault().unwrap();
        assert_eq!(fault.kind, FaultKind::Compression);
        assert_eq!(fault.offset, Some(content.len() as u64));
    }

    #[test]
    fn a_record_larger_than_the_buffer_is_made_available_whole() {
        let plain = vec![7u8; PLAIN_BUFFER_BYTES * 3];
        let mut reader = reader_over(&plain);
        reader.fill(10);
        reader.consume(10);
        assert!(reader.fill(PLAIN_BUFFER_BYTES * 2) >= PLAIN_BUFFER_BYTES * 2);
        assert_eq!(reader.fill(PLAIN_BUFFER_BYTES * 4), PLAIN_BUFFER_BYTES * 3 - 10);
    }
}
