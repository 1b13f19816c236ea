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
//! that leaves within [`HOLD_NS`](crate::queue::interval::HOLD_NS) all the same, out of a discipline that does
//! reorder, was not dropped.

use crate::queue::event::{EventKind, QueueEvent};
use crate::queue::interval::{Length, QueueIntervals};
use crate::queue::loss_spans::LossSpans;
use crate::queue::pairing::open_packet::{BufferKey, BufferKeyed, OpenPackets};
use crate::queue::pairing::rows::PacketRows;
use crate::queue::pairing::unlogged_drops::UnloggedDrops;
use crate::queue::queued_packet::{Fate, QueueState, QueuedPacket};

/// Packets whose end is awaited, and what their events come to.
#[derive(Debug)]
pub(crate) struct QueuePairing {
    drops_logged: bool,
    rows: PacketRows,
    open: OpenPackets,
    /// Only where drops are not logged.
    unlogged: UnloggedDrops,
    unseen_enqueues: i64,
    queues: u32,
    intervals: QueueIntervals,
    losses: LossSpans,
}

impl QueuePairing {
    pub(crate) fn new(drops_logged: bool, interval_ns: i64, longest_silence_ns: i64) -> Self {
        Self {
            drops_logged,
            rows: PacketRows::default(),
            open: OpenPackets::new(),
            unlogged: UnloggedDrops::default(),
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
        let abandoned = self.unlogged.abandoned()?;
        Some((self.unseen_enqueues, (self.open.len() + abandoned) as i64))
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
                    let index = self.rows.next_index();
                    let packet = BufferKeyed { key, index };
                    self.unlogged.follow(packet, event.network.as_ref(), &self.open);
                }
                let index = self.rows.begin(queue, event);
                if let Some(packet) = self.rows.get(index) {
                    packet.enqueue = Some(QueueState::of(event));
                }
                self.open.insert(key, index);
                self.intervals.arrived(queue, now_ns, event.packet_bytes);
                self.lengthen(queue, event);
            }
            EventKind::Dequeue => {
                let known = self.matching(key, event);
                if !self.drops_logged {
                    let index = known.unwrap_or(self.rows.next_index());
                    self.unlogged.overtake(
                        (queue, index),
                        event.network.as_ref(),
                        now_ns,
                        &self.open,
                        &mut self.rows,
                    );
                }
                let index = known.unwrap_or_else(|| {
                    self.unseen_enqueues += 1;
                    self.rows.begin(queue, event)
                });
                let mut found = (None, None);
                if let Some(packet) = self.rows.get(index) {
                    packet.dequeued(event);
                    found = (packet.packet_bytes, packet.sojourn_ns);
                }
                self.rows.ended(index);
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
            self.unlogged
                .notice_empty(key, i64::from(packets), now_ns, &self.open, &mut self.rows);
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
        let index = known.unwrap_or_else(|| self.rows.begin(queue, event));
        let by_control_law = kind_of_drop(event) == Some("aqm");
        let mut packet_bytes = None;
        if let Some(packet) = self.rows.get(index) {
            packet.dropped(Fate::DroppedInQueue, event);
            packet_bytes = packet.packet_bytes;
        }
        self.rows.ended(index);
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
        let index = self.rows.begin(queue, event);
        let now_ns = event.time_ns;
        let (packets, bytes) = length_of(event);
        if let Some(packet) = self.rows.get(index) {
            packet.dropped(Fate::DroppedAtEnqueue, event);
        }
        self.rows.ended(index);
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
        self.count_left(key.1, index);
        if self
            .rows
            .get(index)
            .is_some_and(|packet| packet.is_that_of(event))
        {
            return Some(index);
        }
        self.censor(index);
        None
    }

    /// A buffer comes again: what it held before has gone.
    fn supersede(&mut self, key: BufferKey, now_ns: i64) {
        self.unlogged.reused(key);
        let Some(index) = self.open.remove(&key) else {
            return;
        };
        self.count_left(key.1, index);
        if self.drops_logged {
            self.censor(index);
            return;
        }
        let gone_ns = self.rows.get(index).and_then(|packet| packet.gone_ns);
        self.settle(index, gone_ns.unwrap_or(now_ns));
    }

