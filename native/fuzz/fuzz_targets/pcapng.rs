//! The blocks of a pcapng file: the section header is given, so that every input gets past recognition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureDecoder, CaptureInput, CaptureOptions};

fn section_header(big_endian: bool) -> Vec<u8> {
    let mut header = Vec::new();
    for field in [
        0x0a0d_0d0a_u32,
        28,
        0x1a2b_3c4d,
        // The version 1.0 as two numbers of 16 bits.
        if big_endian { 1 << 16 } else { 1 },
        u32::MAX,
        u32::MAX,
        28,
    ] {
        header.extend(if big_endian {
            field.to_be_bytes()
        } else {
            field.to_le_bytes()
        });
    }
    header
}

fuzz_target!(|input: &[u8]| {
    let Some((first, blocks)) = input.split_first() else {
        return;
    };
    let mut content = section_header(first & 1 == 1);
    content.extend(blocks);
    let mut decoder = CaptureDecoder::open(&[CaptureInput::Memory(content)], CaptureOptions::default())
        .expect("the section header is whole");
    while decoder.next_batch().expect("decoded rows form a batch").is_some() {}
});
