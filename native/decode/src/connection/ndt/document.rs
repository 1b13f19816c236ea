//! Results of M-Lab's speed tests: one JSON document a test, reduced to one connection a direction.

use crate::connection::ndt::five::Test5;
use crate::connection::ndt::result::NdtResult;
use crate::connection::ndt::seven::Test7;
use crate::input::lenient_json::{MaybeObject, Object};

/// Which test a result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NdtVersion {
    /// One direction of RTT, as a summary.
    Five,
    /// Polls of `TCP_INFO` in each direction.
    Seven,
}

impl NdtResult {
    /// Read one result; `None` if the content is not one JSON object in UTF-8.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ndt::fields::NO_ADDRESS;
    use crate::connection::ndt::result::NdtConnection;

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
            (2, &["no_measurement".into()][..])
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
        assert_eq!(
            (polled.directions, &*polled.refused),
            (2, &["no_rtt_c2s".into()][..])
        );
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
        let address = Some("192.0.2.7".to_owned());
        for absent in ["null", "\"\"", "0", "0.0", "false", "[]", "{}"] {
            assert_eq!(client("\"192.0.2.7\"", absent), address, "{absent}");
            assert_eq!(client(absent, absent), None);
        }
        assert_eq!(client("\"127.0.0.1\"", "\"192.0.2.7\""), address);
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
