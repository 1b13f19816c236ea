//! One socket as `ss -H -O -tino` prints it on one line (iproute2: misc/ss.c), also without `-n`: then rates have a
//! prefix and ports have names.

use std::str::FromStr;

use crate::output::units::LONGEST_DELAY_NS;

/// Bare words that ss prints before the congestion control's name (`tcp_stats_print`).
const FLAG_WORDS: [&str; 8] = [
    "ts",
    "sack",
    "ecn",
    "ecnseen",
    "fastopen",
    "app_limited",
    "ts_usec",
    "accecn",
];
/// Words whose value is the next word.
const RATE_WORDS: [&str; 3] = ["send", "pacing_rate", "delivery_rate"];
const STATES: [&str; 12] = [
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "CLOSED",
];
/// Services that measurements run on, of those that `/etc/services` names in place of ports.
const SERVICES: [(&str, i32); 24] = [
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("http", 80),
    ("www", 80),
    ("pop3", 110),
    ("imap", 143),
    ("imap2", 143),
    ("https", 443),
    ("submission", 587),
    ("domain-s", 853),
    ("rsync", 873),
    ("imaps", 993),
    ("pop3s", 995),
    ("mysql", 3306),
    ("ms-wbt-server", 3389),
    ("commplex-link", 5001),
    ("targus-getdata1", 5201),
    ("postgresql", 5432),
    ("http-alt", 8080),
    ("https-alt", 8443),
    ("netperf", 12865),
];
const US_PER_MS: f64 = 1000.0;

/// One end of a socket: address and port, `None` where ss prints an asterisk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SsEndpoint {
    /// The address as it is printed, without brackets and scope.
    pub address: Option<String>,
    /// Port.
    pub port: Option<i32>,
}

/// One socket, with `None` for what ss does not print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // named as the columns of tcp_poll, which say what they are
pub struct SsSocket {
    pub state: String,
    pub local: SsEndpoint,
    pub peer: SsEndpoint,
    pub congestion_control: Option<String>,
    pub app_limited: bool,
    pub srtt_us: Option<i64>,
    pub rttvar_us: Option<i64>,
    pub min_rtt_us: Option<i64>,
    pub rto_us: Option<i64>,
    pub mss_bytes: Option<i32>,
    pub cwnd_packets: Option<i32>,
    pub ssthresh_packets: Option<i64>,
    pub sent_bytes: Option<i64>,
    pub retransmitted_bytes: Option<i64>,
    pub acked_bytes: Option<i64>,
    pub received_bytes: Option<i64>,
    pub unacked_packets: Option<i32>,
    pub retransmitted_packets: Option<i64>,
    pub lost_packets: Option<i64>,
    pub pacing_rate_bps: Option<i64>,
    pub delivery_rate_bps: Option<i64>,
    /// How many of the values above, and of the ports, could not be read.
    pub unread_values: u32,
}

impl SsSocket {
    /// Read one line; `None` if it is not one of a socket.
    ///
    /// A value that is not of its kind, or larger than its column, is `None` and counted.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let state = words.next().filter(|state| STATES.contains(state))?;
        let (_receive_queue, _send_queue) = (words.next()?, words.next()?);
        let mut socket = Self {
            state: state.to_owned(),
            ..Self::default()
        };
        socket.local = endpoint(words.next()?, &mut socket.unread_values)?;
        socket.peer = endpoint(words.next()?, &mut socket.unread_values)?;
        let mut texts = Texts::default();
        let mut before = "";
        let mut end_of_list = None;
        for word in words {
            // Names of processes may have blanks, and options of a socket are words: each would be an algorithm.
            end_of_list = end_of_list
                .or_else(|| word.starts_with("users:((").then_some("))"))
                .or_else(|| (word == "inet-sockopt:").then_some(")"));
            if let Some(end) = end_of_list {
                end_of_list = (!word.ends_with(end)).then_some(end);
                continue;
            }
            match before {
                "pacing_rate" => texts.pacing_rate = Some(word),
                "delivery_rate" => texts.delivery_rate = Some(word),
                "send" => {}
                _ => match word.split_once(':') {
                    Some((key, value)) => texts.take(key, value),
                    None => socket.take_bare(word),
                },
            }
            before = word;
        }
        Some(socket.with(&texts))
    }

    fn take_bare(&mut self, word: &str) {
        if word == "app_limited" {
            self.app_limited = true;
        }
        let is_name = !FLAG_WORDS.contains(&word) && !RATE_WORDS.contains(&word) && is_algorithm(word);
        if self.congestion_control.is_none() && is_name {
            self.congestion_control = Some(word.to_owned());
        }
    }

    fn with(mut self, texts: &Texts<'_>) -> Self {
        let (smoothed, variation) = match texts.rtt {
            Some(rtt) => rtt
                .split_once('/')
                .map_or((Some(rtt), None), |(smoothed, variation)| {
                    (Some(smoothed), Some(variation))
                }),
            None => (None, None),
        };
        // Those in flight, and all so far.
        let retransmitted = texts
            .retrans
            .map(|both| both.rsplit_once('/').map_or(both, |(_, all)| all));
        let unread = &mut self.unread_values;
        self.srtt_us = value_of(smoothed, microseconds, unread);
        self.rttvar_us = value_of(variation.filter(|text| !text.is_empty()), microseconds, unread);
        self.min_rtt_us = value_of(texts.minrtt, microseconds, unread);
        self.rto_us = value_of(texts.rto, microseconds, unread);
        self.mss_bytes = value_of(texts.mss, number, unread);
        self.cwnd_packets = value_of(texts.cwnd, number, unread);
        self.ssthresh_packets = value_of(texts.ssthresh, number, unread);
        self.sent_bytes = value_of(texts.bytes_sent, number, unread);
        self.retransmitted_bytes = value_of(texts.bytes_retrans, number, unread);
        self.acked_bytes = value_of(texts.bytes_acked, number, unread);
        self.received_bytes = value_of(texts.bytes_received, number, unread);
        self.unacked_packets = value_of(texts.unacked, number, unread);
        self.retransmitted_packets = value_of(retransmitted, number, unread);
        self.lost_packets = value_of(texts.lost, number, unread);
        self.pacing_rate_bps = value_of(texts.pacing_rate, rate_bps, unread);
        self.delivery_rate_bps = value_of(texts.delivery_rate, rate_bps, unread);
        self
    }
}

