use super::*;
use crate::capture::archive::tests::entry;
use crate::test_capture::{TestCapture, tcp_frame};

fn capture(times_us: &[u32]) -> Vec<u8> {
    let mut capture = TestCapture::new(1);
    for time_us in times_us {
        capture.record(*time_us, &tcp_frame(1, 10));
    }
    capture.content
}

#[test]
fn a_span_is_from_the_earliest_to_the_latest_packet() {
    let span = capture_span(&CaptureInput::Memory(capture(&[7, 5, 9, 8]))).unwrap();
    assert_eq!(
        (span.first_ns, span.last_ns, span.link_types),
        (Some(5000), Some(9000), vec![1])
    );
    let empty = capture_span(&CaptureInput::Memory(capture(&[]))).unwrap();
    assert_eq!(empty, CaptureSpan::default());
    assert!(capture_span(&CaptureInput::Memory(vec![1; 99])).is_err());
}

#[test]
fn the_captures_of_an_archive_are_one_file_of_the_recording() {
    let archive = [
        entry("README", b'0', b"a text"),
        entry("one.pcap", b'0', &capture(&[1, 2])),
        entry("two.pcap", b'0', &capture(&[5])),
        vec![0; 1024],
    ]
    .concat();
    let plain = capture(&[9]);
    let inputs: Vec<_> = [archive.clone(), plain].map(CaptureInput::Memory).into();
    let mut recording = RecordingReader::open(&inputs).unwrap();
    assert_eq!(times_of(&mut recording), [1, 2, 5, 9]);
    assert_eq!((recording.summaries.len(), recording.link_records[&1]), (2, 4));
    assert_eq!(recording.summaries[0].refused["member_without_capture"], 1);
    assert!(recording.summaries.iter().all(|summary| summary.fault.is_none()));
    let span = capture_span(&inputs[0]).unwrap();
    assert_eq!((span.first_ns, span.last_ns), (Some(1000), Some(5000)));
    let holds = |content: &[u8]| holds_capture(&CaptureInput::Memory(content.to_vec())).unwrap();
    assert!(holds(&archive) && holds(&archive[..1600]));
    assert!(!holds(&archive[..1024]) && !holds(b"a text"));
    // However far behind the other files the first capture is.
    assert!(holds(
        &[entry("large.csv", b'0', &vec![b'9'; 1 << 20]), archive.clone()].concat()
    ));
    let none = [entry("README", b'0', b"a text"), vec![0; 1024]].concat();
    let fault = CaptureInput::Memory(none).open().map(drop).unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnrecognisedFormat);
    // The magic of an archive in the middle of a capture.
    let mut capture = TestCapture::new(1);
    capture.record(1, &[0; 500]);
    capture.content[257..262].copy_from_slice(b"ustar");
    assert!(
        CaptureInput::Memory(capture.content)
            .open()
            .unwrap()
            .archive
            .is_none()
    );
}

/// Times of the packets that are read, µs.
fn times_of(recording: &mut RecordingReader) -> Vec<i64> {
    let mut times = Vec::new();
    while let Some(reader) = recording.file.as_mut() {
        match reader.next_packet() {
            Ok(Some(packet)) => times.push(packet.time_ns / 1000),
            Ok(None) => recording.end_file(None),
            Err(fault) => recording.end_file(Some(fault)),
        }
    }
    times
}

/// Times of the packets that are read, µs, and what was seen.
fn read(inputs: &[CaptureInput]) -> (Vec<i64>, Summary) {
    let mut recording = RecordingReader::open(inputs).unwrap();
    (times_of(&mut recording), recording.summary())
}

fn archive_of(captures: &[&[u32]]) -> CaptureInput {
    let mut entries: Vec<_> = captures
        .iter()
        .enumerate()
        .map(|(number, times_us)| entry(&format!("{number}.pcap"), b'0', &capture(times_us)))
        .collect();
    entries.push(vec![0; 1024]);
    CaptureInput::Memory(entries.concat())
}

