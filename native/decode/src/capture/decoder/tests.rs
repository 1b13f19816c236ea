use super::*;
use crate::test_capture::{TestCapture, tcp_frame, udp_fragments, udp6_frame, with_link_header};

fn decode_all(content: &[u8], batch_rows: usize) -> (Vec<(&'static str, usize)>, Summary) {
    let options = CaptureOptions {
        interval_ms: 10,
        batch_rows,
        ..CaptureOptions::default()
    };
    let mut decoder = CaptureDecoder::open(&[CaptureInput::Memory(content.to_vec())], options).unwrap();
    let mut batches = Vec::new();
    while let Some((table, batch)) = decoder.next_batch().unwrap() {
        batches.push((table, batch.num_rows()));
    }
    (batches, decoder.summary())
}

fn mixed_capture() -> Vec<u8> {
    let mut capture = TestCapture::new(1);
    for n in 0..20u16 {
        let mut rtp = vec![0x80, 0x60];
        rtp.extend(n.to_be_bytes());
        rtp.extend((u32::from(n) * 3000).to_be_bytes());
        rtp.extend([0, 0, 0, 7]);
        let time_us = u32::from(n) * 33_333;
        capture.record(time_us, &udp6_frame(&rtp));
        capture.record(time_us + 1, &tcp_frame(u32::from(n) * 100, 100));
    }
    capture.record(700_000, &[&[0; 12][..], &[0x08, 0x06], &[0; 28]].concat());
    capture.record(700_001, &with_link_header(&[0; 12], &[0; 14]));
    capture.content
}

#[test]
fn every_record_is_read_or_refused() {
    let (batches, summary) = decode_all(&mixed_capture(), 1000);
    assert_eq!(
        batches,
        [
            ("flow", 2),
            ("flow_interval", 40),
            ("rtp_stream", 1),
            ("rtp_interval", 1),
            ("capture_link", 1)
        ]
    );
    assert_eq!(summary.records_read, 40);
    let refused: Vec<_> = summary.refused.into_iter().collect();
    assert_eq!(refused, [("arp".into(), 1), ("link_header_cut".into(), 1)]);
    assert_eq!(summary.fault, None);
}

#[test]
fn fragments_that_come_before_the_first_one_are_read() {
    for version in [4, 6] {
        for order in [
            [7, 6, 5, 4, 3, 2, 1, 0],
            [0, 1, 2, 3, 4, 5, 6, 7],
            [3, 7, 0, 1, 6, 2, 5, 4],
        ] {
            let parts = udp_fragments(9, 8, version);
            let mut capture = TestCapture::new(1);
            for (place, number) in order.into_iter().enumerate() {
                capture.record(1_000_000 + place as u32 * 10, &parts[number]);
            }
            let (batches, summary) = decode_all(&capture.content, 1000);
            assert_eq!(
                (batches[0], summary.records_read),
                (("flow", 1), 8),
                "IPv{version} {order:?}"
            );
            assert!(summary.refused.is_empty());
        }
        // Without the first one, or with one a minute later, which is of another packet, they are refused.
        let mut capture = TestCapture::new(1);
        let parts = udp_fragments(9, 8, version);
        for part in &parts[4..] {
            capture.record(1_000_000, part);
        }
        capture.record(61_000_001, &parts[0]);
        let (_, summary) = decode_all(&capture.content, 1000);
        assert_eq!((summary.records_read, summary.refused["ip_fragment"]), (1, 4));
    }
}

#[test]
fn fragments_are_counted_in_the_file_that_has_them() {
    let parts = udp_fragments(9, 3, 4);
    let files: Vec<_> = [[&parts[2], &tcp_frame(1, 9)], [&parts[1], &parts[0]]]
        .into_iter()
        .map(|frames| {
            let mut capture = TestCapture::new(1);
            for frame in frames {
                capture.record(1_000_000, frame);
            }
            CaptureInput::Memory(capture.content)
        })
        .collect();
    let options = CaptureOptions {
        packets: true,
        ..CaptureOptions::default()
    };
    let mut decoder = CaptureDecoder::open(&files, options).unwrap();
    let mut packets = 0;
    while let Some((table, batch)) = decoder.next_batch().unwrap() {
        packets += if table == "packet" { batch.num_rows() } else { 0 };
    }
    let read: Vec<_> = decoder
        .file_summaries()
        .iter()
        .map(|summary| (summary.records_read, summary.refused.len()))
        .collect();
    assert_eq!((read, packets), (vec![(2, 0), (2, 0)], 4));
}

#[test]
fn batches_are_as_large_as_asked_for() {
    let (batches, _) = decode_all(&mixed_capture(), 1);
    assert_eq!(batches.iter().filter(|batch| batch.0 == "flow").count(), 2);
    assert_eq!(
        batches.iter().filter(|batch| batch.0 == "flow_interval").count(),
        40
    );
    assert!(batches.iter().all(|batch| batch.1 == 1));
}

#[test]
fn damaged_bytes_never_panic_and_never_hide_a_packet() {
    let content = mixed_capture();
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..3000 {
        let mut damaged = content.clone();
        for _ in 0..=random(20) {
            let place = 24 + random(damaged.len() - 24);
            damaged[place] = random(256) as u8;
        }
        let (_, summary) = decode_all(&damaged, 7);
        let seen = summary.records_read + summary.refused.values().sum::<u64>();
        assert!(summary.fault.is_some() || seen >= 1);
    }
}
