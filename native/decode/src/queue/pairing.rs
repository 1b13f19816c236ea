//! One row per packet out of enqueue, dequeue and drop events.
//!
//! An event belongs to the packet whose enqueue was seen last for the same kernel buffer (skb) in the same queue.
//! Rules keep lost events from making up delays:
//!
//! - An enqueue for a buffer that is still queued means that the end of the earlier packet was not seen. That
//!   packet is censored: its fate is `queued_at_end`, as for one still queued when the probe stopped.
//! - Where the log prints the packets' own fields, an end whose fields are not those of the enqueue belongs to
//!   another packet: the enqueued one is censored, and the end stands without an enqueue.
//! - Where the probe prints its own sojourn time and that differs from the paired events by more than the probe's
//!   own work can explain, the same.
//! - A dequeue without an enqueue has no sojourn time.
//!
//! Where both are there, the probe's sojourn time is preferred over the difference of the printed times: it is
//! taken before anything else in the probe, while the printed times are taken after the map operations, which
//! take longer at enqueue than at dequeue.
//!
//! Some logs show no drop out of the queue. There a packet was dropped if, with no event lost meanwhile,
//! its buffer comes again, a later packet of its own flow leaves before it (disciplines keep the order of a flow),
//! or the queue is empty; the drop's time is that of the event that shows it, the latest it can have been. A packet
//! that leaves within [`HOLD_NS`] all the same, out of a discipline that does reorder, was not dropped.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::{Equivalent, HashMap, HashSet};

use crate::queue::event::{EventKind, NetworkFields, QueueEvent};
use crate::queue::flow::QueueFlow;
use crate::queue::interval::{HOLD_NS, Length, QueueIntervals};
use crate::queue::loss_spans::LossSpans;
use crate::queue::queued_packet::{Fate, QueueState, QueuedPacket};

/// Buffers of dropped packets that are remembered until they come again.
const MOST_ABANDONED: usize = 1 << 20;
/// Flows without a packet in a queue that keep their place, since most of them come again.
const MOST_IDLE_FLOWS: usize = 4096;
/// For so many packets an idle flow keeps its memory.
const MOST_IDLE_PACKETS: usize = 16;
/// Flows and packets of them that are kept before those that are over are looked for.
const FEWEST_SWEPT: usize = 1 << 14;

/// Key of a kernel buffer: its address, and the number of the queue.
type BufferKey = (u64, u32);

/// A flow at a queue.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FlowKey {
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

/// Packets whose end is awaited, and those that wait for their turn to be handed out.
#[derive(Debug)]
pub(crate) struct QueuePairing {
    drops_logged: bool,
    next_index: i64,
    /// Index of the first of `rows`.
    base: i64,
    rows: VecDeque<QueuedPacket>,
    open: HashMap<BufferKey, i64>,
    /// Packets still open whose turn is over.
    stragglers: HashMap<i64, QueuedPacket>,
    /// Those of them that have ended, and what was set aside with them.
    late: VecDeque<QueuedPacket>,
    /// Open packets of each flow in the order of their enqueue, only where drops are not logged.
    /// Packets that end other than by a dequeue stay in it until the next sweep.
    flows: HashMap<FlowKey, VecDeque<BufferKeyed>>,
    /// Packets in `flows`.
    followed: usize,
    /// More flows and packets of them than these call for a sweep.
    sweep_above: usize,
    /// Packets that are gone without an event, in the order of when that was seen.
    gone: VecDeque<(i64, BufferKeyed)>,
    /// Open packets of each queue that are not known to be gone.
    present: Vec<i64>,
    abandoned: HashSet<BufferKey>,
    abandoned_all: bool,
    unseen_enqueues: i64,
    queues: u32,
    intervals: QueueIntervals,
    losses: LossSpans,
}

#[derive(Debug, Clone, Copy)]
struct BufferKeyed {
    key: BufferKey,
    index: i64,
}

