//! Lines of `perf script` over the tracepoints `qdisc:qdisc_enqueue`, `qdisc:qdisc_dequeue` and `skb:kfree_skb`.
//!
//! `comm tid [cpu] time: event: fields`, where the fields are those of the kernel's `TP_printk` in
//! include/trace/events/qdisc.h and skb.h. These tracepoints print no packet length; where
//! `net:net_dev_queue`, which comes just before the enqueue, was recorded too, it is taken from there. Other events and call
//! chains are passed over. `perf record --clockid` leaves the offset to UTC in the header.

use hashbrown::HashMap;

use crate::input::decimal::scaled;
use crate::queue::event::{DropCause, EventKind, QueueEvent, QueueId, QueueItem, kept_text};

const ENQUEUE: &str = "qdisc:qdisc_enqueue";
const DEQUEUE: &str = "qdisc:qdisc_dequeue";
const FREE: &str = "skb:kfree_skb";
/// With --show-lost-events: `PERF_RECORD_LOST lost N`, or `PERF_RECORD_LOST_SAMPLES lost N`.
const LOST: &str = "PERF_RECORD_LOST";
const DEVICE_QUEUE: &str = "net:net_dev_queue";
/// Packets whose enqueue has not come yet; on a device without a queue it never does.
const MOST_WAITING: usize = 1 << 16;
/// Devices whose queue is remembered, by a name of at most so many bytes (`IFNAMSIZ`).
const MOST_DEVICES: usize = 1024;
const LONGEST_DEVICE_BYTES: usize = 16;
/// Queues that may take each other's place at a device.
const MOST_REPLACED: usize = 16;
/// Drop reasons of the queue layer (include/net/dropreason-core.h): no room, beside those of fq, or the control law.
const NO_ROOM: [&str; 2] = ["QDISC_DROP", "QDISC_OVERLIMIT"];
/// Of those, the one that `fq_codel` and CAKE give to packets that were queued.
const OF_THE_QUEUED: &str = "QDISC_OVERLIMIT";
const CONTROL_LAW: [&str; 2] = ["QDISC_CONGESTED", "CAKE_FLOOD"];
/// What older kernels say of every packet, and their disciplines of the newer ones: with any other reason, the packet
/// had left its queue.
const UNSPECIFIED: [&str; 2] = ["", "NOT_SPECIFIED"];

/// A packet that was given to a device.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet_bytes: i32,
    /// Place in `queues`.
    device: Option<usize>,
}

/// Reads lines; it remembers length and device of packets until the enqueue.
#[derive(Debug, Default)]
pub(crate) struct PerfReader {
    waiting: HashMap<u64, Waiting>,
    devices: HashMap<Box<str>, usize>,
    /// Of each device, the queue that its packets come into.
    queues: Vec<DeviceQueue>,
}

/// The queue of a device: another one may take its place, but not alternate with it.
#[derive(Debug, Default)]
struct DeviceQueue {
    present: Option<QueueId>,
    before: Vec<QueueId>,
    are_several: bool,
}

impl DeviceQueue {
    fn came_into(&mut self, queue: QueueId) {
        let Some(present) = self.present.replace(queue).filter(|present| *present != queue) else {
            return;
        };
        self.are_several |= self.before.contains(&queue) || self.before.len() >= MOST_REPLACED;
        if !self.are_several {
            self.before.push(present);
        }
    }

    fn only(&self) -> Option<QueueId> {
        self.present.filter(|_| !self.are_several)
    }
}

