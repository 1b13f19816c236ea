//! Lines of the bpftrace queue probe.
//!
//! `ev mono_ns skb len qlen backlog netns_inum ifindex proto saddr sport daddr dport ipid l4word sojourn_ns reason
//! location ethertype [tos]`, where `ev` is E (enqueued), D (dequeued) or X (freed as a drop). The probe prints the
//! packet's fields as the kernel holds them: ports, identification and Ethernet type are big-endian
//! numbers read on a little-endian machine. It reads an IPv4 header from any packet, so the network
//! fields of other packets are not kept. Logs of earlier probes have no `tos`. `# clock MONO_NS EPOCH_S` gives the offset between the clocks.

use std::net::Ipv4Addr;
use std::num::NonZeroI64;

use crate::input::decimal::scaled;
use crate::packet::protocol::has_ports;
use crate::queue::event::{
    Codepoint, DropCause, ETHERTYPE_IPV4, EventKind, NetworkFields, QueueEvent, QueueId, QueueItem,
    REASON_QDISC_DROP, kept_text,
};
use crate::queue::flow::{FlowCache, QueueFlow};

const FIELDS: usize = 19;

/// Whether a line is an event, for recognition.
pub(crate) fn is_event(line: &[u8]) -> bool {
    let item = parse_line(line, &mut FlowCache::default());
    matches!(item, Some(QueueItem::Event(..)))
}

/// Read one line without its end; `None` if it is malformed.
pub(crate) fn parse_line(line: &[u8], flows: &mut FlowCache) -> Option<QueueItem> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.split_ascii_whitespace();
    let kind = match fields.next() {
        None | Some("Attaching") => return Some(QueueItem::Nothing),
        Some("Lost") => {
            return number(fields.next()?)
                .filter(|events| *events >= 0)
                .map(|events| QueueItem::Lost {
                    events,
                    saturated: false,
                });
        }
        Some("#") if line.starts_with("# clock ") => return clock(fields.skip(1)),
        Some(comment) if comment.starts_with('#') => return Some(QueueItem::Nothing),
        Some("E") => EventKind::Enqueue,
        Some("D") => EventKind::Dequeue,
        Some("X") => EventKind::Drop,
        Some(_) => return None,
    };
    let mut values = [""; FIELDS - 1];
    for value in &mut values {
        *value = fields.next()?;
    }
    let tos = match fields.next() {
        Some(tos) => Some(number::<u8>(tos)?),
        None => None,
    };
    if fields.next().is_some() {
        return None;
    }
    let [
        time,
        skb,
        length,
        queue_packets,
        queue_bytes,
        namespace,
        interface,
        protocol,
        source,
        source_port,
        destination,
        destination_port,
        ip_id,
        word,
        sojourn,
        reason,
        location,
        ethertype,
    ] = values;
    let ethertype = number::<u16>(ethertype)?.swap_bytes();
    let network = if ethertype == ETHERTYPE_IPV4 {
        let protocol = number(protocol)?;
        let transport = has_ports(protocol);
        let ports = (
            number::<u16>(source_port)?.swap_bytes(),
            number::<u16>(destination_port)?.swap_bytes(),
        );
        let word = number::<u32>(word)?.swap_bytes();
        Some(NetworkFields {
            flow: flows.shared(QueueFlow {
                source: source.parse::<Ipv4Addr>().ok()?.into(),
                destination: destination.parse::<Ipv4Addr>().ok()?.into(),
                protocol,
                ports: transport.then_some(ports),
            }),
            ip_id: Some(number::<u16>(ip_id)?.swap_bytes()),
            transport_word: transport.then_some(word),
        })
    } else {
        None
    };
    let codepoint = tos.filter(|_| ethertype == ETHERTYPE_IPV4).map(Codepoint::of);
    let queue = QueueId {
        network_namespace: Some(number(namespace)?),
        interface_index: Some(number(interface)?),
        ..QueueId::default()
    };
    let reason = number(reason)?;
    let cause = match kind {
        EventKind::Drop => Some(Box::new(drop_cause(reason, location)?)),
        _ => None,
    };
    Some(QueueItem::Event(
        queue,
        QueueEvent {
            packet_bytes: Some(length_of(length)?),
            queue_packets: Some(length_of(queue_packets)?),
            queue_bytes: Some(length_of(queue_bytes)?),
            network,
            ecn_ce: codepoint.map(|codepoint| codepoint == Codepoint::Ce),
            codepoint,
            measured_ns: NonZeroI64::new(number::<i64>(sojourn)?.max(0)),
            cause,
            ethertype: Some(ethertype),
            ..QueueEvent::new(kind, number(time)?, u64::from_str_radix(skb, 16).ok()?)
        },
    ))
}

fn drop_cause(reason: i32, location: &str) -> Option<DropCause> {
    let kind = if reason == REASON_QDISC_DROP {
        "overlimit"
    } else {
        "aqm"
    };
    let location = match location {
        "-" => None,
        named => Some(kept_text(named)?),
    };
    Some(DropCause {
        kind: Some(kind),
        reason: Some(reason),
        location,
        is_refusal: false,
    })
}

fn clock<'l>(mut fields: impl Iterator<Item = &'l str>) -> Option<QueueItem> {
    let monotonic_ns = number::<i64>(fields.next()?)?;
    let epoch_ns = scaled(fields.next()?, 9)?;
    epoch_ns.checked_sub(monotonic_ns).map(QueueItem::ClockOffset)
}

