//! What every form of queue log says: events of packets at queues, and remarks of the probe about itself.

use std::num::NonZeroI64;
use std::sync::Arc;

use crate::queue::flow::QueueFlow;

/// The kernel's `SKB_DROP_REASON_QDISC_DROP` (6.1): the discipline had no room.
pub(crate) const REASON_QDISC_DROP: i32 = 45;
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Enqueue,
    Dequeue,
    /// Freed as a drop: at enqueue or out of the queue, which the pairing distinguishes.
    Drop,
    /// Refused by the enqueue function itself.
    Refuse,
    /// Freed as a drop somewhere in the kernel: of a queue if it was in one, or if the cause says so.
    Free,
}

/// Which queue an event is of, as far as the log says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct QueueId {
    pub(crate) network_namespace: Option<i64>,
    pub(crate) interface_index: Option<i32>,
    /// Padded with NUL.
    pub(crate) interface_name: Option<[u8; 16]>,
    pub(crate) handle: Option<u32>,
}

impl QueueId {
    /// One of several queues, or of a device whose queue has not been seen. No interface has number 0.
    pub(crate) const NONE_OF_THOSE_SEEN: Self = Self {
        network_namespace: None,
        interface_index: Some(0),
        interface_name: None,
        handle: None,
    };
}

/// Codepoint of Explicit Congestion Notification: the last two bits of TOS or traffic class (RFC 3168, 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codepoint {
    NotEct,
    Ect1,
    Ect0,
    Ce,
}

impl Codepoint {
    pub(crate) fn of(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// As `flow_ecn` names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NotEct => "not-ect",
            Self::Ect1 => "ect1",
            Self::Ect0 => "ect0",
            Self::Ce => "ce",
        }
    }
}

/// IP fields of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkFields {
    pub(crate) flow: Arc<QueueFlow>,
    pub(crate) ip_id: Option<u16>,
    pub(crate) transport_word: Option<u32>,
}

impl NetworkFields {
    /// Whether two events may be of one packet, by what both of them know.
    pub(crate) fn same_packet(&self, other: &Self) -> bool {
        fn agree<T: Copy + PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        let same_flow = || {
            let (one, other) = (&self.flow, &other.flow);
            (one.protocol, one.source, one.destination) == (other.protocol, other.source, other.destination)
                && agree(one.ports, other.ports)
        };
        (Arc::ptr_eq(&self.flow, &other.flow) || same_flow())
            && agree(self.ip_id, other.ip_id)
            && agree(self.transport_word, other.transport_word)
    }
}

/// Each of the packets that are kept may have a location and a label.
const LONGEST_TEXT_BYTES: usize = 256;

/// A text that is kept with a packet; `None` if it is longer than any genuine one.
pub(crate) fn kept_text(text: &str) -> Option<Box<str>> {
    (text.len() <= LONGEST_TEXT_BYTES).then(|| text.into())
}

/// Why a packet was dropped, as far as the log says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DropCause {
    pub(crate) kind: Option<&'static str>,
    pub(crate) reason: Option<i32>,
    pub(crate) location: Option<Box<str>>,
    /// Disciplines give this reason to packets that they do not take in.
    pub(crate) is_refusal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueEvent {
    pub(crate) kind: EventKind,
    pub(crate) time_ns: i64,
    /// What identifies a packet in the queue: the kernel's address of the buffer.
    pub(crate) packet: u64,
    pub(crate) packet_bytes: Option<i32>,
    /// Length of the queue after the event.
    pub(crate) queue_packets: Option<i32>,
    pub(crate) queue_bytes: Option<i64>,
    pub(crate) ethertype: Option<u16>,
    pub(crate) network: Option<NetworkFields>,
    pub(crate) flow_label: Option<Box<str>>,
    /// The IP header carries the mark Congestion Experienced.
    pub(crate) ecn_ce: Option<bool>,
    pub(crate) codepoint: Option<Codepoint>,
    /// The probe's own measurement of the sojourn time; `None` if it had not seen the enqueue.
    pub(crate) measured_ns: Option<NonZeroI64>,
    /// Packets that left with this dequeue, of which only the first is known.
    pub(crate) dequeued_packets: i32,
    /// Separate, because most events are not drops and many events wait. A packet that is freed without a cause was not
    /// dropped by a queue.
    pub(crate) cause: Option<Box<DropCause>>,
    /// Drops of the discipline since it was installed, as it counts itself.
    pub(crate) drop_counter: Option<u32>,
}

impl QueueEvent {
    /// An event of which no more is known.
    pub(crate) fn new(kind: EventKind, time_ns: i64, packet: u64) -> Self {
        Self {
            kind,
            time_ns,
            packet,
            packet_bytes: None,
            queue_packets: None,
            queue_bytes: None,
            ethertype: None,
            network: None,
            flow_label: None,
            ecn_ce: None,
            codepoint: None,
            measured_ns: None,
            dequeued_packets: 1,
            cause: None,
            drop_counter: None,
        }
    }
}

/// What one record or line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueueItem {
    Event(QueueId, QueueEvent),
    /// The probe lost so many events for want of buffer space; a saturated count says at least so many.
    Lost {
        events: i64,
        saturated: bool,
    },
    /// To add to the times that follow for UTC.
    ClockOffset(i64),
    /// How many dequeues and enqueues the probe still held open when it stopped.
    OpenAtEnd {
        dequeues: i64,
        enqueues: i64,
    },
    /// Header, comment, empty, or not of a queue.
    Nothing,
}
