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
fn zeros_behind_gzip_members_are_padding() {
    for padding_bytes in [1, 512, 10_240, 1 << 20] {
        let zeros = vec![0; padding_bytes];
        let stored = [gzip(b"first "), zeros.clone(), gzip(b"second"), zeros].concat();
        let mut reader = reader_over(&stored);
        assert_eq!(read_all(&mut reader), b"first second");
        assert!(reader.fault().is_none(), "{padding_bytes}");
    }
    let mut reader = reader_over(&[gzip(b"first"), vec![0, 1]].concat());
    assert_eq!(read_all(&mut reader), b"first");
    assert!(reader.fault().is_some(), "other bytes are not padding");
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
fn the_hash_is_of_all_content_however_it_was_read() {
    let plain: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
    let expected = crate::input::content_hash::ContentHash::new().finish(&plain);
    let cut = |stored: Vec<u8>| stored[..stored.len() - 3].to_vec();
    for stored in [
        plain.clone(),
        gzip(&plain),
        xz(&plain),
        zstd(&plain),
        cut(zstd(&plain)),
    ] {
        // The last leaves nearly all to be read for the hash, and the one before asks for more than a buffer.
        for needed in [1, 7, 100_000, PLAIN_BUFFER_BYTES * 2, plain.len()] {
            let mut reader = reader_over(&stored).hashing();
            for _ in 0..20_000 {
                reader.fill(needed);
                reader.consume(needed / 2 + 1);
            }
            assert_eq!(reader.into_hash(), Ok(Some(expected.clone())), "{needed}");
        }
    }
    assert_eq!(reader_over(&plain).into_hash(), Ok(None));
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
            let decompressed = read_all(&mut reader);
            let good = commonest_prefix(&decompressed, &plain);
            assert!(
                good as f64 > least_ratio * plain.len() as f64,
                "{} of {}",
                good,
                plain.len()
            );
            if is_cut {
                assert_eq!(good, decompressed.len());
            }
            let fault = reader.fault().unwrap();
            // A block of Zstandard that holds bytes as they are hides damage until the checksum.
            if is_cut || fault.kind != FaultKind::Checksum {
                assert_eq!(fault.kind, FaultKind::Compression, "{fault}");
                assert_eq!(fault.offset, Some(decompressed.len() as u64));
            }
        }
    }
}

#[test]
fn a_file_is_read_up_to_the_bound_whatever_it_states_of_its_size() {
    let zeros = vec![0; 4 << 20];
    let path = std::env::temp_dir().join(format!("sojourn-bound-{}", std::process::id()));
    for stored in [xz(&zeros), [xz(&zeros), b"abcd".to_vec()].concat(), zstd(&zeros)] {
        std::fs::write(&path, stored).unwrap();
        let mut reader = PlainReader::open(&path).unwrap();
        let read = read_all(&mut reader).len() as u64;
        assert!(read > 0 && read <= most_plain_bytes(0));
        let fault = reader.fault().unwrap();
        assert_eq!(fault.kind, FaultKind::ExpandsTooFar);
        assert!(
            fault.message.contains("compressed bytes expand to more than"),
            "{fault}"
        );
    }
    std::fs::remove_file(&path).unwrap();
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
        let decompressed = read_all(&mut reader);
        assert_eq!(decompressed, xz_byte_by_byte(&stored[..length]), "{length}");
        assert!(plain.starts_with(&decompressed));
        let fault = reader.fault().unwrap();
        assert_eq!(
            (fault.kind, fault.offset),
            (FaultKind::Compression, Some(decompressed.len() as u64))
        );
    }
    let mut checksums = 0;
    for (place, bit) in (12..stored.len()).flat_map(|place| [(place, 1), (place, 128)]) {
        let mut damaged = stored.clone();
        damaged[place] ^= bit;
        let mut reader = reader_over(&damaged);
        let decompressed = read_all(&mut reader);
        assert_eq!(decompressed, xz_byte_by_byte(&damaged), "{place}");
        // Some bits mean nothing to the library.
        let Some(fault) = reader.fault() else {
            assert_eq!(decompressed, plain, "{place}");
            continue;
        };
        match fault.kind {
            FaultKind::Checksum => checksums += 1,
            _ => assert_eq!(fault.offset, Some(decompressed.len() as u64), "{place}: {fault}"),
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
        let decompressed = read_all(&mut reader);
        assert!(commonest_prefix(&decompressed, &plain) > plain.len() * 4 / 5);
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
