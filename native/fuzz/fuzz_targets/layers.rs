//! Frames of any link type: input is cut into records of a capture that is whole, so that the layers get it all.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureDecoder, CaptureInput, CaptureOptions, link_types};

/// A link type that has no decoder, beside every one that has.
const OTHER_LINK_TYPE: u32 = 147;

fuzz_target!(|input: &[u8]| {
    let Some((first, mut rest)) = input.split_first() else {
        return;
    };
    let mut content = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    content.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    let place = usize::from(*first) % (link_types().len() + 1);
    let link_type = link_types()
        .get(place)
        .map_or(OTHER_LINK_TYPE, |entry| entry.number);
    content.extend(link_type.to_le_bytes());
    let mut records = 0;
    while let [length, beyond, delay, after @ ..] = rest {
        let (frame, next) = after.split_at(usize::from(*length).min(after.len()));
        let captured = frame.len() as u32;
        for field in [
            1000 + u32::from(*delay),
            u32::from(*beyond) << 11,
            captured,
            captured + u32::from(*beyond),
        ] {
            content.extend(field.to_le_bytes());
        }
        content.extend(frame);
        rest = next;
        records += 1;
    }
    let options = CaptureOptions {
        idle_ms: 20_000,
        open_flows: 3,
        ..CaptureOptions::default()
    };
    let mut decoder =
        CaptureDecoder::open(&[CaptureInput::Memory(content)], options).expect("the file header is whole");
    let mut packets = 0;
    while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
        if table == "flow" {
            for direction in ["fwd_packets", "rev_packets"] {
                let column = batch.column_by_name(direction).expect("declared").to_data();
                packets += column.buffers()[0].typed_data::<i64>().iter().sum::<i64>();
            }
        }
    }
    let summary = decoder.summary();
    // Every record is accounted for, as a packet of a flow or as refused.
    assert_eq!(packets as u64, summary.records_read);
    assert_eq!(
        summary.records_read + summary.refused.values().sum::<u64>(),
        records
    );
});
