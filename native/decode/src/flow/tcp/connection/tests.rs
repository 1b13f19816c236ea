use super::*;
use crate::packet::tcp_options::{TcpOptions, Timestamps};
use Direction::{Fwd, Rev};

mod handshake;

const MS: i64 = 1_000_000;

fn segment(sequence: u32, acknowledgement: u32, flags: u16) -> TcpSegment {
    TcpSegment {
        sequence,
        acknowledgement,
        flags,
        window: 1000,
        checksum: 0,
        options: TcpOptions::default(),
    }
}

fn pass(
    connection: &mut TcpConnection,
    direction: Direction,
    segment: &TcpSegment,
    payload_bytes: u32,
    time_ns: i64,
) {
    let passing = Passing {
        payload_bytes,
        ip_id: 0,
        ecn: 0,
        time_ns,
    };
    connection.packet(direction, segment, &passing);
}

fn data(connection: &mut TcpConnection, sequence: u32, length: u32, time_ms: i64) {
    pass(connection, Fwd, &segment(sequence, 0, 0), length, time_ms * MS);
}

fn ack(connection: &mut TcpConnection, acknowledgement: u32, time_ms: i64) {
    pass(
        connection,
        Rev,
        &segment(1, acknowledgement, TcpSegment::ACK),
        0,
        time_ms * MS,
    );
}

#[test]
fn an_acknowledgement_samples_the_last_segment_it_covers() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 10);
    ack(&mut connection, 200, 30);
    let rtt = &connection.directions.fwd.rtt;
    assert_eq!((rtt.samples(), rtt.min_us()), (1, Some(20_000)));
}

#[test]
fn a_retransmitted_segment_gives_no_sample_and_later_ones_do() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 1);
    data(&mut connection, 100, 50, 300);
    ack(&mut connection, 200, 350);
    assert_eq!(connection.directions.fwd.rtt.samples(), 0);
    data(&mut connection, 200, 50, 360);
    ack(&mut connection, 250, 400);
    assert_eq!(connection.directions.fwd.rtt.samples(), 1);
    assert_eq!(connection.directions.fwd.retransmitted_packets, 1);
}

#[test]
fn a_segment_covered_in_passing_gives_no_sample() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 1);
    ack(&mut connection, 170, 20);
    assert_eq!(connection.directions.fwd.rtt.samples(), 0);
    ack(&mut connection, 200, 30);
    assert_eq!(connection.directions.fwd.rtt.samples(), 0);
}

#[test]
fn a_filled_hole_is_sampled_and_what_waited_for_it_is_not() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 200, 50, 1);
    data(&mut connection, 150, 50, 5);
    ack(&mut connection, 250, 30);
    assert_eq!(connection.directions.fwd.rtt.samples(), 0);
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 200, 50, 1);
    data(&mut connection, 150, 50, 5);
    ack(&mut connection, 200, 30);
    assert_eq!(connection.directions.fwd.rtt.min_us(), Some(25_000));
}

#[test]
fn a_retransmission_of_what_was_acknowledged_is_spurious() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 0);
    ack(&mut connection, 150, 20);
    data(&mut connection, 100, 50, 25);
    data(&mut connection, 150, 50, 26);
    let fwd = &connection.directions.fwd;
    assert_eq!(
        (fwd.retransmitted_packets, fwd.spurious_retransmitted_packets),
        (2, 1)
    );
    assert_eq!(fwd.unique_payload_bytes, 100);
}

#[test]
fn duplicate_acknowledgements_are_those_of_outstanding_data() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    for time_ms in [10, 11, 12] {
        ack(&mut connection, 150, time_ms);
    }
    assert_eq!(connection.directions.rev.duplicate_acknowledgements, 0);
    data(&mut connection, 150, 50, 20);
    data(&mut connection, 200, 50, 20);
    for time_ms in [40, 41, 42] {
        ack(&mut connection, 150, time_ms);
    }
    assert_eq!(connection.directions.rev.duplicate_acknowledgements, 3);
}

#[test]
fn bytes_that_fill_a_hole_are_unique_once() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 200, 50, 1);
    data(&mut connection, 120, 60, 2);
    data(&mut connection, 150, 80, 3);
    data(&mut connection, 230, 40, 4);
    assert_eq!(connection.directions.fwd.unique_payload_bytes, 170);
}

