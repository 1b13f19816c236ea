//! One row per packet out of enqueue, dequeue and drop events.
//!
//! An event belongs to the packet whose enqueue was seen last for the same kernel buffer (skb) in the same queue.
//! Rules keep lost events from producing false delays:
//!
//! - An enqueue for a buffer that is still queued means that the end of the earlier packet was not seen. That
//!   packet is censored: its fate is `queued_at_end`, as for one still queued when the probe stopped.
//! - Where the log prints the packets' own fields, an end whose fields are not those of the enqueue belongs to
//!   another packet: the enqueued one is censored, and the end has no enqueue.
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

/// Packets whose end is awaited at a time; of more, the ends of the oldest were not seen.
const MOST_OPEN: usize = 1 << 20;

/// Number of the queue of a freed packet, where the log does not say which.
pub(crate) const UNKNOWN_QUEUE: u32 = u32::MAX;

/// What an event is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventOf {
    Queue(u32),
    /// A packet that was freed elsewhere.
    NoQueue,
    /// A drop by one of several queues.
    UnknownQueue,
}

/// Packets whose end is awaited, and the totals of their events.
#[derive(Debug)]
pub(crate) struct QueuePairing {
    drops_logged: bool,
    rows: PacketRows,
    open: OpenPackets,
    /// Only where drops are not logged.
    unlogged: UnloggedDrops,
    unseen_enqueues: i64,
    most_open: usize,
    given_up: bool,
    intervals: QueueIntervals,
    losses: LossSpans,
}

impl QueuePairing {
    pub(crate) fn new(drops_logged: bool, interval_ns: i64, longest_silence_ns: i64) -> Self {
        Self {
            drops_logged,
            rows: PacketRows::default(),
            open: OpenPackets::default(),
            unlogged: UnloggedDrops::default(),
            unseen_enqueues: 0,
            most_open: MOST_OPEN,
            given_up: false,
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

    /// Dequeues whose enqueue was not seen, and enqueues whose end was not, `None` if they are too many to know.
    pub(crate) fn left_open(&self) -> Option<(i64, i64)> {
        let abandoned = self.unlogged.abandoned().filter(|_| !self.given_up)?;
        Some((self.unseen_enqueues, (self.open.len() + abandoned) as i64))
    }

    /// Take in the next event of the log, in the order of time. Of a packet that is freed, the queue may be unknown.
    pub(crate) fn event(&mut self, queue: u32, event: &mut QueueEvent) -> EventOf {
        self.settle_gone(event.time_ns);
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
                if self.open.len() >= self.most_open {
                    self.give_up_oldest();
                }
                self.open.insert(key, index);
                self.intervals.arrived(queue, now_ns, event.packet_bytes);
                self.lengthen(queue, event);
            }
            EventKind::Dequeue => {
                let open_index = self.matching(key, event);
                if !self.drops_logged {
                    let index = open_index.unwrap_or(self.rows.next_index());
                    self.unlogged.overtake(
                        (queue, index),
                        event.network.as_ref(),
                        now_ns,
                        &self.open,
                        &mut self.rows,
                    );
                }
                let index = open_index.unwrap_or_else(|| {
                    self.unseen_enqueues += 1;
                    self.rows.begin(queue, event)
                });
                let mut departure = (None, None);
                if let Some(packet) = self.rows.get(index) {
                    packet.dequeued(event);
                    departure = (packet.packet_bytes, packet.sojourn_ns);
                }
                self.rows.ended(index);
                self.intervals.departed(queue, now_ns, departure.0, departure.1);
                self.shorten(queue, event);
            }
            EventKind::Drop => self.drop_event(key, event),
            EventKind::Refuse => {
                self.supersede(key, now_ns);
                self.refuse(queue, event);
            }
            EventKind::Free => return self.free(queue, event),
        }
        if let Some(packets) = logged_packets.filter(|_| !self.drops_logged) {
            self.unlogged
                .notice_empty(key, i64::from(packets), now_ns, &self.open, &mut self.rows);
        }
        EventOf::Queue(queue)
    }

