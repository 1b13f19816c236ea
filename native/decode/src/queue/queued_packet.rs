//! A packet at a queue: what was seen of its enqueue, and of its dequeue or drop.

use std::num::NonZeroI64;

use crate::queue::event::{Codepoint, DropCause, NetworkFields, QueueEvent};

/// More than the time between two clock reads inside one probe, also when an interrupt falls between them.
const PROBE_TOLERANCE_NS: u64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Dequeued,
    DroppedAtEnqueue,
    DroppedInQueue,
    QueuedAtEnd,
}

impl Fate {
    /// In the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [
        Self::Dequeued,
        Self::DroppedAtEnqueue,
        Self::DroppedInQueue,
        Self::QueuedAtEnd,
    ];

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
    pub(crate) codepoint: Option<Codepoint>,
}

impl QueueState {
    pub(crate) fn of(event: &QueueEvent) -> Self {
        Self {
            time_ns: event.time_ns,
            packets: event.queue_packets,
            bytes: event.queue_bytes,
            ecn_ce: event.ecn_ce,
            codepoint: event.codepoint,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PacketDrop {
    pub(crate) state: QueueState,
    pub(crate) cause: Option<Box<DropCause>>,
}

/// A row of `queue_packet`.
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
    pub(crate) open: bool,
    /// When it was seen to have gone without an event.
    pub(crate) gone_ns: Option<i64>,
}

impl QueuedPacket {
    /// A packet of which nothing is known but that `event` happened to it.
    pub(crate) fn new(index: i64, queue: u32, event: &mut QueueEvent) -> Self {
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
            network: event.network.take(),
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

    pub(crate) fn dequeued(&mut self, event: &QueueEvent) {
        self.open = false;
        self.fate = Fate::Dequeued;
        self.dequeue = Some(QueueState::of(event));
        self.sojourn_ns = self.enqueue.map(|enqueue| {
            let apart_ns = event.time_ns.saturating_sub(enqueue.time_ns);
            event.measured_ns.map_or(apart_ns, NonZeroI64::get)
        });
    }

    pub(crate) fn dropped(&mut self, fate: Fate, event: &mut QueueEvent) {
        self.open = false;
        self.fate = fate;
        self.drop = Some(Box::new(PacketDrop {
            state: QueueState::of(event),
            cause: event.cause.take(),
        }));
    }

    pub(crate) fn dropped_unseen(&mut self, time_ns: i64) {
        self.open = false;
        self.fate = Fate::DroppedInQueue;
        self.drop = Some(Box::new(PacketDrop {
            state: QueueState {
                time_ns,
                packets: None,
                bytes: None,
                ecn_ce: None,
                codepoint: None,
            },
            cause: None,
        }));
    }

    /// What the probe prints of the packet's own fields, where it does, is the same at both ends of its stay.
    pub(crate) fn is_that_of(&self, end: &QueueEvent) -> bool {
        let fields = match (&self.network, &end.network) {
            (Some(before), Some(after)) => before.same_packet(after),
            _ => true,
        };
        let measured = match (self.enqueue, end.measured_ns) {
            (Some(enqueue), Some(measured_ns)) => {
                end.time_ns
                    .saturating_sub(enqueue.time_ns)
                    .abs_diff(measured_ns.get())
                    <= PROBE_TOLERANCE_NS
            }
            (Some(enqueue), None) => end.time_ns >= enqueue.time_ns,
            (None, _) => false,
        };
        fields && measured
    }
}
