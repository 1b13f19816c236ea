use super::*;
use crate::packet::tcp_options::TcpOptions;

fn packet(forward: bool, sequence: u32, flags: u16) -> Packet<'static> {
    let ends = [1u8, 2].map(|host| Endpoint {
        address: [10, 0, 0, host].into(),
        port: 1000 + u16::from(host),
    });
    Packet {
        source: ends[usize::from(!forward)],
        destination: ends[usize::from(forward)],
        protocol: 6,
        ecn: 0,
        payload_bytes: 10,
        tunnels: Tunnels::default(),
        ip_id: 0,
        hop_limit: 64,
        ip_payload: &[],
        transport: Transport::Tcp(TcpSegment {
            sequence,
            acknowledgement: 0,
            flags,
            window: 1,
            checksum: 0,
            options: TcpOptions::default(),
        }),
    }
}

fn table(idle_ns: i64, flows: usize) -> FlowTable {
    let kept_bytes = usize::MAX;
    FlowTable::new(
        1,
        Bounds {
            idle_ns,
            flows,
            kept_bytes,
        },
    )
}

fn flows(mut table: FlowTable) -> Vec<Flow> {
    table.finish();
    table
        .take_ended(usize::MAX)
        .into_iter()
        .map(|flow| *flow)
        .collect()
}

fn from_port(port: u16, flags: u16) -> Packet<'static> {
    let mut packet = packet(true, 1, flags);
    packet.source.port = port;
    packet
}

#[test]
fn the_sender_of_the_first_packet_is_the_initiator() {
    for forward in [true, false] {
        let mut table = table(1_000_000, 100);
        table.packet(&packet(forward, 0, 0), 10, 64);
        table.packet(&packet(!forward, 0, 0), 20, 100);
        table.packet(&packet(forward, 10, 0), 30, 64);
        let flows = flows(table);
        assert_eq!(flows.len(), 1);
        assert_eq!(flows[0].initiator, packet(forward, 0, 0).source);
        assert_eq!(
            (flows[0].traffic.fwd.packets, flows[0].traffic.fwd.bytes),
            (2, 128)
        );
        assert_eq!(
            (flows[0].traffic.rev.packets, flows[0].traffic.rev.bytes),
            (1, 100)
        );
        assert_eq!((flows[0].first_ns, flows[0].last_ns), (10, 30));
    }
}

#[test]
fn who_sends_a_syn_ack_is_the_responder() {
    const SYN_ACK: u16 = TcpSegment::SYN | TcpSegment::ACK;
    // The SYN is missing, came late, or the SYN-ACK was repeated; with the flags of ECN, and with a reset behind it.
    for packets in [
        &[(false, SYN_ACK), (true, TcpSegment::ACK), (true, TcpSegment::ACK)][..],
        &[(false, SYN_ACK), (true, TcpSegment::SYN), (true, TcpSegment::ACK)],
        &[
            (false, SYN_ACK | TcpSegment::ECE),
            (false, SYN_ACK),
            (true, TcpSegment::ACK),
        ],
        &[(false, SYN_ACK), (true, TcpSegment::RST)],
        &[(false, SYN_ACK)],
    ] {
        let mut table = table(1_000_000, 100);
        let mut placements = Vec::new();
        for (time_ns, (forward, flags)) in packets.iter().enumerate() {
            placements.push(table.packet(&packet(*forward, 1, *flags), time_ns as i64, 64));
        }
        let expected = packets
            .iter()
            .map(|(forward, _)| if *forward { Direction::Fwd } else { Direction::Rev });
        assert!(
            placements
                .iter()
                .map(|placement| placement.direction)
                .eq(expected)
        );
        let flows = flows(table);
        assert_eq!(flows.len(), 1);
        let ends = packet(true, 0, 0);
        assert_eq!(
            (flows[0].initiator, flows[0].responder),
            (ends.source, ends.destination)
        );
    }
    // A SYN before it, of either host, tells as before.
    let mut table = table(1_000_000, 100);
    table.packet(&packet(false, 1, TcpSegment::SYN), 0, 64);
    table.packet(&packet(true, 1, SYN_ACK), 1, 64);
    assert_eq!(flows(table)[0].initiator, packet(false, 0, 0).source);
}

