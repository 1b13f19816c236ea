//! Lines of the bpftrace queue probe.
//!
//! `ev mono_ns skb len qlen backlog netns_inum ifindex proto saddr sport daddr dport ipid l4word sojourn_ns reason
//! location ethertype`, where `ev` is E (enqueued), D (dequeued) or X (freed as a drop). The probe prints the
//! packet's fields as the kernel holds them: ports, identification and Ethernet type are big-endian
//! numbers read on a little-endian machine. It reads an IPv4 header whatever the packet is, so the network
//! fields of other packets are not kept.

use std::net::Ipv4Addr;

const FIELDS: usize = 19;
const ETHERTYPE_IPV4: u16 = 0x0800;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Enqueue,
    Dequeue,
    Drop,
}

/// IPv4 fields of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkFields {
    pub(crate) protocol: u8,
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    /// Source and destination, TCP and UDP only.
    pub(crate) ports: Option<(u16, u16)>,
    pub(crate) ip_id: u16,
    pub(crate) transport_word: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueEvent {
    pub(crate) kind: EventKind,
    pub(crate) time_ns: i64,
    pub(crate) skb: u64,
    pub(crate) packet_bytes: i32,
    pub(crate) queue_packets: i32,
    pub(crate) queue_bytes: i64,
    pub(crate) network_namespace: i64,
    pub(crate) interface_index: i32,
    pub(crate) network: Option<NetworkFields>,
    /// The probe's own measurement; `None` where it had not seen the enqueue.
    pub(crate) measured_ns: Option<i64>,
    pub(crate) drop_reason: i32,
    pub(crate) location: Option<Box<str>>,
    pub(crate) ethertype: u16,
}

/// What one line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueueLine {
    Event(QueueEvent),
    /// The probe lost so many events for want of buffer space.
    Lost(i64),
    /// Header, comment or empty.
    Nothing,
}

/// Read one line without its end; `None` if it is malformed.
pub(crate) fn parse_line(line: &[u8]) -> Option<QueueLine> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.split_ascii_whitespace();
    let kind = match fields.next() {
        None | Some("Attaching") => return Some(QueueLine::Nothing),
        Some("Lost") => return number(fields.next()?).map(QueueLine::Lost),
        Some(comment) if comment.starts_with('#') => return Some(QueueLine::Nothing),
        Some("E") => EventKind::Enqueue,
        Some("D") => EventKind::Dequeue,
        Some("X") => EventKind::Drop,
        Some(_) => return None,
    };
    let mut values = [""; FIELDS - 1];
    for value in &mut values {
        *value = fields.next()?;
    }
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
        let transport = matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP);
        let ports = (
            number::<u16>(source_port)?.swap_bytes(),
            number::<u16>(destination_port)?.swap_bytes(),
        );
        let word = number::<u32>(word)?.swap_bytes();
        Some(NetworkFields {
            protocol,
            source: source.parse().ok()?,
            destination: destination.parse().ok()?,
            ports: transport.then_some(ports),
            ip_id: number::<u16>(ip_id)?.swap_bytes(),
            transport_word: transport.then_some(word),
        })
    } else {
        None
    };
    Some(QueueLine::Event(QueueEvent {
        kind,
        time_ns: number(time)?,
        skb: u64::from_str_radix(skb, 16).ok()?,
        packet_bytes: number(length)?,
        queue_packets: number(queue_packets)?,
        queue_bytes: number(queue_bytes)?,
        network_namespace: number(namespace)?,
        interface_index: number(interface)?,
        network,
        measured_ns: Some(number::<i64>(sojourn)?).filter(|measured| *measured > 0),
        drop_reason: number(reason)?,
        location: (location != "-").then(|| location.into()),
        ethertype,
    }))
}

fn number<N: std::str::FromStr>(field: &str) -> Option<N> {
    field.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: &str = "D 1116073614259 ff11000006a92900 1095 0 0 4026532223 3 17 10.0.1.3 35859 10.0.2.3 35859 20111 2753847424 6738 0 - 8";

    fn event(line: &str) -> QueueEvent {
        match parse_line(line.as_bytes()) {
            Some(QueueLine::Event(event)) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_put_into_network_order() {
        let event = event(UDP);
        let network = event.network.unwrap();
        assert_eq!(
            (event.kind, event.time_ns, event.skb),
            (EventKind::Dequeue, 1_116_073_614_259, 0xff11_0000_06a9_2900)
        );
        assert_eq!(network.ports, Some((5004, 5004)));
        assert_eq!(network.ip_id, 20111u16.swap_bytes());
        // RTP version 2, payload type 96.
        assert_eq!(network.transport_word.unwrap() >> 16, 0x8060);
        assert_eq!(
            (event.measured_ns, event.location, event.ethertype),
            (Some(6738), None, 0x0800)
        );
    }

    #[test]
    fn network_fields_of_other_protocols_are_dropped() {
        let event = event(
            "E 1112741789542 ff11000006a92000 42 1 42 4026532223 3 136 66.148.10.0 0 2.1.0.0 0 1030 0 0 0 - 1544",
        );
        assert_eq!(
            (event.network, event.ethertype, event.measured_ns),
            (None, 0x0806, None)
        );
    }

    #[test]
    fn a_drop_has_reason_and_location() {
        let event = event(
            "X 1 ff 1514 5 7570 4026532223 3 6 10.0.1.2 16796 10.0.2.2 20756 63565 3585247262 46878 45 kfree_skb_list_reason 8",
        );
        assert_eq!(
            (event.drop_reason, event.location.as_deref()),
            (45, Some("kfree_skb_list_reason"))
        );
    }

    #[test]
    fn headers_losses_and_damage_are_told_apart() {
        assert_eq!(
            parse_line(b"# queue.bt start 84158697771"),
            Some(QueueLine::Nothing)
        );
        assert_eq!(parse_line(b"Attaching 4 probes..."), Some(QueueLine::Nothing));
        assert_eq!(parse_line(b""), Some(QueueLine::Nothing));
        assert_eq!(parse_line(b"Lost 17 events"), Some(QueueLine::Lost(17)));
        assert_eq!(parse_line(b"\xff\xfe"), None);
        assert_eq!(parse_line(b"hello"), None);
        for length in 1..UDP.len() {
            assert_eq!(parse_line(&UDP.as_bytes()[..length]), None, "{length}");
        }
        assert_eq!(parse_line(format!("{UDP} 1").as_bytes()), None);
    }
}
