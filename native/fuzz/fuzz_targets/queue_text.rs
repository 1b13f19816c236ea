//! Queue logs as text: bpftrace, perf script, and tables as JSON Lines and CSV.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{QueueLogDecoder, QueueLogForm, QueueLogOptions};

/// Fields that JSON Lines and CSV share, each under its first letters.
const FIELDS: &str = r#""event": {"column": "e", "enqueue": ["in"], "dequeue": ["out"], "drop": ["drop"], "lost": ["lost"]},
    "packet": ["p"],
    "fields": {"time": {"column": "t", "unit": "ms"}, "packet_bytes": {"column": "b", "unit": "kB"},
    "queue_packets": {"column": "q"}, "source_address": {"column": "s"}, "destination_address": {"column": "d"},
    "protocol": {"column": "n"}, "flow_label": {"column": "p"}}}"#;

fuzz_target!(|input: &[u8]| {
    let Some((first, content)) = input.split_first() else {
        return;
    };
    let table = |form: &str| {
        QueueLogForm::Table(format!(
            r#"{{"form": "{form}", "clock": "utc", "drops_logged": false, {FIELDS}"#
        ))
    };
    let form = match first & 3 {
        0 => QueueLogForm::Bpftrace,
        1 => QueueLogForm::Perf,
        2 => table("json_lines"),
        _ => table("csv"),
    };
    let options = QueueLogOptions {
        batch_rows: 3,
        interval_ms: 60_000,
        longest_silence_ms: 600_000,
    };
    let Ok(mut decoder) = QueueLogDecoder::over(content.to_vec(), &form, options) else {
        return;
    };
    while decoder.next_batch().expect("decoded rows form a batch").is_some() {}
});
