//! Packets whose end is awaited, by the kernel buffers that hold them.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Key of a kernel buffer: its address, and the number of the queue.
pub(crate) type BufferKey = (u64, u32);

/// An open packet with its buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferKeyed {
    pub(crate) key: BufferKey,
    pub(crate) index: i64,
}

/// The queues that hold a buffer, with the index of its packet there; nearly always one.
#[derive(Debug)]
enum Holding {
    One(u32, i64),
    /// By their numbers.
    Several(Vec<(u32, i64)>),
}

/// Index of the open packet of each buffer in each queue.
#[derive(Debug, Default)]
pub(crate) struct OpenPackets {
    by_address: HashMap<u64, Holding>,
    count: usize,
}

impl OpenPackets {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The packet of a buffer in a queue.
    #[inline]
    pub(crate) fn get(&self, (address, queue): BufferKey) -> Option<i64> {
        match self.by_address.get(&address)? {
            Holding::One(only, index) => (*only == queue).then_some(*index),
            Holding::Several(queues) => {
                let place = queues.binary_search_by_key(&queue, |(queue, _)| *queue);
                queues.get(place.ok()?).map(|(_, index)| *index)
            }
        }
    }

    /// The queue that a buffer came into last: it is in no other any more.
    pub(crate) fn newest_queue(&self, address: u64) -> Option<u32> {
        match self.by_address.get(&address)? {
            Holding::One(only, _) => Some(*only),
            Holding::Several(queues) => {
                let newest = queues.iter().max_by_key(|(_, index)| *index)?;
                Some(newest.0)
            }
        }
    }

    /// A buffer comes into a queue that does not hold it.
    pub(crate) fn insert(&mut self, (address, queue): BufferKey, index: i64) {
        self.count += 1;
        let holding = match self.by_address.entry(address) {
            Entry::Vacant(entry) => {
                entry.insert(Holding::One(queue, index));
                return;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        match holding {
            Holding::One(only, its_index) => {
                let mut queues = vec![(*only, *its_index), (queue, index)];
                queues.sort_unstable();
                *holding = Holding::Several(queues);
            }
            Holding::Several(queues) => {
                let place = queues.partition_point(|(other, _)| *other < queue);
                queues.insert(place, (queue, index));
            }
        }
    }

    /// Take out the packet of a buffer in a queue.
    pub(crate) fn remove(&mut self, (address, queue): BufferKey) -> Option<i64> {
        let Entry::Occupied(mut entry) = self.by_address.entry(address) else {
            return None;
        };
        let index = match entry.get_mut() {
            Holding::One(only, index) => (*only == queue).then_some(*index)?,
            Holding::Several(queues) => {
                let place = queues.binary_search_by_key(&queue, |(queue, _)| *queue).ok()?;
                let (_, index) = queues.remove(place);
                if let [(only, its_index)] = queues.as_slice() {
                    *entry.get_mut() = Holding::One(*only, *its_index);
                }
                self.count -= 1;
                return Some(index);
            }
        };
        entry.remove();
        self.count -= 1;
        Some(index)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = BufferKeyed> {
        self.by_address.iter().flat_map(|(address, holding)| {
            let (one, several) = match holding {
                Holding::One(queue, index) => (Some((*queue, *index)), &[][..]),
                Holding::Several(queues) => (None, queues.as_slice()),
            };
            one.into_iter()
                .chain(several.iter().copied())
                .map(|(queue, index)| BufferKeyed {
                    key: (*address, queue),
                    index,
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn packets_are_those_of_a_plain_map() {
        let mut open = OpenPackets::default();
        let mut plain = BTreeMap::new();
        let mut number = 1_u64;
        for index in 0..20_000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (number >> 60, (number >> 40) as u32 % 7);
            assert_eq!(open.get(key), plain.get(&key).copied());
            assert_eq!(open.remove(key), plain.remove(&key));
            if number & 1 << 30 != 0 {
                open.insert(key, index);
                plain.insert(key, index);
            }
            let of_address = plain.iter().filter(|((address, _), _)| *address == key.0);
            let newest = of_address.max_by_key(|(_, index)| **index);
            assert_eq!(open.newest_queue(key.0), newest.map(|((_, queue), _)| *queue));
            assert_eq!(open.len(), plain.len());
        }
        let mut all: Vec<_> = open.iter().map(|packet| (packet.key, packet.index)).collect();
        all.sort_unstable();
        assert_eq!(all, plain.into_iter().collect::<Vec<_>>());
    }
}
