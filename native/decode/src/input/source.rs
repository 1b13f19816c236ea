//! Files as plain content: compression is recognised by magic number and undone on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use crate::input::before_damage::before_damage;
use crate::input::compression::{Compression, plain};
use crate::input::watched::{ExpandsTooFar, Watch, Watched};
use crate::input::xz::only_checksum_differs;
use crate::output::fault::{Fault, FaultKind};

const FILE_BUFFER_BYTES: usize = 128 * 1024;
const PLAIN_BUFFER_BYTES: usize = 256 * 1024;

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
        let path = path.to_owned();
        let reopen: Reopen = Box::new(move || {
            let file = FileReader(File::open(&path)?);
            Ok(Box::new(BufReader::with_capacity(FILE_BUFFER_BYTES, file)))
        });
        Ok(Self::over(plain(file, compression), compression, Some(reopen)))
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
        if compression == Compression::None {
            return Self::over(plain(io::Cursor::new(content), compression), compression, None);
        }
        let content: Arc<[u8]> = content.into();
        let again = Arc::clone(&content);
        let reopen: Reopen = Box::new(move || Ok(Box::new(io::Cursor::new(Arc::clone(&again)))));
        Self::over(
            plain(io::Cursor::new(content), compression),
            compression,
            Some(reopen),
        )
    }

    fn over(inner: Box<dyn Read + Send>, compression: Compression, reopen: Option<Reopen>) -> Self {
        Self {
            inner,
            reopen,
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
                Err(error) => self.fail(&error),
            }
        }
        self.end - self.start
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

    fn noise(words: u32) -> Vec<u8> {
        let mut state = 1u64;
        let mut byte = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..words).flat_map(|_| [0, 0, 0, byte()]).collect()
    }

    fn xz(content: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn commonest_prefix(one: &[u8], other: &[u8]) -> usize {
        one.iter().zip(other).take_while(|(a, b)| a == b).count()
    }

    #[test]
    fn nothing_before_damage_is_lost_and_the_offset_is_that_of_the_plain_content() {
        let plain = noise(200_000);
        // How much a compressed byte can hold back: a symbol of deflate and LZMA, a block of Zstandard.
        for (compress, least_ratio) in [
            (gzip as fn(&[u8]) -> Vec<u8>, 0.49),
            (xz, 0.48),
            (zstd, 0.5 - 131_072.0 / 800_000.0),
        ] {
            let stored = compress(&plain);
            let half = stored.len() / 2;
            let cut = stored[..half].to_vec();
            let mut damaged = stored.clone();
            for byte in &mut damaged[half..half + 64] {
                *byte ^= 0xff;
            }
            for (content, is_cut) in [(cut, true), (damaged, false)] {
                let mut reader = reader_over(&content);
                let found = read_all(&mut reader);
                let good = commonest_prefix(&found, &plain);
                assert!(
                    good as f64 > least_ratio * plain.len() as f64,
                    "{} of {}",
                    good,
                    plain.len()
                );
                if is_cut {
                    assert_eq!(good, found.len());
                }
                let fault = reader.fault().unwrap();
                // A block of Zstandard that holds bytes as they are hides damage until the checksum.
                if is_cut || fault.kind != FaultKind::Checksum {
                    assert_eq!(fault.kind, FaultKind::Compression, "{fault}");
                    assert_eq!(fault.offset, Some(found.len() as u64));
                }
            }
        }
    }

    /// What the library of xz makes of a content that it gets byte by byte: all that the bytes before damage say.
    fn xz_byte_by_byte(stored: &[u8]) -> Vec<u8> {
        let mut decoder = liblzma::stream::Stream::new_stream_decoder(u64::MAX, 0).unwrap();
        let mut plain = Vec::with_capacity(1 << 20);
        for byte in stored.chunks(1) {
            let result = decoder.process_vec(byte, &mut plain, liblzma::stream::Action::Run);
            if !matches!(result, Ok(liblzma::stream::Status::Ok)) {
                break;
            }
        }
        plain
    }

    #[test]
    fn xz_that_is_cut_or_damaged_anywhere_gives_all_that_stands_before() {
        let plain = noise(500);
        let stored = xz(&plain);
        for length in 12..stored.len() {
            let mut reader = reader_over(&stored[..length]);
            let found = read_all(&mut reader);
            assert_eq!(found, xz_byte_by_byte(&stored[..length]), "{length}");
            assert!(plain.starts_with(&found));
            let fault = reader.fault().unwrap();
            assert_eq!(
                (fault.kind, fault.offset),
                (FaultKind::Compression, Some(found.len() as u64))
            );
        }
        let mut checksums = 0;
        for (place, bit) in (12..stored.len()).flat_map(|place| [(place, 1), (place, 128)]) {
            let mut damaged = stored.clone();
            damaged[place] ^= bit;
            let mut reader = reader_over(&damaged);
            let found = read_all(&mut reader);
            assert_eq!(found, xz_byte_by_byte(&damaged), "{place}");
            // Some bits mean nothing to the library.
            let Some(fault) = reader.fault() else {
                assert_eq!(found, plain, "{place}");
                continue;
            };
            match fault.kind {
                FaultKind::Checksum => checksums += 1,
                _ => assert_eq!(fault.offset, Some(found.len() as u64), "{place}: {fault}"),
            }
        }
        // The bits of the checksum, and those of a literal that stands for another one.
        assert!(checksums >= 16, "{checksums}");
    }

    #[test]
    fn several_xz_streams_with_padding_are_one_content() {
        let stored = [xz(b"first "), vec![0; 8], xz(b"second")].concat();
        let mut reader = reader_over(&stored);
        assert_eq!(read_all(&mut reader), b"first second");
        assert!(reader.fault().is_none());
        let mut reader = reader_over(&[&stored[..], b"something else"].concat());
        assert_eq!(read_all(&mut reader), b"first second");
        assert_eq!(reader.fault().unwrap().offset, Some(12));
    }

    #[test]
    fn a_dictionary_beyond_the_bound_is_refused() {
        let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
        options.dict_size(1 << 29);
        let mut filters = liblzma::stream::Filters::new();
        filters.lzma2(&options);
        let check = liblzma::stream::Check::Crc64;
        let stream = liblzma::stream::Stream::new_stream_encoder(&filters, check).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(b"content").unwrap();
        let mut reader = reader_over(&encoder.finish().unwrap());
        assert!(read_all(&mut reader).is_empty());
        let fault = reader.fault().unwrap();
        assert!(fault.message.contains("memory limit"), "{fault}");
    }

    #[test]
    fn a_small_content_is_kept_up_to_the_damage() {
        let plain = noise(2_000);
        for compress in [gzip as fn(&[u8]) -> Vec<u8>, xz] {
            let mut stored = compress(&plain);
            let place = stored.len() * 9 / 10;
            for byte in &mut stored[place - 40..place] {
                *byte = 0xff;
            }
            let mut reader = reader_over(&stored);
            let found = read_all(&mut reader);
            assert!(commonest_prefix(&found, &plain) > plain.len() * 4 / 5);
            assert!(reader.fault().is_some());
        }
    }

    #[test]
    fn a_checksum_that_does_not_match_is_a_doubt_about_all_of_it() {
        let plain = noise(2_000);
        let (gzip, xz, zstd) = (gzip(&plain), xz(&plain), zstd(&plain));
        // The checksum of gzip stands before the length; that of a block of xz before the index and the footer.
        let places = [gzip.len() - 8, xz.len() - 12 - 12 - 8, zstd.len() - 1];
        for (mut stored, place) in [gzip, xz, zstd].into_iter().zip(places) {
            stored[place] ^= 1;
            let mut reader = reader_over(&stored);
            assert_eq!(read_all(&mut reader), plain);
            let fault = reader.fault().unwrap();
            assert_eq!((fault.kind, fault.offset), (FaultKind::Checksum, None), "{fault}");
            assert!(fault.message.contains("any byte before may be wrong"));
        }
    }
}
