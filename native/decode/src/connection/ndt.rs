//! Results of M-Lab's speed tests: one JSON document a test, reduced to one connection a direction.

use serde::de::MapAccess;

use crate::input::lenient_json::{Count, MaybeArray, MaybeObject, Object, Reduced, Text};
use crate::input::utc_time::parse_rfc3339_ns;

/// The kernel's value of `tcpi_min_rtt` where there is none.
const MIN_RTT_UNSET: i64 = (1 << 32) - 1;
const NS_PER_US: i64 = 1000;
const NS_PER_MS: f64 = 1e6;
/// Stands for a client that is given, but not as a text: it is refused as no address, and not repeated.
const NO_ADDRESS: &str = "-";

/// Which test a result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NdtVersion {
    /// One direction of RTT, as a summary.
    Five,
    /// Polls of `TCP_INFO` in each direction.
    Seven,
}

/// One direction of one test, as columns of `connection` with the client's plain address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NdtConnection {
    /// Start of the direction (ns, UTC epoch).
    pub start_ns: Option<i64>,
    /// Its duration (ms).
    pub duration_ms: Option<f64>,
    /// Client.
    pub client_address: Option<String>,
    /// Polls with an RTT; `None` where the test did not poll.
    pub rtt_samples: Option<i64>,
    /// Least RTT (us).
    pub rtt_min_us: Option<i64>,
    /// Mean RTT (us).
    pub rtt_avg_us: Option<f64>,
    /// Greatest RTT (us).
    pub rtt_max_us: Option<i64>,
    /// The kernel's windowed minimum (us).
    pub kernel_min_rtt_us: Option<i64>,
    /// Payload bytes sent.
    pub sent_bytes: Option<i64>,
    /// Payload bytes acknowledged.
    pub acked_bytes: Option<i64>,
    /// Payload bytes received.
    pub received_bytes: Option<i64>,
    /// Segments retransmitted.
    pub retransmitted_packets: Option<i64>,
    /// Whether the polls hold what only BBR gives.
    pub bbr: bool,
}

/// What one result came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NdtResult {
    /// Directions that the result has.
    pub directions: u64,
    /// Why directions have no connection.
    pub refused: Vec<&'static str>,
    /// Connections.
    pub connections: Vec<NdtConnection>,
}

impl NdtResult {
    /// Read one result; `None` where the content is not one JSON object in UTF-8.
    #[must_use]
    pub fn read(content: &[u8], version: NdtVersion) -> Option<Self> {
        // Values that are passed over are not looked at, so the text is checked as a whole.
        let text = std::str::from_utf8(content).ok()?;
        match version {
            NdtVersion::Five => Some(object::<Test5>(text)?.result()),
            NdtVersion::Seven => Some(object::<Test7>(text)?.result()),
        }
    }
}

fn object<T: Object>(text: &str) -> Option<T> {
    serde_json::from_str::<MaybeObject<T>>(text).ok()?.0
}

fn kernel_minimum_us(value: Count) -> Option<i64> {
    value.0.filter(|rtt_us| ![0, MIN_RTT_UNSET].contains(rtt_us))
}

/// The fields of `TCP_INFO` that a connection is made of.
#[derive(Default, Clone, Copy)]
struct Info {
    rtt_us: Count,
    min_rtt_us: Count,
    sent_bytes: Count,
    acked_bytes: Count,
    received_bytes: Count,
    retransmitted_packets: Count,
}

impl Object for Info {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        let field = match name {
            "RTT" => &mut self.rtt_us,
            "MinRTT" => &mut self.min_rtt_us,
            "BytesSent" => &mut self.sent_bytes,
            "BytesAcked" => &mut self.acked_bytes,
            "BytesReceived" => &mut self.received_bytes,
            "TotalRetrans" => &mut self.retransmitted_packets,
            _ => return Ok(false),
        };
        *field = values.next_value()?;
        Ok(true)
    }
}

impl NdtConnection {
    fn with_counters(self, info: Info) -> Self {
        Self {
            sent_bytes: info.sent_bytes.0,
            acked_bytes: info.acked_bytes.0,
            received_bytes: info.received_bytes.0,
            retransmitted_packets: info.retransmitted_packets.0,
            ..self
        }
    }
}

/// When a direction was measured, and by whom.
#[derive(Default)]
struct Ends {
    start: Text,
    end: Text,
    client: Text,
}

