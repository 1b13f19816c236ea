//! Queue logs of every form as they are, tables both as JSON Lines and as CSV.
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
    // Those that are known by their content, in the order of the list, then the two kinds of table.
    let mut forms: Vec<_> = QueueLogForm::KNOWN
        .iter()
        .filter_map(|entry| QueueLogForm::of_name(entry.name, None))
        .collect();
    forms.extend([table("json_lines"), table("csv")]);
    let form = forms.swap_remove(usize::from(*first) % forms.len());
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
