use super::tar::{BLOCK_BYTES, CHECKSUM, KIND, SIZE, SPARSE_CONTINUES, number, pax_size};
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
    let (packet_counts, refused, fault) = read_all(content);
    (
        packet_counts,
        refused.into_iter().map(|(_, count)| count).sum(),
        fault,
    )
}

fn read_all(content: &[u8]) -> (Vec<usize>, Vec<(PacketRefusal, u64)>, Option<Fault>) {
    let mut source = reader_over(content);
    let form = Archive::form_of(&mut source).unwrap();
    let mut archive = Archive::new(source, form);
    let mut packet_counts = Vec::new();
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
        packet_counts.push(packets);
    }
    (packet_counts, archive.refused, archive.fault)
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
    // As pax has it, too.
    let of_pax = [
        entry("x", b'x', b"22 GNU.sparse.major=0\n"),
        entry("three.pcap", b'0', &stored),
    ]
    .concat();
    let content = archive(&[
        short,
        with_checksum(long),
        of_pax,
        entry("two.pcap", b'0', &capture(4)),
    ]);
    assert_eq!(read(&content), (vec![4], 3, None));
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

/// How a file is written into a zip archive.
#[derive(Clone, Copy)]
enum Zip {
    Stored,
    Deflated,
    /// With its length and checksum behind it.
    Streamed,
    /// With lengths of 64 bits.
    Large,
    /// The same behind it.
    LargeStreamed,
}

fn zipped(name: &str, content: &[u8], how: Zip) -> Vec<u8> {
    let mut packed = content.to_vec();
    if !matches!(how, Zip::Stored) {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, content).unwrap();
        packed = encoder.finish().unwrap();
    }
    let mut crc = flate2::Crc::new();
    crc.update(content);
    let crc = crc.sum().to_le_bytes();
    let sizes = [packed.len() as u64, content.len() as u64];
    let short = |sizes: [u64; 2]| sizes.map(|size| (size as u32).to_le_bytes()).concat();
    let long = |sizes: [u64; 2]| sizes.map(u64::to_le_bytes).concat();
    let is_streamed = matches!(how, Zip::Streamed | Zip::LargeStreamed);
    let is_large = matches!(how, Zip::Large | Zip::LargeStreamed);
    let extra = if is_large {
        let [packed_bytes, bytes] = if is_streamed { [0, 0] } else { sizes };
        [&[9, 9, 1, 0, 7, 1, 0, 16, 0][..], &long([bytes, packed_bytes])].concat()
    } else {
        Vec::new()
    };
    let stated = match how {
        Zip::Streamed | Zip::LargeStreamed => vec![0; 12],
        Zip::Large => [crc.to_vec(), vec![0xff; 8]].concat(),
        Zip::Stored | Zip::Deflated => [crc.to_vec(), short(sizes)].concat(),
    };
    let behind = match how {
        Zip::Streamed => [b"PK\x07\x08".to_vec(), crc.to_vec(), short(sizes)].concat(),
        Zip::LargeStreamed => [crc.to_vec(), long(sizes)].concat(),
        _ => Vec::new(),
    };
    let method = u8::from(!matches!(how, Zip::Stored)) * 8;
    [
        b"PK\x03\x04\x14\0".to_vec(),
        vec![u8::from(is_streamed) * 8, 0, method, 0, 0, 0, 0, 0],
        stated,
        (name.len() as u16).to_le_bytes().to_vec(),
        (extra.len() as u16).to_le_bytes().to_vec(),
        name.as_bytes().to_vec(),
        extra,
        packed,
        behind,
    ]
    .concat()
}

fn zip(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), b"PK\x01\x02 the list of files".to_vec()].concat()
}

const EVERY_WAY: [Zip; 5] = [
    Zip::Stored,
    Zip::Deflated,
    Zip::Streamed,
    Zip::Large,
    Zip::LargeStreamed,
];

#[test]
fn every_capture_of_a_zip_archive_is_read_however_it_was_written() {
    for how in EVERY_WAY {
        let content = zip(&[
            zipped("runs/", b"", Zip::Stored),
            zipped("README", b"how they were recorded", how),
            zipped("one.pcap", &capture(700), how),
            zipped("two.pcap.gz", &gzip(&capture(5)), how),
            zipped("empty.pcap", b"", how),
        ]);
        for stored in [content.clone(), gzip(&content)] {
            assert_eq!(read(&stored), (vec![700, 5], 2, None));
        }
    }
    assert_eq!(read(b"PK\x05\x06 no files at all, but a list"), (vec![], 0, None));
}

#[test]
fn files_of_a_zip_archive_that_cannot_be_looked_into_are_counted_by_what_they_are() {
    let mut encrypted = zipped("one.pcap", &capture(3), Zip::Stored);
    encrypted[6] |= 1;
    let mut packed_otherwise = zipped("two.pcap", &capture(3), Zip::Stored);
    packed_otherwise[8] = 14;
    let inner = archive(&[entry("one.pcap", b'0', &capture(3))]);
    let content = zip(&[
        encrypted,
        packed_otherwise,
        zipped("inner.tar.gz", &gzip(&inner), Zip::Stored),
        zipped(
            "inner.zip",
            &zip(&[zipped("a", b"a", Zip::Stored)]),
            Zip::Deflated,
        ),
        zipped("note", b"a note", Zip::Deflated),
    ]);
    let counts = vec![
        (PacketRefusal::MemberEncrypted, 1),
        (PacketRefusal::MemberNotUnpacked, 1),
        (PacketRefusal::ArchiveInArchive, 2),
        (PacketRefusal::MemberWithoutCapture, 1),
    ];
    assert_eq!(read_all(&content), (vec![], counts, None));
    let mut source = reader_over(&content);
    let form = Archive::form_of(&mut source).unwrap();
    let mut unread = Archive::new(source, form);
    assert!(unread.next_capture().is_none());
    assert_eq!(
        unread.without_capture().message,
        "archive: none of its 5 files is a pcap or pcapng (1 are encrypted, 1 are packed in another way than \
         deflate, 2 are archives, 1 are other files); unpack it and give its folder"
    );
}