impl Ends {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        let field = match name {
            "StartTime" => &mut self.start,
            "EndTime" => &mut self.end,
            "ClientIP" => &mut self.client,
            _ => return Ok(false),
        };
        *field = values.next_value()?;
        Ok(true)
    }

    /// A test behind a proxy of its own names the client in the direction; the test itself may say 127.0.0.1.
    fn connection(self, client_of_test: &Text) -> NdtConnection {
        let start_ns = self.start.as_str().and_then(parse_rfc3339_ns);
        let end_ns = self.end.as_str().and_then(parse_rfc3339_ns);
        let duration_ns = start_ns
            .zip(end_ns)
            .and_then(|(start, end)| end.checked_sub(start))
            .filter(|duration| *duration >= 0);
        let client = if self.client == Text::Absent {
            client_of_test
        } else {
            &self.client
        };
        NdtConnection {
            start_ns,
            duration_ms: duration_ns.map(|duration_ns| duration_ns as f64 / NS_PER_MS),
            client_address: match client {
                Text::Absent => None,
                Text::Given(address) => Some(address.clone()),
                Text::Other => Some(NO_ADDRESS.to_owned()),
            },
            ..NdtConnection::default()
        }
    }
}

/// One poll of NDT7.
#[derive(Default)]
struct Poll {
    info: Option<Info>,
    bbr: bool,
}

impl Object for Poll {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        match name {
            "TCPInfo" => {
                self.info = values.next_value::<MaybeObject<Info>>()?.0;
                Ok(true)
            }
            "BBRInfo" => {
                self.bbr = true;
                Ok(false)
            }
            _ => Ok(false),
        }
    }
}

/// All polls of a direction.
#[derive(Default)]
struct Polls {
    last: Option<Info>,
    bbr: bool,
    rtts: i64,
    sum_us: u128,
    least_us: Option<i64>,
    most_us: Option<i64>,
    kernel_least_us: Option<i64>,
}

impl Reduced for Polls {
    type Element = MaybeObject<Poll>;

    fn add(&mut self, MaybeObject(poll): MaybeObject<Poll>) {
        let Some(poll) = poll else { return };
        self.bbr |= poll.bbr;
        let Some(info) = poll.info else { return };
        self.last = Some(info);
        // A smoothed RTT of zero says that there was no sample yet.
        if let Some(rtt_us) = info.rtt_us.0.filter(|rtt_us| *rtt_us > 0) {
            self.rtts += 1;
            self.sum_us += u128::from(rtt_us.unsigned_abs());
            self.least_us = Some(self.least_us.map_or(rtt_us, |least| least.min(rtt_us)));
            self.most_us = self.most_us.max(Some(rtt_us));
        }
        if let Some(rtt_us) = kernel_minimum_us(info.min_rtt_us) {
            self.kernel_least_us = Some(self.kernel_least_us.map_or(rtt_us, |least| least.min(rtt_us)));
        }
    }
}

#[derive(Default)]
struct Direction7 {
    ends: Ends,
    polls: Polls,
}

impl Object for Direction7 {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        if name == "ServerMeasurements" {
            self.polls = values.next_value::<MaybeArray<Polls>>()?.0;
            return Ok(true);
        }
        self.ends.take(name, values)
    }
}

#[derive(Default)]
struct Test7 {
    client: Text,
    download: Option<Direction7>,
    upload: Option<Direction7>,
}