    /// End a packet that is gone without an event: dropped, unless an event may have been lost meanwhile.
    fn settle(&mut self, index: i64, gone_ns: i64) {
        let Some(packet) = self.rows.get(index) else {
            return;
        };
        let enqueue_ns = packet.enqueue.map_or(gone_ns, |enqueue| enqueue.time_ns);
        if self.losses.touch(enqueue_ns, gone_ns) {
            self.censor(index);
            return;
        }
        let Some(packet) = self.rows.get(index) else {
            return;
        };
        packet.dropped_unseen(gone_ns);
        let (queue, packet_bytes) = (packet.queue, packet.packet_bytes);
        self.intervals.dropped_in_queue(queue, gone_ns, packet_bytes);
        self.rows.ended(index);
    }

    fn censor(&mut self, index: i64) {
        if let Some(packet) = self.rows.get(index) {
            packet.open = false;
        }
        self.rows.ended(index);
    }

    /// Packets that were gone long ago do not come any more.
    fn settle_gone(&mut self, now_ns: i64) {
        while let Some(packet) = self.unlogged.next_settled(now_ns) {
            self.settle_one(packet);
        }
    }

    fn settle_one(&mut self, packet: BufferKeyed) {
        if self.open.get(&packet.key) != Some(&packet.index) {
            return;
        }
        self.open.remove(&packet.key);
        self.unlogged.abandon(packet.key);
        if let Some(gone_ns) = self.rows.get(packet.index).and_then(|row| row.gone_ns) {
            self.settle(packet.index, gone_ns);
        }
    }

    /// An open packet came to an end.
    fn count_left(&mut self, queue: u32, index: i64) {
        if !self.drops_logged {
            self.unlogged.left(queue, index, &mut self.rows);
        }
    }

    /// Hand out up to `most` packets that have ended, in the order of their first events but for those set aside.
    pub(crate) fn hand_out(&mut self, most: usize, to: impl FnMut(&QueuedPacket)) {
        self.rows.hand_out(most, to);
    }

    /// Let the first `packets` packets wait no longer once more than `most` are there.
    pub(crate) fn set_aside(&mut self, packets: usize, most: usize) {
        self.rows.set_aside(packets, most);
    }

    /// No more events come: what is still queued is censored.
    pub(crate) fn close(&mut self) {
        while let Some(packet) = self.unlogged.next_gone() {
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
    use std::collections::VecDeque;
    use std::num::NonZeroI64;
    use std::sync::Arc;

    use crate::queue::event::{DropCause, NetworkFields};
    use crate::queue::flow::QueueFlow;
    use crate::queue::interval::HOLD_NS;
    use crate::queue::pairing::unlogged_drops::{FEWEST_SWEPT, MOST_IDLE_FLOWS};
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
        assert!(pairing.unlogged.flows.len() <= MOST_IDLE_FLOWS + 1);
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
            assert!(pairing.unlogged.flows.len() + pairing.unlogged.followed <= FEWEST_SWEPT + 2);
        }
    }

    #[test]
    fn of_a_flow_that_never_leaves_only_so_many_packets_are_kept() {
        let mut pairing = QueuePairing::new(false, 100_000_000, 86_400_000_000_000);
        // The first stays; no event shows what became of it.
        for n in 0..50_000_i64 {
            pairing.event(0, &mut of_flow(Enqueue, n * 10, u64::from(n > 0), 5, 9));
        }
        let kept: usize = pairing.unlogged.flows.values().map(VecDeque::len).sum();
        assert_eq!(kept, pairing.unlogged.followed);
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
        assert!(pairing.unlogged.flows.len() < 20_000);
        pairing.event(0, &mut of_flow(Dequeue, 40_000, 2, 5, 9));
        pairing.close();
        let packets = handed_out(&mut pairing, 2);
        let fates: Vec<_> = packets.iter().map(|packet| packet.fate).collect();
        assert_eq!(fates, [Fate::DroppedInQueue, Fate::Dequeued]);
    }
}