#[test]
fn a_zip_archive_that_is_cut_anywhere_keeps_the_captures_before_it_and_is_told() {
    for how in EVERY_WAY {
        let first = zipped("one.pcap", &capture(3), how);
        let content = zip(&[first.clone(), zipped("two.pcap", &capture(4), how)]);
        for length in 4..content.len() - 25 {
            let (packets, _, fault) = read(&content[..length]);
            assert!(fault.is_some(), "{length}");
            if length >= first.len() {
                assert_eq!(packets[0], 3, "{length}");
            }
        }
    }
}

#[test]
fn damage_of_a_file_in_a_zip_archive_is_named_and_the_next_file_is_read() {
    for how in [Zip::Stored, Zip::Deflated, Zip::Large] {
        let first = zipped("one.pcap", &capture(3), how);
        let mut content = zip(&[first.clone(), zipped("two.pcap", &capture(4), how)]);
        // The last byte of the last packet.
        content[first.len() - 1 - usize::from(!matches!(how, Zip::Stored)) * 20] ^= 0x55;
        let (packets, _, fault) = read(&content);
        let fault = fault.unwrap();
        assert_eq!(packets.last(), Some(&4));
        assert!(
            matches!(fault.kind, FaultKind::Checksum | FaultKind::Compression),
            "{fault}"
        );
        assert!(
            fault.message.starts_with("member 1 of the archive: zip: "),
            "{fault}"
        );
    }
    // A length that only the end of the packed bytes tells cannot be skipped.
    let mut stored = zipped("one.pcap", &capture(3), Zip::Stored);
    stored[6] = 8;
    stored[18..22].fill(0);
    let fault = read(&zip(&[stored])).2.unwrap();
    assert!(
        fault
            .message
            .contains("has an unknown length; unpack the archive"),
        "{fault}"
    );
}

/// A capture of one packet after another that holds as many zeros as fit.
fn capture_of_zeros(bytes: usize) -> Vec<u8> {
    let mut capture = TestCapture::new(1);
    for place in 0..bytes / 60_000 {
        capture.record(
            1_000_000 + place as u32,
            &tcp_frame(1 + 60_000 * place as u32, 60_000),
        );
    }
    capture.content
}

#[test]
fn a_file_that_expands_far_is_left_at_the_bound_and_named_and_the_next_one_is_read() {
    let far = capture_of_zeros(4 << 20);
    let twice = [
        zipped("far.pcap.gz", &gzip(&far), Zip::Deflated),
        zipped("one.pcap", &capture(3), Zip::Deflated),
    ];
    let packed = zstd::encode_all(&far[..], 1).unwrap();
    assert!(packed.len() < 1500, "{}", packed.len());
    let once = [
        entry("far.pcap.zst", b'0', &packed),
        entry("one.pcap", b'0', &capture(3)),
    ];
    for content in [zip(&twice), archive(&once)] {
        let (packet_counts, refused, fault) = read(&content);
        let fault = fault.unwrap();
        assert_eq!((packet_counts.len(), packet_counts[1], refused), (2, 3, 0));
        let record = (60_000 + 54 + 16) as u64;
        let most = ALWAYS_READ_BYTES.max(MOST_EXPANSION * content.len() as u64);
        assert!((packet_counts[0] as u64) * record <= most && packet_counts[0] > 0);
        assert_eq!(fault.kind, FaultKind::ExpandsTooFar);
        assert!(
            fault.message.starts_with("member 1 of the archive: "),
            "{}",
            fault.message
        );
        assert!(
            fault
                .message
                .ends_with("unpack the archive and give its folder if they are genuine")
        );
    }
}

#[test]
fn files_that_expand_far_together_are_left_at_the_bound() {
    let far = zstd::encode_all(&capture_of_zeros(900_000)[..], 19).unwrap();
    let packed = zipped("x.pcap.zst", &far, Zip::Stored);
    assert!(packed.len() < 500, "{}", packed.len());
    let (packet_counts, _, fault) = read(&zip(&vec![packed; 9]));
    let fault = fault.unwrap();
    assert_eq!(fault.kind, FaultKind::ExpandsTooFar);
    assert_eq!(
        (
            packet_counts[0],
            packet_counts.iter().filter(|packets| **packets == 15).count()
        ),
        (15, 1)
    );
    assert!(
        fault.message.starts_with("member 2 of the archive: "),
        "{}",
        fault.message
    );
    // What the archive is compressed with does not count for what is stored.
    let plain = archive(&vec![
        entry("x.pcap.gz", b'0', &gzip(&capture_of_zeros(900_000)));
        9
    ]);
    assert_eq!(read(&plain), (vec![15; 9], 0, None));
    let (packet_counts, _, fault) = read(&zstd::encode_all(&plain[..], 19).unwrap());
    let whole = packet_counts.iter().filter(|packets| **packets == 15).count();
    assert_eq!((whole, fault.unwrap().kind), (1, FaultKind::ExpandsTooFar));
    // What is no more than deflate can do is read, whatever it was stored in.
    let sound = capture(30_000);
    let stored = archive(&[entry(
        "x.pcap.zst",
        b'0',
        &zstd::encode_all(&sound[..], 1).unwrap(),
    )]);
    assert!(sound.len() as u64 > ALWAYS_READ_BYTES);
    assert_eq!(read(&stored), (vec![30_000], 0, None));
}