/// The values as they are; of a repeated key, the last.
#[derive(Default)]
struct Texts<'l> {
    rtt: Option<&'l str>,
    minrtt: Option<&'l str>,
    rto: Option<&'l str>,
    mss: Option<&'l str>,
    cwnd: Option<&'l str>,
    ssthresh: Option<&'l str>,
    bytes_sent: Option<&'l str>,
    bytes_retrans: Option<&'l str>,
    bytes_acked: Option<&'l str>,
    bytes_received: Option<&'l str>,
    unacked: Option<&'l str>,
    retrans: Option<&'l str>,
    lost: Option<&'l str>,
    pacing_rate: Option<&'l str>,
    delivery_rate: Option<&'l str>,
}

impl<'l> Texts<'l> {
    fn take(&mut self, key: &str, value: &'l str) {
        let text = match key {
            "rtt" => &mut self.rtt,
            "minrtt" => &mut self.minrtt,
            "rto" => &mut self.rto,
            "mss" => &mut self.mss,
            "cwnd" => &mut self.cwnd,
            "ssthresh" => &mut self.ssthresh,
            "bytes_sent" => &mut self.bytes_sent,
            "bytes_retrans" => &mut self.bytes_retrans,
            "bytes_acked" => &mut self.bytes_acked,
            "bytes_received" => &mut self.bytes_received,
            "unacked" => &mut self.unacked,
            "retrans" => &mut self.retrans,
            "lost" => &mut self.lost,
            _ => return,
        };
        *text = Some(value);
    }
}

/// The value of a text if there is one; a text that is no value is counted.
fn value_of<T>(text: Option<&str>, read: fn(&str) -> Option<T>, unread: &mut u32) -> Option<T> {
    let value = read(text?);
    *unread += u32::from(value.is_none());
    value
}

/// Whether a word may be the name of a congestion control (at most 15 bytes, `TCP_CA_NAME_MAX`), and no address.
fn is_algorithm(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    word.len() < 16 && word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.bytes().all(plain)
}

/// A count: the kernel's have no sign.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Milliseconds with a fraction, as whole microseconds.
fn microseconds(text: &str) -> Option<i64> {
    let rounded = (text.parse::<f64>().ok()? * US_PER_MS).round_ties_even();
    #[allow(clippy::cast_possible_truncation)]
    (0.0..=LONGEST_DELAY_NS as f64 / 1e3)
        .contains(&rounded)
        .then_some(rounded as i64)
}

/// Bit/s, as a whole number or with a prefix (`2.48Gbps`, powers of 1000: `sprint_bw`).
fn rate_bps(text: &str) -> Option<i64> {
    let text = text.strip_suffix("bps").unwrap_or(text);
    let factor = match text.bytes().last()? {
        b'k' | b'K' => 1e3,
        b'M' => 1e6,
        b'G' => 1e9,
        b'T' => 1e12,
        _ => return number(text),
    };
    let digits = &text[..text.len() - 1];
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let rounded = (is_plain.then(|| digits.parse::<f64>().ok()).flatten()? * factor).round();
    #[allow(clippy::cast_possible_truncation)]
    (rounded < 9_007_199_254_740_992.0).then_some(rounded as i64)
}

