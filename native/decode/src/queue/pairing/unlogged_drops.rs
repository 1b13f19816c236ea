//! Drops out of a queue that the log does not show, found by what later packets do.
//!
//! A packet is gone if a later packet of its own flow leaves before it (disciplines keep the order of a flow), or the
//! queue is empty. It was dropped if it does not leave within [`HOLD_NS`] all the same.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::{Equivalent, HashMap, HashSet};

use crate::queue::event::NetworkFields;
use crate::queue::flow::QueueFlow;
use crate::queue::interval::HOLD_NS;
use crate::queue::pairing::open_packet::{BufferKey, BufferKeyed, OpenPackets};
use crate::queue::pairing::rows::PacketRows;

/// Buffers of dropped packets that are remembered until they come again.
const MOST_ABANDONED: usize = 1 << 20;
/// Flows without a packet in a queue that keep their place, since most of them come again.
pub(super) const MOST_IDLE_FLOWS: usize = 4096;
/// For so many packets an idle flow keeps its memory.
const MOST_IDLE_PACKETS: usize = 16;
/// Flows and packets of them that are kept before those that are over are looked for.
pub(super) const FEWEST_SWEPT: usize = 1 << 14;
/// The same of the packets of a queue.
const FEWEST_OF_A_QUEUE: usize = 64;

/// A flow at a queue.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowKey {
    queue: u32,
    flow: Arc<QueueFlow>,
}

/// Looks a flow up without sharing it.
struct FlowLookup<'f> {
    queue: u32,
    flow: &'f Arc<QueueFlow>,
}

impl Hash for FlowLookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.queue.hash(state);
        self.flow.hash(state);
    }
}

impl Equivalent<FlowKey> for FlowLookup<'_> {
    fn equivalent(&self, key: &FlowKey) -> bool {
        self.queue == key.queue && (Arc::ptr_eq(self.flow, &key.flow) || *self.flow == key.flow)
    }
}

/// Packets of a queue.
#[derive(Debug, Default)]
struct Present {
    count: usize,
    /// In the order of their enqueue. Those that have ended stay in it until the next sweep.
    packets: Vec<BufferKeyed>,
    /// More packets than these call for a sweep.
    sweep_above: usize,
}

/// Open packets by queue and flow, and those of them that are gone.
#[derive(Debug)]
pub(crate) struct UnloggedDrops {
    /// Open packets of each flow in the order of their enqueue.
    /// Packets that end other than by a dequeue stay in it until the next sweep.
    pub(super) flows: HashMap<FlowKey, VecDeque<BufferKeyed>>,
    /// Packets in `flows`.
    pub(super) followed: usize,
    /// More flows and packets of them than these call for a sweep.
    sweep_above: usize,
    /// Packets that are gone without an event, in the order of when that was seen.
    gone: VecDeque<(i64, BufferKeyed)>,
    /// Open packets of each queue that are not known to be gone.
    present: Vec<Present>,
    abandoned: HashSet<BufferKey>,
    abandoned_all: bool,
}

impl Default for UnloggedDrops {
    fn default() -> Self {
        Self {
            flows: HashMap::new(),
            followed: 0,
            sweep_above: FEWEST_SWEPT,
            gone: VecDeque::new(),
            present: Vec::new(),
            abandoned: HashSet::new(),
            abandoned_all: true,
        }
    }
}

impl UnloggedDrops {
    /// A packet came: it is looked for among those of its flow.
    pub(crate) fn follow(
        &mut self,
        packet: BufferKeyed,
        network: Option<&NetworkFields>,
        open: &OpenPackets,
    ) {
        let (_, queue) = packet.key;
        let place = queue as usize;
        if self.present.len() <= place {
            self.present.resize_with(place + 1, Present::default);
        }
        if let Some(present) = self.present.get_mut(place) {
            if present.packets.len() > present.sweep_above {
                present
                    .packets
                    .retain(|packet| open.get(packet.key) == Some(packet.index));
                present.sweep_above = FEWEST_OF_A_QUEUE.max(2 * present.packets.len());
            }
            present.count += 1;
            present.packets.push(packet);
        }
        let Some(flow) = network.map(|network| &network.flow) else {
            return;
        };
        if self.flows.len() + self.followed > self.sweep_above {
            self.sweep_flows(open);
        }
        self.followed += 1;
        if let Some(packets) = self.flows.get_mut(&FlowLookup { queue, flow }) {
            packets.push_back(packet);
        } else {
            let flow = Arc::clone(flow);
            self.flows
                .insert(FlowKey { queue, flow }, VecDeque::from([packet]));
        }
    }

