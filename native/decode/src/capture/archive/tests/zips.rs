//! Zip archives.

use super::*;

/// How a file is written into a zip archive.
#[derive(Clone, Copy)]
pub(super) enum Zip {
    Stored,
    Deflated,
    /// With its length and checksum behind it.
    Streamed,
    /// The same without compression.
    StoredStreamed,
    /// With lengths of 64 bits.
    Large,
    /// The same behind it.
    LargeStreamed,
    LargeStoredStreamed,
}

pub(super) fn zipped(name: &str, content: &[u8], how: Zip) -> Vec<u8> {
    let mut packed = content.to_vec();
    let is_stored = matches!(how, Zip::Stored | Zip::StoredStreamed | Zip::LargeStoredStreamed);
    if !is_stored {
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
    let is_large = matches!(how, Zip::Large | Zip::LargeStreamed | Zip::LargeStoredStreamed);
    let is_streamed = !matches!(how, Zip::Stored | Zip::Deflated | Zip::Large);
    let extra = if is_large {
        let [packed_bytes, bytes] = if is_streamed { [0, 0] } else { sizes };
        [&[9, 9, 1, 0, 7, 1, 0, 16, 0][..], &long([bytes, packed_bytes])].concat()
    } else {
        Vec::new()
    };
    let stated = match how {
        Zip::Large => [crc.to_vec(), vec![0xff; 8]].concat(),
        Zip::Stored | Zip::Deflated => [crc.to_vec(), short(sizes)].concat(),
        _ => vec![0; 12],
    };
    let behind = match how {
        Zip::Streamed | Zip::StoredStreamed => [b"PK\x07\x08".to_vec(), crc.to_vec(), short(sizes)].concat(),
        Zip::LargeStoredStreamed => [b"PK\x07\x08".to_vec(), crc.to_vec(), long(sizes)].concat(),
        Zip::LargeStreamed => [crc.to_vec(), long(sizes)].concat(),
        _ => Vec::new(),
    };
    let method = u8::from(!is_stored) * 8;
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

pub(super) fn zip(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), b"PK\x01\x02 the list of files".to_vec()].concat()
}

const EVERY_WAY: [Zip; 7] = [
    Zip::Stored,
    Zip::Deflated,
    Zip::Streamed,
    Zip::StoredStreamed,
    Zip::Large,
    Zip::LargeStreamed,
    Zip::LargeStoredStreamed,
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
        "archive: none of its 5 files is a pcap or pcapng (1 are encrypted, 1 are stored in a way that is not \
         read, 2 are archives, 1 are other files); unpack it and give its folder"
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
        assert_eq!(fault.kind, FaultKind::CorruptRecord, "{fault}");
        assert!(
            fault.message.starts_with("member 1 of the archive: zip: "),
            "{fault}"
        );
    }
    // Of a file packed otherwise, the end cannot be found.
    let mut stored = zipped("one.pcap", &capture(3), Zip::StoredStreamed);
    stored[8] = 12;
    let fault = read(&zip(&[stored])).2.unwrap();
    assert!(
        fault
            .message
            .contains("has an unknown length; unpack the archive"),
        "{fault}"
    );
}

#[test]
fn the_end_of_a_stored_file_is_not_that_of_a_file_in_it() {
    let how = Zip::StoredStreamed;
    let inner = zip(&[zipped("one.pcap", &capture(3), how)]);
    let content = zip(&[
        zipped("inner.zip", &inner, how),
        zipped("two.pcap", &capture(9000), how),
    ]);
    assert_eq!(read(&content), (vec![9000], 1, None));
}
