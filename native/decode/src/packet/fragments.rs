//! Ports of fragmented packets, by the first fragment.

use std::collections::VecDeque;
use std::net::IpAddr;

use hashbrown::HashMap;

/// Packets whose later fragments are awaited; of more, the oldest give way.
const PENDING: usize = 4096;

/// What the fragments of one packet have in common (RFC 791; RFC 8200, 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FragmentKey {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) id: u32,
}

/// Ports by packet, bounded. An id that is used again replaces what it meant.
#[derive(Debug, Default)]
pub(crate) struct FragmentTable {
    ports: HashMap<FragmentKey, (u16, u16)>,
    oldest_first: VecDeque<FragmentKey>,
}

impl FragmentTable {
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

    fn key(id: u32) -> FragmentKey {
        FragmentKey {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: 17,
            id,
        }
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