impl PerfReader {
    /// Read one line without its end; `None` if it is malformed. A dequeue of several packets at a time shows the
    /// address of the first only, so the others are the second item.
    pub(crate) fn parse_line(&mut self, line: &[u8]) -> Option<(QueueItem, Option<QueueItem>)> {
        let line = std::str::from_utf8(line).ok()?;
        if let Some(rest) = line.strip_prefix("# reference time: ") {
            return reference_time(rest).map(|item| (item, None));
        }
        if line.trim().is_empty() || line.starts_with('#') || is_call_chain(line) {
            return Some((QueueItem::Nothing, None));
        }
        let (time_ns, event, fields) = split_line(line)?;
        let one = |item| Some((item, None));
        match event {
            ENQUEUE => {
                let skb = field(fields, "skbaddr=").and_then(address)?;
                let queue = queue(fields)?;
                let waiting = self.waiting.remove(&skb);
                if let Some(of_device) = waiting.and_then(|waiting| self.queues.get_mut(waiting.device?)) {
                    of_device.came_into(queue);
                }
                let event = QueueEvent {
                    packet_bytes: waiting.map(|waiting| waiting.packet_bytes),
                    ..QueueEvent::new(EventKind::Enqueue, time_ns, skb)
                };
                one(QueueItem::Event(queue, event))
            }
            DEQUEUE => {
                let packets: i64 = field(fields, "packets=")?.parse().ok()?;
                let skb = field(fields, "skbaddr=").and_then(address)?;
                if packets < 1 || skb == 0 {
                    return one(QueueItem::Nothing);
                }
                let event = QueueEvent {
                    dequeued_packets: i32::try_from(packets).ok()?,
                    ..QueueEvent::new(EventKind::Dequeue, time_ns, skb)
                };
                let unseen = (packets > 1).then_some(QueueItem::Lost {
                    events: packets - 1,
                    saturated: false,
                });
                Some((QueueItem::Event(queue(fields)?, event), unseen))
            }
            FREE => one(self.free(time_ns, fields)?),
            DEVICE_QUEUE => {
                let skb = field(fields, "skbaddr=").and_then(address)?;
                let packet_bytes = field(fields, "len=")?.parse().ok()?;
                let device = field(fields, "dev=").and_then(|name| self.device(name));
                if self.waiting.len() >= MOST_WAITING {
                    self.waiting.clear();
                }
                self.waiting.insert(skb, Waiting { packet_bytes, device });
                one(QueueItem::Nothing)
            }
            LOST => one(QueueItem::Lost {
                events: fields
                    .split_whitespace()
                    .last()?
                    .parse()
                    .ok()
                    .filter(|events| *events >= 0)?,
                saturated: false,
            }),
            _ => one(QueueItem::Nothing),
        }
    }
}

impl PerfReader {
    /// A packet is freed.
    fn free(&mut self, time_ns: i64, fields: &str) -> Option<QueueItem> {
        let skb = field(fields, "skbaddr=").and_then(address)?;
        let location = field(fields, "location=")?;
        let location = kept_text(location.split('+').next().unwrap_or(location))?;
        let reason = fields.split("reason: ").nth(1).map(str::trim).unwrap_or_default();
        let kind = if NO_ROOM.contains(&reason) || reason.starts_with("FQ_") {
            Some("overlimit")
        } else if CONTROL_LAW.contains(&reason) {
            Some("aqm")
        } else {
            None
        };
        let waiting = self.waiting.remove(&skb);
        let is_refusal = if self.queues.is_empty() {
            kind == Some("overlimit") && reason != OF_THE_QUEUED
        } else {
            // In such a log, each packet is given to its device first.
            waiting.is_some()
        };
        let by_queue = kind.is_some() || UNSPECIFIED.contains(&reason);
        let event = QueueEvent {
            packet_bytes: waiting.map(|waiting| waiting.packet_bytes),
            ethertype: field(fields, "protocol=").and_then(|protocol| protocol.parse().ok()),
            cause: by_queue.then(|| {
                Box::new(DropCause {
                    kind,
                    reason: None,
                    location: Some(location),
                    is_refusal,
                })
            }),
            ..QueueEvent::new(EventKind::Free, time_ns, skb)
        };
        // The event itself names no device.
        let of_device = waiting.and_then(|waiting| self.queues.get(waiting.device?));
        let queue = match of_device {
            // The packets of the only device come into the only queue.
            Some(of_device) if self.queues.len() > 1 || of_device.are_several => {
                of_device.only().unwrap_or(QueueId::NONE_OF_THOSE_SEEN)
            }
            Some(of_device) => of_device.only().unwrap_or_default(),
            None => QueueId::default(),
        };
        Some(QueueItem::Event(queue, event))
    }

    /// The place of a device.
    fn device(&mut self, name: &str) -> Option<usize> {
        if let Some(place) = self.devices.get(name) {
            return Some(*place);
        }
        if name.len() > LONGEST_DEVICE_BYTES || self.queues.len() >= MOST_DEVICES {
            return None;
        }
        let place = self.queues.len();
        self.devices.insert(name.into(), place);
        self.queues.push(DeviceQueue::default());
        Some(place)
    }
}

/// Whether a line is an event of a queue, for recognition.
pub(crate) fn is_queue_event(line: &[u8]) -> bool {
    let parsed = std::str::from_utf8(line).ok().and_then(split_line);
    parsed.is_some_and(|(_, event, _)| matches!(event, ENQUEUE | DEQUEUE))
}

