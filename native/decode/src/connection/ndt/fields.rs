//! Fields that the documents of both versions have.

use serde::de::MapAccess;

use crate::connection::ndt::result::NdtConnection;
use crate::input::lenient_json::{Count, Object, Text};
use crate::input::utc_time::parse_rfc3339_ns;

/// The kernel's value of `tcpi_min_rtt` where there is none.
const MIN_RTT_UNSET: i64 = (1 << 32) - 1;
const NS_PER_MS: f64 = 1e6;
/// Stands for a client that is given, but not as a text: it is refused as no address, and not repeated.
pub(crate) const NO_ADDRESS: &str = "-";

/// The kernel's windowed minimum, where there is one.
pub(crate) fn kernel_minimum_us(value: Count) -> Option<i64> {
    value.0.filter(|rtt_us| ![0, MIN_RTT_UNSET].contains(rtt_us))
}

/// The fields of `TCP_INFO` that a connection is made of.
#[derive(Default, Clone, Copy)]
pub(crate) struct Info {
    pub(crate) rtt_us: Count,
    pub(crate) min_rtt_us: Count,
    pub(crate) sent_bytes: Count,
    pub(crate) acked_bytes: Count,
    pub(crate) received_bytes: Count,
    pub(crate) retransmitted_packets: Count,
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
    /// The same with the counters of a poll.
    pub(crate) fn with_counters(self, info: Info) -> Self {
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
pub(crate) struct Ends {
    start: Text,
    end: Text,
    client: Text,
}

impl Ends {
    /// Take a field of the direction; whether it is one of these.
    pub(crate) fn take<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        values: &mut A,
    ) -> Result<bool, A::Error> {
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
    pub(crate) fn connection(self, client_of_test: &Text) -> NdtConnection {
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
