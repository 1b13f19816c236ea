//! Headers of tar archives (POSIX.1-2001, pax; GNU tar).

use crate::capture::archive::layout::{LARGEST_BYTES, continues, cut, damaged_header, name_hash, skip_bytes};
use crate::input::source::PlainReader;
use crate::output::fault::Fault;
use crate::packet::refusal::PacketRefusal;

pub(super) const BLOCK_BYTES: usize = 512;
const MAGIC: (usize, &[u8]) = (257, b"ustar");
pub(super) const SIZE: (usize, usize) = (124, 136);
pub(super) const CHECKSUM: (usize, usize) = (148, 156);
pub(super) const KIND: usize = 156;
const NAME_BYTES: usize = 100;
/// The beginning of a longer name, but in the format of GNU tar.
pub(super) const PREFIX: (usize, usize) = (345, 500);
const POSIX: &[u8] = b"ustar\0";
const FOLDER: u8 = b'5';
/// Of links, devices, folders and pipes: no content follows, whatever their size field says.
const WITHOUT_CONTENT: std::ops::RangeInclusive<u8> = b'1'..=b'6';
/// Labels of volumes, lists of names, and attributes: what follows is no file.
const WITHOUT_FILE: &[u8] = b"VDNAE";
/// Headers of pax, and Solaris's.
const PAX: &[u8] = b"xX";
/// Of a sparse file of GNU tar: whether blocks with more of its map follow, in its header and in each such block.
pub(super) const SPARSE_CONTINUES: (usize, usize) = (482, 504);
/// A longer header of pax is damage: it holds names, times and extended attributes.
const PAX_BYTES: u64 = 1 << 20;

/// Whether a content is a tar archive.
pub(super) fn begins(source: &mut PlainReader) -> bool {
    source.fill(BLOCK_BYTES);
    let (place, magic) = MAGIC;
    source.available().get(place..place + magic.len()) == Some(magic)
}

/// A file of which the content is next.
pub(super) struct File {
    /// What stands for its name.
    pub(super) name: u64,
    pub(super) bytes: u64,
    /// Up to the next block.
    pub(super) padding_bytes: u64,
    /// Why it cannot be looked into.
    pub(super) refusal: Option<PacketRefusal>,
}

/// Go to the next file from the end of the one before it; `None` at the end marker.
pub(super) fn next(source: &mut PlainReader, members: u64) -> Result<Option<File>, Fault> {
    let mut pax_bytes = None;
    let mut is_sparse = false;
    let mut long_name = None;
    loop {
        let offset = source.offset();
        if source.fill(BLOCK_BYTES) < BLOCK_BYTES {
            return Err(cut(source, members));
        }
        let header = source.available().get(..BLOCK_BYTES).unwrap_or_default();
        if header.iter().all(|byte| *byte == 0) {
            return end(source, members).map(|()| None);
        }
        let (kind, bytes) = read_header(header).ok_or_else(|| damaged_header(offset, members))?;
        let own_name = name_in(header);
        if kind == b'S' {
            skip_sparse_map(source);
        } else {
            source.consume(BLOCK_BYTES);
        }
        // Where the field is too small for a size, pax states it before, and the field holds 0.
        let is_about_next = PAX.contains(&kind) || matches!(kind, b'g' | b'L' | b'K');
        let (stated, name) = if is_about_next {
            (None, None)
        } else {
            (pax_bytes.take(), long_name.take())
        };
        let bytes = if WITHOUT_CONTENT.contains(&kind) {
            0
        } else {
            stated.unwrap_or(bytes)
        };
        let padding_bytes = bytes.next_multiple_of(BLOCK_BYTES as u64) - bytes;
        let refusal = match kind {
            // A file without its holes: its packets stand elsewhere than their headers say.
            b'S' => Some(PacketRefusal::MemberSparse),
            b'0' | 0 | b'7' if is_sparse => Some(PacketRefusal::MemberSparse),
            // A file, also one that is stored in one piece.
            b'0' | 0 | b'7' => None,
            _ if is_about_next || WITHOUT_CONTENT.contains(&kind) || WITHOUT_FILE.contains(&kind) => {
                if PAX.contains(&kind) {
                    let records = first_bytes(source, bytes);
                    pax_bytes = pax_size(records);
                    is_sparse = is_sparse_file(records);
                    long_name = pax_path(records).map(name_hash).or(long_name);
                } else if kind == b'L' {
                    let name = first_bytes(source, bytes);
                    long_name = Some(name_hash(text_in(name)));
                } else if !is_about_next {
                    is_sparse = false;
                }
                skip_bytes(source, bytes + padding_bytes);
                continue;
            }
            // The rest of a file of another volume, and kinds of other programs.
            _ => Some(PacketRefusal::MemberNotUnpacked),
        };
        return Ok(Some(File {
            name: name.unwrap_or(own_name),
            bytes,
            padding_bytes,
            refusal,
        }));
    }
}

