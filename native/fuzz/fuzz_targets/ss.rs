//! Text of `ss`: a socket that is read and printed again as ss does is read as the same socket.
#![no_main]

use std::fmt::Write;

use libfuzzer_sys::fuzz_target;
use sojourn_decode::{SsEndpoint, SsSocket};

/// Above this a double does not keep every microsecond of a number of milliseconds.
const LARGEST_EXACT_US: i64 = 1 << 50;

fuzz_target!(|content: &[u8]| {
    let text = String::from_utf8_lossy(content);
    for line in text.lines() {
        let Some(socket) = SsSocket::parse(line) else {
            continue;
        };
        let durations_us = [socket.srtt_us, socket.rttvar_us, socket.min_rtt_us, socket.rto_us];
        let counts = [
            socket.mss_bytes.map(i64::from),
            socket.cwnd_packets.map(i64::from),
            socket.ssthresh_packets,
            socket.sent_bytes,
            socket.retransmitted_bytes,
            socket.acked_bytes,
            socket.received_bytes,
            socket.unacked_packets.map(i64::from),
            socket.retransmitted_packets,
            socket.lost_packets,
            socket.pacing_rate_bps,
            socket.delivery_rate_bps,
        ];
        // The kernel counts without a sign.
        let numbers = || durations_us.into_iter().chain(counts).flatten();
        assert!(numbers().all(|number| number >= 0));
        if durations_us
            .into_iter()
            .flatten()
            .all(|time_us| time_us < LARGEST_EXACT_US)
        {
            let printed = print(&socket);
            // What could not be read is counted, and is not printed; nor is a variation without its time.
            let read = SsSocket {
                rttvar_us: socket.srtt_us.and(socket.rttvar_us),
                unread_values: 0,
                ..socket
            };
            assert_eq!(SsSocket::parse(&printed).as_ref(), Some(&read), "{printed}");
        }
    }
});

fn print(socket: &SsSocket) -> String {
    let mut line = format!(
        "{} 0 0 {} {}",
        socket.state,
        end(&socket.local),
        end(&socket.peer)
    );
    if let Some(name) = &socket.congestion_control {
        line.push(' ');
        line.push_str(name);
    }
    let milliseconds = |us: i64| format!("{}.{:03}", us / 1000, us % 1000);
    let mut add = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, " {key}{value}").expect("a text takes every text");
        }
    };
    // A variation occurs only after a smoothed RTT.
    if let Some(srtt_us) = socket.srtt_us {
        let variation = socket.rttvar_us.map(milliseconds);
        add(
            "rtt:",
            Some(format!(
                "{}/{}",
                milliseconds(srtt_us),
                variation.unwrap_or_default()
            )),
        );
    }
    add("minrtt:", socket.min_rtt_us.map(milliseconds));
    add("rto:", socket.rto_us.map(milliseconds));
    for (key, value) in [
        ("mss:", socket.mss_bytes.map(i64::from)),
        ("cwnd:", socket.cwnd_packets.map(i64::from)),
        ("ssthresh:", socket.ssthresh_packets),
        ("bytes_sent:", socket.sent_bytes),
        ("bytes_retrans:", socket.retransmitted_bytes),
        ("bytes_acked:", socket.acked_bytes),
        ("bytes_received:", socket.received_bytes),
        ("unacked:", socket.unacked_packets.map(i64::from)),
        ("retrans:0/", socket.retransmitted_packets),
        ("lost:", socket.lost_packets),
        ("pacing_rate ", socket.pacing_rate_bps),
        ("delivery_rate ", socket.delivery_rate_bps),
    ] {
        let unit = if key.ends_with("rate ") { "bps" } else { "" };
        add(key, value.map(|value| format!("{value}{unit}")));
    }
    add("app_limited", socket.app_limited.then(String::new));
    line
}

fn end(end: &SsEndpoint) -> String {
    let address = end.address.as_deref().unwrap_or("*");
    match end.port {
        Some(port) => format!("[{address}]:{port}"),
        None => format!("[{address}]:*"),
    }
}
