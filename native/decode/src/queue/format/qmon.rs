//! The binary record stream of the BCC queue monitor of the RWTH studies (PAM'21, TMA'23).
//!
//! Little-endian records: `u16` size of the whole record, `u8` type, body. Type 0 is an enqueue or dequeue with the state of
//! the discipline and up to 100 bytes of the packet, 1 a count of lost records, 2 the offset between the clocks, 3 says
//! that the probe failed, 4 what was open when it stopped. The first record that cannot be one ends the reading: where
//! the next one would begin is not known any more.

use crate::input::bytes::be_u32;
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::packet::captured::CapturedPacket;
use crate::packet::layers::LayerDecoder;
use crate::packet::link_type::LinkType;
use crate::packet::protocol::has_ports;
use crate::packet::types::{Packet, Transport};
use crate::queue::event::{Codepoint, DropCause, EventKind, NetworkFields, QueueEvent, QueueId, QueueItem};
use crate::queue::flow::{FlowCache, QueueFlow};
use crate::queue::refusal::QueueLogRefusal;

const HEADER_BYTES: usize = 3;
/// Of the body of an event, before the interface name.
const EVENT_BYTES: usize = 62;
const MOST_CAPTURED_BYTES: usize = 100;
const LARGEST_EVENT_BYTES: usize = HEADER_BYTES + EVENT_BYTES + 255 + MOST_CAPTURED_BYTES;
const LARGEST_TEXT_BYTES: usize = HEADER_BYTES + 80;
/// The loss count has one byte, and stays at its largest value.
const SATURATED: u8 = u8::MAX;
/// `NET_XMIT_DROP`, what an enqueue function returns for a packet it did not take.
const RETURNED_DROP: u64 = 1;
const ETHERNET_HEADER_BYTES: usize = 14;

/// What came of reading one record.
pub(crate) enum Record {
    Item(QueueItem),
    /// Left out, with the reason; reading continues.
    Refused(QueueLogRefusal, Option<Fault>),
    /// Reading ends here; the reason where a record is left out with it.
    Stopped(Option<QueueLogRefusal>, Fault),
    End,
}

/// Whether content begins with records: some whole ones of known types and plausible sizes.
pub(crate) fn recognised(head: &[u8]) -> bool {
    let mut rest = head;
    for records in 0..4 {
        let Some((size, kind)) = header(rest) else {
            return records > 0;
        };
        if !plausible(kind, size) {
            return false;
        }
        match rest.get(size..) {
            Some(next) => rest = next,
            None => return records > 0,
        }
    }
    true
}

fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    match bytes {
        [low, high, kind, ..] => Some((usize::from(u16::from_le_bytes([*low, *high])), *kind)),
        _ => None,
    }
}

/// Whether a record of this type may have this size; of an unknown type any size that holds its header.
fn plausible(kind: u8, size: usize) -> bool {
    match kind {
        0 => (HEADER_BYTES + EVENT_BYTES..=LARGEST_EVENT_BYTES).contains(&size),
        1 => size == HEADER_BYTES + 1,
        2 | 4 => (HEADER_BYTES + 1..=LARGEST_TEXT_BYTES).contains(&size),
        3 => size == HEADER_BYTES,
        _ => false,
    }
}

/// Reads records one by one, and decodes packets by the layer code of captures.
#[derive(Default)]
pub(crate) struct QmonReader {
    layers: LayerDecoder,
    flows: FlowCache,
}

impl QmonReader {
    pub(crate) fn next(&mut self, source: &mut PlainReader) -> Record {
        let offset = source.offset();
        let there = source.fill(HEADER_BYTES);
        if there == 0 {
            return match source.fault() {
                Some(fault) => Record::Stopped(None, fault.clone()),
                None => Record::End,
            };
        }
        let Some((size, kind)) = header(source.available()) else {
            return cut(source, HEADER_BYTES, there, offset);
        };
        if !plausible(kind, size) {
            return if kind > 4 && size >= HEADER_BYTES {
                skip_unknown(source, kind, size, offset)
            } else {
                Record::Stopped(
                    Some(QueueLogRefusal::ImpossibleLength),
                    corrupt(
                        offset,
                        &format!("a record of type {kind} cannot have {size} bytes"),
                    ),
                )
            };
        }
        let there = source.fill(size);
        if there < size {
            return cut(source, size, there, offset);
        }
        let record = match source.available().get(HEADER_BYTES..size) {
            Some(body) => self.body(kind, body, offset),
            None => Record::End,
        };
        source.consume(size);
        record
    }