impl QueuePairing {
    pub(crate) fn new(drops_logged: bool, interval_ns: i64, longest_silence_ns: i64) -> Self {
        Self {
            drops_logged,
            next_index: 0,
            base: 0,
            rows: VecDeque::new(),
            open: HashMap::new(),
            stragglers: HashMap::new(),
            late: VecDeque::new(),
            flows: HashMap::new(),
            followed: 0,
            sweep_above: FEWEST_SWEPT,
            gone: VecDeque::new(),
            present: Vec::new(),
            abandoned: HashSet::new(),
            abandoned_all: true,
            unseen_enqueues: 0,
            queues: 0,
            intervals: QueueIntervals::new(interval_ns, longest_silence_ns),
            losses: LossSpans::default(),
        }
    }

    pub(crate) fn losses(&mut self) -> &mut LossSpans {
        &mut self.losses
    }

    pub(crate) fn intervals(&mut self) -> &mut QueueIntervals {
        &mut self.intervals
    }

    /// Dequeues whose enqueue was not seen, and enqueues whose end was not, `None` where they are too many to know.
    pub(crate) fn left_open(&self) -> Option<(i64, i64)> {
        self.abandoned_all.then(|| {
            let enqueues = self.open.len() + self.abandoned.len();
            (self.unseen_enqueues, enqueues as i64)
        })
    }

    /// Take in the next event of the log, in the order of time.
    ///
    /// Returns whether it was an event of a queue.
    pub(crate) fn event(&mut self, queue: u32, event: &mut QueueEvent) -> bool {
        self.settle_gone(event.time_ns);
        self.queues = self.queues.max(queue.saturating_add(1));
        let now_ns = event.time_ns;
        let key = (event.packet, queue);
        let logged_packets = event.queue_packets;
        match event.kind {
            EventKind::Enqueue => {
                self.supersede(key, now_ns);
                if !self.drops_logged {
                    let index = self.next_index;
                    self.follow(BufferKeyed { key, index }, event.network.as_ref());
                }
                let index = self.begin(queue, event);
                if let Some(packet) = self.packet(index) {
                    packet.enqueue = Some(QueueState::of(event));
                }
                self.open.insert(key, index);
                self.intervals.arrived(queue, now_ns, event.packet_bytes);
                self.lengthen(queue, event);
            }
            EventKind::Dequeue => {
                let known = self.matching(key, event);
                if !self.drops_logged {
                    let index = known.unwrap_or(self.next_index);
                    self.overtake(queue, index, event.network.as_ref(), now_ns);
                }
                let index = known.unwrap_or_else(|| {
                    self.unseen_enqueues += 1;
                    self.begin(queue, event)
                });
                let mut found = (None, None);
                if let Some(packet) = self.packet(index) {
                    packet.dequeued(event);
                    found = (packet.packet_bytes, packet.sojourn_ns);
                }
                self.ended(index);
                self.intervals.departed(queue, now_ns, found.0, found.1);
                self.shorten(queue, event);
            }
            EventKind::Drop => self.drop_event(key, event),
            EventKind::Refuse => {
                self.supersede(key, now_ns);
                self.refuse(queue, event);
            }
            EventKind::Free => match self.queue_of(event.packet) {
                Some(holding) => self.drop_event((event.packet, holding), event),
                None if kind_of_drop(event).is_some() => self.refuse(queue, event),
                None => return false,
            },
        }
        if let Some(packets) = logged_packets.filter(|_| !self.drops_logged) {
            self.notice_empty(queue, key, i64::from(packets), now_ns);
        }
        true
    }

    /// The queue that holds a packet, where the event does not say.
    fn queue_of(&self, packet: u64) -> Option<u32> {
        (0..self.queues).find(|queue| self.open.contains_key(&(packet, *queue)))
    }

    fn drop_event(&mut self, key: BufferKey, event: &mut QueueEvent) {
        let (queue, now_ns) = (key.1, event.time_ns);
        let known = self.matching(key, event);
        if known.is_none() && event.measured_ns.is_none() {
            self.refuse(queue, event);
            return;
        }
        let index = known.unwrap_or_else(|| self.begin(queue, event));
        let by_control_law = kind_of_drop(event) == Some("aqm");
        let mut packet_bytes = None;
        if let Some(packet) = self.packet(index) {
            packet.dropped(Fate::DroppedInQueue, event);
            packet_bytes = packet.packet_bytes;
        }
        self.ended(index);
        self.intervals.set_length(queue, now_ns, |length| length);
        self.intervals.dropped_in_queue(queue, now_ns, packet_bytes);
        if by_control_law {
            // CoDel corrects the length that is logged here only once it has dropped all it drops at one dequeue.
            let logged = length_of(event);
            self.intervals.set_length(queue, now_ns, |length| Length {
                packets: (logged.0.unwrap_or(length.packets).min(length.packets) - 1).max(0),
                bytes: length
                    .bytes
                    .zip(packet_bytes)
                    .map(|(bytes, less)| (logged.1.unwrap_or(bytes).min(bytes) - i64::from(less)).max(0)),
            });
        } else {
            self.shorten(queue, event);
        }
    }

