//! The flows of a pair of captures, one for each direction, by number.

use hashbrown::HashMap;

use crate::packet::types::{Endpoint, Packet};

/// Flows of one pair, about 200 bytes each; packets of further ones are refused.
const FLOWS: usize = 1 << 20;

/// The packets between two ends in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DirectedFlow {
    pub(crate) source: Endpoint,
    pub(crate) destination: Endpoint,
    pub(crate) protocol: u8,
}

impl DirectedFlow {
    pub(crate) fn of(packet: &Packet<'_>) -> Self {
        Self {
            source: packet.source,
            destination: packet.destination,
            protocol: packet.protocol,
        }
    }
}

/// The flows of a pair by number, in the order in which they were first seen.
#[derive(Debug, Default)]
pub(crate) struct FlowNumbers {
    numbers: HashMap<DirectedFlow, u32>,
    flows: Vec<DirectedFlow>,
}

impl FlowNumbers {
    /// The number of a flow, `None` if there are too many.
    pub(crate) fn number(&mut self, flow: DirectedFlow) -> Option<u32> {
        if let Some(number) = self.numbers.get(&flow) {
            return Some(*number);
        }
        if self.flows.len() >= FLOWS {
            return None;
        }
        let number = u32::try_from(self.flows.len()).ok()?;
        self.numbers.insert(flow, number);
        self.flows.push(flow);
        Some(number)
    }

    pub(crate) fn flows(&self) -> &[DirectedFlow] {
        &self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_numbered_in_the_order_of_their_first_packets() {
        let mut numbers = FlowNumbers::default();
        let flow = |port| DirectedFlow {
            source: Endpoint {
                address: [10, 0, 0, 1].into(),
                port,
            },
            destination: Endpoint {
                address: [10, 0, 0, 2].into(),
                port: 1,
            },
            protocol: 17,
        };
        let flow_numbers: Vec<_> = [5, 3, 5, 4]
            .map(|port| numbers.number(flow(port)).unwrap())
            .into();
        assert_eq!(flow_numbers, [0, 1, 0, 2]);
        assert_eq!(numbers.flows().len(), 3);
    }
}
