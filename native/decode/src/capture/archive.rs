//! Captures in a tar archive (POSIX.1-2001, pax; GNU tar), one member after the other, as they stand in it.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use crate::capture::reader::CaptureReader;
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};

const BLOCK_BYTES: usize = 512;
const MAGIC: (usize, &[u8]) = (257, b"ustar");
const SIZE: (usize, usize) = (124, 136);
const CHECKSUM: (usize, usize) = (148, 156);
const KIND: usize = 156;
/// Beyond, no file system has a file, and sums of lengths need not be checked.
const LARGEST_BYTES: u64 = 1 << 60;
/// Of a sparse file of GNU tar: whether blocks with more of its map follow, in its header and in each such block.
const SPARSE_CONTINUES: (usize, usize) = (482, 504);
/// A longer header of pax is damage: it holds names, times and extended attributes.
const PAX_BYTES: u64 = 1 << 20;

/// The content of an archive, and how much of it belongs to the current member.
struct Content {
    source: PlainReader,
    /// Of the current member, and then zeros up to the next block.
    member_bytes: u64,
    padding_bytes: u64,
}

impl Content {
    /// The size that a header of pax, the current member, states for the file after it.
    fn pax_size(&mut self) -> Option<u64> {
        let bytes = usize::try_from(self.member_bytes.min(PAX_BYTES)).ok()?;
        self.source.fill(bytes);
        let available = self.source.available();
        pax_size(available.get(..bytes.min(available.len()))?)
    }

    /// Leave out the header of a sparse file, which is available, and the rest of its map.
    fn skip_sparse_map(&mut self) {
        let (in_header, in_block) = SPARSE_CONTINUES;
        let mut place = in_header;
        loop {
            let continues = self.source.available().get(place).is_some_and(|byte| *byte != 0);
            self.source
                .consume(BLOCK_BYTES.min(self.source.available().len()));
            if !continues || self.source.fill(BLOCK_BYTES) < BLOCK_BYTES {
                return;
            }
            place = in_block;
        }
    }

    /// Leave out the rest of the current member.
    fn skip(&mut self) {
        let mut bytes = self.member_bytes + self.padding_bytes;
        (self.member_bytes, self.padding_bytes) = (0, 0);
        while bytes > 0 {
            let there = self.source.fill(1);
            if there == 0 {
                return;
            }
            let count = there.min(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.source.consume(count);
            bytes -= count as u64;
        }
    }
}

/// The rest of the current member; it ends early where the archive does.
struct Member(Arc<Mutex<Content>>);

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        content.source.fill(1);
        let most = usize::try_from(content.member_bytes).unwrap_or(usize::MAX);
        let available = content.source.available();
        let count = available.len().min(buffer.len()).min(most);
        if let (Some(there), Some(place)) = (available.get(..count), buffer.get_mut(..count)) {
            place.copy_from_slice(there);
        }
        content.source.consume(count);
        content.member_bytes -= count as u64;
        Ok(count)
    }
}

/// An archive, as far as it was read.
pub(crate) struct Archive {
    content: Arc<Mutex<Content>>,
    /// Files of the archive that were begun.
    members: u64,
    /// Files of the archive that are no captures.
    pub(crate) other_members: u64,
    /// The first fault of the archive, or of a member that could not be begun.
    pub(crate) fault: Option<Fault>,
}

impl Archive {
    /// Whether a content is an archive.
    pub(crate) fn begins(source: &mut PlainReader) -> bool {
        source.fill(BLOCK_BYTES);
        let (place, magic) = MAGIC;
        let found = source.available().get(place..place + magic.len());
        found == Some(magic)
    }

    pub(crate) fn new(source: PlainReader) -> Self {
        Self {
            content: Arc::new(Mutex::new(Content {
                source,
                member_bytes: 0,
                padding_bytes: 0,
            })),
            members: 0,
            other_members: 0,
            fault: None,
        }
    }