/// Time, name of the event and its fields. The command's name may hold blanks, so the time is looked for: the first
/// word that is a decimal number and ends with a colon.
fn split_line(line: &str) -> Option<(i64, &str, &str)> {
    let mut rest = line.trim_start();
    loop {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        rest = after.trim_start();
        let seconds = word.strip_suffix(':').filter(|word| word.contains('.'));
        if let Some(time_ns) = seconds.and_then(|seconds| scaled(seconds, 9)) {
            if rest.starts_with(LOST) {
                return Some((time_ns, LOST, rest));
            }
            let (event, fields) = rest.split_once(": ")?;
            return Some((time_ns, event.trim(), fields));
        }
    }
}

/// Call chains are below their event: blanks, an address in hexadecimal, a symbol.
fn is_call_chain(line: &str) -> bool {
    let Some(rest) = line.strip_prefix(['\t', ' ']) else {
        return false;
    };
    let word = rest.split_whitespace().next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit()) && split_line(line).is_none()
}

/// `DATE = SECONDS (TOD) = SECONDS (clock)`.
fn reference_time(text: &str) -> Option<QueueItem> {
    let mut parts = text.split(" = ").skip(1);
    let epoch_ns = scaled(parts.next()?.split_whitespace().next()?, 9)?;
    let clock_ns = scaled(parts.next()?.split_whitespace().next()?, 9)?;
    epoch_ns.checked_sub(clock_ns).map(QueueItem::ClockOffset)
}

fn queue(fields: &str) -> Option<QueueId> {
    let handle = field(fields, "handle=0x")?;
    Some(QueueId {
        interface_index: Some(field(fields, "ifindex=")?.parse().ok()?),
        handle: Some(u32::from_str_radix(handle, 16).ok()?),
        ..QueueId::default()
    })
}

fn field<'l>(fields: &'l str, name: &str) -> Option<&'l str> {
    let start = fields.find(name)? + name.len();
    fields.get(start..)?.split_whitespace().next()
}

