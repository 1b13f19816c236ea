mod zips;

use self::zips::{Zip, zip, zipped};
use super::tar::{BLOCK_BYTES, CHECKSUM, KIND, PREFIX, SIZE, SPARSE_CONTINUES, number, pax_size};
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
fn links_and_folders_have_no_content_whatever_size_is_stated() {
    let hidden = entry("two.pcap", b'0', &capture(4));
    for (name, kind) in (b'1'..=b'6').map(|kind| ("a", kind)).chain([("runs/", 0)]) {
        let content = archive(&[
            entry("one.pcap", b'0', &capture(3)),
            with_size(entry(name, kind, b""), hidden.len() as u64),
            hidden.clone(),
        ]);
        assert_eq!(read(&content), (vec![3, 4], 0, None), "{kind}");
    }
}

#[test]
fn a_sparse_file_is_counted_as_none_and_the_captures_behind_it_are_read() {
    let stored = capture(3);
    // One with its whole map in the header, and one with two more blocks of it.
    let short = entry("one.pcap", b'S', &stored);
    let mut long = entry("four.pcap", b'S', &stored);
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
    let refused = vec![(PacketRefusal::MemberSparse, 3)];
    assert_eq!(read_all(&content), (vec![4], refused, None));
    // In a value, the key of one says nothing.
    let commented = [
        entry("x", b'x', b"39 comment=a value\n22 GNU.sparse.map=1\n"),
        entry("one.pcap", b'0', &stored),
    ];
    assert_eq!(read_all(&archive(&commented)), (vec![3], vec![], None));
}

#[test]
fn of_files_with_one_name_the_first_is_read_and_the_others_are_a_fault() {
    let prefixed = |prefix: &str, name: &str| {
        let mut entry = entry(name, b'0', &capture(4));
        entry[PREFIX.0..PREFIX.0 + prefix.len()].copy_from_slice(prefix.as_bytes());
        with_checksum(entry)
    };
    let long = |kind: u8, content: &[u8]| [entry("x", kind, content), prefixed("", "cut.pcap")].concat();
    let content = |name: &str| entry(name, b'0', &capture(4));
    for [first, second] in [
        [content("one.pcap"), content("./one.pcap")],
        [prefixed("runs", "one.pcap"), content("runs/one.pcap")],
        [long(b'L', b"one.pcap\0"), content("one.pcap")],
        [long(b'x', b"17 path=one.pcap\n"), content("one.pcap")],
        [
            zipped("one.pcap", &capture(4), Zip::Stored),
            zipped("one.pcap", &capture(4), Zip::Streamed),
        ],
    ] {
        let files = [first.clone(), second.clone()];
        let content = if first.starts_with(b"PK") {
            zip(&files)
        } else {
            archive(&files)
        };
        let (packet_counts, refused, fault) = read_all(&content);
        assert_eq!(
            (packet_counts, refused),
            (vec![4], vec![(PacketRefusal::MemberRepeated, 1)])
        );
        let fault = fault.unwrap();
        assert_eq!(fault.kind, FaultKind::CorruptRecord);
        assert!(
            fault
                .message
                .starts_with("archive: member 2 has the name of an earlier one"),
            "{fault}"
        );
    }
    let others = archive(&[
        prefixed("a", "one.pcap"),
        prefixed("b", "one.pcap"),
        long(b'L', b"c\0"),
        long(b'x', b"10 path=d\n"),
    ]);
    assert_eq!(read(&others), (vec![4; 4], 0, None));
}

#[test]
fn a_file_of_a_kind_that_is_not_read_is_counted() {
    let content = archive(&[
        entry("label", b'V', b""),
        entry("names", b'D', b"Yone.pcap\0"),
        entry("one.pcap", b'M', &capture(3)),
        entry("two.pcap", b'Z', &capture(3)),
        entry("x", b'X', b"12 size=9999\n"),
        entry("link", b'1', b""),
        entry("three.pcap", b'0', &capture(4)),
    ]);
    let refused = vec![(PacketRefusal::MemberNotUnpacked, 2)];
    assert_eq!(read_all(&content), (vec![4], refused, None));
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
fn what_follows_the_end_of_an_archive_is_told() {
    let one = entry("one.pcap", b'0', &capture(3));
    let tar = archive(&[one.clone(), entry("two.pcap", b'0', &capture(4))]);
    let zeroed = [one, vec![0; BLOCK_BYTES], entry("two.pcap", b'0', &capture(4))].concat();
    let zip = zip(&[
        zipped("one.pcap", &capture(3), Zip::Stored),
        zipped("two.pcap", &capture(4), Zip::Deflated),
    ]);
    for (content, packets) in [
        ([tar.clone(), tar.clone()].concat(), vec![3, 4]),
        ([gzip(&tar), gzip(&tar)].concat(), vec![3, 4]),
        (zeroed, vec![3]),
        ([zip.clone(), zip.clone()].concat(), vec![3, 4]),
        ([zip.clone(), vec![0; 1 << 20], zip].concat(), vec![3, 4]),
    ] {
        let members = packets.len();
        let (read_packets, _, fault) = read(&content);
        let fault = fault.unwrap();
        assert_eq!((read_packets, fault.kind), (packets, FaultKind::CorruptRecord));
        assert_eq!(
            fault.message,
            format!(
                "archive continues after its end marker, which follows member {members}; copy the file again, or \
                 unpack archives that were joined and give them one by one"
            )
        );
    }
    let mut compressed = gzip(&tar);
    let place = compressed.len() - 6;
    // Of the checksum of all content.
    compressed[place] ^= 1;
    let (packets, _, fault) = read(&compressed);
    assert_eq!((packets, fault.unwrap().kind), (vec![3, 4], FaultKind::Checksum));
    assert_eq!(read(&[tar, vec![0; 1 << 20]].concat()), (vec![3, 4], 0, None));
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
    assert_eq!(number(b"17\0xxxx"), Some(15));
    assert_eq!((number(b"       \0"), number(b"\0\0")), (Some(0), Some(0)));
    for none in [
        &b"8\0"[..],
        b"-1\0",
        b"+1\0",
        b"0x1\0",
        b"7777777777777777777777777",
    ] {
        assert_eq!(number(none), None);
    }
}

#[test]
fn a_checksum_may_be_of_bytes_with_signs() {
    let mut signed = entry("b\u{e9}.pcap", b'0', &capture(3));
    // Two bytes above 127.
    let stated = number(&signed[CHECKSUM.0..CHECKSUM.1]).unwrap() - 2 * 256;
    signed[CHECKSUM.0..CHECKSUM.1].copy_from_slice(format!("{stated:06o}\0 ").as_bytes());
    assert_eq!(read(&archive(&[signed])), (vec![3], 0, None));
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
        let most = most_plain_bytes(content.len() as u64);
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
    let packed: Vec<_> = (0..9)
        .map(|number| zipped(&format!("{number}.pcap.zst"), &far, Zip::Stored))
        .collect();
    assert!(packed[0].len() < 500, "{}", packed[0].len());
    let (packet_counts, _, fault) = read(&zip(&packed));
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
    let zeros = gzip(&capture_of_zeros(900_000));
    let plain: Vec<_> = (0..9)
        .map(|number| entry(&format!("{number}.pcap.gz"), b'0', &zeros))
        .collect();
    let plain = archive(&plain);
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
    assert!(sound.len() as u64 > most_plain_bytes(0));
    assert_eq!(read(&stored), (vec![30_000], 0, None));
}