    /// The next member that is a capture, compressed or not.
    pub(crate) fn next_capture(&mut self) -> Option<CaptureReader> {
        while self.next_file() {
            self.members += 1;
            let opened =
                PlainReader::stored(Box::new(Member(Arc::clone(&self.content)))).and_then(|mut plain| {
                    if CaptureReader::begins(&mut plain) {
                        CaptureReader::new(plain).map(Some)
                    } else {
                        Ok(None)
                    }
                });
            match opened {
                Ok(Some(reader)) => return Some(reader),
                Ok(None) => self.other_members += 1,
                Err(fault) => {
                    let fault = self.of_member(&fault);
                    self.fault.get_or_insert(fault);
                }
            }
        }
        None
    }

    /// The fault of the current member, with its number: its name may say whose it is.
    pub(crate) fn of_member(&self, fault: &Fault) -> Fault {
        // What ended the archive ended its member.
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        match content.source.fault() {
            Some(fault) => fault.clone(),
            None => Fault {
                message: format!("member {} of the archive: {}", self.members, fault.message),
                offset: None,
                ..fault.clone()
            },
        }
    }

    /// Go to the next file of the archive; whether there is one.
    fn next_file(&mut self) -> bool {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pax_bytes = None;
        loop {
            content.skip();
            let offset = content.source.offset();
            let available = content.source.fill(BLOCK_BYTES);
            let fault = if let Some(fault) = content.source.fault() {
                fault.clone()
            } else if available < BLOCK_BYTES {
                Fault::new(
                    FaultKind::Truncated,
                    format!(
                        "archive: ends without its end marker after member {}; copy the file again",
                        self.members
                    ),
                    Some(offset),
                )
            } else {
                let header = content.source.available().get(..BLOCK_BYTES).unwrap_or_default();
                if header.iter().all(|byte| *byte == 0) {
                    return false;
                }
                if let Some((kind, bytes)) = read_header(header) {
                    if kind == b'S' {
                        content.skip_sparse_map();
                    } else {
                        content.source.consume(BLOCK_BYTES);
                    }
                    // Where the field is too small for a size, pax states it before, and the field holds 0.
                    let is_about_next = matches!(kind, b'x' | b'g' | b'L' | b'K');
                    let stated = if is_about_next { None } else { pax_bytes.take() };
                    content.member_bytes = stated.unwrap_or(bytes);
                    content.padding_bytes =
                        content.member_bytes.next_multiple_of(BLOCK_BYTES as u64) - content.member_bytes;
                    match kind {
                        // A file, also one that is stored in one piece.
                        b'0' | 0 | b'7' => return true,
                        // A file without its holes: its packets stand elsewhere than their headers say.
                        b'S' => {
                            self.members += 1;
                            self.other_members += 1;
                        }
                        b'x' => pax_bytes = content.pax_size(),
                        // Folders, links, and names.
                        _ => {}
                    }
                    continue;
                }
                Fault::new(
                    FaultKind::CorruptRecord,
                    format!(
                        "archive: the header after member {} is damaged at offset {offset}; copy the file again",
                        self.members
                    ),
                    Some(offset),
                )
            };
            self.fault.get_or_insert(fault);
            return false;
        }
    }
}

/// Kind and size of an entry, where its checksum is right.
fn read_header(header: &[u8]) -> Option<(u8, u64)> {
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(place, byte)| {
            let in_checksum = (CHECKSUM.0..CHECKSUM.1).contains(&place);
            u64::from(if in_checksum { b' ' } else { *byte })
        })
        .sum();
    if number(header.get(CHECKSUM.0..CHECKSUM.1)?)? != sum {
        return None;
    }
    let bytes = number(header.get(SIZE.0..SIZE.1)?)?;
    (bytes < LARGEST_BYTES).then_some((*header.get(KIND)?, bytes))
}

