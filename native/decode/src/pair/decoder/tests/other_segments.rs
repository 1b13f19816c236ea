//! Flows of TCP whose segments are merged, split or written anew between the points, and those in which packets are lost.

use super::*;

/// Bytes of a segment as it is sent.
const BYTES: u32 = 1000;
const SEGMENTS: u32 = 1000;
/// As many are merged by an offload.
const MERGED: u32 = 10;

/// A segment as one point sees it.
#[derive(Debug, Clone, Copy)]
struct Segment {
    at_us: u32,
    sequence: u32,
    bytes: u32,
    identification: u16,
}

impl Segment {
    /// The one of a number as it is sent.
    fn sent(number: u32) -> Self {
        Self {
            at_us: number * 1000,
            // It wraps around.
            sequence: (number * BYTES).wrapping_sub(SEGMENTS * BYTES / 2),
            bytes: BYTES,
            identification: u16::try_from(number + 1).unwrap(),
        }
    }

    fn later(self, by_us: u32) -> Self {
        Self {
            at_us: self.at_us + by_us,
            ..self
        }
    }

    fn frame(self) -> Vec<u8> {
        let mut frame = Vec::new();
        PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1000, 80, self.sequence, 500)
            .ack(1)
            .write(&mut frame, &vec![0; self.bytes as usize])
            .unwrap();
        frame[18..20].copy_from_slice(&self.identification.to_be_bytes());
        frame
    }
}

/// Segments as they are sent, of which those of some groups are merged by an offload.
fn merged(is_merged: impl Fn(u32) -> bool) -> Vec<Segment> {
    (0..SEGMENTS / MERGED)
        .flat_map(|group| {
            let parts = (group * MERGED..(group + 1) * MERGED).map(Segment::sent);
            let first = Segment::sent(group * MERGED);
            let whole = Segment {
                bytes: MERGED * BYTES,
                ..first.later(MERGED * 1000)
            };
            if is_merged(group) {
                vec![whole]
            } else {
                parts.collect()
            }
        })
        .collect()
}

/// A capture of the segments, beside a datagram every 10 ms.
fn capture(segments: &[Segment], delay_us: u32) -> Vec<u8> {
    let mut frames: Vec<_> = segments
        .iter()
        .map(|segment| (segment.at_us + delay_us, segment.frame()))
        .collect();
    frames.extend((0..100u16).map(|n| (u32::from(n) * 10_000 + delay_us, frame(true, n + 1, 64))));
    frames.sort();
    let mut capture = TestCapture::new(1);
    for (at_us, frame) in &frames {
        capture.record(*at_us, frame);
    }
    capture.content
}

fn pair(before: &[Segment], after: &[Segment]) -> (PairSums, Summary) {
    let (before, after) = (capture(before, 0), capture(after, 20_000));
    let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
    (sums, summary)
}

/// All packets of the flow are refused, and those of the datagrams beside it are not.
fn assert_refused(before: &[Segment], after: &[Segment], what: &str) {
    let (sums, summary) = pair(before, after);
    let packets = (before.len() + after.len()) as u64;
    assert_eq!(summary.refused.get("other_segments"), Some(&packets), "{what}");
    assert_eq!(
        summary.fault.map(|fault| fault.kind),
        Some(FaultKind::OtherSegments),
        "{what}"
    );
    assert_eq!(summary.records_read, 200, "{what}");
    assert_eq!(
        (sums.all.sent, sums.all.delivered, sums.all.not_seen_before),
        (100, 100, 0),
        "{what}"
    );
}

/// Numbers below a bound, always the same ones.
fn random() -> impl FnMut(u32) -> u32 {
    let mut state = 3u64;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(state >> 33).unwrap() % below
    }
}

#[test]
fn a_flow_whose_segments_are_merged_or_split_has_no_loss() {
    let sent = merged(|_| false);
    for (what, is_merged) in [
        ("all", (|_| true) as fn(u32) -> bool),
        ("a tenth", |group| group % 10 == 4),
        ("one", |group| group == 4),
    ] {
        let merged = merged(is_merged);
        assert_refused(&sent, &merged, what);
        assert_refused(&merged, &sent, what);
    }
    // Both points have merged segments, of other sizes.
    let mut random = random();
    let mut merged_anyhow = |sizes: u32| {
        let mut segments = Vec::new();
        let mut number = 0;
        while number < SEGMENTS {
            let parts = (1 + random(sizes)).min(SEGMENTS - number);
            segments.push(Segment {
                bytes: parts * BYTES,
                ..Segment::sent(number).later(parts * 1000)
            });
            number += parts;
        }
        segments
    };
    let (before, after) = (merged_anyhow(20), merged_anyhow(40));
    let (sums, summary) = pair(&before, &after);
    assert_eq!(
        summary.fault.map(|fault| fault.kind),
        Some(FaultKind::OtherSegments)
    );
    assert_eq!(sums.all.sent, 100);
}

