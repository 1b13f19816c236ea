use super::*;

#[test]
fn the_handshake_is_timed_only_when_nothing_was_repeated_before_its_end() {
    let syn = (Fwd, segment(7, 0, TcpSegment::SYN));
    let syn_ack = (Rev, segment(99, 8, TcpSegment::SYN | TcpSegment::ACK));
    let end = (Fwd, segment(8, 100, TcpSegment::ACK));
    let handshake_ms = |segments: &[(Direction, TcpSegment)]| {
        let mut connection = TcpConnection::default();
        for (place, (direction, passes)) in segments.iter().enumerate() {
            pass(&mut connection, *direction, passes, 0, place as i64 * 10 * MS);
        }
        connection.handshake_rtt_ns().map(|ns| ns / MS)
    };
    assert_eq!(handshake_ms(&[syn, syn_ack, end]), Some(20));
    assert_eq!(handshake_ms(&[syn, syn_ack, end, syn_ack, end]), Some(20));
    assert_eq!(handshake_ms(&[syn, syn_ack, syn_ack, end]), None);
    assert_eq!(handshake_ms(&[syn, syn, syn_ack, end]), None);
    assert_eq!(handshake_ms(&[syn, end, syn_ack]), None);
    // From SYN to the end, where the SYN-ACK overtook the SYN on the way into the capture.
    assert_eq!(handshake_ms(&[syn_ack, syn, end]), Some(10));
    assert_eq!(handshake_ms(&[syn_ack, end]), None);
    assert_eq!(handshake_ms(&[syn_ack, syn_ack, syn, end]), None);
    let of_another = (Rev, segment(99, 500, TcpSegment::SYN | TcpSegment::ACK));
    assert_eq!(handshake_ms(&[of_another, syn, end]), None);
}

#[test]
fn a_handshake_with_data_in_its_syn_is_timed_whether_the_data_is_taken_or_left() {
    let flags = TcpSegment::SYN | TcpSegment::ACK;
    for (acknowledgement, handshake_ms) in [(8, Some(21)), (58, Some(21)), (59, None), (7, None)] {
        let mut connection = TcpConnection::default();
        pass(&mut connection, Fwd, &segment(7, 0, TcpSegment::SYN), 50, 0);
        pass(
            &mut connection,
            Rev,
            &segment(99, acknowledgement, flags),
            0,
            20 * MS,
        );
        pass(
            &mut connection,
            Fwd,
            &segment(58, 100, TcpSegment::ACK),
            0,
            21 * MS,
        );
        assert_eq!(connection.handshake_rtt_ns().map(|ns| ns / MS), handshake_ms);
    }
}

#[test]
fn segments_of_the_handshake_give_samples_unless_they_are_repeated() {
    for repeat in [false, true] {
        let mut connection = TcpConnection::default();
        let syn_ack = segment(99, 8, TcpSegment::SYN | TcpSegment::ACK);
        pass(&mut connection, Fwd, &segment(7, 0, TcpSegment::SYN), 0, 0);
        pass(&mut connection, Rev, &syn_ack, 0, 20 * MS);
        if repeat {
            pass(&mut connection, Rev, &syn_ack, 0, 21 * MS);
        }
        let end = segment(8, 100, TcpSegment::ACK);
        pass(&mut connection, Fwd, &end, 0, 25 * MS);
        assert_eq!(connection.directions.fwd.rtt.min_us(), Some(20_000));
        assert_eq!(connection.directions.rev.rtt.samples(), i64::from(!repeat));
    }
}

#[test]
fn a_new_connection_on_used_ports_is_told_from_a_repeated_syn() {
    let mut connection = TcpConnection::default();
    pass(&mut connection, Fwd, &segment(7, 0, TcpSegment::SYN), 0, 0);
    let again = segment(5000, 0, TcpSegment::SYN);
    assert!(!connection.is_succeeded_by(Fwd, &again));
    pass(
        &mut connection,
        Fwd,
        &segment(8, 1, TcpSegment::FIN | TcpSegment::ACK),
        0,
        MS,
    );
    pass(
        &mut connection,
        Rev,
        &segment(1, 9, TcpSegment::FIN | TcpSegment::ACK),
        0,
        MS,
    );
    assert!(connection.is_succeeded_by(Fwd, &again));
    assert!(!connection.is_succeeded_by(Fwd, &segment(7, 0, TcpSegment::SYN)));
    // A SYN-ACK does not tell unless this host had sent one: it answers to the SYN that passed.
    let syn_ack = |sequence| segment(sequence, 8, TcpSegment::SYN | TcpSegment::ACK);
    assert!(!connection.is_succeeded_by(Rev, &syn_ack(99)));
    let mut answered = TcpConnection::default();
    pass(&mut answered, Rev, &syn_ack(99), 0, 0);
    pass(&mut answered, Rev, &segment(100, 8, TcpSegment::RST), 0, MS);
    assert!(answered.is_succeeded_by(Rev, &syn_ack(5000)));
    assert!(!answered.is_succeeded_by(Rev, &syn_ack(99)));
}

#[test]
fn a_second_syn_ack_with_another_number_does_not_make_retransmissions_of_what_follows() {
    let syn_ack = |sequence| segment(sequence, 8, TcpSegment::SYN | TcpSegment::ACK);
    for (accepted, other) in [(99, 5_000_000), (5_000_000, 99), (5_000_000, 4_000_000_000)] {
        for order in [[accepted, other], [other, accepted]] {
            let mut connection = TcpConnection::default();
            pass(&mut connection, Fwd, &segment(7, 0, TcpSegment::SYN), 0, 0);
            for (place, sequence) in order.into_iter().enumerate() {
                pass(
                    &mut connection,
                    Rev,
                    &syn_ack(sequence),
                    0,
                    (20 + place as i64) * MS,
                );
            }
            pass(
                &mut connection,
                Fwd,
                &segment(8, accepted + 1, TcpSegment::ACK),
                0,
                30 * MS,
            );
            for n in 0..3 {
                let sent = segment(accepted + 1 + n * 50, 8, TcpSegment::ACK);
                pass(&mut connection, Rev, &sent, 50, (40 + i64::from(n)) * MS);
            }
            let rev = &connection.directions.rev;
            assert_eq!(
                (
                    rev.retransmitted_packets,
                    rev.out_of_order_packets,
                    rev.unique_payload_bytes
                ),
                (0, 0, 150)
            );
            assert_eq!(connection.handshake_rtt_ns(), None);
        }
    }
}
