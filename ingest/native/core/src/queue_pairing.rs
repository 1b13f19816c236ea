//! One row per packet out of enqueue, dequeue and drop events.
//!
//! An event belongs to the packet whose enqueue was seen last for the same kernel buffer (skb) on the same
//! interface of the same namespace. Three rules keep lost events from making up delays:
//!
//! - An enqueue for a buffer that is still queued means that the end of the earlier packet was not seen. That
//!   packet is censored: its fate is `queued_at_end`, as for one still queued when the probe stopped.
//! - The probe keeps the enqueue time in the kernel and prints its own sojourn time. If it prints one that
//!   differs from the paired events by more than the probe's own work can explain, the enqueue that was seen
//!   belongs to another packet: that one is censored, and the dequeue stands without an enqueue.
//! - A dequeue without an enqueue has no sojourn time.
//!
//! Where both are there, the probe's sojourn time is preferred over the difference of the printed times: it is
//! taken before anything else in the probe, while the printed times are taken after the map operations, which
//! take longer at enqueue than at dequeue.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::queue_event::{EventKind, NetworkFields, QueueEvent};

/// More than the time between two clock reads inside one probe, also when an interrupt falls between them.
const PROBE_TOLERANCE_NS: u64 = 1_000_000;
/// The kernel's `SKB_DROP_REASON_QDISC_DROP`: the discipline had no room.
const REASON_QDISC_DROP: i32 = 45;
/// Rows wait for the packets before them to end, but not for one whose end was lost.
const WAITING_BATCHES: usize = 4;

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
    pub(crate) packets: i32,
    pub(crate) bytes: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PacketDrop {
    pub(crate) time_ns: i64,
    pub(crate) kind: &'static str,
    pub(crate) reason: i32,
    pub(crate) location: Option<Box<str>>,
}

/// A row of `queue_event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueuedPacket {
    pub(crate) index: i64,
    pub(crate) fate: Fate,
    pub(crate) enqueue: Option<QueueState>,
    pub(crate) dequeue: Option<QueueState>,
    pub(crate) drop: Option<PacketDrop>,
    pub(crate) sojourn_ns: Option<i64>,
    pub(crate) packet_bytes: i32,
    pub(crate) interface_index: i32,
    pub(crate) network_namespace: i64,
    pub(crate) ethertype: u16,
    pub(crate) network: Option<NetworkFields>,
}

impl QueuedPacket {
    /// A packet of which nothing is known but that `event` happened to it.
    fn new(index: i64, event: &QueueEvent) -> Self {
        Self {
            index,
            fate: Fate::QueuedAtEnd,
            enqueue: None,
            dequeue: None,
            drop: None,
            sojourn_ns: None,
            packet_bytes: event.packet_bytes,
            interface_index: event.interface_index,
            network_namespace: event.network_namespace,
            ethertype: event.ethertype,
            network: event.network.clone(),
        }
    }

    fn finish(&mut self, event: QueueEvent) {
        match event.kind {
            EventKind::Enqueue => {
                self.enqueue = Some(QueueState {
                    time_ns: event.time_ns,
                    packets: event.queue_packets,
                    bytes: event.queue_bytes,
                });
            }
            EventKind::Dequeue => {
                self.fate = Fate::Dequeued;
                self.dequeue = Some(QueueState {
                    time_ns: event.time_ns,
                    packets: event.queue_packets,
                    bytes: event.queue_bytes,
                });
                self.sojourn_ns = self.enqueue.map(|enqueue| {
                    event
                        .measured_ns
                        .unwrap_or(event.time_ns.saturating_sub(enqueue.time_ns))
                });
            }
            EventKind::Drop => {
                let was_queued = self.enqueue.is_some() || event.measured_ns.is_some();
                self.fate = if was_queued {
                    Fate::DroppedInQueue
                } else {
                    Fate::DroppedAtEnqueue
                };
                self.drop = Some(PacketDrop {
                    time_ns: event.time_ns,
                    kind: if event.drop_reason == REASON_QDISC_DROP {
                        "overlimit"
                    } else {
                        "aqm"
                    },
                    reason: event.drop_reason,
                    location: event.location,
                });
            }
        }
    }
}

type BufferKey = (u64, i64, i32);