impl Object for Test7 {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        match name {
            "Download" => self.download = values.next_value::<MaybeObject<Direction7>>()?.0,
            "Upload" => self.upload = values.next_value::<MaybeObject<Direction7>>()?.0,
            "ClientIP" => self.client = values.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Test7 {
    fn result(self) -> NdtResult {
        let mut result = NdtResult::default();
        for direction in [self.download, self.upload].into_iter().flatten() {
            result.directions += 1;
            let polls = direction.polls;
            let Some(last) = polls.last else {
                result.refused.push("no_measurement");
                continue;
            };
            let known = NdtConnection {
                rtt_samples: Some(polls.rtts),
                rtt_min_us: polls.least_us,
                rtt_avg_us: (polls.rtts > 0).then(|| polls.sum_us as f64 / polls.rtts as f64),
                rtt_max_us: polls.most_us,
                kernel_min_rtt_us: polls.kernel_least_us,
                bbr: polls.bbr,
                ..direction.ends.connection(&self.client)
            };
            result.connections.push(known.with_counters(last));
        }
        result
    }
}

#[derive(Default)]
struct Direction5 {
    ends: Ends,
    min_rtt_ns: Count,
    max_rtt_ns: Count,
    sum_rtt_ns: Count,
    polls: Count,
    info: Info,
}

impl Object for Direction5 {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        let field = match name {
            "MinRTT" => &mut self.min_rtt_ns,
            "MaxRTT" => &mut self.max_rtt_ns,
            "SumRTT" => &mut self.sum_rtt_ns,
            "CountRTT" => &mut self.polls,
            "TCPInfo" => {
                self.info = values.next_value::<MaybeObject<Info>>()?.0.unwrap_or_default();
                return Ok(true);
            }
            _ => return self.ends.take(name, values),
        };
        *field = values.next_value()?;
        Ok(true)
    }
}

impl Direction5 {
    /// The connection, where the direction has an RTT.
    fn connection(self, client_of_test: &Text) -> Option<NdtConnection> {
        let positive = |count: Count| count.0.filter(|value| *value > 0);
        let least_us = positive(self.min_rtt_ns).map(|least_ns| least_ns / NS_PER_US);
        let polled = positive(self.polls)
            .zip(positive(self.max_rtt_ns))
            .zip(self.sum_rtt_ns.0);
        let known = match (least_us, polled) {
            (None, None) => return None,
            (_, Some(((polls, most_ns), sum_ns))) => NdtConnection {
                rtt_samples: Some(polls),
                rtt_avg_us: Some(sum_ns as f64 / polls as f64 / NS_PER_US as f64),
                rtt_max_us: Some(most_ns / NS_PER_US),
                kernel_min_rtt_us: kernel_minimum_us(self.info.min_rtt_us),
                ..NdtConnection::default()
            },
            // Older servers keep the kernel's windowed minimum alone.
            (Some(_), None) => NdtConnection {
                kernel_min_rtt_us: least_us,
                ..NdtConnection::default()
            },
        };
        let ends = self.ends.connection(client_of_test);
        let known = NdtConnection {
            start_ns: ends.start_ns,
            duration_ms: ends.duration_ms,
            client_address: ends.client_address,
            rtt_min_us: least_us,
            ..known
        };
        Some(known.with_counters(self.info))
    }
}

#[derive(Default)]
struct Test5 {
    client: Text,
    to_server: Option<Direction5>,
    from_server: Option<Direction5>,
}

impl Object for Test5 {
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, values: &mut A) -> Result<bool, A::Error> {
        match name {
            "C2S" => self.to_server = values.next_value::<MaybeObject<Direction5>>()?.0,
            "S2C" => self.from_server = values.next_value::<MaybeObject<Direction5>>()?.0,
            "ClientIP" => self.client = values.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Test5 {
    /// The first direction that has an RTT is the connection: that from the server, but for old servers.
    fn result(self) -> NdtResult {
        let mut result = NdtResult::default();
        for (direction, reason) in [(self.to_server, "no_rtt_c2s"), (self.from_server, "no_rtt_s2c")] {
            let Some(direction) = direction else { continue };
            result.directions += 1;
            if let Some(connection) = direction.connection(&self.client) {
                result.connections.push(connection);
                break;
            }
            result.refused.push(reason);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seven(content: &str) -> NdtResult {
        NdtResult::read(content.as_bytes(), NdtVersion::Seven).unwrap()
    }

    fn five(content: &str) -> NdtResult {
        NdtResult::read(content.as_bytes(), NdtVersion::Five).unwrap()
    }

    #[test]
    fn polls_of_a_direction_are_reduced() {
        let result = seven(
            r#"{"ClientIP":"192.0.2.1","Upload":{"ServerMeasurements":null},"Download":{
            "StartTime":"2020-01-01T00:00:00Z","EndTime":"2020-01-01T00:00:01.5Z","ServerMeasurements":[
            {"TCPInfo":{"RTT":30,"MinRTT":4294967295,"BytesSent":5}},{"TCPInfo":null,"BBRInfo":{}},7,
            {"TCPInfo":{"RTT":0,"MinRTT":9,"BytesSent":7,"Other":{"RTT":[1,"x"]}}},{"TCPInfo":{"RTT":20,"MinRTT":0,
            "BytesSent":1.5,"TotalRetrans":-1,"BytesAcked":9223372036854775808,"BytesReceived":8}}]}}"#,
        );
        assert_eq!(
            (result.directions, &*result.refused),
            (2, &["no_measurement"][..])
        );
        let expected = NdtConnection {
            start_ns: Some(1_577_836_800_000_000_000),
            duration_ms: Some(1500.0),
            client_address: Some("192.0.2.1".to_owned()),
            rtt_samples: Some(2),
            rtt_min_us: Some(20),
            rtt_avg_us: Some(25.0),
            rtt_max_us: Some(30),
            kernel_min_rtt_us: Some(9),
            received_bytes: Some(8),
            bbr: true,
            ..NdtConnection::default()
        };
        assert_eq!(result.connections, [expected]);
    }

    #[test]
    fn the_first_direction_with_an_rtt_is_the_connection_of_ndt5() {
        let polled = five(
            r#"{"C2S":{"MinRTT":0},"S2C":{"MinRTT":40000000,"MaxRTT":75000000,"SumRTT":6964000000,"CountRTT":102,
            "TCPInfo":{"MinRTT":40788,"TotalRetrans":3}}}"#,
        );
        assert_eq!((polled.directions, &*polled.refused), (2, &["no_rtt_c2s"][..]));
        let [row] = &*polled.connections else {
            panic!("one connection")
        };
        assert_eq!(
            (row.rtt_samples, row.rtt_min_us, row.rtt_max_us),
            (Some(102), Some(40_000), Some(75_000))
        );
        assert_eq!(
            (row.kernel_min_rtt_us, row.retransmitted_packets),
            (Some(40_788), Some(3))
        );
        let old = five(r#"{"S2C":{"MinRTT":2000999,"MaxRTT":0,"CountRTT":4,"TCPInfo":[]}}"#);
        assert_eq!(old.connections[0].kernel_min_rtt_us, Some(2000));
        assert_eq!(
            (old.connections[0].rtt_samples, old.connections[0].rtt_avg_us),
            (None, None)
        );
        assert_eq!(five(r#"{"C2S":[],"S2C":{}}"#).refused, ["no_rtt_s2c"]);
    }

    #[test]
    fn the_client_of_the_direction_wins_and_one_that_is_no_text_is_not_repeated() {
        let client = |test: &str, direction: &str| {
            let measured = r#""ServerMeasurements":[{"TCPInfo":{}}]"#;
            let content =
                format!(r#"{{"ClientIP":{test},"Download":{{"ClientIP":{direction},{measured}}}}}"#);
            seven(&content).connections[0].client_address.clone()
        };
        let given = Some("192.0.2.7".to_owned());
        for absent in ["null", "\"\"", "0", "0.0", "false", "[]", "{}"] {
            assert_eq!(client("\"192.0.2.7\"", absent), given, "{absent}");
            assert_eq!(client(absent, absent), None);
        }
        assert_eq!(client("\"127.0.0.1\"", "\"192.0.2.7\""), given);
        for other in ["1", "-1", "1.5", "true", "[0]", "{\"a\":0}"] {
            assert_eq!(
                client("\"192.0.2.7\"", other),
                Some(NO_ADDRESS.to_owned()),
                "{other}"
            );
        }
    }

    #[test]
    fn the_last_of_two_equal_keys_counts_and_what_is_passed_over_may_be_anything() {
        let result = seven(
            r#"{"Download":5,"Download":{"ServerMeasurements":[{"TCPInfo":{"RTT":1,"RTT":2}}],"X":[1e999,"\ud800"]}}"#,
        );
        assert_eq!(result.connections[0].rtt_max_us, Some(2));
        let nested = format!(
            r#"{{"X":{}{},"Upload":{{}}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        assert_eq!(seven(&nested).directions, 1);
    }

    #[test]
    fn what_is_no_json_object_is_told() {
        for content in [
            &b""[..],
            b"[]",
            b"7",
            b"{",
            b"{} x",
            b"{\"a\":NaN}",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"\n\"}",
        ] {
            assert_eq!(NdtResult::read(content, NdtVersion::Seven), None, "{content:?}");
            assert_eq!(NdtResult::read(content, NdtVersion::Five), None, "{content:?}");
        }
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let content =
            br#"{"Download":{"ClientIP":"192.0.2.1","ServerMeasurements":[{"TCPInfo":{"RTT":9}}]}}"#;
        for place in 0..content.len() {
            for value in [0, b'"', b'{', b'9', b'e', 0xff] {
                let mut damaged = content.to_vec();
                damaged[place] = value;
                let _ = NdtResult::read(&damaged, NdtVersion::Seven);
            }
        }
    }
}
