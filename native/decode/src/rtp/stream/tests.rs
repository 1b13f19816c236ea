use super::*;

fn packet(sequence: u16, timestamp: u32, time_ns: i64) -> RtpPacket {
    RtpPacket {
        ssrc: 7,
        payload_type: 0,
        sequence,
        timestamp,
        time_ns,
        payload_bytes: 172,
        carrier: Carrier::default(),
    }
}

#[test]
fn a_header_is_read_and_rtcp_is_not() {
    let mut bytes = vec![
        0x90, 0xe0, 0x12, 0x34, 0, 0, 0, 9, 0, 0, 0, 7, 0xbe, 0xde, 0, 1, 0, 0, 0, 0,
    ];
    let parsed = RtpPacket::parse(&bytes, 100, 5).unwrap();
    assert_eq!(
        (
            parsed.payload_type,
            parsed.sequence,
            parsed.timestamp,
            parsed.ssrc
        ),
        (96, 0x1234, 9, 7)
    );
    assert_eq!(RtpPacket::parse(&bytes, 19, 5), None);
    bytes[1] = 200;
    assert_eq!(RtpPacket::parse(&bytes, 100, 5), None);
    for length in 0..bytes.len() {
        let _ = RtpPacket::parse(&bytes[..length], 100, 5);
    }
}

#[test]
fn a_source_is_believed_after_five_packets_which_all_count() {
    let mut direction = RtpDirection::default();
    for n in 0..4 {
        direction.packet(&packet(n, u32::from(n) * 160, i64::from(n) * 20_000_000));
    }
    assert!(direction.streams.is_empty());
    direction.packet(&packet(5, 800, 100_000_000));
    let streams = direction.into_streams();
    assert_eq!(
        (streams[0].packets, streams[0].sequence.lost(), streams[0].frames),
        (5, 1, 5)
    );
}

#[test]
fn a_declared_source_counts_from_its_first_packet_with_any_payload_types() {
    let mut direction = RtpDirection::default();
    for n in 0..3u16 {
        direction.declared_packet(&packet(n * 100, u32::from(n) * 160, i64::from(n) * 20_000_000));
    }
    for payload_type in 0..20 {
        direction.declared_packet(&RtpPacket {
            payload_type,
            ..packet(201 + u16::from(payload_type), 480, 60_000_000)
        });
    }
    let streams = direction.into_streams();
    assert_eq!((streams.len(), streams[0].packets, streams[0].frames), (1, 23, 4));
    assert!((streams[0].frame_rate_fps().unwrap() - 50.0).abs() < 1e-9);
    assert!((streams[0].rate_bps().unwrap() - 23.0 * 172.0 * 8.0 / 0.06).abs() < 1e-6);
}

#[test]
fn one_packet_has_no_rate() {
    let mut direction = RtpDirection::default();
    direction.declared_packet(&packet(1, 1, 1));
    let streams = direction.into_streams();
    assert_eq!((streams[0].frame_rate_fps(), streams[0].rate_bps()), (None, None));
}

#[test]
fn numbers_at_random_are_not_rtp() {
    let mut direction = RtpDirection::default();
    for n in 0..1000u32 {
        direction.packet(&packet((n.wrapping_mul(40_503) >> 3) as u16, n, i64::from(n)));
    }
    assert!(direction.into_streams().is_empty());
}

#[test]
fn jitter_follows_rfc_3550() {
    let mut direction = RtpDirection::default();
    // PCMU: 8 units a millisecond; every packet but the third is on time, which is 4 ms late.
    for (n, late_ms) in [0i64, 0, 4, 0, 0].into_iter().enumerate() {
        let n = n as u16;
        direction.packet(&packet(
            n,
            u32::from(n) * 160,
            (i64::from(n) * 20 + late_ms) * 1_000_000,
        ));
    }
    let streams = direction.into_streams();
    let (end, mean, largest) = streams[0].jitter_ms().unwrap();
    let after = [
        0.0,
        0.25,
        0.25 + (4.0 - 0.25) / 16.0,
        (0.25 + (4.0 - 0.25) / 16.0) * 15.0 / 16.0,
    ];
    assert!((end - after[3]).abs() < 1e-9);
    assert!((mean - after.iter().sum::<f64>() / 4.0).abs() < 1e-9);
    assert!((largest - after[2]).abs() < 1e-9);
}

#[test]
fn timestamps_that_begin_again_add_no_spike() {
    for (rate, payload_type, step) in [(8000, 0u8, 160u32), (1000, 98, 20), (90_000, 96, 1800)] {
        let mut direction = RtpDirection::default();
        for n in 0..100u16 {
            let offset = if n < 50 { 7 } else { 3_000_000_000 };
            direction.packet(&RtpPacket {
                payload_type,
                ..packet(n, offset + u32::from(n) * step, i64::from(n) * 20_000_000)
            });
        }
        let streams = direction.into_streams();
        assert_eq!(streams[0].clock().unwrap().rate_hz, rate);
        let (end, mean, largest) = streams[0].jitter_ms().unwrap();
        assert!(
            end < 1e-6 && mean < 1e-6 && largest < 1e-6,
            "{largest} ms at {rate} Hz"
        );
    }
}

#[test]
fn numbers_that_begin_again_bring_no_jitter_however_near_the_timestamps_are() {
    let mut direction = RtpDirection::default();
    for n in 0..200u16 {
        // The second half is two seconds behind in its timestamps: no restart by these alone.
        let (sequence, timestamp) = if n < 100 {
            (n, u32::from(n) * 160)
        } else {
            (40_000 + n, u32::from(n - 100) * 160)
        };
        direction.packet(&packet(sequence, timestamp, i64::from(n) * 20_000_000));
    }
    let streams = direction.into_streams();
    assert_eq!((streams[0].packets, streams[0].sequence.lost()), (200, 0));
    let (end, mean, largest) = streams[0].jitter_ms().unwrap();
    assert!(end < 1e-6 && mean < 1e-6 && largest < 1e-6, "{largest} ms");
}