    /// A packet that did not get into the queue.
    fn refuse(&mut self, queue: u32, event: &mut QueueEvent) {
        let index = self.begin(queue, event);
        let now_ns = event.time_ns;
        let (packets, bytes) = length_of(event);
        if let Some(packet) = self.packet(index) {
            packet.dropped(Fate::DroppedAtEnqueue, event);
        }
        self.ended(index);
        self.intervals
            .dropped_at_enqueue(queue, now_ns, event.packet_bytes);
        self.intervals.set_length(queue, now_ns, |length| Length {
            packets: packets.unwrap_or(length.packets),
            bytes: bytes.or(length.bytes),
        });
    }

    fn lengthen(&mut self, queue: u32, event: &QueueEvent) {
        self.change_length(queue, event, 1);
    }

    fn shorten(&mut self, queue: u32, event: &QueueEvent) {
        self.change_length(queue, event, -1);
    }

    /// The length that the log gives, or else the one counted along.
    fn change_length(&mut self, queue: u32, event: &QueueEvent, packets: i64) {
        let (logged_packets, logged_bytes) = length_of(event);
        let packet_bytes = event.packet_bytes.map(i64::from);
        self.intervals.set_length(queue, event.time_ns, |length| Length {
            packets: logged_packets.unwrap_or_else(|| length.packets.saturating_add(packets).max(0)),
            bytes: logged_bytes.or_else(|| {
                let counted = length.bytes?.saturating_add(packets * packet_bytes?);
                Some(counted.max(0))
            }),
        });
    }

    /// The open packet that an event ends; one that it cannot be is censored.
    fn matching(&mut self, key: BufferKey, event: &QueueEvent) -> Option<i64> {
        let index = self.open.remove(&key)?;
        self.count_present(key.1, index, -1);
        if self.packet(index).is_some_and(|packet| packet.is_that_of(event)) {
            return Some(index);
        }
        self.censor(index);
        None
    }

    /// A buffer comes again: what it held before has gone.
    fn supersede(&mut self, key: BufferKey, now_ns: i64) {
        self.abandoned.remove(&key);
        let Some(index) = self.open.remove(&key) else {
            return;
        };
        self.count_present(key.1, index, -1);
        if self.drops_logged {
            self.censor(index);
            return;
        }
        let gone_ns = self.packet(index).and_then(|packet| packet.gone_ns);
        self.settle(index, gone_ns.unwrap_or(now_ns));
    }

    /// End a packet that is gone without an event: dropped, unless an event may have been lost meanwhile.
    fn settle(&mut self, index: i64, gone_ns: i64) {
        let Some(packet) = self.packet(index) else { return };
        let enqueue_ns = packet.enqueue.map_or(gone_ns, |enqueue| enqueue.time_ns);
        if self.losses.touch(enqueue_ns, gone_ns) {
            self.censor(index);
            return;
        }
        let Some(packet) = self.packet(index) else { return };
        packet.dropped_unseen(gone_ns);
        let (queue, packet_bytes) = (packet.queue, packet.packet_bytes);
        self.intervals.dropped_in_queue(queue, gone_ns, packet_bytes);
        self.ended(index);
    }

    fn censor(&mut self, index: i64) {
        if let Some(packet) = self.packet(index) {
            packet.open = false;
        }
        self.ended(index);
    }

