//! Messages of calls: input is cut into payloads of one flow, over UDP and over TCP, either way, whole or snapped.
#![no_main]

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureDecoder, CaptureInput, CaptureOptions};

/// One payload in IPv4, from one of two ends; what was snapped off is in the lengths alone.
fn packet(payload: &[u8], snapped: usize, way: bool, tcp: bool, sequence: u32) -> Vec<u8> {
    let header = if tcp { 20 } else { 8 };
    let length = (20 + header + payload.len() + snapped) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend(length.to_be_bytes());
    ip.extend([0, 1, 0, 0, 64, if tcp { 6 } else { 17 }, 0, 0]);
    let ends = [(1u8, 4000u16), (2, 3478)];
    let (from, to) = if way {
        (ends[1], ends[0])
    } else {
        (ends[0], ends[1])
    };
    ip.extend([10, 0, 0, from.0, 10, 0, 0, to.0]);
    ip.extend(from.1.to_be_bytes());
    ip.extend(to.1.to_be_bytes());
    if tcp {
        ip.extend(sequence.to_be_bytes());
        ip.extend([0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    } else {
        ip.extend(((header + payload.len() + snapped) as u16).to_be_bytes());
        ip.extend([0, 0]);
    }
    ip.extend(payload);
    ip
}

fn sum(batch: &RecordBatch, column: &str) -> i64 {
    let column = batch.column_by_name(column).expect("declared").to_data();
    column.buffers()[0].typed_data::<i64>().iter().sum()
}

fuzz_target!(|input: &[u8]| {
    let mut content = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    content.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    let (mut rest, mut sequences, mut number) = (input, [0u32; 2], 0u64);
    while let [length, how, after @ ..] = rest {
        let (payload, next) = after.split_at(usize::from(*length).min(after.len()));
        let (way, tcp, snapped) = (how & 1 != 0, how & 2 != 0, usize::from(how >> 6) * 9);
        let frame = packet(payload, snapped, way, tcp, sequences[usize::from(way)]);
        if tcp {
            sequences[usize::from(way)] += (payload.len() + snapped) as u32;
        }
        // Time goes on by up to 0.3 s, and back now and then.
        number += u64::from(how >> 2 & 15) * 20_000_000;
        let time_ns = if how & 0x3c == 0x3c { number / 2 } else { number };
        for field in [1000 + time_ns / 1_000_000_000, time_ns % 1_000_000_000] {
            content.extend((field as u32).to_le_bytes());
        }
        for field in [frame.len(), frame.len() + snapped] {
            content.extend((field as u32).to_le_bytes());
        }
        content.extend(frame);
        rest = next;
    }
    let options = CaptureOptions::default();
    let mut decoder =
        CaptureDecoder::open(&[CaptureInput::Memory(content)], options).expect("the file header is whole");
    let mut sums: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
        for column in [
            "packets",
            "payload_bytes",
            "frames",
            "expected_packets",
            "lost_packets",
        ] {
            if matches!(table, "rtp_stream" | "rtp_interval") {
                *sums.entry((table, column)).or_default() += sum(&batch, column);
            }
        }
        if table == "rtcp_report" {
            assert!(sum(&batch, "rtt_samples") <= sum(&batch, "reports"));
        }
    }
    // The intervals of streams are the streams, whatever came.
    for column in [
        "packets",
        "payload_bytes",
        "frames",
        "expected_packets",
        "lost_packets",
    ] {
        assert_eq!(
            sums.get(&("rtp_stream", column)),
            sums.get(&("rtp_interval", column)),
            "{column}"
        );
    }
});
