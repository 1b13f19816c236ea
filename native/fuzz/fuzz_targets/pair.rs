//! Two captures of one run: input is cut into frames that the first capture has, the second, or both, in one file or two.
#![no_main]

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureInput, PairDecoder, PairOptions};

const IN_BEFORE: u8 = 1;
const IN_AFTER: u8 = 2;
const NEXT_FILE: u8 = 4;
const LINK_TYPES: [u32; 3] = [1, 101, 147];

fn file_header(link_type: u32) -> Vec<u8> {
    let mut content = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    content.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    content.extend(link_type.to_le_bytes());
    content
}

fn record(content: &mut Vec<u8>, seconds: u32, beyond: u8, frame: &[u8]) {
    let captured = frame.len() as u32;
    for field in [
        seconds,
        u32::from(beyond) << 20,
        captured,
        captured + u32::from(beyond),
    ] {
        content.extend(field.to_le_bytes());
    }
    content.extend(frame);
}

fn sum(batch: &RecordBatch, column: &str) -> i64 {
    batch
        .column_by_name(column)
        .expect("declared")
        .as_primitive::<Int64Type>()
        .iter()
        .map(|value| value.expect("never null"))
        .sum()
}

fuzz_target!(|input: &[u8]| {
    let [first, bounds, rest @ ..] = input else { return };
    let header = file_header(LINK_TYPES[usize::from(*first) % LINK_TYPES.len()]);
    let mut files = [vec![header.clone()], vec![header.clone()]];
    let mut rest = rest;
    let mut records = 0;
    while let [kind, length, beyond, delay, after @ ..] = rest {
        let (frame, next) = after.split_at(usize::from(*length).min(after.len()));
        let seconds = [
            1000 + u32::from(kind >> 3),
            1000 + u32::from(kind >> 3) + u32::from(*delay),
        ];
        for (point, bit) in [IN_BEFORE, IN_AFTER].into_iter().enumerate() {
            if kind & bit != 0 {
                if kind & NEXT_FILE != 0 {
                    files[point].push(header.clone());
                }
                let mut frame = frame.to_vec();
                if point == 1
                    && let Some(hop_limit) = frame.get_mut(22)
                {
                    *hop_limit = hop_limit.wrapping_sub(1);
                }
                record(
                    files[point].last_mut().expect("there is one"),
                    seconds[point],
                    *beyond,
                    &frame,
                );
                records += 1;
            }
        }
        rest = next;
    }
    let options = PairOptions {
        // Small bounds, so that small inputs reach them.
        waiting: usize::from(bounds & 0x0f),
        patience: u64::from(bounds >> 4) * 4,
        batch_rows: 3,
        ..PairOptions::of_rate(i64::from(*first) * 1000)
    };
    let [before, after] = files.map(|files| files.into_iter().map(CaptureInput::Memory).collect());
    let mut decoder = PairDecoder::open(before, after, options).expect("the file headers are whole");
    let mut rows = 0;
    let mut of_flows = [0; 3];
    let mut pairs = 0;
    while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
        let sent = sum_if(&batch, table != "packet_pair", "sent_packets");
        let dropped = sum_if(&batch, table != "packet_pair", "dropped_packets");
        let unseen = sum_if(&batch, table != "packet_pair", "not_seen_before_packets");
        match table {
            "packet_pair" => rows += batch.num_rows() as i64,
            "flow_pair" => {
                of_flows = [of_flows[0] + sent, of_flows[1] + dropped, of_flows[2] + unseen];
            }
            _ => {
                pairs += 1;
                assert_eq!(of_flows, [sent, dropped, unseen]);
                assert_eq!(rows, sent + unseen);
                let others = sum(&batch, "delivered_packets") + sum(&batch, "in_flight_at_end_packets");
                assert_eq!(sent, dropped + others);
            }
        }
    }
    assert_eq!(pairs, 1);
    let summary = decoder.summary();
    // Every record is accounted for.
    assert_eq!(
        summary.records_read + summary.refused.values().sum::<u64>(),
        records
    );
});

fn sum_if(batch: &RecordBatch, has_it: bool, column: &str) -> i64 {
    if has_it { sum(batch, column) } else { 0 }
}
