//! Pairs of captures whose truth is known.

use super::*;
use crate::test_capture::{TestCapture, udp_fragments};
use etherparse::{PacketBuilder, TcpOptionElement};

mod other_segments;

const MS: i64 = 1_000_000;

fn frame(towards: bool, identification: u16, hop_limit: u8) -> Vec<u8> {
    let (source, destination) = if towards { (1, 2) } else { (2, 1) };
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, source], [10, 0, 0, destination], hop_limit)
        .udp(9, 9)
        .write(&mut frame, &identification.to_be_bytes())
        .unwrap();
    frame[18..20].copy_from_slice(&identification.to_be_bytes());
    frame
}

/// The column of the only table of that name, with what it is in each row.
fn decode(before: &[Vec<u8>], after: &[Vec<u8>], options: PairOptions) -> (PairSums, Vec<FlowSums>, Summary) {
    let inputs = |files: &[Vec<u8>]| files.iter().cloned().map(CaptureInput::Memory).collect();
    let mut decoder = PairDecoder::open(inputs(before), inputs(after), options).unwrap();
    let mut rows = 0;
    while let Some((table, batch)) = decoder.next_batch().unwrap() {
        assert!(batch.num_rows() <= options.batch_rows);
        if table == "packet_pair" {
            rows += batch.num_rows() as i64;
        }
    }
    let sums = decoder.sums.clone();
    assert_eq!(rows, sums.all.sent + sums.all.not_seen_before);
    (sums, decoder.flow_sums.clone(), decoder.summary.clone())
}

/// 500 packets each way, of which every seventh towards the bottleneck is dropped; the others queue.
fn two_captures(parts: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut before: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut after = Vec::new();
    for n in 0..500u16 {
        let at_us = u32::from(n) * 10_000;
        before.push((at_us, frame(true, n, 64)));
        if n % 7 != 3 {
            after.push((at_us + 20_000 + u32::from(n % 5) * 1000, frame(true, n, 63)));
        }
        after.push((at_us + 1, frame(false, n, 64)));
        before.push((at_us + 15_001, frame(false, n, 63)));
    }
    let in_files = |mut packets: Vec<(u32, Vec<u8>)>| -> Vec<Vec<u8>> {
        packets.sort();
        let each = packets.len().div_ceil(parts);
        packets
            .chunks(each)
            .map(|chunk| {
                let mut capture = TestCapture::new(1);
                for (time_us, frame) in chunk {
                    capture.record(*time_us, frame);
                }
                capture.content
            })
            .collect()
    };
    (in_files(before), in_files(after))
}

/// Packets `gap_us` apart, of which the capture before the bottleneck has `snap` bytes; some are lost.
fn snapped(snap: usize, gap_us: u32, are_identified: bool, lost: impl Fn(u16) -> bool) -> (Vec<u8>, Vec<u8>) {
    let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
    for n in 0..100u16 {
        let mut whole = frame(true, if are_identified { n + 1 } else { 0 }, 64);
        whole.extend([7; 40]);
        // An RTP header: version and type, sequence number.
        whole[42..44].copy_from_slice(&[0x80, 0x60]);
        whole[44..46].copy_from_slice(&n.to_be_bytes());
        let length = u16::try_from(whole.len()).unwrap();
        whole[16..18].copy_from_slice(&(length - 14).to_be_bytes());
        whole[38..40].copy_from_slice(&(length - 34).to_be_bytes());
        let time_us = u32::from(n) * gap_us;
        before.snapped(time_us, &whole[..snap], u32::from(length));
        if !lost(n) {
            after.record(time_us + 20_000, &whole);
        }
    }
    (before.content, after.content)
}