#[test]
fn ports_used_again_after_a_close_are_another_flow() {
    let mut table = table(1_000_000, 100);
    table.packet(&packet(true, 1, TcpSegment::SYN), 0, 64);
    table.packet(&packet(false, 1, TcpSegment::RST), 1, 64);
    table.packet(&packet(true, 9000, TcpSegment::SYN), 2, 64);
    table.packet(&packet(true, 9001, 0), 3, 64);
    let packets: Vec<_> = flows(table)
        .iter()
        .map(|flow| (flow.id, flow.traffic.fwd.packets))
        .collect();
    assert_eq!(packets, [(0, 1), (1, 2)]);
}

#[test]
fn a_silent_flow_ends_and_its_ports_begin_another() {
    let mut table = table(1000, 100);
    table.packet(&from_port(1, 0), 0, 64);
    table.packet(&from_port(2, 0), 900, 64);
    table.packet(&from_port(2, 0), 1001, 64);
    table.packet(&from_port(1, 0), 1002, 64);
    let ends: Vec<_> = flows(table)
        .iter()
        .map(|flow| (flow.id, flow.end_reason))
        .collect();
    assert_eq!(
        ends,
        [
            (0, EndReason::Idle),
            (1, EndReason::CaptureEnd),
            (2, EndReason::CaptureEnd)
        ]
    );
}

#[test]
fn of_too_many_flows_one_that_is_over_gives_way_first_then_the_most_silent() {
    let mut table = table(1_000_000, 2);
    table.packet(&from_port(1, 0), 0, 64);
    table.packet(&from_port(2, TcpSegment::RST), 1, 64);
    table.packet(&from_port(3, 0), 2, 64);
    table.packet(&from_port(1, 0), 3, 64);
    table.packet(&from_port(4, 0), 4, 64);
    let ends: Vec<_> = flows(table)
        .iter()
        .map(|flow| (flow.initiator.port, flow.end_reason))
        .collect();
    assert_eq!(
        ends,
        [
            (2, EndReason::Evicted),
            (3, EndReason::Evicted),
            (1, EndReason::CaptureEnd),
            (4, EndReason::CaptureEnd)
        ]
    );
}

#[test]
fn the_lists_hold_every_open_flow_in_any_order_of_packets() {
    let mut table = table(50, 20);
    let mut state = 7u64;
    for time_ns in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let flags = if state >> 60 == 0 { TcpSegment::RST } else { 0 };
        table.packet(&from_port((state >> 40) as u16 % 60, flags), time_ns, 64);
        let mut seen = 0;
        for list in table.lists {
            let mut place = list.oldest;
            let mut before = i64::MIN;
            while place != NONE {
                let slot = table.slot(place).unwrap();
                assert!(slot.touched_ns >= before);
                before = slot.touched_ns;
                seen += 1;
                place = slot.next;
            }
        }
        assert_eq!(seen, table.open.len());
        assert!(seen <= 20);
    }
}

