//! Flows of a queue log, each kept once: many events are of few flows.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

/// Flows that are found again without an allocation; more than are active at a time at most bottlenecks.
const SLOTS: usize = 4096;

/// What the packets of one flow in one direction have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFlow {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    /// Source and destination, TCP and UDP only.
    pub(crate) ports: Option<(u16, u16)>,
}

impl Hash for QueueFlow {
    // In two or three words, where the derived one feeds every field and discriminant by itself.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (from, to) = self.ports.unwrap_or_default();
        let ports = u64::from(from) << 16 | u64::from(to);
        state.write_u64(ports << 8 | u64::from(self.protocol));
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                state.write_u64(u64::from(source.to_bits()) << 32 | u64::from(destination.to_bits()));
            }
            (source, destination) => {
                for address in [source, destination] {
                    state.write_u128(match address {
                        IpAddr::V4(address) => address.to_bits().into(),
                        IpAddr::V6(address) => address.to_bits(),
                    });
                }
            }
        }
    }
}

/// Hands out one shared value for equal flows, in bounded memory: a flow that another one has displaced is
/// allocated again, and equal to what it was.
#[derive(Debug, Default)]
pub(crate) struct FlowCache {
    slots: Vec<Option<Arc<QueueFlow>>>,
}

impl FlowCache {
    pub(crate) fn shared(&mut self, flow: QueueFlow) -> Arc<QueueFlow> {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        match self.slots.get_mut(slot(&flow)) {
            Some(Some(cached)) if **cached == flow => Arc::clone(cached),
            Some(slot) => Arc::clone(slot.insert(Arc::new(flow))),
            None => Arc::new(flow),
        }
    }
}

/// Where a flow is kept. Flows that are made to meet there only cost allocations.
fn slot(flow: &QueueFlow) -> usize {
    let word = |address: IpAddr| match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let low = u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default();
            u64::try_from(bits >> 64).unwrap_or_default() ^ low
        }
    };
    let (from, to) = flow.ports.unwrap_or_default();
    let ports = u64::from(from) << 16 | u64::from(to);
    let mixed = (word(flow.source) << 1 ^ word(flow.destination) ^ ports << 32 ^ u64::from(flow.protocol))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The highest bits depend on all of the bits of the word.
    usize::try_from(mixed >> (u64::BITS - SLOTS.ilog2())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(port: u16) -> QueueFlow {
        QueueFlow {
            source: [10, 0, 0, 1].into(),
            destination: "2001:db8::1".parse().unwrap(),
            protocol: 17,
            ports: Some((port, 9)),
        }
    }

    #[test]
    fn flows_between_two_hosts_are_spread_over_the_slots() {
        let mut slots: Vec<_> = (0..64).map(|port| slot(&flow(port))).collect();
        slots.sort_unstable();
        slots.dedup();
        assert!(slots.len() > 60);
    }

    #[test]
    fn equal_flows_are_shared_and_any_number_of_them_takes_bounded_memory() {
        let mut cache = FlowCache::default();
        let first = cache.shared(flow(1));
        assert!(Arc::ptr_eq(&first, &cache.shared(flow(1))));
        let all: Vec<_> = (0..=u16::MAX).map(|port| cache.shared(flow(port))).collect();
        assert!(
            (0..=u16::MAX)
                .zip(&all)
                .all(|(port, shared)| **shared == flow(port))
        );
        drop(all);
        assert_eq!(cache.slots.len(), SLOTS);
        assert_eq!(*cache.shared(flow(1)), *first);
    }
}
