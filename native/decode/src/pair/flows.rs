//! The flows of a pair of captures, one for each direction, by number.

use hashbrown::HashMap;

use crate::packet::types::{Endpoint, Packet};
use crate::pair::sighting::{PAYLOAD_KEY_BYTES, PayloadWords, Point};

/// Flows of one pair, about 350 bytes each; packets of further ones are refused.
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

/// What is known of the packets of a flow by which they are recognised.
#[derive(Debug, Clone, Copy)]
struct Keys {
    /// The payload that packets have at either point, of that by which they are recognised.
    before_bytes: usize,
    after_bytes: usize,
    packets_before: u64,
    packets_after: u64,
    /// Packets that look like the one before them in the same capture.
    alike: u64,
    last_before: Option<PayloadWords>,
    last_after: Option<PayloadWords>,
    is_given_up: bool,
    /// A packet of TCP has a timestamp at either point.
    is_stamped: bool,
    /// Packets of TCP are recognised by their timestamps too.
    by_timestamp: bool,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            before_bytes: PAYLOAD_KEY_BYTES,
            after_bytes: PAYLOAD_KEY_BYTES,
            packets_before: 0,
            packets_after: 0,
            alike: 0,
            last_before: None,
            last_after: None,
            is_given_up: false,
            is_stamped: false,
            by_timestamp: true,
        }
    }
}

/// The flows of a pair by number, in the order in which they were first seen.
#[derive(Debug, Default)]
pub(crate) struct FlowNumbers {
    numbers: HashMap<DirectedFlow, u32>,
    flows: Vec<DirectedFlow>,
    keys: Vec<Keys>,
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
        self.keys.push(Keys::default());
        Some(number)
    }

    /// A capture has only so much of the payload by which a packet is recognised.
    pub(crate) fn cut(&mut self, flow: u32, point: Point, bytes: usize) {
        if let Some(keys) = self.keys.get_mut(flow as usize) {
            let captured = match point {
                Point::Before => &mut keys.before_bytes,
                Point::After => &mut keys.after_bytes,
            };
            *captured = bytes.min(*captured);
        }
    }

    /// A packet of a flow is in a capture; `alone` is what of its payload alone it is recognised by.
    pub(crate) fn sighted(&mut self, flow: u32, point: Point, alone: Option<PayloadWords>) {
        if let Some(keys) = self.keys.get_mut(flow as usize) {
            let (packets, last) = match point {
                Point::Before => (&mut keys.packets_before, &mut keys.last_before),
                Point::After => (&mut keys.packets_after, &mut keys.last_after),
            };
            *packets += 1;
            keys.alike += u64::from(alone.is_some() && *last == alone);
            *last = alone;
        }
    }

    /// A packet of TCP has a timestamp.
    pub(crate) fn stamped(&mut self, flow: u32) {
        if let Some(keys) = self.keys.get_mut(flow as usize) {
            keys.is_stamped = true;
        }
    }

    /// Whether packets of TCP are recognised by their timestamps too.
    pub(crate) fn by_timestamp(&self, flow: u32) -> bool {
        self.keys.get(flow as usize).is_none_or(|keys| keys.by_timestamp)
    }

    /// From now on, packets are recognised by what both captures have; whether that is less for some flow. `matched` are
    /// the packets of each flow that were recognised so far.
    pub(crate) fn settle(&mut self, matched: impl Iterator<Item = i64>) -> bool {
        for (keys, matched) in self.keys.iter_mut().zip(matched.chain(std::iter::repeat(0))) {
            // A capture may have cut the timestamps, and a middlebox may have changed them: then next to nothing matches.
            let at_both = keys.packets_before.min(keys.packets_after);
            keys.by_timestamp = !(keys.is_stamped && 10 * matched.unsigned_abs() < at_both);
        }
        self.is_cut = self
            .keys
            .iter()
            .any(|keys| keys.before_bytes != keys.after_bytes || !keys.by_timestamp);
        if self.is_cut {
            for keys in &mut self.keys {
                (keys.packets_before, keys.packets_after, keys.alike) = (0, 0, 0);
            }
        }
        self.is_cut
    }

    /// How much of the payload packets of a flow are recognised by.
    pub(crate) fn key_bytes(&self, flow: u32) -> usize {
        match self.keys.get(flow as usize) {
            Some(keys) if self.is_cut && keys.before_bytes != keys.after_bytes => {
                keys.before_bytes.min(keys.after_bytes)
            }
            _ => PAYLOAD_KEY_BYTES,
        }
    }

    /// Give a flow up if packets are missing at a point and most look alike, so that it is unknown which; its packets,
    /// or 0. A mirror that sends each packet twice makes half of them alike.
    pub(crate) fn give_up_indistinct(&mut self, flow: usize, matched: i64) -> u64 {
        let Some(keys) = self.keys.get_mut(flow) else {
            return 0;
        };
        let packets = keys.packets_before + keys.packets_after;
        let is_missing = matched > 0 && packets > 2 * matched.unsigned_abs();
        keys.is_given_up = is_missing && 2 * keys.alike > packets;
        if keys.is_given_up { packets } else { 0 }
    }

    /// Give a flow up; its packets, or 0 if that was done before.
    pub(crate) fn give_up(&mut self, flow: usize) -> u64 {
        match self.keys.get_mut(flow) {
            Some(keys) if !keys.is_given_up => {
                keys.is_given_up = true;
                keys.packets_before + keys.packets_after
            }
            _ => 0,
        }
    }

    /// Whether a flow was given up.
    pub(crate) fn is_given_up(&self, flow: u32) -> bool {
        self.keys.get(flow as usize).is_some_and(|keys| keys.is_given_up)
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
