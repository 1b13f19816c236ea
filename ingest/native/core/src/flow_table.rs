//! The flows of one capture.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::flow::Flow;
use crate::layers::{Endpoint, Packet, Transport};

/// Both ends in an order that does not depend on the direction of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FlowKey {
    lower: Endpoint,
    upper: Endpoint,
    protocol: u8,
}

impl FlowKey {
    fn of(packet: &Packet<'_>) -> Self {
        let (lower, upper) = if packet.source <= packet.destination {
            (packet.source, packet.destination)
        } else {
            (packet.destination, packet.source)
        };
        Self {
            lower,
            upper,
            protocol: packet.protocol,
        }
    }
}

/// Flows by endpoints, and all of them in the order of their first packets.
///
/// The map holds the place of the flow that is open on a key, so that one which ends (now by the reuse of
/// its ports) stays where it is and a new one takes the key.
#[derive(Debug)]
pub(crate) struct FlowTable {
    interval_ns: i64,
    open: HashMap<FlowKey, usize>,
    flows: Vec<Flow>,
}

impl FlowTable {
    pub(crate) fn new(interval_ns: i64) -> Self {
        Self {
            interval_ns,
            open: HashMap::new(),
            flows: Vec::new(),
        }
    }

    pub(crate) fn packet(&mut self, packet: &Packet<'_>, time_ns: i64, wire_bytes: u32) {
        let next = self.flows.len();
        let place = match self.open.entry(FlowKey::of(packet)) {
            Entry::Vacant(entry) => *entry.insert(next),
            Entry::Occupied(mut entry) => {
                if self
                    .flows
                    .get(*entry.get())
                    .is_some_and(|flow| is_succeeded_by(flow, packet))
                {
                    entry.insert(next);
                }
                *entry.get()
            }
        };
        if place == next {
            self.flows.push(Flow::new(next as i64, packet, time_ns));
        }
        if let Some(flow) = self.flows.get_mut(place) {
            flow.packet(packet, time_ns, wire_bytes, self.interval_ns);
        }
    }

    pub(crate) fn into_flows(self) -> Vec<Flow> {
        self.flows
    }
}

fn is_succeeded_by(flow: &Flow, packet: &Packet<'_>) -> bool {
    match (&flow.tcp, packet.transport) {
        (Some(tcp), Transport::Tcp(segment)) => tcp.is_succeeded_by(flow.direction_of(packet), &segment),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::TcpSegment;

    fn packet(forward: bool, sequence: u32, flags: u16) -> Packet<'static> {
        let ends = [1u8, 2].map(|host| Endpoint {
            address: [10, 0, 0, host].into(),
            port: 1000 + u16::from(host),
        });
        Packet {
            source: ends[usize::from(!forward)],
            destination: ends[usize::from(forward)],
            protocol: 6,
            congestion_experienced: false,
            payload_bytes: 10,
            transport: Transport::Tcp(TcpSegment {
                sequence,
                acknowledgement: 0,
                flags,
                window: 1,
            }),
        }
    }

    #[test]
    fn the_sender_of_the_first_packet_is_the_initiator() {
        for forward in [true, false] {
            let mut table = FlowTable::new(1);
            table.packet(&packet(forward, 0, 0), 10, 64);
            table.packet(&packet(!forward, 0, 0), 20, 100);
            table.packet(&packet(forward, 10, 0), 30, 64);
            let flows = table.into_flows();
            assert_eq!(flows.len(), 1);
            assert_eq!(flows[0].initiator, packet(forward, 0, 0).source);
            assert_eq!(
                (flows[0].traffic.fwd.packets, flows[0].traffic.fwd.bytes),
                (2, 128)
            );
            assert_eq!(
                (flows[0].traffic.rev.packets, flows[0].traffic.rev.bytes),
                (1, 100)
            );
            assert_eq!((flows[0].first_ns, flows[0].last_ns), (10, 30));
        }
    }

    #[test]
    fn ports_used_again_after_a_close_are_another_flow() {
        let mut table = FlowTable::new(1);
        table.packet(&packet(true, 1, TcpSegment::SYN), 0, 64);
        table.packet(&packet(false, 1, TcpSegment::RST), 1, 64);
        table.packet(&packet(true, 9000, TcpSegment::SYN), 2, 64);
        table.packet(&packet(true, 9001, 0), 3, 64);
        let packets: Vec<_> = table
            .into_flows()
            .iter()
            .map(|flow| (flow.id, flow.traffic.fwd.packets))
            .collect();
        assert_eq!(packets, [(0, 1), (1, 2)]);
    }
}
