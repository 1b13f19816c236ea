//! The first pass over a pair of captures: which way each flow goes, and the span of its times.

use std::cmp::Reverse;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::pair::flows::DirectedFlow;
use crate::pair::segments::{LoneSegments, SegmentSurvey};
use crate::pair::sighting::PairedPacket;

/// What the first pass finds of one flow.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FlowSurvey {
    /// Votes for its direction: by hop limits, and by times.
    pub(crate) hops: i64,
    pub(crate) times: i64,
    pub(crate) sent: i64,
    pub(crate) matched: i64,
    /// Of the packets that both captures have; `None` without one.
    pub(crate) times_seen: Option<TimesSeen>,
    pub(crate) segments: SegmentSurvey,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TimesSeen {
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    /// Second point's time minus the first's.
    pub(crate) least_difference_ns: i64,
    pub(crate) greatest_difference_ns: i64,
    /// Minimum difference less serialisation, and the wire length of the packet that has it, of the largest if several do.
    pub(crate) floor_ns: i64,
    pub(crate) floor_wire_bytes: u32,
}

impl TimesSeen {
    pub(crate) fn lower_floor(&mut self, floor_ns: i64, wire_bytes: u32) {
        if (floor_ns, Reverse(wire_bytes)) < (self.floor_ns, Reverse(self.floor_wire_bytes)) {
            self.floor_ns = floor_ns;
            self.floor_wire_bytes = wire_bytes;
        }
    }
}

impl FlowSurvey {
    pub(crate) fn add(&mut self, packet: &PairedPacket, delay_ns: Option<i64>, lone: &mut LoneSegments) {
        self.segments.add(packet, lone);
        self.sent += i64::from(packet.before_ns.is_some());
        let (Some(before_ns), Some(after_ns), Some(delay_ns)) = (packet.before_ns, packet.after_ns, delay_ns)
        else {
            return;
        };
        let difference_ns = after_ns - before_ns;
        self.matched += 1;
        self.hops += i64::from(packet.hops.signum());
        self.times += difference_ns.signum();
        let seen = self.times_seen.get_or_insert(TimesSeen {
            first_ns: before_ns,
            last_ns: before_ns,
            least_difference_ns: difference_ns,
            greatest_difference_ns: difference_ns,
            floor_ns: delay_ns,
            floor_wire_bytes: packet.wire_bytes,
        });
        seen.first_ns = seen.first_ns.min(before_ns);
        seen.last_ns = seen.last_ns.max(before_ns);
        seen.least_difference_ns = seen.least_difference_ns.min(difference_ns);
        seen.greatest_difference_ns = seen.greatest_difference_ns.max(difference_ns);
        seen.lower_floor(delay_ns, packet.wire_bytes);
    }
}

/// Whether each flow goes towards the bottleneck.
///
/// A flow of which nothing matched goes as the other flows of its hosts go.
pub(crate) fn directions(flows: &[DirectedFlow], surveys: &[FlowSurvey]) -> Vec<bool> {
    let by_hops = surveys.iter().any(|survey| survey.hops != 0);
    let vote = |survey: &FlowSurvey| if by_hops { survey.hops } else { survey.times };
    let mut by_hosts: HashMap<(IpAddr, IpAddr), i64> = HashMap::new();
    for (flow, survey) in flows.iter().zip(surveys) {
        let votes = vote(survey);
        if votes != 0 {
            let (source, destination) = (flow.source.address, flow.destination.address);
            *by_hosts.entry((source, destination)).or_default() += votes;
            *by_hosts.entry((destination, source)).or_default() -= votes;
        }
    }
    flows
        .iter()
        .zip(surveys)
        .map(|(flow, survey)| match vote(survey) {
            0 => {
                let hosts = (flow.source.address, flow.destination.address);
                by_hosts.get(&hosts).copied().unwrap_or_default() > 0
            }
            own => own > 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::types::Endpoint;

    fn flow(port: u16, towards: bool) -> DirectedFlow {
        let mut ends = [1u8, 2].map(|host| Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        });
        if !towards {
            ends.reverse();
        }
        DirectedFlow {
            source: ends[0],
            destination: ends[1],
            protocol: 17,
        }
    }

    fn survey(hops: i64, times: i64) -> FlowSurvey {
        FlowSurvey {
            hops,
            times,
            ..FlowSurvey::default()
        }
    }

    #[test]
    fn hop_limits_tell_the_direction_whatever_the_clocks_say() {
        let flows = [flow(1, true), flow(1, false)];
        assert_eq!(
            directions(&flows, &[survey(1, -1), survey(-1, -1)]),
            [true, false]
        );
    }

    #[test]
    fn without_hops_times_tell_and_an_unmatched_flow_goes_as_its_hosts_do() {
        let flows = [flow(1, true), flow(2, true), flow(3, false)];
        assert_eq!(
            directions(&flows, &[survey(0, 1), survey(0, 0), survey(0, 0)]),
            [true, true, false]
        );
    }
}
