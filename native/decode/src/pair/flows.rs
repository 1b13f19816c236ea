//! The flows of a pair of captures, one for each direction, by number.

use hashbrown::HashMap;

use crate::packet::types::{Endpoint, Packet};
use crate::pair::sighting::{PAYLOAD_KEY_BYTES, Point};

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
    /// Of each flow, the payload that packets of either capture have, of that by which they are recognised.
    captured: Vec<(usize, usize)>,
    least_unidentified: Option<usize>,
    /// The captures have different lengths of payloads, and all of both was seen.
    is_cut: bool,
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
        self.captured.push((PAYLOAD_KEY_BYTES, PAYLOAD_KEY_BYTES));
        Some(number)
    }

    /// A capture has only so much of the payload by which a packet is recognised, and maybe no identification of IP.
    pub(crate) fn cut(&mut self, flow: u32, point: Point, bytes: usize, is_identified: bool) {
        if !is_identified {
            let least = self.least_unidentified.get_or_insert(bytes);
            *least = bytes.min(*least);
        }
        if let Some((before, after)) = self.captured.get_mut(flow as usize) {
            let captured = match point {
                Point::Before => before,
                Point::After => after,
            };
            *captured = bytes.min(*captured);
        }
    }

    /// From now on, packets are recognised by what both captures have; whether that is less for some flow.
    pub(crate) fn settle(&mut self) -> bool {
        self.is_cut = self.captured.iter().any(|(before, after)| before != after);
        self.is_cut
    }

    /// The least that a capture has of a payload by which alone a packet is recognised.
    pub(crate) fn least_unidentified(&self) -> usize {
        self.least_unidentified.unwrap_or(PAYLOAD_KEY_BYTES)
    }

    /// How much of the payload packets of a flow are recognised by.
    pub(crate) fn key_bytes(&self, flow: u32) -> usize {
        match self.captured.get(flow as usize) {
            Some((before, after)) if self.is_cut && before != after => *before.min(after),
            _ => PAYLOAD_KEY_BYTES,
        }
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