#[test]
fn a_flow_in_the_memory_of_another_is_as_a_new_one() {
    let run = |table: &mut FlowTable, from_ns: i64| {
        for (place, (forward, sequence, flags)) in [
            (true, 1, TcpSegment::SYN),
            (false, 1, TcpSegment::SYN | TcpSegment::ACK),
            (true, 2, TcpSegment::ACK),
            (true, 500, TcpSegment::ACK),
            (true, 2, TcpSegment::ACK),
        ]
        .into_iter()
        .enumerate()
        {
            let mut packet = packet(forward, sequence, flags);
            packet.ecn = 3;
            table.packet(&packet, from_ns + place as i64, 64);
        }
        table.finish();
        table.take_ended(usize::MAX)
    };
    let mut fresh = table(1_000_000, 10);
    let expected = run(&mut fresh, 1000);
    let mut used = table(1_000_000, 10);
    for flow in run(&mut used, 0) {
        used.give_back(flow);
    }
    let mut other = packet(true, 7, 0);
    other.protocol = 17;
    other.transport = Transport::Udp(&[]);
    used.packet(&other, 500, 64);
    used.finish();
    for flow in used.take_ended(usize::MAX) {
        assert!(flow.tcp.is_none());
        used.give_back(flow);
    }
    let actual = run(&mut used, 1000);
    assert_eq!((expected.len(), actual.len()), (1, 1));
    let shown = |flow: &Flow| format!("{flow:?}").replace(&format!("id: {}", flow.id), "");
    assert_eq!(shown(&actual[0]), shown(&expected[0]));
    assert!(shown(&actual[0]).contains("retransmitted_packets: 1"));
}

/// A segment whose payload is STUN and channel data, with so many streams of RTP.
fn relayed(port: u16, streams: u8) -> (Packet<'static>, Vec<u8>) {
    let mut payload = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    payload.extend([7; 12]);
    for source in 0..streams {
        for number in 0..5 {
            payload.extend([0x40, 0, 0, 12, 0x80, 96, 0, number, 0, 0, 0, 0, 0, 0, 1, source]);
        }
    }
    let mut packet = from_port(port, 0);
    packet.payload_bytes = payload.len() as u32;
    (packet, [vec![0; 12], vec![0x50], vec![0; 7], payload].concat())
}

#[test]
fn of_flows_with_much_media_the_largest_are_ended_before_memory_is_short() {
    let bounds = Bounds {
        idle_ns: i64::MAX,
        flows: 10_000,
        kept_bytes: 1 << 22,
    };
    let mut table = FlowTable::new(1, bounds);
    for port in 0..100u16 {
        let (mut packet, bytes) = relayed(port, if port % 2 == 0 { 100 } else { 1 });
        packet.ip_payload = &bytes;
        table.packet(&packet, i64::from(port), 64);
        assert!(table.kept_bytes <= bounds.kept_bytes);
    }
    let kept_bytes = table.kept_bytes;
    assert!(kept_bytes > 1 << 19);
    let ended = table.take_ended(usize::MAX);
    assert!(ended.len() > 20);
    for flow in &ended {
        assert_eq!(flow.end_reason, EndReason::Evicted);
        assert_eq!(flow.initiator.port % 2, 0, "calls of one stream stay");
    }
    let rest = flows(table);
    assert_eq!(rest.len() + ended.len(), 100);
    // What is kept of segments is given up at the end.
    let rest_bytes = rest.iter().map(Flow::kept_bytes).sum::<usize>();
    assert!(kept_bytes - rest_bytes < 100 * rest.len());
}

#[test]
fn of_connections_whose_acknowledgements_are_missing_the_largest_are_ended_too() {
    let bounds = Bounds {
        idle_ns: i64::MAX,
        flows: 10_000,
        kept_bytes: 1 << 20,
    };
    let mut table = FlowTable::new(1, bounds);
    for sequence in 0..10_000 {
        for port in 0..10 {
            let mut segment = packet(true, 10 * sequence, 0);
            segment.source.port = port;
            table.packet(&segment, i64::from(sequence), 64);
            assert!(table.kept_bytes <= bounds.kept_bytes);
        }
    }
    let ended = table.take_ended(usize::MAX);
    assert!(ended.len() > 10);
    let rest = flows(table);
    let packets = ended
        .iter()
        .map(|flow| &**flow)
        .chain(&rest)
        .map(|flow| flow.traffic.fwd.packets);
    assert_eq!(packets.sum::<i64>(), 100_000);
}
