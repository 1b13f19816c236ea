//! Compressions of files, recognised by their magic numbers.

use std::io::{self, BufRead, ErrorKind, Read};

use zstd::stream::read::Decoder as ZstdReader;

use crate::input::decompressed::Decompressed;
use crate::input::gzip::Gzip;
use crate::input::xz::Xz;
use crate::output::decoded::decoded;

decoded! {
    /// How a file is compressed.
    pub(crate) enum Compression of "compression" {
        None = "none": "plain content",
        Gzip = "gzip": "one or several members (RFC 1952)",
        Zstd = "zstd": "one or several frames; skippable frames are ignored (RFC 8878)",
        Xz = "xz": "one or several streams, up to 160 MiB of dictionary",
    }
}

impl Compression {
    /// Recognise a compression by the first bytes of the file.
    pub(crate) fn of(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if matches!(
            head,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
        ) {
            Self::Zstd
        } else if head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0x00]) {
            Self::Xz
        } else {
            Self::None
        }
    }
}

struct Failing(ErrorKind);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.into())
    }
}

/// The plain content under a compression; several members, frames or streams in a row are one content.
pub(crate) fn plain(stored: impl BufRead + Send + 'static, compression: Compression) -> Box<dyn Read + Send> {
    match compression {
        Compression::None => Box::new(stored),
        Compression::Gzip => Box::new(Decompressed::new(stored, Gzip::default())),
        Compression::Zstd => begun(ZstdReader::with_buffer(stored)),
        Compression::Xz => begun(Xz::new().map(|xz| Decompressed::new(stored, xz))),
    }
}

/// A reader that fails to begin, only for want of memory, fails when it is read.
fn begun(reader: io::Result<impl Read + Send + 'static>) -> Box<dyn Read + Send> {
    match reader {
        Ok(reader) => Box::new(reader),
        Err(error) => Box::new(Failing(error.kind())),
    }
}