#[test]
fn what_lies_below_a_start_in_mid_flow_is_not_taken_for_a_retransmission() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 5000, 50, 0);
    data(&mut connection, 4950, 50, 1);
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (1, 0));
    assert_eq!(fwd.unique_payload_bytes, 100);
    assert!(connection.starts_in_mid_flow());
}

#[test]
fn timestamps_give_samples_of_their_own() {
    let mut connection = TcpConnection::default();
    let stamped = |sequence, acknowledgement, flags, value, echo| TcpSegment {
        options: TcpOptions {
            timestamps: Some(Timestamps { value, echo }),
            ..TcpOptions::default()
        },
        ..segment(sequence, acknowledgement, flags)
    };
    pass(&mut connection, Fwd, &stamped(100, 0, 0, 7, 0), 50, 0);
    pass(&mut connection, Fwd, &stamped(100, 0, 0, 9, 0), 50, 200 * MS);
    for time_ms in [230, 240] {
        pass(
            &mut connection,
            Rev,
            &stamped(1, 150, TcpSegment::ACK, 1, 9),
            0,
            time_ms * MS,
        );
    }
    let fwd = &connection.directions.fwd;
    assert_eq!(fwd.rtt.samples(), 0);
    assert_eq!(
        (fwd.timestamp_rtt.samples(), fwd.timestamp_rtt.min_us()),
        (1, Some(30_000))
    );
}

#[test]
fn sequence_numbers_may_wrap() {
    let mut connection = TcpConnection::default();
    data(&mut connection, u32::MAX - 49, 100, 0);
    data(&mut connection, 50, 100, 1);
    ack(&mut connection, 150, 21);
    let fwd = &connection.directions.fwd;
    assert_eq!(
        (fwd.rtt.samples(), fwd.rtt.min_us(), fwd.retransmitted_packets),
        (1, Some(20_000), 0)
    );
}

#[test]
fn a_hole_filled_at_once_is_reordering_and_later_a_retransmission() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 200, 50, 1);
    data(&mut connection, 150, 50, 2);
    data(&mut connection, 300, 50, 10);
    data(&mut connection, 250, 50, 110);
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (1, 1));
}

#[test]
fn the_same_bytes_again_are_a_retransmission_however_soon() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 1);
    data(&mut connection, 100, 50, 1);
    assert_eq!(connection.directions.fwd.retransmitted_packets, 1);
}

#[test]
fn a_hole_can_be_filled_from_its_middle() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 10, 0);
    data(&mut connection, 200, 10, 0);
    for start in [150, 110, 160] {
        data(&mut connection, start, 10, 1);
    }
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (3, 0));
}

#[test]
fn a_keep_alive_is_not_a_retransmission() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 149, 1, 1000);
    data(&mut connection, 149, 0, 2000);
    assert_eq!(connection.directions.fwd.retransmitted_packets, 0);
}

#[test]
fn a_fin_in_a_repeated_segment_is_not_a_byte_of_payload() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 10);
    let fin = segment(150, 0, TcpSegment::FIN);
    pass(&mut connection, Fwd, &fin, 50, 300 * MS);
    assert_eq!(connection.directions.fwd.unique_payload_bytes, 100);
    let mut in_a_hole = TcpConnection::default();
    data(&mut in_a_hole, 100, 50, 0);
    data(&mut in_a_hole, 201, 1, 10);
    pass(&mut in_a_hole, Fwd, &fin, 50, 11 * MS);
    pass(&mut in_a_hole, Fwd, &fin, 50, 300 * MS);
    assert_eq!(in_a_hole.directions.fwd.unique_payload_bytes, 101);
}

#[test]
fn what_the_capture_holds_twice_is_a_copy_and_not_a_retransmission() {
    let with_id = |ip_id, time_ms: i64| Passing {
        payload_bytes: 50,
        ip_id,
        ecn: 0,
        time_ns: time_ms * MS,
    };
    let sent = segment(150, 1, TcpSegment::ACK);
    let copies = |passings: &[Passing]| {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        for passing in passings {
            connection.packet(Fwd, &sent, passing);
        }
        let fwd = connection.directions.fwd;
        assert_eq!(fwd.unique_payload_bytes, 100);
        (fwd.duplicate_packets, fwd.retransmitted_packets)
    };
    assert_eq!(copies(&[with_id(9, 1), with_id(9, 2), with_id(9, 90)]), (2, 0));
    assert_eq!(copies(&[with_id(9, 1), with_id(10, 2)]), (0, 1));
    assert_eq!(copies(&[with_id(9, 1), with_id(9, 200)]), (0, 1));
    assert_eq!(copies(&[with_id(0, 1), with_id(0, 1)]), (1, 0));
    assert_eq!(copies(&[with_id(0, 1), with_id(0, 3)]), (0, 1));
}