#[test]
fn captures_of_overlapping_times_in_an_archive_are_not_pooled() {
    let seconds = 1_000_000;
    // Both ends of one transfer, of half a second and of nine; then captures that stand in the wrong order.
    for (captures, pooled) in [
        (
            [
                &[seconds, seconds + 500_000][..],
                &[seconds + 10_000, seconds + 510_000],
                &[9 * seconds],
            ],
            vec![seconds, seconds + 500_000],
        ),
        (
            [
                &[seconds, 10 * seconds],
                &[],
                &[seconds + 10_000, 10 * seconds + 10_000],
            ],
            vec![seconds, 10 * seconds],
        ),
        (
            [&[seconds], &[5 * seconds, 6 * seconds], &[2 * seconds]],
            vec![seconds, 5 * seconds, 6 * seconds],
        ),
    ] {
        let input = archive_of(&captures);
        let (times, summary) = read(&[input.clone(), CaptureInput::Memory(capture(&[20 * seconds]))]);
        let expected = pooled.iter().copied().chain([20 * seconds]);
        assert_eq!(times, expected.map(i64::from).collect::<Vec<_>>());
        let fault = summary.fault.unwrap();
        assert_eq!(fault.kind, FaultKind::OverlappingCaptures);
        let overlap =
            "of the archive: captures with overlapping times in one archive; give each as a separate file";
        assert!(fault.message.ends_with(overlap), "{fault}");
        let last_ns = pooled.last().map(|last_us| i64::from(*last_us) * 1000);
        assert_eq!(capture_span(&input).unwrap().last_ns, last_ns);
    }
}

#[test]
fn captures_of_an_archive_may_overlap_by_what_queues_of_a_network_card_do() {
    let seconds = 1_000_000;
    let captures: [&[u32]; 3] = [
        &[seconds, 5 * seconds],
        &[5 * seconds - 900_000, 8 * seconds],
        &[8 * seconds],
    ];
    let (times, summary) = read(&[archive_of(&captures)]);
    assert_eq!((times.len(), summary.fault), (5, None));
}

#[test]
fn each_file_has_a_summary_and_a_fault_ends_only_its_own() {
    let mut cut = capture(&[1, 2]);
    cut.pop();
    let inputs: Vec<_> = [cut, b"no capture at all, but a text".to_vec(), capture(&[3])]
        .map(CaptureInput::Memory)
        .into();
    let mut recording = RecordingReader::open(&inputs).unwrap();
    assert_eq!(times_of(&mut recording), [1, 3]);
    let faults: Vec<_> = recording
        .summaries
        .iter()
        .map(|summary| summary.fault.as_ref().map(|fault| fault.kind))
        .collect();
    assert_eq!(
        faults,
        [
            Some(FaultKind::Truncated),
            Some(FaultKind::UnrecognisedFormat),
            None
        ]
    );
    assert_eq!(recording.summary().fault.unwrap().kind, FaultKind::Truncated);
}

#[test]
fn a_capture_of_links_without_decoder_names_those_of_every_section() {
    let mut content = Vec::new();
    for link in [147u16, 189] {
        let block = |kind: u32, body: &[u8]| {
            let length = (12 + body.len() as u32).to_le_bytes();
            [&kind.to_le_bytes()[..], &length, body, &length].concat()
        };
        let header = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        content.extend(block(0x0a0d_0d0a, &header));
        content.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6]].concat()));
        content.extend(block(3, &[&8u32.to_le_bytes()[..], &[9; 8]].concat()));
    }
    let mut recording = RecordingReader::open(&[CaptureInput::Memory(content)]).unwrap();
    while let Some(reader) = recording.file.as_mut() {
        if matches!(reader.next_packet(), Ok(None)) {
            recording.end_file(None);
        }
    }
    let fault = recording.summary().fault.unwrap();
    assert_eq!(fault.kind, FaultKind::UnsupportedLinkType);
    assert!(fault.message.contains("147, user0 and 189, usb_linux"), "{fault}");
}