/// Read through what follows the end marker, in which only zeros may stand.
fn end(source: &mut PlainReader, members: u64) -> Result<(), Fault> {
    loop {
        let there = source.fill(1);
        if there == 0 {
            return source.fault().map_or(Ok(()), |fault| Err(fault.clone()));
        }
        if source.available().iter().any(|byte| *byte != 0) {
            return Err(continues(source, members));
        }
        source.consume(there);
    }
}

/// The next so many bytes, of a header of pax or a long name.
fn first_bytes(source: &mut PlainReader, bytes: u64) -> &[u8] {
    let bytes = usize::try_from(bytes.min(PAX_BYTES)).unwrap_or_default();
    source.fill(bytes);
    let available = source.available();
    available.get(..bytes.min(available.len())).unwrap_or_default()
}

/// The last name among the records of a pax header.
fn pax_path(records: &[u8]) -> Option<&[u8]> {
    pax_texts(records)
        .filter_map(|text| text.strip_prefix(b"path="))
        .last()
}

/// What stands for the name in a header.
fn name_in(header: &[u8]) -> u64 {
    let name = text_in(header.get(..NAME_BYTES).unwrap_or_default());
    let is_posix = header.get(MAGIC.0..MAGIC.0 + POSIX.len()) == Some(POSIX);
    let prefix = header.get(PREFIX.0..PREFIX.1).filter(|_| is_posix);
    match text_in(prefix.unwrap_or_default()) {
        b"" => name_hash(name),
        prefix => name_hash(&[prefix, b"/", name].concat()),
    }
}

/// A text up to the null that ends it.
fn text_in(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Whether records of a pax header say that the next file is stored without its holes (GNU tar, versions 0.0 to 1.0).
fn is_sparse_file(records: &[u8]) -> bool {
    pax_texts(records).any(|text| text.starts_with(b"GNU.sparse."))
}

/// Leave out the header of a sparse file, which is available, and the rest of its map.
fn skip_sparse_map(source: &mut PlainReader) {
    let (in_header, in_block) = SPARSE_CONTINUES;
    let mut place = in_header;
    loop {
        let continues = source.available().get(place).is_some_and(|byte| *byte != 0);
        source.consume(BLOCK_BYTES.min(source.available().len()));
        if !continues || source.fill(BLOCK_BYTES) < BLOCK_BYTES {
            return;
        }
        place = in_block;
    }
}

/// Kind and size of an entry, where its checksum is right. Some old programs summed bytes with signs.
fn read_header(header: &[u8]) -> Option<(u8, u64)> {
    let summed = |value: fn(u8) -> i64| -> i64 {
        let bytes = header.iter().enumerate();
        bytes
            .map(|(place, byte)| {
                let in_checksum = (CHECKSUM.0..CHECKSUM.1).contains(&place);
                value(if in_checksum { b' ' } else { *byte })
            })
            .sum()
    };
    let stated = i64::try_from(number(header.get(CHECKSUM.0..CHECKSUM.1)?)?).ok()?;
    if stated != summed(i64::from) && stated != summed(|byte| i64::from(i8::from_ne_bytes([byte]))) {
        return None;
    }
    let bytes = number(header.get(SIZE.0..SIZE.1)?)?;
    let name = text_in(header.get(..NAME_BYTES)?);
    let kind = match *header.get(KIND)? {
        // Version 7 had no kind for folders.
        0 if name.ends_with(b"/") => FOLDER,
        kind => kind,
    };
    (bytes < LARGEST_BYTES).then_some((kind, bytes))
}

/// The last `size` among the records of a pax header.
pub(super) fn pax_size(records: &[u8]) -> Option<u64> {
    let sizes = pax_texts(records).filter_map(|text| {
        let bytes = std::str::from_utf8(text.strip_prefix(b"size=")?)
            .ok()?
            .parse()
            .ok()?;
        (bytes < LARGEST_BYTES).then_some(bytes)
    });
    sizes.last()
}

/// The records of a pax header up to a damaged one, each "length key=value\n" (POSIX.1-2001, pax, "Extended Header"),
/// without their length.
fn pax_texts(mut records: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let space = records.iter().position(|byte| *byte == b' ')?;
        let length = std::str::from_utf8(records.get(..space)?).ok()?.parse().ok()?;
        let text = records.get(space + 1..length)?.strip_suffix(b"\n")?;
        records = records.get(length..)?;
        Some(text)
    })
}

/// A number in octal digits, or, as GNU tar writes large ones, in base 256 after a set bit.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if *first == 0x80 {
        return rest.iter().try_fold(0u64, |number, byte| {
            number.checked_mul(256)?.checked_add(u64::from(*byte))
        });
    }
    // Anything may stand behind the end of the text; a number of no digits is 0.
    let digits = field.split(|byte| *byte == 0).next()?.trim_ascii();
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = matches!(digit, b'0'..=b'7').then(|| u64::from(digit - b'0'))?;
        number.checked_mul(8)?.checked_add(digit)
    })
}