/// The last `size` among the records of a pax header, each "length key=value\n" (POSIX.1-2001, pax, "Extended Header").
fn pax_size(mut records: &[u8]) -> Option<u64> {
    let mut size = None;
    while let Some(space) = records.iter().position(|byte| *byte == b' ') {
        let length = std::str::from_utf8(records.get(..space)?).ok()?.parse().ok()?;
        let record = records.get(space + 1..length)?;
        if let Some(value) = record.strip_prefix(b"size=") {
            let digits = value.strip_suffix(b"\n")?;
            let bytes: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
            size = (bytes < LARGEST_BYTES).then_some(bytes);
        }
        records = records.get(length..)?;
    }
    size
}

/// A number in octal digits, or, as GNU tar writes large ones, in base 256 after a set bit.
fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if *first == 0x80 {
        return rest.iter().try_fold(0u64, |number, byte| {
            number.checked_mul(256)?.checked_add(u64::from(*byte))
        });
    }
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches([' ', '\0']), 8).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::input::source::tests::{gzip, reader_over};
    use crate::test_capture::{TestCapture, tcp_frame};

    /// An entry of a tar archive as POSIX lays it out.
    pub(crate) fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[SIZE.0..SIZE.1 - 1].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[KIND] = kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        header.extend(content);
        header.resize(header.len().next_multiple_of(BLOCK_BYTES), 0);
        with_checksum(header)
    }

    fn with_checksum(mut entry: Vec<u8>) -> Vec<u8> {
        entry[CHECKSUM.0..CHECKSUM.1].fill(b' ');
        let sum: u32 = entry[..BLOCK_BYTES].iter().map(|byte| u32::from(*byte)).sum();
        entry[CHECKSUM.0..CHECKSUM.1].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        entry
    }

    fn capture(packets: u32) -> Vec<u8> {
        let mut capture = TestCapture::new(1);
        for place in 0..packets {
            capture.record(1_000_000 + place, &tcp_frame(place, 10));
        }
        capture.content
    }

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        [entries.concat(), vec![0; 2 * BLOCK_BYTES]].concat()
    }

    /// Packets of each capture, files that are none, and the fault.
    fn read(content: &[u8]) -> (Vec<usize>, u64, Option<Fault>) {
        let mut source = reader_over(content);
        assert!(Archive::begins(&mut source));
        let mut archive = Archive::new(source);
        let mut found = Vec::new();
        while let Some(mut reader) = archive.next_capture() {
            let mut packets = 0;
            loop {
                match reader.next_packet() {
                    Ok(Some(_)) => packets += 1,
                    Ok(None) => break,
                    Err(fault) => {
                        let fault = archive.of_member(&fault);
                        archive.fault.get_or_insert(fault);
                        break;
                    }
                }
            }
            found.push(packets);
        }
        (found, archive.other_members, archive.fault)
    }

    #[test]
    fn every_capture_of_an_archive_is_read_compressed_or_not() {
        let content = archive(&[
            entry("runs/", b'5', b""),
            entry("runs/README", b'0', b"how they were recorded"),
            // Names that are too long for a header: GNU tar's, and those of pax.
            entry("././@LongLink", b'L', b"runs/one.pcap\0"),
            entry("runs/one.pcap", b'0', &capture(3)),
            entry("x", b'x', b"30 mtime=1700000000.123456789\n"),
            entry("runs/two.pcap.gz", 0, &gzip(&capture(700))),
            entry("runs/empty.pcap", b'0', b""),
            entry("runs/none.pcap", b'0', &capture(0)),
            entry("runs/link.pcap", b'2', b""),
        ]);
        for stored in [content.clone(), gzip(&content)] {
            assert_eq!(read(&stored), (vec![3, 700, 0], 2, None));
        }
    }

    /// An entry whose header states another size than it has.
    fn with_size(mut entry: Vec<u8>, bytes: u64) -> Vec<u8> {
        entry[SIZE.0..SIZE.1 - 1].copy_from_slice(format!("{bytes:011o}").as_bytes());
        with_checksum(entry)
    }

    #[test]
    fn the_size_of_a_file_is_that_of_its_pax_header() {
        let one = capture(700);
        let records = |records: &[&str]| {
            let record = |text: &&str| format!("{:02} {text}\n", text.len() + 4);
            entry(
                "x",
                b'x',
                records.iter().map(record).collect::<String>().as_bytes(),
            )
        };
        let size = format!("size={}", one.len());
        let content = archive(&[
            records(&["size=5", "comment=a\nsize=7 b", &size]),
            with_size(entry("one.pcap", b'0', &one), 0),
            // What it states is of one file only.
            entry("two.pcap", b'0', &capture(4)),
            records(&["mtime=1.5"]),
            entry("three.pcap", b'0', &capture(2)),
        ]);
        assert_eq!(read(&content), (vec![700, 4, 2], 0, None));
        assert_eq!(pax_size(b"10 size=7\n"), Some(7));
        for damaged in [
            "10 size=x\n",
            "99 size=7\n",
            "0 size=7\n",
            "28 size=1152921504606846976\n",
            "size=7",
        ] {
            assert_eq!(pax_size(damaged.as_bytes()), None, "{damaged}");
        }
    }

    #[test]
    fn a_sparse_file_is_counted_as_none_and_the_captures_behind_it_are_read() {
        let stored = capture(3);
        // One with its whole map in the header, and one with two more blocks of it.
        let short = entry("one.pcap", b'S', &stored);
        let mut long = short.clone();
        long[SPARSE_CONTINUES.0] = 1;
        let mut map = vec![b'1'; 2 * BLOCK_BYTES];
        map[BLOCK_BYTES + SPARSE_CONTINUES.1] = 0;
        long.splice(BLOCK_BYTES..BLOCK_BYTES, map);
        let content = archive(&[short, with_checksum(long), entry("two.pcap", b'0', &capture(4))]);
        assert_eq!(read(&content), (vec![4], 2, None));
    }

    #[test]
    fn a_file_of_fewer_bytes_than_a_magic_number_is_no_capture() {
        let content = archive(&[
            entry("newline.txt", b'0', b"\n"),
            entry("three", b'0', &[0xd4, 0xc3, 0xb2]),
            entry("one.pcap", b'0', &capture(4)),
        ]);
        assert_eq!(read(&content), (vec![4], 2, None));
    }

    #[test]
    fn a_cut_anywhere_keeps_the_captures_before_it_and_is_told() {
        let content = archive(&[
            entry("one.pcap", b'0', &capture(3)),
            entry("two.pcap", b'0', &capture(4)),
        ]);
        let second = entry("one.pcap", b'0', &capture(3)).len();
        for length in BLOCK_BYTES..content.len() - 2 * BLOCK_BYTES {
            let (packets, _, fault) = read(&content[..length]);
            assert!(fault.is_some(), "{length}");
            if length >= second {
                assert_eq!(packets[0], 3);
            }
        }
        let mut damaged = content;
        damaged[second + 5] ^= 1;
        let (packets, _, fault) = read(&damaged);
        assert_eq!(
            (packets, fault.unwrap().kind),
            (vec![3], FaultKind::CorruptRecord)
        );
    }

    #[test]
    fn a_damaged_capture_is_named_by_its_place_and_the_others_are_read() {
        let mut damaged = capture(2);
        damaged[24 + 8..24 + 12].fill(0xff);
        let content = archive(&[
            entry("one.pcap", b'0', &damaged),
            entry("two.pcap", b'0', &capture(4)),
            entry("three.pcap", b'0', &capture(9)[..10]),
        ]);
        let (packets, others, fault) = read(&content);
        assert_eq!((packets, others), (vec![0, 4], 0));
        assert!(
            fault
                .unwrap()
                .message
                .starts_with("member 1 of the archive: record header")
        );
    }

    #[test]
    fn numbers_are_octal_or_of_base_256() {
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"     17 \0"), Some(15));
        assert_eq!(
            number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]),
            Some((2 << 32) + 1)
        );
        assert_eq!(number(b"8\0"), None);
    }
}