    fn follow(&mut self, packet: BufferKeyed, network: Option<&NetworkFields>) {
        let (_, queue) = packet.key;
        let place = queue as usize;
        if self.present.len() <= place {
            self.present.resize(place + 1, 0);
        }
        if let Some(present) = self.present.get_mut(place) {
            *present += 1;
        }
        let Some(flow) = network.map(|network| &network.flow) else {
            return;
        };
        if self.flows.len() + self.followed > self.sweep_above {
            self.sweep_flows();
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
    fn sweep_flows(&mut self) {
        let open = &self.open;
        let mut followed = 0;
        self.flows.retain(|_, packets| {
            packets.retain(|packet| open.get(&packet.key) == Some(&packet.index));
            followed += packets.len();
            !packets.is_empty()
        });
        self.followed = followed;
        self.sweep_above = FEWEST_SWEPT.max(2 * (self.flows.len() + followed));
    }

    /// A packet left: those of its flow that came before it and are still here are gone.
    fn overtake(&mut self, queue: u32, index: i64, network: Option<&NetworkFields>, now_ns: i64) {
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
            if first.index < index && self.open.get(&first.key) == Some(&first.index) {
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
            self.mark_gone(packet, now_ns);
        }
    }

    /// A queue that is empty, or holds but the packet that has just come, holds none of those before.
    fn notice_empty(&mut self, queue: u32, key: BufferKey, packets: i64, now_ns: i64) {
        let newest = self.open.get(&key).copied();
        let alone = i64::from(newest.is_some());
        let present = self.present.get(queue as usize).copied().unwrap_or(0);
        if packets != alone || present <= alone {
            return;
        }
        let mut left: Vec<_> = self
            .open
            .iter()
            .filter(|((_, other), index)| *other == queue && Some(**index) != newest)
            .map(|(key, index)| BufferKeyed {
                key: *key,
                index: *index,
            })
            .collect();
        left.sort_unstable_by_key(|packet| packet.index);
        for packet in left {
            self.mark_gone(packet, now_ns);
        }
    }

    fn mark_gone(&mut self, packet: BufferKeyed, now_ns: i64) {
        let Some(row) = self.packet(packet.index) else {
            return;
        };
        if row.gone_ns.is_none() {
            row.gone_ns = Some(now_ns);
            self.gone.push_back((now_ns, packet));
            if let Some(present) = self.present.get_mut(packet.key.1 as usize) {
                *present -= 1;
            }
        }
    }

    /// Packets that were gone long ago do not come any more.
    fn settle_gone(&mut self, now_ns: i64) {
        while let Some((gone_ns, packet)) = self.gone.front().copied() {
            if now_ns.saturating_sub(gone_ns) <= HOLD_NS {
                return;
            }
            self.gone.pop_front();
            self.settle_one(packet);
        }
    }

    fn settle_one(&mut self, packet: BufferKeyed) {
        if self.open.get(&packet.key) != Some(&packet.index) {
            return;
        }
        self.open.remove(&packet.key);
        if self.abandoned.len() < MOST_ABANDONED {
            self.abandoned.insert(packet.key);
        } else {
            self.abandoned_all = false;
        }
        if let Some(gone_ns) = self.packet(packet.index).and_then(|row| row.gone_ns) {
            self.settle(packet.index, gone_ns);
        }
    }

    fn count_present(&mut self, queue: u32, index: i64, change: i64) {
        if self.drops_logged || self.packet(index).is_none_or(|packet| packet.gone_ns.is_some()) {
            return;
        }
        if let Some(present) = self.present.get_mut(queue as usize) {
            *present += change;
        }
    }

    fn begin(&mut self, queue: u32, event: &mut QueueEvent) -> i64 {
        let index = self.next_index;
        self.next_index += 1;
        self.rows.push_back(QueuedPacket::new(index, queue, event));
        index
    }

    fn packet(&mut self, index: i64) -> Option<&mut QueuedPacket> {
        match usize::try_from(index - self.base) {
            Ok(place) => self.rows.get_mut(place),
            Err(_) => self.stragglers.get_mut(&index),
        }
    }

    fn ended(&mut self, index: i64) {
        if index < self.base {
            self.late.extend(self.stragglers.remove(&index));
        }
    }

    /// Hand out up to `most` packets that have ended, in the order of their first events but for those set aside.
    pub(crate) fn hand_out(&mut self, most: usize, mut to: impl FnMut(&QueuedPacket)) {
        for _ in 0..most {
            if let Some(packet) = self.late.pop_front() {
                to(&packet);
                continue;
            }
            let Some(packet) = self.rows.front().filter(|packet| !packet.open) else {
                return;
            };
            to(packet);
            self.rows.pop_front();
            self.base += 1;
        }
    }

    /// Packets wait for those before them to end, but not for one whose end was lost: once more than `most` are
    /// there, the first `packets` of them wait no longer.
    pub(crate) fn set_aside(&mut self, packets: usize, most: usize) {
        if self.rows.len() < most {
            return;
        }
        for _ in 0..packets {
            let Some(packet) = self.rows.pop_front() else {
                return;
            };
            self.base += 1;
            if packet.open {
                self.stragglers.insert(packet.index, packet);
            } else {
                self.late.push_back(packet);
            }
        }
    }

    /// No more events come: what is still queued is censored.
    pub(crate) fn close(&mut self) {
        while let Some((_, packet)) = self.gone.pop_front() {
            self.settle_one(packet);
        }
        let mut open: Vec<i64> = self.open.values().copied().collect();
        open.sort_unstable();
        for index in open {
            self.censor(index);
        }
        self.intervals.close();
    }
}

fn kind_of_drop(event: &QueueEvent) -> Option<&'static str> {
    event.cause.as_ref()?.kind
}

fn length_of(event: &QueueEvent) -> (Option<i64>, Option<i64>) {
    (event.queue_packets.map(i64::from), event.queue_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroI64;

    use crate::queue::event::DropCause;
    use EventKind::{Dequeue, Drop, Enqueue, Free, Refuse};

    fn event(kind: EventKind, time_ns: i64, skb: u64, measured_ns: Option<i64>) -> QueueEvent {
        QueueEvent {
            packet_bytes: Some(1514),
            measured_ns: measured_ns.and_then(NonZeroI64::new),
            ..QueueEvent::new(kind, time_ns, skb)
        }
    }

    /// An event of a flow, in a log that shows how many packets are queued but no drop out of the queue.
    fn of_flow(kind: EventKind, time_ns: i64, skb: u64, port: u16, queued: i32) -> QueueEvent {
        QueueEvent {
            network: Some(NetworkFields {
                flow: Arc::new(QueueFlow {
                    source: [10, 0, 0, 1].into(),
                    destination: [10, 0, 0, 2].into(),
                    protocol: 17,
                    ports: Some((port, 9)),
                }),
                ip_id: None,
                transport_word: None,
            }),
            queue_packets: Some(queued),
            ..event(kind, time_ns, skb, None)
        }
    }

    fn handed_out(pairing: &mut QueuePairing, most: usize) -> Vec<QueuedPacket> {
        let mut rows = Vec::new();
        pairing.hand_out(most, |packet| rows.push(packet.clone()));
        rows
    }

    fn paired(drops_logged: bool, events: impl IntoIterator<Item = QueueEvent>) -> Vec<QueuedPacket> {
        let mut pairing = QueuePairing::new(drops_logged, 100_000_000, 86_400_000_000_000);
        for mut event in events {
            pairing.event(0, &mut event);
        }
        pairing.close();
        let mut rows = handed_out(&mut pairing, usize::MAX);
        rows.sort_by_key(|packet| packet.index);
        rows
    }

    fn pair(events: impl IntoIterator<Item = QueueEvent>) -> Vec<(Fate, Option<i64>)> {
        paired(true, events)
            .into_iter()
            .map(|packet| (packet.fate, packet.sojourn_ns))
            .collect()
    }

    fn unlogged(events: impl IntoIterator<Item = QueueEvent>) -> Vec<(Fate, Option<i64>)> {
        paired(false, events)
            .into_iter()
            .map(|packet| (packet.fate, packet.drop.map(|drop| drop.state.time_ns)))
            .collect()
    }

    #[test]
    fn rows_come_in_the_order_of_first_events() {
        let found = pair([
            event(Enqueue, 100, 1, None),
            event(Enqueue, 110, 2, None),
            event(Dequeue, 150, 2, Some(41)),
            event(Dequeue, 190, 1, None),
        ]);
        assert_eq!(found, [(Fate::Dequeued, Some(90)), (Fate::Dequeued, Some(41))]);
    }

    #[test]
    fn drops_are_told_apart_by_whether_the_packet_was_queued() {
        let found = pair([
            event(Drop, 100, 1, None),
            event(Enqueue, 110, 2, None),
            event(Drop, 150, 2, Some(41)),
            event(Drop, 160, 3, Some(60)),
        ]);
        assert_eq!(
            found,
            [
                (Fate::DroppedAtEnqueue, None),
                (Fate::DroppedInQueue, None),
                (Fate::DroppedInQueue, None)
            ]
        );
    }

    #[test]
    fn a_dequeue_without_enqueue_has_no_sojourn_time() {
        assert_eq!(pair([event(Dequeue, 100, 1, Some(50))]), [(Fate::Dequeued, None)]);
    }

    #[test]
    fn a_second_enqueue_censors_the_first() {
        let found = pair([
            event(Enqueue, 100, 1, None),
            event(Enqueue, 500, 1, None),
            event(Dequeue, 600, 1, None),
        ]);
        assert_eq!(found, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, Some(100))]);
    }

