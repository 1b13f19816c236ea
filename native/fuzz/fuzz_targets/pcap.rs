//! Whole capture files of any kind, compressed ones included.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureDecoder, CaptureInput, CaptureOptions};

fuzz_target!(|content: &[u8]| {
    let options = CaptureOptions {
        // Small bounds, so that small inputs reach them.
        batch_rows: 3,
        packets: true,
        idle_ms: 1000,
        open_flows: 4,
        ..CaptureOptions::default()
    };
    let Ok(mut decoder) = CaptureDecoder::open(&[CaptureInput::Memory(content.to_vec())], options) else {
        return;
    };
    let mut packet_rows = 0;
    while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
        if table == "packet" {
            packet_rows += batch.num_rows() as u64;
        }
    }
    assert_eq!(packet_rows, decoder.summary().records_read);
});