fn number<N: std::str::FromStr>(field: &str) -> Option<N> {
    field.parse().ok()
}

/// A number that is never negative, unless the kernel's counter is wrong.
fn length_of<N: std::str::FromStr + PartialOrd + Default>(field: &str) -> Option<N> {
    number(field).filter(|length| *length >= N::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &[u8]) -> Option<QueueItem> {
        super::parse_line(line, &mut FlowCache::default())
    }

    const UDP: &str = "D 1116073614259 ff11000006a92900 1095 0 0 4026532223 3 17 10.0.1.3 35859 10.0.2.3 35859 20111 2753847424 6738 0 - 8";

    fn event(line: &str) -> QueueEvent {
        match parse_line(line.as_bytes()) {
            Some(QueueItem::Event(_, event)) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_put_into_network_order() {
        let event = event(UDP);
        let network = event.network.unwrap();
        assert_eq!(
            (event.kind, event.time_ns, event.packet),
            (EventKind::Dequeue, 1_116_073_614_259, 0xff11_0000_06a9_2900)
        );
        assert_eq!(network.flow.ports, Some((5004, 5004)));
        assert_eq!(network.ip_id, Some(20111u16.swap_bytes()));
        // RTP version 2, payload type 96.
        assert_eq!(network.transport_word.unwrap() >> 16, 0x8060);
        assert_eq!(
            (event.measured_ns, event.cause, event.ethertype),
            (NonZeroI64::new(6738), None, Some(0x0800))
        );
    }

    #[test]
    fn network_fields_of_other_protocols_are_dropped() {
        let event = event(
            "E 1112741789542 ff11000006a92000 42 1 42 4026532223 3 136 66.148.10.0 0 2.1.0.0 0 1030 0 0 0 - 1544",
        );
        assert_eq!(
            (event.network, event.ethertype, event.measured_ns),
            (None, Some(0x0806), None)
        );
    }

    #[test]
    fn a_drop_has_kind_reason_and_location() {
        let event = event(
            "X 1 ff 1514 5 7570 4026532223 3 6 10.0.1.2 16796 10.0.2.2 20756 63565 3585247262 46878 45 kfree_skb_list_reason 8",
        );
        let cause = event.cause.unwrap();
        assert_eq!(
            (cause.kind, cause.reason, cause.location.as_deref()),
            (Some("overlimit"), Some(45), Some("kfree_skb_list_reason"))
        );
    }

    #[test]
    fn a_negative_length_is_malformed() {
        for (from, to) in [
            (" 1095 ", " -1 "),
            (" 0 0 4026532223", " -1 0 4026532223"),
            (" 0 0 4026532223", " 0 -1 4026532223"),
        ] {
            assert_eq!(parse_line(UDP.replacen(from, to, 1).as_bytes()), None, "{to}");
        }
    }

    #[test]
    fn headers_losses_and_damage_are_told_apart() {
        assert_eq!(
            parse_line(b"# queue.bt start 84158697771"),
            Some(QueueItem::Nothing)
        );
        assert_eq!(parse_line(b"Attaching 4 probes..."), Some(QueueItem::Nothing));
        assert_eq!(parse_line(b""), Some(QueueItem::Nothing));
        assert_eq!(
            parse_line(b"Lost 17 events"),
            Some(QueueItem::Lost {
                events: 17,
                saturated: false
            })
        );
        assert_eq!(
            parse_line(b"# clock 1000 1795210205.000002"),
            Some(QueueItem::ClockOffset(1_795_210_205_000_001_000))
        );
        assert_eq!(parse_line(b"# clock 1000 never"), None);
        assert_eq!(parse_line(b"\xff\xfe"), None);
        assert_eq!(parse_line(b"hello"), None);
        for length in 1..UDP.len() {
            assert_eq!(parse_line(&UDP.as_bytes()[..length]), None, "{length}");
        }
        assert_eq!(parse_line(format!("{UDP} 1 1").as_bytes()), None);
        assert_eq!(parse_line(format!("{UDP} 256").as_bytes()), None);
    }

    #[test]
    fn the_codepoint_is_in_the_last_two_bits_of_tos_if_the_probe_prints_it() {
        assert_eq!((event(UDP).codepoint, event(UDP).ecn_ce), (None, None));
        let seen = |tos| {
            let event = event(&format!("{UDP} {tos}"));
            (event.codepoint, event.ecn_ce)
        };
        assert_eq!(seen(184), (Some(Codepoint::NotEct), Some(false)));
        assert_eq!(seen(185), (Some(Codepoint::Ect1), Some(false)));
        assert_eq!(seen(2), (Some(Codepoint::Ect0), Some(false)));
        assert_eq!(seen(3), (Some(Codepoint::Ce), Some(true)));
        let arp = "E 1 ff 42 1 42 1 3 136 66.148.10.0 0 2.1.0.0 0 1030 0 0 0 - 1544 3";
        assert_eq!((event(arp).codepoint, event(arp).ecn_ce), (None, None));
        let whole = format!("{UDP} 3");
        for length in 1..UDP.len() {
            assert_eq!(parse_line(&whole.as_bytes()[..length]), None, "{length}");
        }
    }
}
