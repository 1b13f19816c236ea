//! NDT7: polls of `TCP_INFO` in each direction.

use serde::de::MapAccess;

use crate::connection::ndt::fields::{Ends, Info, kernel_minimum_us};
use crate::connection::ndt::result::{NdtConnection, NdtResult};
use crate::connection::refusal::NdtRefusal;
use crate::input::lenient_json::{MaybeArray, MaybeObject, Object, Reduced, Text};
use crate::output::refusal::Refusal;

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
        // A smoothed RTT of zero means that there was no sample yet.
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

/// A document of NDT7.
#[derive(Default)]
pub(crate) struct Test7 {
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
    /// One connection for each direction that was polled.
    pub(crate) fn result(self) -> NdtResult {
        let mut result = NdtResult::default();
        for direction in [self.download, self.upload].into_iter().flatten() {
            result.directions += 1;
            let polls = direction.polls;
            let Some(last) = polls.last else {
                result.refused.push(NdtRefusal::NotMeasured.name());
                continue;
            };
            let connection = NdtConnection {
                rtt_samples: Some(polls.rtts),
                rtt_min_us: polls.least_us,
                rtt_avg_us: (polls.rtts > 0).then(|| polls.sum_us as f64 / polls.rtts as f64),
                rtt_max_us: polls.most_us,
                kernel_min_rtt_us: polls.kernel_least_us,
                bbr: polls.bbr,
                ..direction.ends.connection(&self.client)
            };
            result.connections.push(connection.with_counters(last));
        }
        result
    }
}