#[test]
fn packets_that_look_alike_have_no_delays_once_some_are_lost() {
    for (snap, are_distinct) in [(60, true), (46, true), (44, false), (42, false)] {
        let (before, after) = snapped(snap, 10_000, false, |n| n % 10 == 3);
        let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
        let (packets, reason) = if are_distinct {
            (190, None)
        } else {
            (0, Some(FaultKind::IndistinctPackets))
        };
        assert_eq!(summary.fault.map(|fault| fault.kind), reason, "{snap}");
        assert_eq!(summary.records_read, packets, "{snap}");
        assert_eq!(sums.all.delivered, if are_distinct { 90 } else { 0 }, "{snap}");
        assert_eq!(sums.all.delay_max_ns, are_distinct.then_some(0), "{snap}");
    }
    // The queue is empty whenever a packet comes, and one of the last is lost.
    let (before, after) = snapped(42, 50_000, false, |n| n == 90);
    let (_, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
    assert_eq!(summary.refused["indistinct_packet"], 199);
    // Nothing is lost, so that each is the one that comes next.
    let (before, after) = snapped(42, 10_000, false, |_| false);
    let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
    assert_eq!((sums.all.delivered, summary.fault), (100, None));
    // Of a flow that only one point sees, nothing could be measured.
    let (before, _) = snapped(42, 10_000, false, |_| false);
    let (_, other) = snapped(60, 10_000, true, |_| true);
    let (_, _, summary) = decode(&[before], &[other], PairOptions::of_rate(1_000_000_000));
    assert_eq!((summary.records_read, summary.fault), (100, None));
}

#[test]
fn a_pair_whose_clock_was_set_has_no_delays() {
    for (set_us, is_possible) in [(3_500_000_000, true), (3_700_000_000, false)] {
        let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
        for n in 0..100u16 {
            let time_us = u32::from(n) * 10_000;
            before.record(time_us, &frame(true, n + 1, 64));
            after.record(
                time_us + if n < 50 { 20_000 } else { set_us },
                &frame(true, n + 1, 64),
            );
        }
        let options = PairOptions::of_rate(1_000_000_000);
        let (sums, _, summary) = decode(&[before.content], &[after.content], options);
        assert_eq!(sums.all.delivered, if is_possible { 100 } else { 0 });
        assert_eq!(summary.records_read, if is_possible { 200 } else { 0 });
        assert_eq!(
            summary.refused.get("impossible_delay").copied().unwrap_or(0),
            200 - summary.records_read
        );
        assert_eq!(
            summary.fault.map(|fault| fault.kind),
            (!is_possible).then_some(FaultKind::ImpossibleDelay)
        );
    }
}

#[test]
fn a_packet_that_matches_another_costs_its_own_flow_alone() {
    let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
    let of_another_port = |n: u16| {
        let mut other = frame(true, n, 64);
        other[34..36].copy_from_slice(&[0, 8]);
        other
    };
    for n in 0..100u16 {
        let time_us = u32::from(n) * 40_000_000;
        before.record(time_us, &frame(true, n + 1, 64));
        after.record(time_us + 20_000, &frame(true, n + 1, 64));
        // The first is lost, and the last has its identification.
        before.record(time_us + 1, &of_another_port(if n == 99 { 1 } else { n + 1 }));
        if n > 0 {
            after.record(
                time_us + 20_001,
                &of_another_port(if n == 99 { 1 } else { n + 1 }),
            );
        }
    }
    let options = PairOptions::of_rate(1_000_000_000);
    let (sums, _, summary) = decode(&[before.content], &[after.content], options);
    assert_eq!((sums.all.delivered, sums.all.delay_max_ns), (100, Some(0)));
    assert_eq!(
        (summary.records_read, summary.refused["impossible_delay"]),
        (200, 199)
    );
}

#[test]
fn captures_with_different_snap_lengths_are_matched_by_what_both_have() {
    for snap in [64, 50, 44, 42] {
        let (before, after) = snapped(snap, 10_000, true, |n| n % 10 == 3);
        let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
        assert_eq!(
            (sums.all.sent, sums.all.delivered, sums.all.not_seen_before),
            (100, 90, 0),
            "{snap}"
        );
        assert_eq!(summary.fault, None, "{snap}");
    }
}

#[test]
fn a_pair_in_several_files_with_small_batches_comes_to_the_same() {
    let mut outcomes = Vec::new();
    for (parts, batch_rows) in [(1, 65_536), (3, 7)] {
        let (before, after) = two_captures(parts);
        let options = PairOptions {
            batch_rows,
            ..PairOptions::of_rate(1_000_000_000)
        };
        let (sums, flows, summary) = decode(&before, &after, options);
        assert_eq!(
            (
                sums.all.sent,
                sums.all.dropped,
                sums.all.delivered,
                sums.reverse_matched
            ),
            (500, 71, 429, 500)
        );
        assert_eq!(
            (sums.all.delay_min_ns, sums.all.delay_max_ns),
            (Some(0), Some(4 * MS))
        );
        assert_eq!(sums.clock.offset_ns, Some(2_500_000));
        assert_eq!(summary.records_read, 1929);
        outcomes.push(format!("{sums:?} {flows:?} {summary:?}"));
    }
    assert_eq!(outcomes[0], outcomes[1]);
}

#[test]
fn fragments_are_matched_whichever_comes_first_at_either_point() {
    let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
    for id in 0..4 {
        let parts = udp_fragments(id, 3, 4);
        let at_us = u32::from(id) * 100_000;
        for (place, frame) in (0..).zip(&parts) {
            after.record(at_us + 10_000 + place, frame);
        }
        for (place, frame) in (0..).zip(parts.iter().rev()) {
            before.record(at_us + place, frame);
        }
    }
    let options = PairOptions::of_rate(1_000_000_000);
    let (sums, _, summary) = decode(&[before.content], &[after.content], options);
    assert_eq!((sums.all.sent, sums.all.delivered, sums.all.dropped), (12, 12, 0));
    assert_eq!((summary.records_read, summary.refused.len()), (24, 0));
}

#[test]
fn a_packet_that_is_given_up_too_early_is_counted_on_both_sides() {
    let (before, after) = two_captures(1);
    let mut delivered = Vec::new();
    for patience in 4..14 {
        let options = PairOptions {
            patience,
            ..PairOptions::of_rate(1_000_000_000)
        };
        let (sums, _, _) = decode(&before, &after, options);
        if sums.all.sent > 0 {
            assert_eq!(sums.all.sent, 500);
            assert_eq!(sums.all.delivered + sums.all.not_seen_before, 429);
        }
        delivered.push(sums.all.delivered);
    }
    assert!(delivered.is_sorted());
    assert!(delivered[0] < 10);
    assert_eq!(delivered[9], 429);
}

/// A segment of 500 bytes over IPv6, which has no identification, sent at a time; cut inside its options if short.
fn segment(number: u32, sent_ms: u32, hop_limit: u8) -> Vec<u8> {
    let options = [
        TcpOptionElement::Noop,
        TcpOptionElement::Noop,
        TcpOptionElement::Timestamp(sent_ms, 5),
    ];
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv6([1; 16], [2; 16], hop_limit)
        .tcp(40_001, 5201, number * 500, 1000)
        .ack(1)
        .options(&options)
        .unwrap();
    let mut frame = Vec::new();
    builder.write(&mut frame, &[7; 500]).unwrap();
    frame
}

#[test]
fn a_retransmission_is_told_from_what_was_lost_by_its_timestamp() {
    // As captured whole, as cut before the timestamp, and as changed by a middlebox between the points.
    for (cut, change) in [(false, 0), (true, 0), (false, 12_345)] {
        let is_told = !cut && change == 0;
        let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
        for n in 0..200u32 {
            let sent_ms = n * 5;
            let is_lost = n % 20 == 7;
            let mut times_ms = vec![sent_ms];
            if n % 20 == 19 {
                times_ms.push(sent_ms + 1);
            }
            for (place, at_ms) in times_ms.into_iter().enumerate() {
                // The retransmission of what was lost 12 segments before.
                let number = if place == 0 { n } else { n - 12 };
                let whole = segment(number, at_ms, 64);
                let captured = if cut { 76 } else { whole.len() };
                before.snapped(
                    at_ms * 1000,
                    &whole[..captured],
                    u32::try_from(whole.len()).unwrap(),
                );
                if place > 0 || !is_lost {
                    after.record(at_ms * 1000 + 20_000, &segment(number, at_ms + change, 63));
                }
            }
        }
        let options = PairOptions::of_rate(1_000_000_000);
        let (sums, _, summary) = decode(&[before.content], &[after.content], options);
        assert_eq!((sums.all.sent, sums.all.delivered), (210, 200), "{cut} {change}");
        // Without common timestamps, the delay is from the packet that was lost.
        assert_eq!(sums.all.delay_max_ns.is_some_and(|most| most <= MS), is_told);
        assert_eq!(summary.fault, None);
    }
}