    fn body(&mut self, kind: u8, body: &[u8], offset: u64) -> Record {
        let text = || std::str::from_utf8(body).ok();
        match kind {
            0 => self.event(body, offset),
            1 => {
                let count = body.first().copied().unwrap_or(0);
                Record::Item(QueueItem::Lost {
                    events: i64::from(count),
                    saturated: count == SATURATED,
                })
            }
            2 => match text().and_then(|text| text.trim_matches(['\0', ' ', '\n']).parse().ok()) {
                Some(offset_ns) => Record::Item(QueueItem::ClockOffset(offset_ns)),
                None => refused(
                    offset,
                    QueueLogRefusal::MalformedRecord,
                    "the clock offset is not a decimal number",
                ),
            },
            3 => Record::Stopped(
                Some(QueueLogRefusal::ProbeFailed),
                Fault::new(
                    FaultKind::CorruptRecord,
                    format!(
                        "queue log: the probe says at offset {offset} that it failed, so what follows is not read; record again"
                    ),
                    Some(offset),
                ),
            ),
            _ => match text().and_then(open_at_end) {
                Some(item) => Record::Item(item),
                None => refused(
                    offset,
                    QueueLogRefusal::MalformedRecord,
                    "the counts of open events are not lengths A:B",
                ),
            },
        }
    }

    fn event(&mut self, body: &[u8], offset: u64) -> Record {
        let Some((event, name, frame)) = split_event(body) else {
            return Record::Stopped(
                Some(QueueLogRefusal::ImpossibleLength),
                corrupt(offset, "the lengths inside the event are not those of its record"),
            );
        };
        if event.handle == 0 {
            return Record::Refused(QueueLogRefusal::NoRealQueue, None);
        }
        let Ok(time_ns) = i64::try_from(event.time_ns) else {
            return refused(
                offset,
                QueueLogRefusal::ImpossibleTime,
                "the event's time has more than 63 bits",
            );
        };
        let kind = match (event.kind, event.misc) {
            (0, _) => EventKind::Dequeue,
            (1, RETURNED_DROP) => EventKind::Refuse,
            (1, _) => EventKind::Enqueue,
            _ => {
                return refused(
                    offset,
                    QueueLogRefusal::MalformedRecord,
                    "the event is neither enqueue nor dequeue",
                );
            }
        };
        let queue = QueueId {
            interface_name: Some(name),
            handle: Some(event.handle),
            ..QueueId::default()
        };
        let captured = CapturedPacket {
            time_ns,
            wire_bytes: u32::from(event.packet_bytes),
            link: LinkType::Ethernet,
            frame,
        };
        let decoded = self.layers.decode(&captured).ok();
        let cause = (kind == EventKind::Refuse).then(|| {
            Box::new(DropCause {
                kind: Some("overlimit"),
                ..DropCause::default()
            })
        });
        Record::Item(QueueItem::Event(
            queue,
            QueueEvent {
                packet_bytes: Some(i32::from(event.packet_bytes)),
                queue_packets: i32::try_from(event.queue_packets).ok(),
                queue_bytes: Some(i64::from(event.queue_bytes)),
                ethertype: frame.get(12..ETHERNET_HEADER_BYTES).map(|bytes| {
                    bytes
                        .iter()
                        .fold(0, |number, byte| number << 8 | u16::from(*byte))
                }),
                network: decoded
                    .as_ref()
                    .map(|packet| network_fields(packet, &mut self.flows)),
                ecn_ce: decoded.as_ref().map(Packet::congestion_experienced),
                codepoint: decoded.as_ref().map(|packet| Codepoint::of(packet.ecn)),
                drop_counter: Some(event.drops),
                cause,
                ..QueueEvent::new(kind, time_ns, event.skb)
            },
        ))
    }
}