#[test]
fn the_rest_of_a_segment_that_is_sent_again_gives_no_sample() {
    // Segmentation offload: 3,000 bytes in one record, of which half is acknowledged; tcptrace has one sample.
    let mut connection = TcpConnection::default();
    data(&mut connection, 1, 3000, 0);
    ack(&mut connection, 1501, 20);
    data(&mut connection, 1501, 1500, 270);
    ack(&mut connection, 3001, 271);
    data(&mut connection, 3001, 3000, 280);
    ack(&mut connection, 6001, 300);
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.rtt.samples(), fwd.rtt.min_us()), (1, Some(20_000)));
    assert_eq!(fwd.retransmitted_packets, 1);
}

#[test]
fn a_fin_behind_an_acknowledgement_with_the_same_numbers_is_no_copy_of_it() {
    // As macOS sends them: no identification, and a checksum that the network card has yet to compute.
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    for (flags, after_ns) in [(TcpSegment::ACK, 0), (TcpSegment::ACK | TcpSegment::FIN, 92_000)] {
        pass(
            &mut connection,
            Rev,
            &segment(1, 150, flags),
            0,
            20 * MS + after_ns,
        );
    }
    pass(
        &mut connection,
        Fwd,
        &segment(150, 2, TcpSegment::ACK),
        0,
        50 * MS,
    );
    let rev = &connection.directions.rev;
    assert_eq!((rev.duplicate_packets, rev.rtt.samples()), (0, 1));
    assert_ne!(rev.flags & TcpSegment::FIN, 0);
}

#[test]
fn a_copied_acknowledgement_is_not_a_duplicate_acknowledgement() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    data(&mut connection, 150, 50, 0);
    for (ip_id, time_ms) in [(1, 10), (1, 10), (2, 11), (2, 11), (0, 12), (0, 12)] {
        let passing = Passing {
            payload_bytes: 0,
            ip_id,
            ecn: 0,
            time_ns: time_ms * MS,
        };
        connection.packet(Rev, &segment(1, 150, TcpSegment::ACK), &passing);
    }
    let rev = &connection.directions.rev;
    assert_eq!((rev.duplicate_packets, rev.duplicate_acknowledgements), (2, 3));
}

fn ack_with_window(connection: &mut TcpConnection, acknowledgement: u32, window: u16, time_ms: i64) {
    let answer = TcpSegment {
        window,
        ..segment(1, acknowledgement, TcpSegment::ACK)
    };
    pass(connection, Rev, &answer, 0, time_ms * MS);
}

#[test]
fn repeated_probes_of_a_window_of_zero_give_no_sample() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    ack_with_window(&mut connection, 150, 0, 20);
    // The same byte five times: which of them the acknowledgement answers, nobody can say.
    for time_ms in [200, 600, 1400, 3000, 6200] {
        data(&mut connection, 150, 1, time_ms);
        ack_with_window(&mut connection, 150, 0, time_ms + 20);
    }
    ack_with_window(&mut connection, 151, 5000, 9000);
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.rtt.samples(), fwd.rtt.max_us()), (1, Some(20_000)));
    assert_eq!((fwd.retransmitted_packets, fwd.unique_payload_bytes), (0, 51));
    // What follows is sampled again.
    data(&mut connection, 151, 50, 9010);
    ack_with_window(&mut connection, 201, 5000, 9040);
    assert_eq!(connection.directions.fwd.rtt.samples(), 2);
}

#[test]
fn a_window_that_opens_is_filled_from_the_byte_on_that_probed_it() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 0);
    ack_with_window(&mut connection, 150, 0, 20);
    data(&mut connection, 150, 1, 200);
    ack_with_window(&mut connection, 150, 0, 220);
    ack_with_window(&mut connection, 150, 5000, 9000);
    data(&mut connection, 150, 50, 9001);
    ack_with_window(&mut connection, 200, 5000, 9021);
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.retransmitted_packets, fwd.unique_payload_bytes), (0, 100));
    // Its first byte was repeated, the others were not.
    assert_eq!((fwd.rtt.samples(), fwd.rtt.max_us()), (2, Some(20_000)));
    // Sent once more, it is a retransmission.
    data(&mut connection, 150, 50, 9300);
    assert_eq!(connection.directions.fwd.retransmitted_packets, 1);
}