#[test]
fn a_flow_with_merged_segments_is_refused_though_others_are_lost() {
    let mut random = random();
    let sent = merged(|_| false);
    let mut received = merged(|group| group % 10 == 4);
    received.retain(|_| random(20) > 0);
    assert_refused(&sent, &received, "merged");
    let mut split = sent.clone();
    split.retain(|_| random(20) > 0);
    assert_refused(&merged(|group| group % 10 == 4), &split, "split");
}

#[test]
fn a_flow_that_a_proxy_splits_has_no_loss() {
    let sent = merged(|_| false);
    for bytes in [BYTES, 800] {
        let rewritten: Vec<_> = (0..SEGMENTS)
            .map(|n| Segment {
                sequence: 77_777 + n * bytes,
                bytes,
                ..Segment::sent(n)
            })
            .collect();
        assert_refused(&sent, &rewritten, "data");
    }
    // Of the way without data, there are only acknowledgements.
    let acknowledgements = |sequence| -> Vec<_> {
        let segments = (0..SEGMENTS).map(|n| Segment {
            sequence,
            bytes: 0,
            ..Segment::sent(n)
        });
        segments.collect()
    };
    assert_refused(
        &acknowledgements(1),
        &acknowledgements(77_777),
        "acknowledgements",
    );
}

#[test]
fn few_segments_and_a_single_other_one_are_no_reason() {
    let sent = merged(|_| false);
    let rewritten: Vec<_> = sent[..9]
        .iter()
        .map(|segment| Segment {
            sequence: segment.sequence + 77_777,
            ..*segment
        })
        .collect();
    let (sums, summary) = pair(&sent, &rewritten);
    assert_eq!((summary.fault, sums.all.delivered), (None, 100));
    // One is lost, and the first capture misses its retransmission in another size.
    let mut longer = sent.clone();
    longer[500].bytes = 2 * BYTES;
    let (sums, summary) = pair(&sent, &longer);
    assert_eq!((summary.fault, sums.all.delivered), (None, 1099));
    // Nothing of it arrives.
    let (sums, summary) = pair(&sent, &[]);
    assert_eq!((summary.fault, sums.all.delivered), (None, 100));
}

/// Segments are lost between the points and sent again, half of them in another size. Both captures miss some.
#[test]
fn loss_is_published_though_captures_miss_packets() {
    for (lost_percent, missed_percent) in [(1, 1), (5, 1), (1, 20), (5, 5), (0, 1)] {
        let mut random = random();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut dropped = 0;
        for n in 0..4000u32 {
            let mut segment = Segment::sent(n);
            for again in 0..10u16 {
                let is_lost = random(100) < lost_percent;
                if random(100) >= missed_percent {
                    before.push(segment);
                    dropped += i64::from(is_lost);
                }
                if !is_lost && random(100) >= missed_percent {
                    after.push(segment);
                }
                if !is_lost {
                    break;
                }
                segment = Segment {
                    identification: (again + 1) * 4000 + u16::try_from(n + 1).unwrap(),
                    bytes: if random(2) == 0 { 2 * BYTES } else { BYTES },
                    ..segment.later(50_000)
                };
            }
        }
        before.sort_by_key(|segment| segment.at_us);
        after.sort_by_key(|segment| segment.at_us);
        let (sums, summary) = pair(&before, &after);
        assert_eq!(summary.fault, None, "{lost_percent} {missed_percent}");
        assert!(sums.all.dropped >= dropped, "{lost_percent} {missed_percent}");
    }
}

#[test]
fn packets_that_come_twice_are_no_other_segments() {
    let sent = merged(|_| false);
    let mut twice = sent.clone();
    twice.extend(sent.iter().map(|segment| segment.later(5)));
    for (before, after) in [(&sent, &twice), (&twice, &sent)] {
        let (sums, summary) = pair(before, after);
        assert_eq!((summary.fault, sums.all.delivered), (None, 1100));
    }
}