/// Packets whose end is awaited, and those that wait for their turn to be handed out.
#[derive(Debug, Default)]
pub(crate) struct QueuePairing {
    next_index: i64,
    queued: HashMap<BufferKey, QueuedPacket>,
    ended: BTreeMap<i64, QueuedPacket>,
}

impl QueuePairing {
    pub(crate) fn event(&mut self, event: QueueEvent) {
        let key = (event.skb, event.network_namespace, event.interface_index);
        let known = self.queued.remove(&key);
        if event.kind == EventKind::Enqueue {
            if let Some(superseded) = known {
                self.end(superseded);
            }
            let mut packet = self.begin(&event);
            packet.finish(event);
            self.queued.insert(key, packet);
            return;
        }
        let mut packet = match known {
            Some(packet) if is_of(&packet, &event) => packet,
            other => {
                if let Some(censored) = other {
                    self.end(censored);
                }
                self.begin(&event)
            }
        };
        packet.finish(event);
        self.end(packet);
    }

    fn begin(&mut self, event: &QueueEvent) -> QueuedPacket {
        let index = self.next_index;
        self.next_index += 1;
        QueuedPacket::new(index, event)
    }

    fn end(&mut self, packet: QueuedPacket) {
        self.ended.insert(packet.index, packet);
    }

    /// Up to `rows` packets in the order of their first events, once that many are there.
    pub(crate) fn take_full(&mut self, rows: usize) -> Option<Vec<QueuedPacket>> {
        if self.ended.len() < rows {
            return None;
        }
        // The smallest index that may still come is looked up only here, once per batch.
        let bound = self
            .queued
            .values()
            .map(|packet| packet.index)
            .min()
            .unwrap_or(self.next_index);
        let ready = self.ended.range(..bound).take(rows).count();
        if ready < rows && self.ended.len() < rows.saturating_mul(WAITING_BATCHES) {
            return None;
        }
        Some(self.take(rows))
    }

    /// No more events come: what is still queued is censored.
    pub(crate) fn close(&mut self) {
        for (_, packet) in self.queued.drain() {
            self.ended.insert(packet.index, packet);
        }
    }

    /// Up to `rows` of the packets that have ended.
    pub(crate) fn take(&mut self, rows: usize) -> Vec<QueuedPacket> {
        std::iter::from_fn(|| self.ended.pop_first().map(|(_, packet)| packet))
            .take(rows)
            .collect()
    }
}

/// Whether an end belongs to the packet whose enqueue was seen for its buffer.
fn is_of(packet: &QueuedPacket, end: &QueueEvent) -> bool {
    match (packet.enqueue, end.measured_ns) {
        (Some(enqueue), Some(measured_ns)) => {
            end.time_ns.saturating_sub(enqueue.time_ns).abs_diff(measured_ns) <= PROBE_TOLERANCE_NS
        }
        (Some(enqueue), None) => end.time_ns >= enqueue.time_ns,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, time_ns: i64, skb: u64, measured_ns: Option<i64>) -> QueueEvent {
        QueueEvent {
            kind,
            time_ns,
            skb,
            packet_bytes: 1514,
            queue_packets: 1,
            queue_bytes: 1514,
            network_namespace: 1,
            interface_index: 3,
            network: None,
            measured_ns,
            drop_reason: 45,
            location: None,
            ethertype: 0x0806,
        }
    }

    fn pair(events: impl IntoIterator<Item = QueueEvent>) -> Vec<(Fate, Option<i64>)> {
        let mut pairing = QueuePairing::default();
        for event in events {
            pairing.event(event);
        }
        pairing.close();
        pairing
            .take(usize::MAX)
            .into_iter()
            .map(|packet| (packet.fate, packet.sojourn_ns))
            .collect()
    }

    use EventKind::{Dequeue, Drop, Enqueue};

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
    }

    #[test]
    fn full_batches_wait_for_the_packets_before_them_but_not_for_ever() {
        let mut pairing = QueuePairing::default();
        pairing.event(event(Enqueue, 0, 99, None));
        for n in 0..3 {
            pairing.event(event(Dequeue, 100 + n, 1, None));
        }
        assert!(pairing.take_full(2).is_none());
        for n in 0..5 {
            pairing.event(event(Dequeue, 200 + n, 1, None));
        }
        let batch = pairing.take_full(2).unwrap();
        assert_eq!(
            batch.iter().map(|packet| packet.index).collect::<Vec<_>>(),
            [1, 2]
        );
    }
}