/// `192.0.2.1:443`, `[2001:db8::1]:443`, `[fe80::1]%eth0:443`, `*:443`, `192.0.2.1:https`; the scope may also stand
/// within the brackets, or there may be none.
///
/// A port that is a name of no known service is `None`, and counted.
fn endpoint(text: &str, unread: &mut u32) -> Option<SsEndpoint> {
    let (host, port) = text.rsplit_once(':')?;
    let address = match host.split_once('%') {
        // Names of interfaces are any bytes but blanks, slashes and colons.
        Some((address, scope)) => (!matches!(scope, "" | "]")).then_some(address)?,
        None => host,
    };
    let address = address.strip_prefix('[').unwrap_or(address);
    let address = address.strip_suffix(']').unwrap_or(address);
    let plain = |byte: u8| byte.is_ascii_hexdigit() || b".:*".contains(&byte);
    if address.is_empty() || !address.bytes().all(plain) {
        return None;
    }
    let port = match port {
        "" => return None,
        "*" => None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        name if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            let service = SERVICES.iter().find(|(service, _)| *service == name);
            *unread += u32::from(service.is_none());
            service.map(|(_, port)| *port)
        }
        _ => return None,
    };
    Some(SsEndpoint {
        address: (address != "*").then(|| address.to_owned()),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: &str = "ESTAB 0 27512 10.0.1.2:40001 [2001:db8::1%eth0]:5201 ts sack cubic rtt:100.118/22.589 \
        mss:1448 ssthresh:2 bytes_sent:1016533 pacing_rate 694216bps delivery_rate 389800bps app_limited \
        retrans:1/63 minrtt:50.0545";

    #[test]
    fn a_socket_is_read() {
        let socket = SsSocket::parse(SOCKET).unwrap();
        assert_eq!(socket.local.address.as_deref(), Some("10.0.1.2"));
        assert_eq!(socket.peer.address.as_deref(), Some("2001:db8::1"));
        assert_eq!((socket.local.port, socket.peer.port), (Some(40_001), Some(5201)));
        assert_eq!(socket.congestion_control.as_deref(), Some("cubic"));
        assert_eq!((socket.srtt_us, socket.rttvar_us), (Some(100_118), Some(22_589)));
        assert_eq!(
            (socket.retransmitted_packets, socket.lost_packets),
            (Some(63), None)
        );
        assert_eq!(
            (socket.pacing_rate_bps, socket.delivery_rate_bps),
            (Some(694_216), Some(389_800))
        );
        assert!(socket.app_limited);
        // Half a microsecond goes to the even one.
        assert_eq!(socket.min_rtt_us, Some(50_054));
    }

    #[test]
    fn a_rate_is_no_name_of_a_congestion_control() {
        let nameless = SOCKET
            .replace(" cubic", "")
            .replace("pacing_rate", "send 5bps pacing_rate");
        let socket = SsSocket::parse(&nameless).unwrap();
        assert_eq!(socket.congestion_control, None);
        let rates = (socket.pacing_rate_bps, socket.delivery_rate_bps);
        assert_eq!(rates, (Some(694_216), Some(389_800)));
        assert!(socket.app_limited);
    }

    #[test]
    fn a_word_that_names_no_algorithm_is_passed_over() {
        for word in ["8.8.8.8", "<->", "1", "name.example.net", "sixteen_letters_"] {
            let socket = SsSocket::parse(&SOCKET.replacen("ts sack", word, 1)).unwrap();
            assert_eq!(socket.congestion_control.as_deref(), Some("cubic"), "{word}");
        }
        for list in [
            r#"users:(("Web Content",pid=1,fd=5))"#,
            "inet-sockopt: ( is_icsk mc_loop mc_all)",
        ] {
            let socket = SsSocket::parse(&SOCKET.replacen("ts sack", list, 1)).unwrap();
            assert_eq!(socket.congestion_control.as_deref(), Some("cubic"), "{list}");
        }
        let socket = SsSocket::parse("ESTAB 0 0 10.0.1.2:1 10.0.1.3:2 8.8.8.8").unwrap();
        assert_eq!(socket.congestion_control, None);
    }

    #[test]
    fn ends_in_every_form() {
        let parsed = |text| endpoint(text, &mut 0).map(|end| (end.address.unwrap_or_default(), end.port));
        assert_eq!(parsed("*:*"), Some((String::new(), None)));
        for text in ["[fe80::1]%eth0:443", "[fe80::1%eth0]:443", "fe80::1%eth0:443"] {
            assert_eq!(parsed(text), Some(("fe80::1".to_owned(), Some(443))), "{text}");
        }
        assert_eq!(parsed("[::]:22"), Some(("::".to_owned(), Some(22))));
        for text in [
            "",
            ":1",
            "[]:1",
            "1.2.3.4",
            "1.2.3.4:",
            "host:1",
            "1.2.3.4:-",
            "::1%:1",
            "[::1%]:1",
            "[::1]%:1",
            "1.2.3.4:99999999999",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_that_is_none_costs_itself_and_not_the_socket() {
        for (was, is) in [
            ("rtt:100.118/", "rtt:x/"),
            ("/22.589", "/nan"),
            ("100.118", "inf"),
            ("mss:1448", "mss:3000000000"),
            ("bytes_sent:1016533", "bytes_sent:9223372036854775808"),
            ("694216bps", "lots"),
            ("694216bps", "1..2Gbps"),
            ("694216bps", "Gbps"),
            ("694216bps", "99999999Tbps"),
            ("1/63", "1/"),
            ("50.0545", "1e300"),
            // What the kernel begins with, 2^32 - 1 microseconds.
            ("50.0545", "4294967.295"),
            // The kernel's counts and times have no sign.
            ("100.118", "-100.118"),
            ("mss:1448", "mss:-1448"),
            ("bytes_sent:1016533", "bytes_sent:+1016533"),
            ("694216bps", "-694216bps"),
            ("694216bps", "-1Gbps"),
            ("1/63", "1/-63"),
            ("50.0545", "-50.0545"),
        ] {
            let socket = SsSocket::parse(&SOCKET.replacen(was, is, 1)).unwrap();
            let values = [
                socket.srtt_us.is_some(),
                socket.rttvar_us.is_some(),
                socket.min_rtt_us.is_some(),
                socket.mss_bytes.is_some(),
                socket.sent_bytes.is_some(),
                socket.retransmitted_packets.is_some(),
                socket.pacing_rate_bps.is_some(),
                socket.delivery_rate_bps.is_some(),
            ];
            let lost = values.iter().filter(|is_there| !**is_there).count();
            assert_eq!((socket.unread_values, lost), (1, 1), "{is}");
            assert_eq!(socket.congestion_control.as_deref(), Some("cubic"));
        }
        assert_eq!(SsSocket::parse(SOCKET).unwrap().unread_values, 0);
        for line in [
            "",
            "ESTAB 0 0 10.0.1.2:40001",
            &SOCKET.replacen("ESTAB", "ESTABLISHED", 1),
        ] {
            assert_eq!(SsSocket::parse(line), None, "{line}");
        }
    }

    #[test]
    fn rates_with_a_prefix() {
        // iproute2's sprint_bw divides by 1000 for each prefix.
        for (text, bps) in [
            ("5.65Mbps", 5_650_000),
            ("2.48Gbps", 2_480_000_000),
            ("3.1Gbps", 3_100_000_000),
            ("1.5Tbps", 1_500_000_000_000),
            ("12Kbps", 12_000),
            ("12kbps", 12_000),
            ("999bps", 999),
            ("78305882352bps", 78_305_882_352),
        ] {
            assert_eq!(rate_bps(text), Some(bps), "{text}");
        }
    }

    #[test]
    fn names_in_place_of_ports_and_of_interfaces() {
        let mut unread = 0;
        let mut port = |text| endpoint(text, &mut unread).unwrap().port;
        assert_eq!(port("10.0.0.1:https"), Some(443));
        assert_eq!(port("[2001:db8::1]:ms-wbt-server"), Some(3389));
        assert_eq!(port("10.0.0.1%br-lan:ssh"), Some(22));
        assert_eq!(port("10.0.0.1%eth0.100:22"), Some(22));
        assert_eq!(port("10.0.0.1:some-service"), None);
        assert_eq!(unread, 1);
    }

    #[test]
    fn names_of_processes_are_no_algorithm() {
        for users in [
            "users:((\"iperf3\",pid=1,fd=5))",
            "users:((\"Web Content\",pid=1,fd=5),(\"Isolated Web Co\",pid=2,fd=5))",
        ] {
            let line = SOCKET.replacen("ts sack", &format!("{users} ts sack"), 1);
            let socket = SsSocket::parse(&line).unwrap();
            assert_eq!(socket.congestion_control.as_deref(), Some("cubic"));
            assert_eq!(socket.sent_bytes, Some(1_016_533));
        }
    }
}
