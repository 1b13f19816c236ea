//! Files of zip archives as they follow one another (APPNOTE 6.3.10, 4.3.7 "Local file header"): stored or deflated.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::capture::archive::layout::{LARGEST_BYTES, continues, cut, damaged_header, name_hash, skip_bytes};
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::packet::refusal::PacketRefusal;

const SIGNATURE_BYTES: usize = 4;
const FILE: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
/// What follows the files: data about all of them, the list of them, and its end, also in the form for large ones.
const LIST: [&[u8]; 4] = [b"PK\x06\x08", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06"];
const HEADER_BYTES: usize = 30;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;
/// The sizes follow the file.
const DESCRIBED_LATER: u16 = 1 << 3;
/// Of the extra field with sizes of 64 bits, which the header has then as 2^32 - 1.
const LARGE: u16 = 1;
const BUFFER_BYTES: usize = 64 * 1024;

/// Whether a content is a zip archive.
pub(super) fn begins(source: &mut PlainReader) -> bool {
    source.fill(SIGNATURE_BYTES);
    let signature = source.available().get(..SIGNATURE_BYTES).unwrap_or_default();
    // An archive of no files has the end of their list alone.
    signature == FILE || signature == LIST[2]
}

/// A file of which the content is next.
pub(super) struct File {
    /// What stands for its name.
    pub(super) name: u64,
    /// Why it cannot be looked into.
    pub(super) refusal: Option<PacketRefusal>,
    pub(super) zipped: Zipped,
}

/// Go to the next file from the end of the one before it; `None` at the list of files.
pub(super) fn next(source: &mut PlainReader, members: u64) -> Result<Option<File>, Fault> {
    loop {
        let offset = source.offset();
        let available = source.fill(HEADER_BYTES).min(HEADER_BYTES);
        let header = source.available().get(..available).unwrap_or_default();
        let signature = header.get(..SIGNATURE_BYTES).unwrap_or(header);
        if LIST.contains(&signature) {
            return end(source, members).map(|()| None);
        }
        if !FILE.starts_with(signature) {
            return Err(damaged_header(offset, members));
        }
        let header = Header::read(header).ok_or_else(|| cut(source, members))?;
        let length = HEADER_BYTES + header.name_bytes + header.extra_bytes;
        if source.fill(length) < length {
            return Err(cut(source, members));
        }
        let behind = source.available().get(HEADER_BYTES..length).unwrap_or_default();
        let (name, extra) = behind.split_at(header.name_bytes.min(behind.len()));
        let (is_folder, name) = (name.ends_with(b"/"), name_hash(name));
        let mut zipped = Zipped::new(&header, extra).ok_or_else(|| damaged_header(offset, members))?;
        source.consume(length);
        let is_encrypted = header.flags & ENCRYPTED != 0;
        let tells_its_end = matches!(header.method, STORED | DEFLATED) && !is_encrypted;
        if zipped.packed_bytes.is_none() && !tells_its_end {
            return Err(Fault::new(
                FaultKind::CorruptRecord,
                format!(
                    "archive: member {} has an unknown length; unpack the archive and give its folder",
                    members + 1
                ),
                Some(offset),
            ));
        }
        if is_folder {
            zipped.skip(source)?;
            continue;
        }
        let refusal = if is_encrypted {
            Some(PacketRefusal::MemberEncrypted)
        } else if header.method != STORED && header.method != DEFLATED {
            Some(PacketRefusal::MemberNotUnpacked)
        } else {
            None
        };
        return Ok(Some(File {
            name,
            refusal,
            zipped,
        }));
    }
}

/// Read through the list of files, behind which no other file may stand.
fn end(source: &mut PlainReader, members: u64) -> Result<(), Fault> {
    loop {
        let there = source.fill(SIGNATURE_BYTES);
        if there < SIGNATURE_BYTES {
            return source.fault().map_or(Ok(()), |fault| Err(fault.clone()));
        }
        if source
            .available()
            .windows(SIGNATURE_BYTES)
            .any(|bytes| bytes == FILE)
        {
            return Err(continues(source, members));
        }
        // The rest may begin a signature.
        source.consume(there - (SIGNATURE_BYTES - 1));
    }
}

/// The fixed fields of a header.
struct Header {
    flags: u16,
    method: u16,
    crc: u32,
    packed_bytes: u32,
    name_bytes: usize,
    extra_bytes: usize,
}

impl Header {
    fn read(header: &[u8]) -> Option<Self> {
        Some(Self {
            flags: u16_at(header, 6)?,
            method: u16_at(header, 8)?,
            crc: u32_at(header, 14)?,
            packed_bytes: u32_at(header, 18)?,
            name_bytes: usize::from(u16_at(header, 26)?),
            extra_bytes: usize::from(u16_at(header, 28)?),
        })
    }
}

/// What is left of a file.
pub(super) struct Zipped {
    /// As it is packed; `None` where only its end tells.
    packed_bytes: Option<u64>,
    inflate: Option<Decompress>,
    crc: Crc,
    stated_crc: u32,
    /// Of what follows the file, how long each size is.
    descriptor: Option<usize>,
    /// What was read of it.
    read_bytes: u64,
    is_over: bool,
}

impl Zipped {
    fn new(header: &Header, extra: &[u8]) -> Option<Self> {
        let large = large_sizes(extra);
        let is_described_later = header.flags & DESCRIBED_LATER != 0;
        let packed_bytes = match header.packed_bytes {
            u32::MAX => large.and_then(|sizes| u64_at(sizes, 8))?,
            bytes => u64::from(bytes),
        };
        if packed_bytes >= LARGEST_BYTES {
            return None;
        }
        Some(Self {
            packed_bytes: (packed_bytes > 0 || !is_described_later).then_some(packed_bytes),
            inflate: (header.method == DEFLATED).then(|| Decompress::new(false)),
            crc: Crc::new(),
            stated_crc: header.crc,
            descriptor: is_described_later.then_some(if large.is_some() { 8 } else { 4 }),
            read_bytes: 0,
            is_over: false,
        })
    }

    /// Of a stored file of unknown length, how much of it is available, and its length where its end is, too.
    ///
    /// Its end is where a descriptor states the length that it has then; one within the file, as of a file of an archive
    /// that is stored in it, states another.
    fn look_for_end(&mut self, source: &mut PlainReader) -> usize {
        let size_bytes = self.descriptor.unwrap_or_default();
        let descriptor_bytes = 2 * SIGNATURE_BYTES + 2 * size_bytes;
        if source.fill(descriptor_bytes) < descriptor_bytes {
            return source.available().len();
        }
        let mut descriptors = source.available().windows(descriptor_bytes).enumerate();
        let end = descriptors.find_map(|(place, descriptor)| {
            let bytes = (self.read_bytes + place as u64).to_le_bytes();
            let size = bytes.get(..size_bytes)?;
            let sizes = descriptor.strip_prefix(DESCRIPTOR)?.get(SIGNATURE_BYTES..)?;
            (sizes.starts_with(size) && sizes.ends_with(size)).then_some(place)
        });
        self.packed_bytes = end.map(|bytes| bytes as u64);
        end.unwrap_or(source.available().len() - (descriptor_bytes - 1))
    }

    /// Read into a buffer; 0 at the end.
    ///
    /// # Errors
    ///
    /// A fault where it is cut or damaged, or its checksum is another one.
    pub(super) fn read(&mut self, source: &mut PlainReader, buffer: &mut [u8]) -> Result<usize, Fault> {
        if self.is_over || buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let most = match self.packed_bytes {
                Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
                None if self.inflate.is_none() => self.look_for_end(source),
                None => usize::MAX,
            };
            source.fill(1);
            let available = source.available();
            let packed = available.get(..available.len().min(most)).unwrap_or_default();
            let (read, made, ends) = match &mut self.inflate {
                None => {
                    let count = packed.len().min(buffer.len());
                    if let (Some(there), Some(place)) = (packed.get(..count), buffer.get_mut(..count)) {
                        place.copy_from_slice(there);
                    }
                    (count, count, self.packed_bytes == Some(0))
                }
                Some(inflate) => {
                    let (before, before_made) = (inflate.total_in(), inflate.total_out());
                    let status = inflate
                        .decompress(packed, buffer, FlushDecompress::None)
                        .map_err(|error| {
                            Fault::new(FaultKind::Compression, damaged(&error.to_string()), None)
                        })?;
                    let count = |total: u64, before: u64| usize::try_from(total - before).unwrap_or_default();
                    (
                        count(inflate.total_in(), before),
                        count(inflate.total_out(), before_made),
                        status == Status::StreamEnd,
                    )
                }
            };
            let is_exhausted = packed.is_empty();
            source.consume(read);
            self.read_bytes += read as u64;
            self.packed_bytes = self.packed_bytes.map(|bytes| bytes - read as u64);
            self.crc.update(buffer.get(..made).unwrap_or_default());
            if ends {
                self.finish(source)?;
            }
            if ends || made > 0 {
                return Ok(made);
            }
            if is_exhausted {
                return Err(Fault::new(FaultKind::Compression, damaged("it ends early"), None));
            }
        }
    }

    /// Leave out the rest.
    ///
    /// # Errors
    ///
    /// A fault where the length is not known and the rest is damaged.
    pub(super) fn skip(&mut self, source: &mut PlainReader) -> Result<(), Fault> {
        if self.is_over {
            return Ok(());
        }
        if self.packed_bytes.is_some() {
            self.leave(source);
            return Ok(());
        }
        let mut buffer = vec![0; BUFFER_BYTES];
        while !self.is_over {
            self.read(source, &mut buffer)?;
        }
        Ok(())
    }

    /// Compare the checksum behind the last byte.
    fn finish(&mut self, source: &mut PlainReader) -> Result<(), Fault> {
        self.leave(source);
        if self.crc.sum() == self.stated_crc {
            return Ok(());
        }
        Err(Fault::new(
            FaultKind::Checksum,
            "zip: its checksum does not match, so any byte of it may be wrong; copy the file again",
            None,
        ))
    }

    /// Leave out what is packed, and what is stated behind it.
    fn leave(&mut self, source: &mut PlainReader) {
        self.is_over = true;
        skip_bytes(source, self.packed_bytes.unwrap_or(0));
        if let Some(size_bytes) = self.descriptor {
            source.fill(2 * SIGNATURE_BYTES);
            if source.available().starts_with(DESCRIPTOR) {
                source.consume(SIGNATURE_BYTES);
            }
            self.stated_crc = u32_at(source.available(), 0).unwrap_or(self.stated_crc);
            skip_bytes(source, (SIGNATURE_BYTES + 2 * size_bytes) as u64);
        }
    }
}

fn damaged(how: &str) -> String {
    format!("zip: the data of a file is damaged ({how}); copy the file again")
}

/// The sizes of 64 bits among extra fields, each with its number and length before it.
fn large_sizes(mut extra: &[u8]) -> Option<&[u8]> {
    while let (Some(number), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let field = extra.get(4..4 + usize::from(length))?;
        if number == LARGE {
            return Some(field);
        }
        extra = extra.get(4 + usize::from(length)..)?;
    }
    None
}

fn bytes_at<const N: usize>(bytes: &[u8], place: usize) -> Option<[u8; N]> {
    bytes.get(place..place + N)?.try_into().ok()
}

fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    bytes_at(bytes, place).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    bytes_at(bytes, place).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    bytes_at(bytes, place).map(u64::from_le_bytes)
}