/// The fields of a packet that a queue log keeps.
fn network_fields(packet: &Packet<'_>, flows: &mut FlowCache) -> NetworkFields {
    let transport = has_ports(packet.protocol) && packet.transport != Transport::Other;
    NetworkFields {
        flow: flows.shared(QueueFlow {
            source: packet.source.address,
            destination: packet.destination.address,
            protocol: packet.protocol,
            ports: transport.then_some((packet.source.port, packet.destination.port)),
        }),
        ip_id: packet
            .source
            .address
            .is_ipv4()
            .then(|| u16::try_from(packet.ip_id).ok())
            .flatten(),
        transport_word: match packet.transport {
            Transport::Tcp(segment) => Some(segment.sequence),
            Transport::Udp(payload) => be_u32(payload, 0),
            Transport::Fragment | Transport::Other => None,
        },
    }
}

struct EventFields {
    time_ns: u64,
    handle: u32,
    queue_packets: u32,
    queue_bytes: u32,
    drops: u32,
    kind: u8,
    misc: u64,
    skb: u64,
    packet_bytes: u16,
}

/// The fixed fields of an event's body, the interface name, and the packet.
fn split_event(body: &[u8]) -> Option<(EventFields, [u8; 16], &[u8])> {
    let mut rest = body;
    let fields = EventFields {
        time_ns: u64::from_le_bytes(take(&mut rest)?),
        handle: u32::from_le_bytes(take(&mut rest)?),
        queue_packets: {
            let [_limit, packets]: [u32; 2] = words(&mut rest)?;
            packets
        },
        queue_bytes: {
            let [_qstats_packets, bytes]: [u32; 2] = words(&mut rest)?;
            bytes
        },
        drops: {
            let [drops, _requeues, _overlimits]: [u32; 3] = words(&mut rest)?;
            drops
        },
        kind: u8::from_le_bytes(take(&mut rest)?),
        misc: u64::from_le_bytes(take(&mut rest)?),
        skb: u64::from_le_bytes(take(&mut rest)?),
        packet_bytes: u16::from_le_bytes(take(&mut rest)?),
    };
    let name_bytes = usize::from(u8::from_le_bytes(take(&mut rest)?));
    let captured_bytes = usize::from(u16::from_le_bytes(take(&mut rest)?));
    if captured_bytes > MOST_CAPTURED_BYTES || rest.len() != name_bytes + captured_bytes {
        return None;
    }
    let (name, frame) = rest.split_at_checked(name_bytes)?;
    let mut padded = [0; 16];
    for (to, from) in padded.iter_mut().zip(name) {
        *to = *from;
    }
    Some((fields, padded, frame))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*field)
}

fn words<const N: usize>(rest: &mut &[u8]) -> Option<[u32; N]> {
    let mut numbers = [0; N];
    for word in &mut numbers {
        *word = u32::from_le_bytes(take(rest)?);
    }
    Some(numbers)
}

/// `lengths A:B`: dequeues, then enqueues.
fn open_at_end(text: &str) -> Option<QueueItem> {
    let (dequeues, enqueues) = text
        .trim_matches(['\0', ' ', '\n'])
        .strip_prefix("lengths ")?
        .split_once(':')?;
    Some(QueueItem::OpenAtEnd {
        dequeues: dequeues.trim().parse().ok()?,
        enqueues: enqueues.trim().parse().ok()?,
    })
}

fn corrupt(offset: u64, what: &str) -> Fault {
    Fault::new(
        FaultKind::CorruptRecord,
        format!("queue log: at offset {offset}: {what}; what follows is not read"),
        Some(offset),
    )
}

fn refused(offset: u64, reason: QueueLogRefusal, what: &str) -> Record {
    let message = format!("queue log: at offset {offset}: {what}; the record was left out");
    Record::Refused(
        reason,
        Some(Fault::new(FaultKind::CorruptRecord, message, Some(offset))),
    )
}

fn skip_unknown(source: &mut PlainReader, kind: u8, size: usize, offset: u64) -> Record {
    let there = source.fill(size);
    if there < size {
        return cut(source, size, there, offset);
    }
    source.consume(size);
    refused(
        offset,
        QueueLogRefusal::UnknownType,
        &format!("records have no type {kind}"),
    )
}

fn cut(source: &mut PlainReader, needed: usize, there: usize, offset: u64) -> Record {
    let fault = source.fault().cloned().unwrap_or_else(|| {
        Fault::new(
            FaultKind::Truncated,
            format!("queue log: needed {needed} bytes of the record at offset {offset}, found {there}"),
            Some(offset),
        )
    });
    source.consume(there);
    Record::Stopped(Some(QueueLogRefusal::TruncatedRecord), fault)
}