    /// Forget the packets that have ended, and the flows that are left without any.
    ///
    /// A flow whose packets are all dropped never has the dequeue that would take them out. What is kept at least
    /// doubles from one sweep to the next, so that an enqueue costs no more for it on average.
    fn sweep_flows(&mut self, open: &OpenPackets) {
        let mut followed = 0;
        self.flows.retain(|_, packets| {
            packets.retain(|packet| open.get(packet.key) == Some(packet.index));
            followed += packets.len();
            !packets.is_empty()
        });
        self.followed = followed;
        self.sweep_above = FEWEST_SWEPT.max(2 * (self.flows.len() + followed));
    }

    /// A packet left: those of its flow that came before it and are still here are gone.
    pub(crate) fn overtake(
        &mut self,
        (queue, index): (u32, i64),
        network: Option<&NetworkFields>,
        now_ns: i64,
        open: &OpenPackets,
        rows: &mut PacketRows,
    ) {
        let Some(flow) = network.map(|network| &network.flow) else {
            return;
        };
        let lookup = FlowLookup { queue, flow };
        let Some(packets) = self.flows.get_mut(&lookup) else {
            return;
        };
        // Nearly always empty, and then without memory of its own.
        let mut gone = Vec::new();
        while let Some(first) = packets.front().copied() {
            if first.index > index {
                break;
            }
            packets.pop_front();
            self.followed -= 1;
            if first.index < index && open.get(first.key) == Some(first.index) {
                gone.push(first);
            }
        }
        if packets.is_empty() {
            packets.shrink_to(MOST_IDLE_PACKETS);
            if self.flows.len() > MOST_IDLE_FLOWS {
                self.flows.remove(&lookup);
            }
        }
        for packet in gone {
            self.mark_gone(packet, now_ns, rows);
        }
    }

    /// A queue that is empty, or holds but the packet that has just come, holds none of those before.
    pub(crate) fn notice_empty(
        &mut self,
        key: BufferKey,
        packets: i64,
        now_ns: i64,
        open: &OpenPackets,
        rows: &mut PacketRows,
    ) {
        let (_, queue) = key;
        let newest = open.get(key);
        let alone = usize::from(newest.is_some());
        let Some(present) = self.present.get_mut(queue as usize) else {
            return;
        };
        if packets != alone as i64 || present.count <= alone {
            return;
        }
        let newest = newest.map(|index| BufferKeyed { key, index });
        let left = std::mem::replace(&mut present.packets, newest.into_iter().collect());
        for packet in left {
            let is_newest = newest.is_some_and(|newest| newest.index == packet.index);
            if !is_newest && open.get(packet.key) == Some(packet.index) {
                self.mark_gone(packet, now_ns, rows);
            }
        }
    }

    fn mark_gone(&mut self, packet: BufferKeyed, now_ns: i64, rows: &mut PacketRows) {
        let Some(row) = rows.get(packet.index) else {
            return;
        };
        if row.gone_ns.is_none() {
            row.gone_ns = Some(now_ns);
            self.gone.push_back((now_ns, packet));
            self.count_left(packet.key.1);
        }
    }

    /// The next packet that was gone so long ago that it does not come any more.
    pub(crate) fn next_settled(&mut self, now_ns: i64) -> Option<BufferKeyed> {
        let (gone_ns, _) = self.gone.front()?;
        if now_ns.saturating_sub(*gone_ns) <= HOLD_NS {
            return None;
        }
        self.next_gone()
    }

    /// The next packet that is gone, however long ago.
    pub(crate) fn next_gone(&mut self) -> Option<BufferKeyed> {
        self.gone.pop_front().map(|(_, packet)| packet)
    }

    /// A packet counts as dropped; its buffer is remembered until it comes again.
    pub(crate) fn abandon(&mut self, key: BufferKey) {
        if self.abandoned.len() < MOST_ABANDONED {
            self.abandoned.insert(key);
        } else {
            self.abandoned_all = false;
        }
    }

    /// A buffer comes again.
    pub(crate) fn reused(&mut self, key: BufferKey) {
        self.abandoned.remove(&key);
    }

    /// Buffers of dropped packets that did not come again; `None` if they were too many to remember.
    pub(crate) fn abandoned(&self) -> Option<usize> {
        self.abandoned_all.then_some(self.abandoned.len())
    }

    /// An open packet came to an end, unless it was known to be gone.
    pub(crate) fn left(&mut self, queue: u32, index: i64, rows: &mut PacketRows) {
        if rows.get(index).is_none_or(|packet| packet.gone_ns.is_some()) {
            return;
        }
        self.count_left(queue);
    }

    fn count_left(&mut self, queue: u32) {
        if let Some(present) = self.present.get_mut(queue as usize) {
            present.count = present.count.saturating_sub(1);
        }
    }
}
