//! Files as plain content: compression is recognised by magic number and undone on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crate::input::before_damage::before_damage;
use crate::input::compression::{Compression, plain};
use crate::input::content_hash::ContentHash;
use crate::input::watched::{ExpandsTooFar, Watch, Watched, most_plain_bytes};
use crate::input::xz::only_checksum_differs;
use crate::output::fault::{Fault, FaultKind};

const FILE_BUFFER_BYTES: usize = 128 * 1024;
const PLAIN_BUFFER_BYTES: usize = 256 * 1024;
const STAT_BLOCK_BYTES: u64 = 512;

/// Marks an error of the file itself, to distinguish it from one of the compressed stream above it.
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

/// Opens what is stored a second time.
type Reopen = Box<dyn Fn() -> io::Result<Box<dyn BufRead + Send>> + Send>;

/// Buffered reader of plain content that knows its offset and keeps the first fault.
///
/// Nothing that stands before damage of a compressed file is lost. For Zstandard the file is read a second time up to
/// there: of a stream, which can be read once, up to a buffer of content before damage is lost with it.
pub(crate) struct PlainReader {
    inner: Box<dyn Read + Send>,
    reopen: Option<Reopen>,
    compression: Compression,
    /// Bytes of the file on the disk, without its holes, compressed as it is; `None` of a stream.
    file_bytes: Option<u64>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    finished: bool,
    fault: Option<Fault>,
    hash: Option<ContentHash>,
    /// How much of the buffer, from its start, is hashed.
    hashed: usize,
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
        let state = file.metadata().map_err(|error| refused(&error))?;
        let file_bytes = state.len().min(state.blocks() * STAT_BLOCK_BYTES);
        let mut file = BufReader::with_capacity(FILE_BUFFER_BYTES, FileReader(file));
        let compression = Compression::of(file.fill_buf().map_err(|error| refused(&error))?);
        let path = path.to_owned();
        let reopen: Reopen = Box::new(move || {
            let file = FileReader(File::open(&path)?);
            Ok(Box::new(BufReader::with_capacity(FILE_BUFFER_BYTES, file)))
        });
        let mut inner = plain(file, compression);
        if compression != Compression::None {
            inner = Box::new(Watched::new(inner, expansion_watch(file_bytes)));
        }
        let mut source = Self::over(inner, compression, Some(reopen));
        source.file_bytes = Some(file_bytes);
        Ok(source)
    }

    /// Hash the content as it is read; nothing of it may have been read yet.
    #[must_use]
    pub(crate) fn hashing(mut self) -> Self {
        self.hash = Some(ContentHash::new());
        self
    }

    /// What a reader gives, compressed or not, as far as `watch` lets it.
    pub(crate) fn watched(reader: Box<dyn Read + Send>, watch: Watch) -> Result<Self, Fault> {
        let mut source = Self::stored(reader)?;
        source.inner = Box::new(Watched::new(source.inner, watch));
        Ok(source)
    }

    /// What a reader gives, compressed or not.
    pub(crate) fn stored(reader: Box<dyn Read + Send>) -> Result<Self, Fault> {
        let mut stored = BufReader::with_capacity(FILE_BUFFER_BYTES, reader);
        let head = stored
            .fill_buf()
            .map_err(|error| Fault::new(FaultKind::SourceRead, format!("file: {error}"), None))?;
        let compression = Compression::of(head);
        Ok(Self::over(plain(stored, compression), compression, None))
    }

    /// Content in memory, compressed or not.
    pub(crate) fn in_memory(content: Vec<u8>) -> Self {
        let compression = Compression::of(&content);
        let file_bytes = Some(content.len() as u64);
        if compression == Compression::None {
            let mut source = Self::over(plain(io::Cursor::new(content), compression), compression, None);
            source.file_bytes = file_bytes;
            return source;
        }
        let content: Arc<[u8]> = content.into();
        let again = Arc::clone(&content);
        let reopen: Reopen = Box::new(move || Ok(Box::new(io::Cursor::new(Arc::clone(&again)))));
        let mut source = Self::over(
            plain(io::Cursor::new(content), compression),
            compression,
            Some(reopen),
        );
        source.file_bytes = file_bytes;
        source
    }

    fn over(inner: Box<dyn Read + Send>, compression: Compression, reopen: Option<Reopen>) -> Self {
        Self {
            inner,
            reopen,
            compression,
            file_bytes: None,
            buffer: vec![0; PLAIN_BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            finished: false,
            fault: None,
            hash: None,
            hashed: 0,
        }
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// How many bytes the file has on the disk, compressed as it is; `None` of a stream.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        self.file_bytes
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
                self.begin_buffer();
            }
            if needed > self.buffer.len() {
                self.buffer.resize(needed.next_power_of_two(), 0);
            }
            let space = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.inner.read(space) {
                Ok(0) => self.finished = true,
                Ok(count) => self.end += count,
                Err(error) => self.fail(&error),
            }
        }
        self.end - self.start
    }

    /// Go on with a buffer that begins with the bytes that are available.
    fn begin_buffer(&mut self) {
        let available = self.start..self.end;
        self.end -= self.start;
        self.start = 0;
        match &mut self.hash {
            None => self.buffer.copy_within(available, 0),
            Some(hash) => {
                hash.take(&mut self.buffer, self.hashed..available.end, available);
                self.hashed = self.end;
            }
        }
    }

    /// Read on to the end.
    pub(crate) fn read_through(&mut self) {
        while self.fill(1) > 0 {
            self.consume(self.end - self.start);
        }
    }

    /// Read on to the end, and return the hash of all content as far as it can be read; `None` if it is not hashed.
    ///
    /// # Errors
    ///
    /// A fault of kind `SourceRead` where the file could not be read.
    pub(crate) fn into_hash(mut self) -> Result<Option<String>, Fault> {
        if self.hash.is_some() {
            self.read_through();
        }
        let rest = self.buffer.get(self.hashed..self.end).unwrap_or_default();
        match (self.hash, self.fault) {
            (Some(_), Some(fault)) if fault.kind == FaultKind::SourceRead => Err(fault),
            (hash, _) => Ok(hash.map(|hash| hash.finish(rest))),
        }
    }

    /// End the content at a fault, after what stands before it.
    fn fail(&mut self, error: &io::Error) {
        self.finished = true;
        let mut kind = fault_kind(error);
        let in_doubt = kind == FaultKind::Compression || kind == FaultKind::Checksum;
        if let Some(stored) = in_doubt.then(|| self.stored_again()).flatten() {
            let read = self.offset + (self.end - self.start) as u64;
            match self.compression {
                Compression::Zstd => {
                    let rest = before_damage(stored, read);
                    self.buffer.truncate(self.end);
                    self.buffer.extend(rest);
                    self.end = self.buffer.len();
                }
                Compression::Xz if error.kind() == io::ErrorKind::InvalidData => {
                    if only_checksum_differs(stored, read) {
                        kind = FaultKind::Checksum;
                    }
                }
                Compression::Xz | Compression::Gzip | Compression::None => {}
            }
        }
        let offset = self.offset + (self.end - self.start) as u64;
        self.fault = Some(read_fault(error, kind, self.compression, offset));
    }

    fn stored_again(&self) -> Option<Box<dyn BufRead + Send>> {
        self.reopen.as_ref().and_then(|reopen| reopen().ok())
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

/// Ends a content that is more than is read of so few stored bytes, whatever the file states of its size.
fn expansion_watch(stored_bytes: u64) -> Watch {
    let most = most_plain_bytes(stored_bytes);
    let mut plain_bytes = 0;
    Box::new(move |count| {
        plain_bytes += count as u64;
        if plain_bytes <= most {
            return Ok(());
        }
        Err(ExpandsTooFar(format!(
            "{stored_bytes} compressed bytes expand to more than {most}; decompress the file first if it is genuine"
        )))
    })
}

fn fault_kind(error: &io::Error) -> FaultKind {
    let inner = error.get_ref();
    if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<FileError>) {
        return FaultKind::SourceRead;
    }
    if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<ExpandsTooFar>) {
        return FaultKind::ExpandsTooFar;
    }
    // The libraries tell a checksum of the content from other damage by their words alone, which a test holds.
    let of_content = |inner: &(dyn std::error::Error + Send + Sync)| inner.to_string().contains("checksum");
    if inner.is_some_and(of_content) {
        return FaultKind::Checksum;
    }
    FaultKind::Compression
}

fn read_fault(error: &io::Error, kind: FaultKind, compression: Compression, offset: u64) -> Fault {
    let name = compression.name();
    match kind {
        FaultKind::SourceRead => Fault::new(
            kind,
            format!("file: {error} after {offset} bytes of content"),
            Some(offset),
        ),
        FaultKind::ExpandsTooFar => Fault::new(kind, error.to_string(), Some(offset)),
        FaultKind::Checksum => Fault::new(
            kind,
            format!(
                "{name}: a checksum does not match after {offset} bytes of plain content, and any byte before may be wrong; copy the file again"
            ),
            None,
        ),
        _ => {
            let what = if error.kind() == io::ErrorKind::UnexpectedEof {
                "the compressed stream ends early".to_owned()
            } else {
                format!("the compressed stream is damaged ({error})")
            };
            Fault::new(
                kind,
                format!("{name}: {what} after {offset} bytes of plain content; copy the file again"),
                Some(offset),
            )
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