    #[test]
    fn a_dequeue_of_another_packet_in_the_same_buffer_is_not_paired() {
        let found = pair([
            event(Enqueue, 100, 1, None),
            event(Dequeue, 90_000_100, 1, Some(5_000_000)),
        ]);
        assert_eq!(found, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
        let found = pair([of_flow(Enqueue, 100, 1, 5, 1), of_flow(Dequeue, 200, 1, 6, 0)]);
        assert_eq!(found, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
    }

    #[test]
    fn a_free_is_of_a_queue_if_the_packet_is_in_one_or_the_cause_says_so() {
        let cause = |kind| DropCause {
            kind,
            ..DropCause::default()
        };
        let free = |time, skb, kind| QueueEvent {
            cause: Some(Box::new(cause(kind))),
            ..event(Free, time, skb, None)
        };
        let found = pair([
            event(Enqueue, 100, 1, None),
            free(150, 1, None),
            free(160, 1, None),
            free(170, 2, Some("overlimit")),
        ]);
        assert_eq!(
            found,
            [(Fate::DroppedInQueue, None), (Fate::DroppedAtEnqueue, None)]
        );
    }

    #[test]
    fn a_packet_overtaken_in_its_flow_was_dropped() {
        let found = unlogged([
            of_flow(Enqueue, 100, 1, 5, 1),
            of_flow(Enqueue, 110, 2, 6, 2),
            of_flow(Enqueue, 120, 3, 5, 3),
            of_flow(Dequeue, 200, 3, 5, 1),
        ]);
        assert_eq!(
            found,
            [
                (Fate::DroppedInQueue, Some(200)),
                (Fate::QueuedAtEnd, None),
                (Fate::Dequeued, None)
            ]
        );
    }

    #[test]
    fn a_packet_that_leaves_late_out_of_a_discipline_that_reorders_was_not_dropped() {
        let found = unlogged([
            of_flow(Enqueue, 100, 1, 5, 1),
            of_flow(Enqueue, 120, 3, 5, 2),
            of_flow(Dequeue, 200, 3, 5, 1),
            of_flow(Dequeue, HOLD_NS, 1, 5, 0),
        ]);
        assert_eq!(found, [(Fate::Dequeued, None), (Fate::Dequeued, None)]);
    }

    #[test]
    fn a_buffer_that_comes_again_or_an_empty_queue_shows_a_drop() {
        let found = unlogged([
            of_flow(Enqueue, 100, 1, 5, 1),
            of_flow(Enqueue, 110, 1, 6, 2),
            of_flow(Enqueue, 120, 2, 7, 3),
            of_flow(Dequeue, 200, 2, 7, 0),
            of_flow(Enqueue, 300, 3, 8, 1),
            of_flow(Enqueue, 400, 4, 9, 1),
            of_flow(Refuse, 500, 4, 9, 1),
        ]);
        assert_eq!(
            found,
            [
                (Fate::DroppedInQueue, Some(110)),
                (Fate::DroppedInQueue, Some(200)),
                (Fate::Dequeued, None),
                (Fate::DroppedInQueue, Some(400)),
                (Fate::DroppedInQueue, Some(500)),
                (Fate::DroppedAtEnqueue, Some(500)),
            ]
        );
    }

    #[test]
    fn where_events_were_lost_meanwhile_no_drop_is_made_up() {
        let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
        pairing.losses().report(Some(110));
        pairing.losses().event_read(120);
        for mut event in [
            of_flow(Enqueue, 100, 1, 5, 1),
            of_flow(Enqueue, 120, 3, 5, 2),
            of_flow(Dequeue, 200, 3, 5, 1),
        ] {
            pairing.event(0, &mut event);
        }
        pairing.close();
        let found: Vec<_> = handed_out(&mut pairing, 9)
            .iter()
            .map(|packet| (packet.fate, packet.drop.clone()))
            .collect();
        assert_eq!(found, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
    }

    #[test]
    fn packets_wait_for_those_before_them_but_not_for_ever() {
        let mut pairing = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
        let indices = |rows: Vec<QueuedPacket>| rows.iter().map(|packet| packet.index).collect::<Vec<_>>();
        pairing.event(0, &mut event(Enqueue, 0, 99, None));
        for n in 0..3 {
            pairing.event(0, &mut event(Dequeue, 100 + n, 1, None));
        }
        pairing.set_aside(2, 8);
        assert!(handed_out(&mut pairing, 9).is_empty());
        for n in 0..5 {
            pairing.event(0, &mut event(Dequeue, 200 + n, 1, None));
        }
        pairing.set_aside(2, 8);
        assert_eq!(indices(handed_out(&mut pairing, 3)), [1, 2, 3]);
        pairing.event(0, &mut event(Dequeue, 300, 99, None));
        assert_eq!(indices(handed_out(&mut pairing, 2)), [0, 4]);
    }

    #[test]
    fn of_flows_without_packets_only_so_many_are_kept() {
        let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
        for port in 0..u16::MAX {
            let time_ns = i64::from(port) * 10;
            pairing.event(0, &mut of_flow(Enqueue, time_ns, 1, port, 1));
            pairing.event(0, &mut of_flow(Dequeue, time_ns + 5, 1, port, 0));
        }
        assert!(pairing.flows.len() <= MOST_IDLE_FLOWS + 1);
    }

    #[test]
    fn of_flows_that_never_leave_only_so_many_are_kept() {
        // A buffer that comes again ends the packet before, and so does the time after a queue was seen empty.
        for (buffers, apart_ns) in [(1, 10), (u64::MAX, HOLD_NS / 8)] {
            let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
            for n in 0..50_000_u16 {
                let time_ns = i64::from(n) * apart_ns;
                pairing.event(0, &mut of_flow(Enqueue, time_ns, u64::from(n) % buffers, n, 1));
                pairing.hand_out(1, |_| ());
            }
            assert!(pairing.open.len() < 16);
            assert!(pairing.flows.len() + pairing.followed <= FEWEST_SWEPT + 2);
        }
    }

    #[test]
    fn of_a_flow_that_never_leaves_only_so_many_packets_are_kept() {
        let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
        // The first stays; no event shows what became of it.
        for n in 0..50_000_i64 {
            pairing.event(0, &mut of_flow(Enqueue, n * 10, u64::from(n > 0), 5, 9));
        }
        let kept: usize = pairing.flows.values().map(VecDeque::len).sum();
        assert_eq!(kept, pairing.followed);
        assert!(kept <= FEWEST_SWEPT + 2);
    }

    #[test]
    fn a_sweep_leaves_what_is_queued_in_its_order() {
        let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
        pairing.event(0, &mut of_flow(Enqueue, 0, 1, 5, 9));
        pairing.event(0, &mut of_flow(Enqueue, 5, 2, 5, 9));
        for n in 10..30_000_u16 {
            pairing.event(0, &mut of_flow(Enqueue, i64::from(n), 3, n, 9));
        }
        assert!(pairing.flows.len() < 20_000);
        pairing.event(0, &mut of_flow(Dequeue, 40_000, 2, 5, 9));
        pairing.close();
        let packets = handed_out(&mut pairing, 2);
        let fates: Vec<_> = packets.iter().map(|packet| packet.fate).collect();
        assert_eq!(fates, [Fate::DroppedInQueue, Fate::Dequeued]);
    }
}
