//! NDT5: a summary of each direction.

use serde::de::MapAccess;

use crate::connection::ndt::fields::{Ends, Info, kernel_minimum_us};
use crate::connection::ndt::result::{NdtConnection, NdtResult};
use crate::connection::refusal::NdtRefusal;
use crate::input::lenient_json::{Count, MaybeObject, Object, Text};
use crate::output::refusal::Refusal;

const NS_PER_US: i64 = 1000;

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
        let rtts = match (least_us, polled) {
            (None, None) => return None,
            (_, Some(((polls, most_ns), sum_ns))) => NdtConnection {
                rtt_samples: Some(polls),
                rtt_avg_us: Some(sum_ns as f64 / polls as f64 / NS_PER_US as f64),
                rtt_max_us: Some(most_ns / NS_PER_US),
                kernel_min_rtt_us: kernel_minimum_us(self.info.min_rtt_us),
                ..NdtConnection::default()
            },
            // Older servers keep only the kernel's windowed minimum.
            (Some(_), None) => NdtConnection {
                kernel_min_rtt_us: least_us,
                ..NdtConnection::default()
            },
        };
        let ends = self.ends.connection(client_of_test);
        let connection = NdtConnection {
            start_ns: ends.start_ns,
            duration_ms: ends.duration_ms,
            client_address: ends.client_address,
            rtt_min_us: least_us,
            ..rtts
        };
        Some(connection.with_counters(self.info))
    }
}

/// A document of NDT5.
#[derive(Default)]
pub(crate) struct Test5 {
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
    pub(crate) fn result(self) -> NdtResult {
        let mut result = NdtResult::default();
        for (direction, reason) in [
            (self.to_server, NdtRefusal::RttToServerUnknown),
            (self.from_server, NdtRefusal::RttFromServerUnknown),
        ] {
            let Some(direction) = direction else { continue };
            result.directions += 1;
            if let Some(connection) = direction.connection(&self.client) {
                result.connections.push(connection);
                break;
            }
            result.refused.push(reason.name());
        }
        result
    }
}
