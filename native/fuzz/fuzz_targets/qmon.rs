//! Records of the binary queue monitor: the input is cut into bodies of events, so that the layers and the pairing get
//! it, with other records between them; every eighth input is taken as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{QueueLogDecoder, QueueLogForm, QueueLogOptions};

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut record = (3 + body.len() as u16).to_le_bytes().to_vec();
    record.push(kind);
    record.extend(body);
    record
}

/// An event out of a few bytes: small numbers, so that times, buffers and flows meet.
fn event(step: u8, what: u8, time_ns: &mut u64, packet: &[u8]) -> Vec<u8> {
    *time_ns = time_ns
        .wrapping_add(u64::from(step) << (what & 31))
        .wrapping_sub(u64::from(what & 3) << 20);
    let mut body = time_ns.to_le_bytes().to_vec();
    for field in [
        u32::from(what >> 6),
        9,
        u32::from(what & 7),
        0,
        u32::from(step),
        1,
        0,
        0,
    ] {
        body.extend(field.to_le_bytes());
    }
    body.push(what >> 3 & 1);
    body.extend(u64::from(what & 1).to_le_bytes());
    body.extend(u64::from(step & 7).to_le_bytes());
    body.extend(100_u16.to_le_bytes());
    body.push(16);
    body.extend((packet.len() as u16).to_le_bytes());
    body.extend(b"eth0\0\0\0\0\0\0\0\0\0\0\0\0");
    body.extend(packet);
    record(0, &body)
}

fuzz_target!(|input: &[u8]| {
    let Some((first, mut rest)) = input.split_first() else {
        return;
    };
    let mut content = Vec::new();
    if first & 7 == 0 {
        content.extend(rest);
    } else {
        let mut time_ns = 1_000_000_000;
        content.extend(event(1, 0x48, &mut time_ns, b""));
        while let [step, what, length, after @ ..] = rest {
            let (packet, next) = after.split_at(usize::from(*length & 63).min(after.len()));
            content.extend(match length >> 6 {
                3 => record(1, &[*step]),
                2 if *what == 0 => record(4, packet),
                _ => event(*step, *what, &mut time_ns, packet),
            });
            rest = next;
        }
    }
    let options = QueueLogOptions {
        // Small bounds, so that small inputs reach them; long intervals, so that a gap is not thousands of rows.
        batch_rows: 3,
        interval_ms: 60_000,
        longest_silence_ms: 600_000,
    };
    let Ok(mut decoder) = QueueLogDecoder::over(content, &QueueLogForm::Qmon, options) else {
        return;
    };
    let mut packets = 0;
    while let Some((table, batch)) = decoder.next_batch().expect("decoded rows form a batch") {
        if table == "queue_packet" {
            packets += batch.num_rows() as u64;
        }
    }
    // A packet has one or two events.
    let events = decoder.summary().records_read;
    assert!(packets <= events && events <= 2 * packets);
});