    /// A packet is freed, in whichever queue it is.
    fn free(&mut self, queue: u32, event: &mut QueueEvent) -> EventOf {
        if let Some(holding) = self.open.newest_queue(event.packet) {
            let key = (event.packet, holding);
            if self.is_dropped_by(event, key) {
                self.drop_event(key, event);
                return EventOf::Queue(holding);
            }
            // What the buffer held before had left the queue, which was not seen.
            if let Some(index) = self.open.remove(key) {
                self.count_left(holding, index);
                self.censor(index);
            }
        }
        if kind_of_drop(event).is_none() {
            return EventOf::NoQueue;
        }
        if queue == UNKNOWN_QUEUE {
            return EventOf::UnknownQueue;
        }
        self.refuse(queue, event);
        EventOf::Queue(queue)
    }

    /// Whether a packet that is freed was in the queue: its dequeue may be lost, unless the reason is one of queued
    /// packets.
    fn is_dropped_by(&mut self, event: &QueueEvent, key: BufferKey) -> bool {
        // A length means that it was given to a device since the buffer's last enqueue: it is another packet.
        let Some(cause) = event.cause.as_ref().filter(|_| event.packet_bytes.is_none()) else {
            return false;
        };
        let enqueue = self
            .open
            .get(key)
            .and_then(|index| self.rows.get(index))
            .and_then(|packet| packet.enqueue);
        let of_queued = cause.kind.is_some() && !cause.is_refusal;
        of_queued || enqueue.is_none_or(|enqueue| !self.losses.touch(enqueue.time_ns, event.time_ns))
    }

    fn drop_event(&mut self, key: BufferKey, event: &mut QueueEvent) {
        let (queue, now_ns) = (key.1, event.time_ns);
        let open_index = self.matching(key, event);
        if open_index.is_none() && event.measured_ns.is_none() {
            self.refuse(queue, event);
            return;
        }
        let index = open_index.unwrap_or_else(|| self.rows.begin(queue, event));
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
        self.change_length(queue, event, -i64::from(event.dequeued_packets));
    }

    /// The length that the log gives, or else the one counted along.
    fn change_length(&mut self, queue: u32, event: &QueueEvent, packets: i64) {
        let (logged_packets, logged_bytes) = length_of(event);
        // Of several packets, only the first one's length is known.
        let packet_bytes = event.packet_bytes.map(i64::from).filter(|_| packets.abs() == 1);
        self.intervals.set_length(queue, event.time_ns, |length| {
            let packets_after =
                logged_packets.unwrap_or_else(|| length.packets.saturating_add(packets).max(0));
            let counted_bytes = || match packets_after {
                0 => Some(0),
                _ => Some(length.bytes?.saturating_add(packets * packet_bytes?).max(0)),
            };
            Length {
                packets: packets_after,
                bytes: logged_bytes.or_else(counted_bytes),
            }
        });
    }

    /// The open packet that an event ends; one that it cannot be is censored.
    fn matching(&mut self, key: BufferKey, event: &QueueEvent) -> Option<i64> {
        let index = self.open.remove(key)?;
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
        let Some(index) = self.open.remove(key) else {
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

    /// Censor the older half of the packets whose end is awaited.
    fn give_up_oldest(&mut self) {
        self.given_up = true;
        let mut oldest: Vec<_> = self
            .open
            .iter()
            .map(|packet| (packet.index, packet.key))
            .collect();
        oldest.sort_unstable();
        oldest.truncate(oldest.len().div_ceil(2));
        for (index, key) in oldest {
            self.open.remove(key);
            self.count_left(key.1, index);
            // Whose drop was seen, but waits for whether it leaves all the same, was dropped.
            match self.rows.get(index).and_then(|packet| packet.gone_ns) {
                Some(gone_ns) => self.settle(index, gone_ns),
                None => self.censor(index),
            }
        }
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
        if self.open.get(packet.key) != Some(packet.index) {
            return;
        }
        self.open.remove(packet.key);
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
        let mut open: Vec<i64> = self.open.iter().map(|packet| packet.index).collect();
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
mod tests;
