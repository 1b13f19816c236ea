//! Ports of fragmented packets, by the first fragment, which may come after others.

use std::collections::VecDeque;
use std::net::IpAddr;

use hashbrown::HashMap;

use crate::packet::types::{Endpoint, Packet};

/// Packets whose later fragments are awaited; of more, the oldest give way.
const PENDING: usize = 4096;
/// Packets whose first fragment is awaited, and fragments held of each.
const AWAITED: usize = 256;
const HELD: usize = 64;
/// How long a first fragment is awaited, as Linux does (`ipfrag_time`): later its number may be that of another packet.
const PATIENCE_NS: i64 = 30_000_000_000;

/// What the fragments of one packet have in common (RFC 791; RFC 8200, 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FragmentKey {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) id: u32,
}

/// A fragment that came before the first one of its packet.
#[derive(Debug, Clone)]
pub(crate) struct EarlyFragment {
    /// Number of its record in the recording, and of the recording's file.
    pub(crate) record: i64,
    pub(crate) file: usize,
    pub(crate) time_ns: i64,
    pub(crate) wire_bytes: u32,
    packet: Packet<'static>,
    payload: [u8; Self::PAYLOAD_BYTES],
    payload_bytes: usize,
}

impl EarlyFragment {
    /// What is kept of a payload: as much as a packet is recognised by at another point.
    pub(crate) const PAYLOAD_BYTES: usize = 24;

    pub(crate) fn new(
        packet: &Packet<'_>,
        (record, file): (i64, usize),
        time_ns: i64,
        wire_bytes: u32,
    ) -> Self {
        let mut payload = [0; Self::PAYLOAD_BYTES];
        let there = packet.ip_payload.iter().zip(&mut payload);
        let payload_bytes = there.map(|(byte, place)| *place = *byte).count();
        Self {
            record,
            file,
            time_ns,
            wire_bytes,
            packet: packet.of_fragment(),
            payload,
            payload_bytes,
        }
    }

    /// The packet, of whose payload the start is there.
    pub(crate) fn packet(&self) -> Packet<'_> {
        Packet {
            ip_payload: self.payload.get(..self.payload_bytes).unwrap_or_default(),
            ..self.packet
        }
    }
}

/// Ports by packet, bounded. An id that is used again replaces what it meant.
#[derive(Debug, Default)]
pub(crate) struct FragmentTable {
    ports: HashMap<FragmentKey, (u16, u16)>,
    oldest_first: VecDeque<FragmentKey>,
    early: HashMap<FragmentKey, Vec<EarlyFragment>>,
    earliest_first: VecDeque<FragmentKey>,
    /// Fragments whose ports have become known.
    pub(crate) released: Vec<EarlyFragment>,
}

impl FragmentTable {
    /// Hold a fragment until the first one of its packet tells its ports.
    pub(crate) fn hold(&mut self, key: FragmentKey, fragment: EarlyFragment) {
        if let Some(held) = self.early.get_mut(&key) {
            if held.len() < HELD {
                held.push(fragment);
            }
            return;
        }
        if self.earliest_first.len() == AWAITED {
            if let Some(earliest) = self.earliest_first.pop_front() {
                self.early.remove(&earliest);
            }
        }
        self.earliest_first.push_back(key);
        self.early.insert(key, vec![fragment]);
    }

    /// Release what is held of a packet whose first fragment passes.
    pub(crate) fn release(&mut self, key: &FragmentKey, ports: (u16, u16), time_ns: i64) {
        let Some(held) = self.early.remove(key) else {
            return;
        };
        self.earliest_first.retain(|awaited| awaited != key);
        for mut fragment in held {
            if time_ns.abs_diff(fragment.time_ns) <= PATIENCE_NS.unsigned_abs() {
                let with_port = |end: Endpoint, port| Endpoint { port, ..end };
                fragment.packet.source = with_port(fragment.packet.source, ports.0);
                fragment.packet.destination = with_port(fragment.packet.destination, ports.1);
                self.released.push(fragment);
            }
        }
    }

    pub(crate) fn remember(&mut self, key: FragmentKey, ports: (u16, u16)) {
        if self.ports.insert(key, ports).is_some() {
            return;
        }
        if self.oldest_first.len() == PENDING {
            if let Some(oldest) = self.oldest_first.pop_front() {
                self.ports.remove(&oldest);
            }
        }
        self.oldest_first.push_back(key);
    }

    pub(crate) fn ports(&self, key: &FragmentKey) -> Option<(u16, u16)> {
        self.ports.get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::types::{Transport, Tunnels};

    fn key(id: u32) -> FragmentKey {
        FragmentKey {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: 17,
            id,
        }
    }

    fn early(record: i64, time_ns: i64) -> EarlyFragment {
        let packet = Packet {
            source: Endpoint {
                address: [10, 0, 0, 1].into(),
                port: 0,
            },
            destination: Endpoint {
                address: [10, 0, 0, 2].into(),
                port: 0,
            },
            protocol: 17,
            ecn: 0,
            payload_bytes: 1480,
            tunnels: Tunnels::default(),
            ip_id: 1,
            hop_limit: 64,
            ip_payload: &[7; 9],
            transport: Transport::Fragment,
        };
        EarlyFragment::new(&packet, (record, 0), time_ns, 1514)
    }

    #[test]
    fn what_came_before_the_first_fragment_gets_its_ports_for_half_a_minute() {
        let mut table = FragmentTable::default();
        for (record, time_ns) in [(0, 0), (1, 5_000_000_000), (2, 40_000_000_000)] {
            table.hold(key(1), early(record, time_ns));
        }
        table.release(&key(2), (1, 1), 0);
        assert!(table.released.is_empty());
        table.release(&key(1), (5000, 53), 35_000_000_000);
        let released: Vec<_> = table
            .released
            .iter()
            .map(|fragment| {
                let packet = fragment.packet();
                (
                    fragment.record,
                    packet.source.port,
                    packet.destination.port,
                    packet.ip_payload,
                )
            })
            .collect();
        assert_eq!(released, [(1, 5000, 53, &[7; 9][..]), (2, 5000, 53, &[7; 9])]);
        assert!(table.early.is_empty() && table.earliest_first.is_empty());
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut table = FragmentTable::default();
        for id in 0..1000 {
            for record in 0..100 {
                table.hold(key(id), early(record, 0));
            }
        }
        assert_eq!(
            (table.early.len(), table.earliest_first.len()),
            (AWAITED, AWAITED)
        );
        assert!(table.early.values().all(|held| held.len() == HELD));
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let mut table = FragmentTable::default();
        for id in 0..=PENDING as u32 {
            table.remember(key(id), (id as u16, 2));
        }
        table.remember(key(5), (7, 7));
        assert_eq!(table.ports(&key(0)), None);
        assert_eq!(table.ports(&key(1)), Some((1, 2)));
        assert_eq!(table.ports(&key(5)), Some((7, 7)));
        assert_eq!((table.ports.len(), table.oldest_first.len()), (PENDING, PENDING));
    }
}