fn address(text: &str) -> Option<u64> {
    if text == "(nil)" {
        return Some(0);
    }
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUED: &str = "            ping  1234 [003]   781.201434: net:net_dev_queue: dev=eth0 skbaddr=0xff11000006c20e00 len=98";
    const ENQUEUED: &str = "     Web Content 1234/1250 [003]   781.201434195: qdisc:qdisc_enqueue: enqueue ifindex=3 qdisc handle=0xB00000 parent=0xFFFFFFFF skbaddr=0xff11000006c20e00";
    const DEQUEUED: &str = "         swapper     0 [001]   781.201440: qdisc:qdisc_dequeue: dequeue ifindex=3 qdisc handle=0xB00000 parent=0xFFFFFFFF txq_state=0x0 packets=3 skbaddr=0xff11000006c20e00";
    const FREED: &str = "iperf3 665 [005] 848.656964: skb:kfree_skb: skbaddr=0xffff98168a333500 rx_sk=(nil) protocol=34525 location=__dev_queue_xmit+0x10f0 reason: QDISC_OVERLIMIT";

    fn event(reader: &mut PerfReader, line: &str) -> (QueueId, QueueEvent, Option<QueueItem>) {
        match reader.parse_line(line.as_bytes()) {
            Some((QueueItem::Event(queue, event), more)) => (queue, event, more),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_enqueue_has_the_length_of_the_packet_handed_to_the_device() {
        let mut reader = PerfReader::default();
        assert_eq!(
            reader.parse_line(QUEUED.as_bytes()),
            Some((QueueItem::Nothing, None))
        );
        let (queue, enqueue, _) = event(&mut reader, ENQUEUED);
        assert_eq!(
            (queue.interface_index, queue.handle),
            (Some(3), Some(0x00b0_0000))
        );
        assert_eq!(
            (enqueue.time_ns, enqueue.packet, enqueue.packet_bytes),
            (781_201_434_195, 0xff11_0000_06c2_0e00, Some(98))
        );
    }

    #[test]
    fn packets_dequeued_together_are_unseen_but_for_the_first() {
        let (_, dequeue, more) = event(&mut PerfReader::default(), DEQUEUED);
        assert_eq!(
            (dequeue.kind, dequeue.time_ns),
            (EventKind::Dequeue, 781_201_440_000)
        );
        assert_eq!(
            more,
            Some(QueueItem::Lost {
                events: 2,
                saturated: false
            })
        );
        let none = DEQUEUED
            .replace("packets=3", "packets=0")
            .replace("0xff11000006c20e00", "(nil)");
        assert_eq!(
            PerfReader::default().parse_line(none.as_bytes()),
            Some((QueueItem::Nothing, None))
        );
    }

    #[test]
    fn a_free_has_cause_and_place() {
        let (_, free, _) = event(&mut PerfReader::default(), FREED);
        assert_eq!(
            (free.cause, free.ethertype),
            (
                Some(Box::new(DropCause {
                    kind: Some("overlimit"),
                    reason: None,
                    location: Some("__dev_queue_xmit".into()),
                    is_refusal: false,
                })),
                Some(0x86dd)
            )
        );
        let old = "curl 32613 [014]  1546.957467: skb:kfree_skb: skbaddr=0xffff888f57159ae0 protocol=2048 location=0xffffffff817bfdad";
        let cause = event(&mut PerfReader::default(), old).1.cause;
        assert_eq!(cause.unwrap().kind, None);
    }

    #[test]
    fn a_free_is_of_the_queue_of_the_device_that_got_the_packet() {
        let mut reader = PerfReader::default();
        let given =
            |device: &str, skb: &str| QUEUED.replace("eth0", device).replace("0xff11000006c20e00", skb);
        let enqueued = |interface: &str, skb: &str| {
            ENQUEUED
                .replace("ifindex=3", interface)
                .replace("0xff11000006c20e00", skb)
        };
        let mut freed_by = |device: &str| {
            reader.parse_line(given(device, "0xa").as_bytes());
            let line = FREED.replace("0xffff98168a333500", "0xa");
            let (queue, free, _) = event(&mut reader, &line);
            assert_eq!(free.packet_bytes, Some(98));
            for (device, interface) in [("eth0", "ifindex=3"), ("eth1", "ifindex=4")] {
                reader.parse_line(given(device, "0xb").as_bytes());
                reader.parse_line(enqueued(interface, "0xb").as_bytes());
            }
            queue.interface_index
        };
        assert_eq!(
            ["eth1", "eth1", "eth0", "lo"].map(&mut freed_by),
            [None, Some(4), Some(3), Some(0)]
        );
    }

    #[test]
    fn a_free_is_a_refusal_if_the_packet_was_given_to_its_device_or_else_by_its_reason() {
        let given = QUEUED.replace("0xff11000006c20e00", "0xffff98168a333500");
        let queued = FREED.replace("QDISC_OVERLIMIT", "QDISC_DROP");
        let mut reader = PerfReader::default();
        for (line, is_given, is_refusal) in [
            (FREED, false, false),
            (queued.as_str(), false, true),
            (FREED, true, true),
            (&queued, true, true),
            // From now on, the log is known to have devices.
            (&queued, false, false),
        ] {
            if is_given {
                reader.parse_line(given.as_bytes());
            }
            let cause = event(&mut reader, line).1.cause.unwrap();
            assert_eq!(cause.is_refusal, is_refusal, "{line}");
        }
    }

    #[test]
    fn another_queue_takes_the_place_of_one_but_does_not_alternate_with_it() {
        let of = |handle| QueueId {
            handle: Some(handle),
            ..QueueId::default()
        };
        let mut device = DeviceQueue::default();
        for (handle, only) in [
            (1, Some(1)),
            (1, Some(1)),
            (2, Some(2)),
            (3, Some(3)),
            (1, None),
            (1, None),
        ] {
            device.came_into(of(handle));
            assert_eq!(device.only(), only.map(of));
        }
    }

    #[test]
    fn other_lines_of_perf_are_passed_over_and_garbage_is_not() {
        let mut reader = PerfReader::default();
        let other = "proc-1 1 [014] 580644.245747: probe:pfifo_fast_dequeue: (ffffffff9b69d8c0) qdisc=0x1";
        for line in [
            "",
            "# ========",
            "\t    7fff8168279b kfree_skb ([kernel.kallsyms])",
            other,
        ] {
            assert_eq!(
                reader.parse_line(line.as_bytes()),
                Some((QueueItem::Nothing, None)),
                "{line}"
            );
        }
        let header = "# reference time: 2026-11-21 04:10:05.000001 = 1795210205.000001 (TOD) = 5.000000500 (monotonic)";
        assert_eq!(
            reader.parse_line(header.as_bytes()),
            Some((QueueItem::ClockOffset(1_795_210_200_000_000_500), None))
        );
        // An address that is cut may still look like one; then the end of the content decides.
        for length in 1..DEQUEUED.len() - 18 {
            let cut = &DEQUEUED.as_bytes()[..length];
            let blank = cut.iter().all(u8::is_ascii_whitespace);
            assert_eq!(reader.parse_line(cut).is_some(), blank, "{length}");
        }
        assert_eq!(reader.parse_line(b"hello world"), None);
    }
}
