//! Naming the servers of a recording's flows, bounded in memory.

use std::collections::VecDeque;

use crate::flow::record::Flow;
use crate::flow::server_search::ServerSearch;
use crate::packet::direction::Direction;
use crate::packet::types::{Packet, TcpSegment, Transport};
use crate::server::answers::Answers;
use crate::server::dns::{Answer, answer};
use crate::server::dns_stream::DnsStreams;
use crate::server::flow_server::Server;
use crate::server::name::ServerNames;

/// Messages that are not whole, of all open flows; each keeps at most 32 KiB.
const READINGS: usize = 2048;
const DNS_PORT: u16 = 53;

/// A flow by its place in the table and its number.
pub(crate) type FlowPlace = (u32, i64);

/// What is known of names so far.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    names: ServerNames,
    answers: Answers,
    streams: DnsStreams,
    /// Flows whose message was not whole after its first packet, the oldest first.
    readings: VecDeque<FlowPlace>,
}

impl Naming {
    pub(crate) fn new(names: ServerNames) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Name a flow that begins with a packet by what DNS told its initiator before.
    pub(crate) fn begin(&self, flow: &mut Flow, packet: &Packet<'_>) {
        flow.search = ServerSearch::new(self.names);
        let begins = match packet.transport {
            Transport::Tcp(segment) => segment.has(TcpSegment::SYN),
            Transport::Udp(_) => true,
            Transport::Fragment | Transport::Other => false,
        };
        if begins {
            if let Some(name) = self.answers.name(flow.initiator.address, flow.responder.address) {
                flow.server = Some(Box::new(Server::of_answer(name.clone())));
            }
        }
    }

    /// Look at a packet of a flow after the flow has; which flow gives up its search for want of memory.
    #[inline]
    pub(crate) fn packet(
        &mut self,
        packet: &Packet<'_>,
        flow: &mut Flow,
        direction: Direction,
        place: u32,
    ) -> Option<FlowPlace> {
        if packet.source.port == DNS_PORT {
            self.answers(packet, flow, direction);
        }
        if packet.payload_bytes == 0 || !flow.search.is_open() {
            return None;
        }
        self.search(packet, flow, direction, place)
    }

    fn search(
        &mut self,
        packet: &Packet<'_>,
        flow: &mut Flow,
        direction: Direction,
        place: u32,
    ) -> Option<FlowPlace> {
        let reading = flow.search.is_reading();
        match packet.transport {
            Transport::Tcp(segment) => {
                let connection = flow.tcp.as_ref()?;
                flow.search.segment(
                    direction,
                    &segment,
                    tcp_payload(packet),
                    connection,
                    &mut flow.server,
                );
            }
            Transport::Udp(payload) => flow.search.datagram(direction, payload, &mut flow.server),
            Transport::Fragment | Transport::Other => return None,
        }
        if reading || !flow.search.is_reading() {
            return None;
        }
        self.readings.push_back((place, flow.id));
        (self.readings.len() > READINGS)
            .then(|| self.readings.pop_front())
            .flatten()
    }

    fn answers(&mut self, packet: &Packet<'_>, flow: &Flow, direction: Direction) {
        if self.names == ServerNames::None {
            return;
        }
        match packet.transport {
            Transport::Udp(payload) => {
                if let Some(answer) = answer(payload) {
                    self.tell(packet, &answer);
                }
            }
            Transport::Tcp(segment) if packet.payload_bytes > 0 => {
                let own = flow.tcp.as_ref().map(|tcp| tcp.directions.get(direction));
                let first = own
                    .and_then(|own| own.initial_sequence)
                    .map(|initial| initial.wrapping_add(1));
                let payload = tcp_payload(packet);
                for answer in self.streams.segment(flow.id, first, segment.sequence, payload) {
                    self.tell(packet, &answer);
                }
            }
            Transport::Tcp(_) | Transport::Fragment | Transport::Other => {}
        }
    }

    fn tell(&mut self, packet: &Packet<'_>, answer: &Answer) {
        // A name that may not be kept is not remembered.
        if let Ok(Some(name)) = self.names.kept(&answer.name) {
            for address in &answer.addresses {
                self.answers.tell(packet.destination.address, *address, &name);
            }
        }
    }
}

