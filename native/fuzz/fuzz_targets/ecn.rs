//! Explicit Congestion Notification: input is cut into segments of one TCP connection, in packets that are whole.
#![no_main]

use arrow_array::{Array, Int64Array, RecordBatch};
use libfuzzer_sys::fuzz_target;
use sojourn_decode::{CaptureDecoder, CaptureInput, CaptureOptions};

/// Link type of IP packets without a frame.
const RAW_IP: u32 = 101;
const ENDS: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];
const PORTS: [u16; 2] = [5000, 443];
const COUNTERS: [&str; 4] = ["not_ect_packets", "ect0_packets", "ect1_packets", "ce_packets"];

fuzz_target!(|input: &[u8]| {
    let (content, packets, capable) = capture(input);
    let mut decoder = CaptureDecoder::open(&[CaptureInput::Memory(content)], CaptureOptions::default())
        .expect("the file header is whole");
    let (mut of_flows, mut of_intervals, mut counted) = (0, 0, 0);
    while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
        match table {
            "flow_ecn" => {
                let sums = COUNTERS.map(|name| sum(&batch, name));
                counted += sums.iter().sum::<i64>();
                of_flows += sums[1..].iter().sum::<i64>();
                check(&batch);
            }
            "flow_ecn_interval" => {
                of_intervals += COUNTERS[1..].iter().map(|name| sum(&batch, name)).sum::<i64>()
            }
            _ => {}
        }
    }
    assert_eq!(decoder.summary().records_read as i64, packets);
    // Every packet with ECT or CE is in its flow and in its interval, and no packet is counted twice.
    assert_eq!((of_flows, of_intervals), (capable, capable));
    assert!(counted <= packets);
});

/// What holds of each direction, whatever was sent.
fn check(batch: &RecordBatch) {
    let at_most = |lower: &str, upper: &str| {
        let (lower, upper) = (column(batch, lower), column(batch, upper));
        for row in 0..batch.num_rows() {
            if lower.is_valid(row) && upper.is_valid(row) {
                assert!(lower.value(row) <= upper.value(row), "{batch:?}");
            }
        }
    };
    at_most("echoed_ce_packets_min", "echoed_ce_packets_max");
    at_most("ecn_data_packets", "data_packets");
    at_most("echo_runs", "echo_segments");
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> &'b Int64Array {
    let array = batch.column_by_name(name).expect("declared");
    array.as_any().downcast_ref().expect("whole numbers")
}

fn sum(batch: &RecordBatch, name: &str) -> i64 {
    column(batch, name).iter().flatten().sum()
}

/// A capture of one connection's segments, how many they are, and how many have ECT or CE.
///
/// A step is the direction and codepoint, the flags (AE in the first bit of the next byte), sequence and acknowledgement
/// number in steps of 64 bytes, the time since the last one, and the length of options (in words) and of payload.
fn capture(input: &[u8]) -> (Vec<u8>, i64, i64) {
    let mut content = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    content.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    content.extend(RAW_IP.to_le_bytes());
    let (mut packets, mut capable, mut time_us) = (0, 0, 0_u32);
    let mut rest = input;
    while let [kind, flags, sequence, acknowledgement, delay, lengths, after @ ..] = rest {
        let direction = usize::from(kind & 1);
        let ecn = kind >> 1 & 3;
        let option_bytes = (usize::from(lengths & 15).min(10) * 4).min(after.len() / 4 * 4);
        let (options, next) = after.split_at(option_bytes);
        let payload = vec![7; usize::from(lengths >> 4) * 100];
        let mut segment = PORTS[direction].to_be_bytes().to_vec();
        segment.extend(PORTS[1 - direction].to_be_bytes());
        // Near the end of the number space, so that it wraps.
        for number in [sequence, acknowledgement] {
            segment.extend(
                (u32::MAX - 999)
                    .wrapping_add(u32::from(*number) * 64)
                    .to_be_bytes(),
            );
        }
        let words = 5 + (option_bytes / 4) as u8;
        segment.extend([words << 4 | kind >> 3 & 1, *flags, 1, 0, 0, 0, 0, 0]);
        segment.extend(options);
        segment.extend(payload);
        let total = (20 + segment.len()) as u16;
        let mut packet = vec![0x45, ecn];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, 6, 0, 0]);
        packet.extend(ENDS[direction]);
        packet.extend(ENDS[1 - direction]);
        packet.extend(segment);
        time_us += u32::from(*delay) * 1000;
        for field in [
            time_us / 1_000_000,
            time_us % 1_000_000,
            total.into(),
            total.into(),
        ] {
            content.extend(field.to_le_bytes());
        }
        content.extend(packet);
        packets += 1;
        capable += i64::from(ecn != 0);
        rest = next;
    }
    (content, packets, capable)
}