#[test]
fn keep_alives_that_are_repeated_until_they_are_answered_give_no_sample() {
    for length in [0, 1] {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        // The acknowledgement of the data is missing in the capture; keep-alives ask again every 75 s.
        for n in 1..4 {
            data(&mut connection, 149, length, n * 75_000);
        }
        ack(&mut connection, 150, 3 * 75_000 + 20);
        let fwd = &connection.directions.fwd;
        assert_eq!((fwd.rtt.samples(), fwd.retransmitted_packets), (0, 0), "{length}");
        data(&mut connection, 150, 50, 300_000);
        ack(&mut connection, 200, 300_030);
        assert_eq!(connection.directions.fwd.rtt.max_us(), Some(30_000));
    }
    // Where nothing but keep-alives passed, the first that passed is repeated by the others.
    let mut idle = TcpConnection::default();
    for n in 0..3 {
        data(&mut idle, 149, 1, n * 75_000);
    }
    ack(&mut idle, 150, 2 * 75_000 + 20);
    assert_eq!(idle.directions.fwd.rtt.samples(), 0);
}

#[test]
fn samples_go_on_after_the_clock_was_set_back() {
    // Two round trips of 20 ms before the clock loses an hour, and two after it; the third one is under way meanwhile.
    let mut connection = TcpConnection::default();
    let hour_ms = 3_600_000;
    for (sequence, sent_ms, acknowledged_ms) in [
        (100, hour_ms, hour_ms + 20),
        (150, hour_ms + 30, hour_ms + 50),
        (200, hour_ms + 60, 10),
        (250, 20, 40),
        (300, 50, 70),
    ] {
        data(&mut connection, sequence, 50, sent_ms);
        ack(&mut connection, sequence + 50, acknowledged_ms);
    }
    let rtt = &connection.directions.fwd.rtt;
    assert_eq!(
        (rtt.samples(), rtt.min_us(), rtt.max_us()),
        (4, Some(20_000), Some(20_000))
    );
}

#[test]
fn what_waited_for_a_repeated_segment_is_told_by_the_order_of_the_capture() {
    // The repeated segment has an earlier time than what waited for it: the clock was set back between them.
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 1000);
    data(&mut connection, 150, 50, 1001);
    data(&mut connection, 100, 50, 400);
    ack(&mut connection, 200, 1020);
    assert_eq!(connection.directions.fwd.rtt.samples(), 0);
}

#[test]
fn a_clock_that_was_set_back_makes_no_reordering_of_a_retransmission_and_no_negative_handshake() {
    let mut connection = TcpConnection::default();
    data(&mut connection, 100, 50, 1000);
    data(&mut connection, 200, 50, 1001);
    data(&mut connection, 150, 50, 400);
    let fwd = &connection.directions.fwd;
    assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (0, 1));
    let mut handshake = TcpConnection::default();
    pass(&mut handshake, Fwd, &segment(7, 0, TcpSegment::SYN), 0, 1000 * MS);
    let syn_ack = segment(99, 8, TcpSegment::SYN | TcpSegment::ACK);
    pass(&mut handshake, Rev, &syn_ack, 0, 1010 * MS);
    pass(&mut handshake, Fwd, &segment(8, 100, TcpSegment::ACK), 0, 20 * MS);
    assert_eq!(handshake.handshake_rtt_ns(), None);
}

#[test]
fn many_segments_that_one_retransmission_repeats_cost_one_and_are_acknowledged_as_before() {
    let mut connection = TcpConnection::default();
    for place in 0..1000 {
        data(&mut connection, 100 + place, 1, 0);
    }
    for time_ms in 1..=300 {
        data(&mut connection, 101, 999, time_ms);
    }
    assert_eq!(connection.directions.fwd.outstanding_segments(), 2);
    data(&mut connection, 1100, 50, 320);
    ack(&mut connection, 101, 330);
    ack(&mut connection, 500, 340);
    assert_eq!(connection.directions.fwd.rtt.samples(), 1);
    ack(&mut connection, 1100, 350);
    assert_eq!(connection.directions.fwd.rtt.samples(), 1);
    ack(&mut connection, 1150, 360);
    assert_eq!(connection.directions.fwd.rtt.samples(), 2);
    assert_eq!(connection.directions.fwd.retransmitted_packets, 300);
}
