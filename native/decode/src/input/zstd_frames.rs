//! Zstandard content: any number of frames in a row, skippable ones among them (RFC 8878, 3).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A last block without content, and room for the checksum of the frame: it makes the decoder hand out what it holds
/// back for later blocks.
const EMPTY_LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Reads frame after frame as one content, and holds each frame to its checksum. Damage is told after all that stands
/// before it.
pub(crate) struct ZstdReader<R> {
    stored: R,
    decoder: Box<FrameDecoder>,
    in_frame: bool,
    damage: Option<io::Error>,
}

impl<R: BufRead> ZstdReader<R> {
    pub(crate) fn new(stored: R) -> Self {
        Self {
            stored,
            decoder: Box::new(FrameDecoder::new()),
            in_frame: false,
            damage: None,
        }
    }

    fn skip(&mut self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let available = self.stored.fill_buf()?.len();
            if available == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let step = available.min(usize::try_from(bytes).unwrap_or(available));
            self.stored.consume(step);
            bytes -= step as u64;
        }
        Ok(())
    }

    /// The decoder wraps whatever stopped it; a fault of the file comes up again when asked for more, and an
    /// end of the file stays one.
    fn damaged(&mut self, error: &FrameDecoderError) -> io::Error {
        match self.stored.fill_buf() {
            Err(file) => file,
            Ok([]) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }

    /// Begin the next frame; whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.stored.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.stored) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(u64::from(length))?,
                Err(error) => return Err(self.damaged(&error)),
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let found = self.decoder.get_checksum_from_data();
        if found.is_some() && found != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the checksum of a frame does not match",
            ));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let step = || BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.stored, step()) {
                    self.damage = Some(self.damaged(&error));
                    self.decoder
                        .decode_blocks(&EMPTY_LAST_BLOCK[..], step())
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                }
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 {
                return Ok(count);
            }
            if let Some(damage) = self.damage.take() {
                return Err(damage);
            }
            self.end()?;
        }
    }
}
