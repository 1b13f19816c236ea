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

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use crate::loss_spans::LossSpans;
use crate::queue_event::{DropCause, EventKind, NetworkFields, QueueEvent};
use crate::queue_interval::{HOLD_NS, Length, QueueIntervals};

/// More than the time between two clock reads inside one probe, also when an interrupt falls between them.
const PROBE_TOLERANCE_NS: u64 = 1_000_000;
/// Rows wait for the packets before them to end, but not for one whose end was lost.
const WAITING_BATCHES: usize = 4;
/// Buffers of dropped packets that are remembered until they come again.
const MOST_ABANDONED: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Dequeued,
    DroppedAtEnqueue,
    DroppedInQueue,
    QueuedAtEnd,
}

impl Fate {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dequeued => "dequeued",
            Self::DroppedAtEnqueue => "dropped_at_enqueue",
            Self::DroppedInQueue => "dropped_in_queue",
            Self::QueuedAtEnd => "queued_at_end",
        }
    }
}

/// Time of an event, and the queue after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueState {
    pub(crate) time_ns: i64,
    pub(crate) packets: Option<i32>,
    pub(crate) bytes: Option<i64>,
    pub(crate) ecn_ce: Option<bool>,
}

impl QueueState {
    fn of(event: &QueueEvent) -> Self {
        Self {
            time_ns: event.time_ns,
            packets: event.queue_packets,
            bytes: event.queue_bytes,
            ecn_ce: event.ecn_ce,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PacketDrop {
    pub(crate) state: QueueState,
    pub(crate) cause: DropCause,
}

/// A row of `queue_event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedPacket {
    pub(crate) index: i64,
    pub(crate) queue: u32,
    pub(crate) fate: Fate,
    pub(crate) enqueue: Option<QueueState>,
    pub(crate) dequeue: Option<QueueState>,
    /// Apart, since most packets are not dropped and many of them wait.
    pub(crate) drop: Option<Box<PacketDrop>>,
    pub(crate) sojourn_ns: Option<i64>,
    pub(crate) packet_bytes: Option<i32>,
    pub(crate) ethertype: Option<u16>,
    pub(crate) network: Option<NetworkFields>,
    pub(crate) flow_label: Option<Box<str>>,
    /// Its end is awaited.
    open: bool,
    /// When it was seen to have gone without an event.
    gone_ns: Option<i64>,
}

impl QueuedPacket {
    /// A packet of which nothing is known but that `event` happened to it.
    fn new(index: i64, queue: u32, event: &mut QueueEvent) -> Self {
        Self {
            index,
            queue,
            fate: Fate::QueuedAtEnd,
            enqueue: None,
            dequeue: None,
            drop: None,
            sojourn_ns: None,
            packet_bytes: event.packet_bytes,
            ethertype: event.ethertype,
            network: event.network,
            flow_label: event.flow_label.take(),
            open: true,
            gone_ns: None,
        }
    }

    /// Whether the packet was marked Congestion Experienced when it left, or when it came where no more is known.
    pub(crate) fn ecn_ce(&self) -> Option<bool> {
        let left = self.dequeue.or(self.drop.as_ref().map(|drop| drop.state));
        left.and_then(|state| state.ecn_ce)
            .or(self.enqueue.and_then(|enqueue| enqueue.ecn_ce))
    }

    fn dequeued(&mut self, event: &QueueEvent) {
        self.open = false;
        self.fate = Fate::Dequeued;
        self.dequeue = Some(QueueState::of(event));
        self.sojourn_ns = self.enqueue.map(|enqueue| {
            event
                .measured_ns
                .unwrap_or(event.time_ns.saturating_sub(enqueue.time_ns))
        });
    }

    fn dropped(&mut self, fate: Fate, event: &mut QueueEvent) {
        self.open = false;
        self.fate = fate;
        self.drop = Some(Box::new(PacketDrop {
            state: QueueState::of(event),
            cause: std::mem::take(&mut event.cause),
        }));
    }

    fn dropped_unseen(&mut self, time_ns: i64) {
        self.open = false;
        self.fate = Fate::DroppedInQueue;
        self.drop = Some(Box::new(PacketDrop {
            state: QueueState {
                time_ns,
                packets: None,
                bytes: None,
                ecn_ce: None,
            },
            cause: DropCause::default(),
        }));
    }

    /// What the probe prints of the packet's own fields, where it does, is the same at both ends of its stay.
    fn is_that_of(&self, end: &QueueEvent) -> bool {
        let fields = match (&self.network, &end.network) {
            (Some(before), Some(after)) => before.same_packet(after),
            _ => true,
        };
        let measured = match (self.enqueue, end.measured_ns) {
            (Some(enqueue), Some(measured_ns)) => {
                end.time_ns.saturating_sub(enqueue.time_ns).abs_diff(measured_ns) <= PROBE_TOLERANCE_NS
            }
            (Some(enqueue), None) => end.time_ns >= enqueue.time_ns,
            (None, _) => false,
        };
        fields && measured
    }
}

/// Key of a kernel buffer: its address, and the number of the queue.
type BufferKey = (u64, u32);
type FlowKey = (u32, NetworkFieldsOfFlow);
type NetworkFieldsOfFlow = (std::net::IpAddr, std::net::IpAddr, u8, Option<(u16, u16)>);

/// Packets whose end is awaited, and those that wait for their turn to be handed out.
#[derive(Debug)]
pub(crate) struct QueuePairing {
    drops_logged: bool,
    next_index: i64,
    /// Index of the first of `rows`.
    base: i64,
    rows: VecDeque<QueuedPacket>,
    /// So many of `rows` have ended, from the front.
    ready: usize,
    open: HashMap<BufferKey, i64>,
    /// Packets still open whose turn is over.
    stragglers: HashMap<i64, QueuedPacket>,
    late: Vec<QueuedPacket>,
    /// Open packets of each flow in the order of their enqueue, only where drops are not logged.
    flows: HashMap<FlowKey, VecDeque<BufferKeyed>>,
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
            ready: 0,
            open: HashMap::new(),
            stragglers: HashMap::new(),
            late: Vec::new(),
            flows: HashMap::new(),
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
    pub(crate) fn event(&mut self, queue: u32, mut event: QueueEvent) -> bool {
        self.settle_gone(event.time_ns);
        self.queues = self.queues.max(queue.saturating_add(1));
        let now_ns = event.time_ns;
        let key = (event.packet, queue);
        let logged_packets = event.queue_packets;
        match event.kind {
            EventKind::Enqueue => {
                self.supersede(key, now_ns);
                let index = self.begin(queue, &mut event);
                if let Some(packet) = self.packet(index) {
                    packet.enqueue = Some(QueueState::of(&event));
                }
                self.open.insert(key, index);
                self.intervals.arrived(queue, now_ns, event.packet_bytes);
                if !self.drops_logged {
                    self.follow(BufferKeyed { key, index }, event.network.as_ref());
                }
                self.lengthen(queue, &event);
            }
            EventKind::Dequeue => {
                let index = self.matching(key, &event).unwrap_or_else(|| {
                    self.unseen_enqueues += 1;
                    self.begin(queue, &mut event)
                });
                let mut found = (None, None);
                if let Some(packet) = self.packet(index) {
                    packet.dequeued(&event);
                    found = (packet.packet_bytes, packet.sojourn_ns);
                }
                self.ended(index);
                self.intervals.departed(queue, now_ns, found.0, found.1);
                if !self.drops_logged {
                    self.overtake(queue, index, event.network.as_ref(), now_ns);
                }
                self.shorten(queue, &event);
            }
            EventKind::Drop => self.drop_event(key, event),
            EventKind::Refuse => {
                self.supersede(key, now_ns);
                self.refuse(queue, event);
            }
            EventKind::Free => match self.queue_of(event.packet) {
                Some(holding) => self.drop_event((event.packet, holding), event),
                None if event.cause.kind.is_some() => self.refuse(queue, event),
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

    fn drop_event(&mut self, key: BufferKey, mut event: QueueEvent) {
        let (queue, now_ns) = (key.1, event.time_ns);
        let known = self.matching(key, &event);
        if known.is_none() && event.measured_ns.is_none() {
            self.refuse(queue, event);
            return;
        }
        let index = known.unwrap_or_else(|| self.begin(queue, &mut event));
        let by_control_law = event.cause.kind == Some("aqm");
        let mut packet_bytes = None;
        if let Some(packet) = self.packet(index) {
            packet.dropped(Fate::DroppedInQueue, &mut event);
            packet_bytes = packet.packet_bytes;
        }
        self.ended(index);
        self.intervals.set_length(queue, now_ns, |length| length);
        self.intervals.dropped_in_queue(queue, now_ns, packet_bytes);
        if by_control_law {
            // CoDel corrects the length that is logged here only once it has dropped all it drops at one dequeue.
            let logged = length_of(&event);
            self.intervals.set_length(queue, now_ns, |length| Length {
                packets: (logged.0.unwrap_or(length.packets).min(length.packets) - 1).max(0),
                bytes: length
                    .bytes
                    .zip(packet_bytes)
                    .map(|(bytes, less)| (logged.1.unwrap_or(bytes).min(bytes) - i64::from(less)).max(0)),
            });
        } else {
            self.shorten(queue, &event);
        }
    }

    /// A packet that did not get into the queue.
    fn refuse(&mut self, queue: u32, mut event: QueueEvent) {
        let index = self.begin(queue, &mut event);
        let now_ns = event.time_ns;
        let (packets, bytes) = length_of(&event);
        if let Some(packet) = self.packet(index) {
            packet.dropped(Fate::DroppedAtEnqueue, &mut event);
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
        if let Some(flow) = network.map(|network| flow_key(queue, network)) {
            self.flows.entry(flow).or_default().push_back(packet);
        }
    }

    /// A packet left: those of its flow that came before it and are still here are gone.
    fn overtake(&mut self, queue: u32, index: i64, network: Option<&NetworkFields>, now_ns: i64) {
        let Some(flow) = network.map(|network| flow_key(queue, network)) else {
            return;
        };
        let Entry::Occupied(mut packets) = self.flows.entry(flow) else {
            return;
        };
        // Nearly always empty, and then without memory of its own.
        let mut gone = Vec::new();
        while let Some(first) = packets.get().front().copied() {
            if first.index > index {
                break;
            }
            packets.get_mut().pop_front();
            if first.index < index && self.open.get(&first.key) == Some(&first.index) {
                gone.push(first);
            }
        }
        if packets.get().is_empty() {
            packets.remove();
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

    /// Up to `rows` packets in the order of their first events, once that many are there.
    pub(crate) fn take_full(&mut self, rows: usize) -> Option<Vec<QueuedPacket>> {
        if self.rows.len() + self.late.len() < rows {
            return None;
        }
        while self.ready < rows && self.rows.get(self.ready).is_some_and(|packet| !packet.open) {
            self.ready += 1;
        }
        if self.ready + self.late.len() < rows && self.rows.len() < rows.saturating_mul(WAITING_BATCHES) {
            return None;
        }
        Some(self.take(rows))
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

    /// Up to `rows` of the packets that have ended; packets before them that have not are set aside.
    pub(crate) fn take(&mut self, rows: usize) -> Vec<QueuedPacket> {
        let mut taken: Vec<QueuedPacket> = self.late.drain(..self.late.len().min(rows)).collect();
        while taken.len() < rows {
            let Some(packet) = self.rows.pop_front() else {
                break;
            };
            self.base += 1;
            self.ready = self.ready.saturating_sub(1);
            if packet.open {
                self.stragglers.insert(packet.index, packet);
            } else {
                taken.push(packet);
            }
        }
        taken
    }
}

fn length_of(event: &QueueEvent) -> (Option<i64>, Option<i64>) {
    (event.queue_packets.map(i64::from), event.queue_bytes)
}

fn flow_key(queue: u32, network: &NetworkFields) -> FlowKey {
    (
        queue,
        (
            network.source,
            network.destination,
            network.protocol,
            network.ports,
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use EventKind::{Dequeue, Drop, Enqueue, Free, Refuse};

    fn event(kind: EventKind, time_ns: i64, skb: u64, measured_ns: Option<i64>) -> QueueEvent {
        QueueEvent {
            packet_bytes: Some(1514),
            measured_ns,
            ..QueueEvent::new(kind, time_ns, skb)
        }
    }

    /// An event of a flow, in a log that shows how many packets are queued but no drop out of the queue.
    fn of_flow(kind: EventKind, time_ns: i64, skb: u64, port: u16, queued: i32) -> QueueEvent {
        QueueEvent {
            network: Some(NetworkFields {
                protocol: 17,
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into(),
                ports: Some((port, 9)),
                ip_id: None,
                transport_word: None,
            }),
            queue_packets: Some(queued),
            ..event(kind, time_ns, skb, None)
        }
    }

    fn paired(drops_logged: bool, events: impl IntoIterator<Item = QueueEvent>) -> Vec<QueuedPacket> {
        let mut pairing = QueuePairing::new(drops_logged, 100_000_000, 86_400_000_000_000);
        for event in events {
            pairing.event(0, event);
        }
        pairing.close();
        let mut rows = pairing.take(usize::MAX);
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
            cause: cause(kind),
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
        for event in [
            of_flow(Enqueue, 100, 1, 5, 1),
            of_flow(Enqueue, 120, 3, 5, 2),
            of_flow(Dequeue, 200, 3, 5, 1),
        ] {
            pairing.event(0, event);
        }
        pairing.close();
        let found: Vec<_> = pairing
            .take(9)
            .iter()
            .map(|packet| (packet.fate, packet.drop.clone()))
            .collect();
        assert_eq!(found, [(Fate::QueuedAtEnd, None), (Fate::Dequeued, None)]);
    }

    #[test]
    fn full_batches_wait_for_the_packets_before_them_but_not_for_ever() {
        let mut pairing = QueuePairing::new(true, 100_000_000, 86_400_000_000_000);
        pairing.event(0, event(Enqueue, 0, 99, None));
        for n in 0..3 {
            pairing.event(0, event(Dequeue, 100 + n, 1, None));
        }
        assert!(pairing.take_full(2).is_none());
        for n in 0..5 {
            pairing.event(0, event(Dequeue, 200 + n, 1, None));
        }
        let indices = |rows: Vec<QueuedPacket>| rows.iter().map(|packet| packet.index).collect::<Vec<_>>();
        assert_eq!(indices(pairing.take_full(2).unwrap()), [1, 2]);
        pairing.event(0, event(Dequeue, 300, 99, None));
        assert_eq!(indices(pairing.take(2)), [0, 3]);
    }
}
