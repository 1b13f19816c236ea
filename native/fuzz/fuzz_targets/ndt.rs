//! Results of NDT5 and NDT7. What is read is held against the same document, read whole by a parser that knows no types.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sojourn_decode::{NdtConnection, NdtResult, NdtVersion};

/// The kernel's value of `tcpi_min_rtt` if it is unset.
const MIN_RTT_UNSET: i64 = 0xffff_ffff;

fuzz_target!(|content: &[u8]| {
    // A reading passes over what it does not need, so it accepts documents that a whole parse refuses.
    let whole: Option<Value> = serde_json::from_slice(content).ok();
    for version in [NdtVersion::Five, NdtVersion::Seven] {
        let result = NdtResult::read(content, version);
        if let Some(result) = &result {
            check(result, version);
        }
        if let Some(document) = &whole {
            assert_eq!(result.is_some(), document.is_object());
            if let Some(result) = &result {
                compare(result, version, document);
            }
        }
    }
});

/// What holds of every result: each direction is accounted for, and its numbers count something.
fn check(result: &NdtResult, version: NdtVersion) {
    let directions = result.connections.len() + result.refused.len();
    assert_eq!(directions as u64, result.directions);
    assert!(result.directions <= 2);
    assert!(version == NdtVersion::Seven || result.connections.len() <= 1);
    for row in &result.connections {
        let counts = [
            row.rtt_samples,
            row.rtt_min_us,
            row.rtt_max_us,
            row.kernel_min_rtt_us,
            row.sent_bytes,
            row.acked_bytes,
            row.received_bytes,
            row.retransmitted_packets,
        ];
        assert!(counts.into_iter().flatten().all(|count| count >= 0));
        for number in [row.duration_ms, row.rtt_avg_us].into_iter().flatten() {
            assert!(number.is_finite() && number >= 0.0);
        }
    }
}

fn compare(result: &NdtResult, version: NdtVersion, document: &Value) {
    let names = match version {
        NdtVersion::Five => ["C2S", "S2C"],
        NdtVersion::Seven => ["Download", "Upload"],
    };
    let directions: Vec<&Value> = names
        .iter()
        .map(|name| &document[name])
        .filter(|it| it.is_object())
        .collect();
    let mut rows = result.connections.iter();
    match version {
        // The first direction with an RTT is the last that is looked at.
        NdtVersion::Five => {
            assert!(result.directions <= directions.len() as u64);
            if let Some(row) = rows.next() {
                let direction = directions[result.refused.len()];
                let least_ns = direction["MinRTT"].as_i64().filter(|least_ns| *least_ns > 0);
                assert_eq!(row.rtt_min_us, least_ns.map(|least_ns| least_ns / 1000));
                compare_client(row, direction, document);
            } else {
                assert_eq!(result.directions, directions.len() as u64);
            }
        }
        NdtVersion::Seven => {
            assert_eq!(result.directions, directions.len() as u64);
            for direction in directions {
                if polls(direction).any(|poll| poll["TCPInfo"].is_object()) {
                    let row = rows.next().expect("a direction with a measurement has a row");
                    compare_polls(row, direction);
                    compare_client(row, direction, document);
                }
            }
            assert!(rows.next().is_none());
        }
    }
}

fn polls(direction: &Value) -> impl Iterator<Item = &Value> {
    direction["ServerMeasurements"].as_array().into_iter().flatten()
}

fn compare_polls(row: &NdtConnection, direction: &Value) {
    let positive = |name: &'static str| {
        polls(direction)
            .filter_map(move |poll| poll["TCPInfo"][name].as_i64())
            .filter(|rtt_us| *rtt_us > 0)
    };
    assert_eq!(row.rtt_samples, Some(positive("RTT").count() as i64));
    assert_eq!(row.rtt_min_us, positive("RTT").min());
    assert_eq!(row.rtt_max_us, positive("RTT").max());
    let kernel_min_us = positive("MinRTT").filter(|rtt_us| *rtt_us != MIN_RTT_UNSET).min();
    assert_eq!(row.kernel_min_rtt_us, kernel_min_us);
    assert_eq!(
        row.bbr,
        polls(direction).any(|poll| poll.get("BBRInfo").is_some())
    );
    if let (Some(least), Some(mean), Some(most)) = (row.rtt_min_us, row.rtt_avg_us, row.rtt_max_us) {
        // Both are rounded in the same way, which keeps their order.
        assert!(least as f64 <= mean && mean <= most as f64);
    }
}

/// The client is that of the direction or that of the test, or the replacement of one that is not text.
fn compare_client(row: &NdtConnection, direction: &Value, document: &Value) {
    if let Some(address) = row.client_address.as_deref() {
        let addresses = [direction, document].map(|object| object["ClientIP"].as_str());
        assert!(address == "-" || addresses.contains(&Some(address)));
    }
}