/// The captured part of a segment's payload.
fn tcp_payload<'p>(packet: &Packet<'p>) -> &'p [u8] {
    let header_bytes = packet
        .ip_payload
        .get(12)
        .map_or(usize::MAX, |offset| usize::from(offset >> 4) * 4);
    packet.ip_payload.get(header_bytes..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::table::{Bounds, FlowTable};
    use crate::packet::tcp_options::TcpOptions;
    use crate::packet::types::Endpoint;
    use crate::server::client_hello::tests::hello;
    use crate::server::dns::tests::response;
    use crate::server::flow_server::{HelloOutcome, NameSource};
    use crate::server::quic::tests::{CONNECTION_ID, VERSIONS, crypto, initial};
    use crate::server::tls::tests::records;

    /// First number of every client's stream.
    const FIRST: u32 = u32::MAX - 100;

    fn end(host: u8, port: u16) -> Endpoint {
        Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        }
    }

    fn packet<'p>(
        (source, destination): (Endpoint, Endpoint),
        protocol: u8,
        transport: Transport<'p>,
        ip_payload: &'p [u8],
        payload_bytes: usize,
    ) -> Packet<'p> {
        Packet {
            source,
            destination,
            protocol,
            ecn: 0,
            payload_bytes: payload_bytes as u32,
            tunnels: crate::packet::types::Tunnels::default(),
            ip_id: 0,
            hop_limit: 64,
            ip_payload,
            transport,
        }
    }

    /// A recording of packets one after the other.
    struct Recording {
        table: FlowTable,
        time_ns: i64,
    }

    impl Recording {
        fn new(names: ServerNames) -> Self {
            let bounds = Bounds {
                idle_ns: i64::MAX,
                flows: 100_000,
                kept_bytes: usize::MAX,
            };
            let mut table = FlowTable::new(1_000_000, bounds);
            table.name(names);
            Self { table, time_ns: 0 }
        }

        /// A segment from `ends.0`; of its payload the capture has the first `captured` bytes.
        fn segment(
            &mut self,
            ends: (Endpoint, Endpoint),
            sequence: u32,
            flags: u16,
            payload: &[u8],
            captured: usize,
        ) {
            self.time_ns += 1_000_000;
            let mut ip_payload = vec![0; 20];
            ip_payload[12] = 0x50;
            ip_payload.extend(&payload[..captured.min(payload.len())]);
            let segment = TcpSegment {
                sequence,
                acknowledgement: 0,
                flags,
                window: 1,
                checksum: 0,
                options: TcpOptions::default(),
            };
            let packet = packet(ends, 6, Transport::Tcp(segment), &ip_payload, payload.len());
            self.table.packet(&packet, self.time_ns, 99);
        }

        fn datagram(&mut self, ends: (Endpoint, Endpoint), payload: &[u8]) {
            self.time_ns += 1_000_000;
            let packet = packet(ends, 17, Transport::Udp(payload), payload, payload.len());
            self.table.packet(&packet, self.time_ns, 99);
        }

        fn flows(mut self) -> Vec<Flow> {
            self.table.finish();
            let mut flows = self.table.take_ended(usize::MAX);
            flows.sort_by_key(|flow| flow.id);
            flows.into_iter().map(|flow| *flow).collect()
        }

        /// Name, source and outcome of each flow.
        fn named(self) -> Vec<(String, &'static str, &'static str)> {
            let row = |flow: Flow| {
                let server = flow.server.map(|server| *server).unwrap_or_default();
                (
                    server.name.as_deref().unwrap_or("-").to_owned(),
                    server.source.map_or("-", NameSource::name),
                    server.outcome.map_or("-", HelloOutcome::name),
                )
            };
            self.flows().into_iter().map(row).collect()
        }
    }

    fn to_server() -> (Endpoint, Endpoint) {
        (end(1, 50_000), end(2, 443))
    }

    fn from_server() -> (Endpoint, Endpoint) {
        (end(2, 443), end(1, 50_000))
    }

    fn connected(names: ServerNames) -> Recording {
        let mut recording = Recording::new(names);
        recording.segment(to_server(), FIRST.wrapping_sub(1), TcpSegment::SYN, &[], 0);
        recording.segment(from_server(), 7, TcpSegment::SYN | TcpSegment::ACK, &[], 0);
        recording
    }

    #[test]
    fn segments_in_any_order_and_repeated_give_the_name() {
        let stream = records(&hello("www.example.com", 900), 300);
        for size in [1, 7, 100, 333, 5000] {
            let parts: Vec<_> = stream.chunks(size).collect();
            for turned in [false, true] {
                let mut recording = connected(ServerNames::Registrable);
                let mut places: Vec<_> = (0..parts.len()).collect();
                if turned {
                    places.reverse();
                    places.push(0);
                }
                for place in places {
                    let before: usize = parts[..place].iter().map(|part| part.len()).sum();
                    let sequence = FIRST.wrapping_add(before as u32);
                    recording.segment(to_server(), sequence, TcpSegment::ACK, parts[place], usize::MAX);
                }
                let expected = [("example.com".to_owned(), "tls", "named")];
                assert_eq!(recording.named(), expected, "{size} {turned}");
            }
        }
    }

    #[test]
    fn a_handshake_after_a_dialogue_in_plain_is_found_and_later_ones_are_not_looked_for() {
        let stream = records(&hello("mail.example.com", 0), 5000);
        for (lines, expected) in [
            (6, ("example.com".to_owned(), "tls", "named")),
            (40, ("-".to_owned(), "-", "-")),
        ] {
            let mut recording = connected(ServerNames::Registrable);
            for line in 0..lines {
                let ends = if line % 2 == 0 { from_server() } else { to_server() };
                let from = if line % 2 == 0 { 8 } else { FIRST };
                let sequence = from.wrapping_add(line / 2 * 10);
                recording.segment(ends, sequence, TcpSegment::ACK, b"EHLO you\r\n", usize::MAX);
            }
            let sequence = FIRST.wrapping_add(lines / 2 * 10);
            recording.segment(to_server(), sequence, TcpSegment::ACK, &stream, usize::MAX);
            assert_eq!(recording.named(), [expected]);
        }
    }

    #[test]
    fn what_a_snapped_hello_still_shows_is_taken() {
        let stream = records(&hello("www.example.com", 100), 5000);
        for captured in 0..stream.len() {
            let mut recording = connected(ServerNames::Registrable);
            recording.segment(to_server(), FIRST, TcpSegment::ACK, &stream, captured);
            let (name, _, outcome) = recording.named().remove(0);
            match outcome {
                "named" => assert_eq!(name, "example.com"),
                "cut" => assert_eq!(name, "-"),
                other => assert_eq!((name.as_str(), other, captured), ("-", "-", 0)),
            }
        }
    }

    #[test]
    fn names_are_kept_as_asked_for() {
        let stream = records(&hello("www.example.com", 0), 5000);
        for (names, name) in [
            (ServerNames::Registrable, "example.com"),
            (ServerNames::Full, "www.example.com"),
            (ServerNames::None, "-"),
        ] {
            let mut recording = connected(names);
            recording.datagram(
                (end(9, 53), end(1, 999)),
                &response("www.example.com", 1, &[end(3, 0).address]),
            );
            recording.segment(to_server(), FIRST, TcpSegment::ACK, &stream, usize::MAX);
            recording.segment((end(1, 5), end(3, 80)), 1, TcpSegment::SYN, &[], 0);
            let flows = recording.named();
            assert_eq!((flows[0].0.as_str(), flows[0].2), (name, "named"));
            assert_eq!(flows[2].0, name);
        }
    }

    #[test]
    fn quic_gives_the_name_over_packets_in_any_order_and_after_a_retry() {
        let message = hello("www.example.com", 600);
        let (early, late) = message.split_at(500);
        for number in VERSIONS {
            let mut recording = Recording::new(ServerNames::Full);
            let lost = initial(number, &CONNECTION_ID, &CONNECTION_ID, 0, &crypto(0, early));
            recording.datagram(to_server(), &lost);
            // The server's packet is protected by other keys; after its Retry, the client begins again.
            let of_server = initial(number, b"other-keys", b"clients-id", 0, &crypto(0, &[2; 90]));
            recording.datagram(from_server(), &of_server);
            for (packet_number, offset, part) in [(1, 500, late), (2, 0, early)] {
                let packet = initial(
                    number,
                    b"after-retry",
                    b"after-retry",
                    packet_number,
                    &crypto(offset, part),
                );
                recording.datagram(to_server(), &packet);
            }
            let flow = recording.flows().remove(0);
            let server = flow.server.unwrap();
            assert_eq!(server.name.as_deref(), Some("www.example.com"));
            assert_eq!(server.source, Some(NameSource::Quic));
            assert!(server.quic_version.is_some());
            assert_eq!(server.alpn.as_deref(), Some("h2,http/1.1"));
        }
    }

    #[test]
    fn keys_are_derived_for_one_packet_of_a_datagram() {
        let client = initial(
            1,
            &CONNECTION_ID,
            &CONNECTION_ID,
            0,
            &crypto(0, &hello("www.example.com", 0)),
        );
        let of_others = initial(1, b"other-keys", b"not-those-keys", 0, &crypto(0, &[2; 90]));
        for (datagrams, name) in [
            (vec![[of_others.as_slice(), &client].concat()], None),
            (vec![of_others.clone(), client.clone()], Some("www.example.com")),
            (
                vec![[client.as_slice(), &of_others].concat()],
                Some("www.example.com"),
            ),
        ] {
            let mut recording = Recording::new(ServerNames::Full);
            for datagram in datagrams {
                recording.datagram(to_server(), &datagram);
            }
            let server = recording.flows().remove(0).server.unwrap();
            assert_eq!(server.name.as_deref(), name);
        }
    }

    #[test]
    fn a_flow_is_named_by_what_its_initiator_was_told_before() {
        let mut recording = Recording::new(ServerNames::Full);
        let server = end(7, 443);
        let connect = |recording: &mut Recording, host, port| {
            recording.segment((end(host, port), server), 1, TcpSegment::SYN, &[], 0);
        };
        connect(&mut recording, 1, 1);
        let response_bytes = response("www.example.com", 1, &[server.address]);
        recording.datagram((end(9, 53), end(1, 999)), &response_bytes);
        connect(&mut recording, 1, 2);
        connect(&mut recording, 3, 3);
        recording.datagram((end(1, 4), server), &[1; 30]);
        // Of one whose SYN is missing, the SYN-ACK says who began it.
        let syn_ack = TcpSegment::SYN | TcpSegment::ACK;
        recording.segment((server, end(1, 8)), 1, syn_ack, &[], 0);
        // Of a connection that was there before, the answer says nothing.
        recording.segment((end(1, 5), server), 1, TcpSegment::ACK, &[], 0);
        // Over TCP, and the name of a device, and an answer that is none of DNS.
        let over_tcp = response("tcp.example.com", 1, &[server.address]);
        let framed = [&(over_tcp.len() as u16).to_be_bytes()[..], &over_tcp].concat();
        recording.segment((end(9, 53), end(3, 998)), 1, TcpSegment::ACK, &framed, usize::MAX);
        connect(&mut recording, 3, 6);
        let device = response("johns-laptop.local", 1, &[server.address]);
        recording.datagram((end(9, 53), end(4, 997)), &device);
        recording.datagram((end(9, 5353), end(4, 996)), &response_bytes);
        connect(&mut recording, 4, 7);
        let names: Vec<_> = recording
            .flows()
            .into_iter()
            .filter(|flow| flow.responder == server)
            .map(|flow| {
                let name = flow.server.and_then(|server| server.name);
                (flow.initiator.port, name.map(|name| name.to_string()))
            })
            .collect();
        let expected = [
            (1, None),
            (2, Some("www.example.com")),
            (3, None),
            (4, Some("www.example.com")),
            (8, Some("www.example.com")),
            (5, None),
            (6, Some("tcp.example.com")),
            (7, None),
        ];
        assert_eq!(
            names,
            expected.map(|(port, name)| (port, name.map(str::to_owned)))
        );
    }

    #[test]
    fn messages_that_never_become_whole_are_bounded() {
        let mut recording = Recording::new(ServerNames::Full);
        let stream = records(&hello("www.example.com", 0), 5000);
        let cut = &stream[..stream.len() - 1];
        for port in 0..5000 {
            recording.segment(
                (end(1, port), end(2, 443)),
                FIRST,
                TcpSegment::ACK,
                cut,
                usize::MAX,
            );
        }
        let reading = recording.table.readings();
        assert_eq!(reading, READINGS);
        // What was given up early says what was there.
        assert!(recording.named().iter().all(|flow| flow.2 == "named"));
    }
}
