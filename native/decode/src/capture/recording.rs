//! A recording: the packets of one capture file, or of several that follow one another in time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::capture::archive::Archive;
use crate::capture::reader::CaptureReader;
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::output::summary::Summary;
use crate::packet::captured::CapturedPacket;
use crate::packet::link_type::LinkType;
use crate::packet::refusal::PacketRefusal;

/// The queues of a network card are written in turn, so two captures of one recording may overlap by a little.
const OVERLAP_NS: i64 = 1_000_000_000;

/// One capture, compressed or not.
#[derive(Debug, Clone)]
pub enum CaptureInput {
    /// A file.
    File(PathBuf),
    /// Content in memory.
    Memory(Vec<u8>),
}

impl CaptureInput {
    /// Its reader, at the first capture of it.
    fn open(&self) -> Result<FileReader, Fault> {
        let mut source = match self {
            Self::File(path) => PlainReader::open(path)?,
            Self::Memory(content) => PlainReader::in_memory(content.clone()),
        };
        // A packet may hold what would be the magic of an archive.
        if CaptureReader::begins(&mut source) || !Archive::begins(&mut source) {
            return CaptureReader::new(source).map(|capture| FileReader::new(capture, None));
        }
        let mut archive = Archive::new(source);
        match archive.next_capture() {
            Some(capture) => Ok(FileReader::new(capture, Some(archive))),
            None => Err(archive.fault.unwrap_or_else(|| {
                Fault::new(
                    FaultKind::UnrecognisedFormat,
                    format!(
                        "archive: none of its {} files is a pcap or pcapng",
                        archive.other_members
                    ),
                    Some(0),
                )
            })),
        }
    }
}

/// Whether a content begins with an archive whose first files, as far as they are there, have a capture among them.
#[must_use]
pub fn holds_capture(head: &[u8]) -> bool {
    let mut source = PlainReader::in_memory(head.to_vec());
    Archive::begins(&mut source) && Archive::new(source).next_capture().is_some()
}

/// Reader of one file: a capture, or an archive of captures that follow one another in time.
pub(crate) struct FileReader {
    capture: CaptureReader,
    archive: Option<Archive>,
    /// Earliest and latest packet of the capture before this one in the archive, until the first packet of this one.
    before_ns: Option<(i64, i64)>,
    /// Earliest and latest packet of this capture so far.
    span_ns: Option<(i64, i64)>,
}

impl FileReader {
    fn new(capture: CaptureReader, archive: Option<Archive>) -> Self {
        Self {
            capture,
            archive,
            before_ns: None,
            span_ns: None,
        }
    }

    /// The next packet of the current capture, `None` at its end.
    pub(crate) fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, Fault> {
        let packet = self.capture.next_packet()?;
        if let Some(CapturedPacket { time_ns, .. }) = packet.filter(|packet| packet.implausible().is_none()) {
            if let Some((first_ns, last_ns)) = self.before_ns.take() {
                // A second capture of the same seconds begins about when the first one does, however short both are.
                let overlap_ns = OVERLAP_NS.min((last_ns - first_ns) / 2);
                if time_ns < last_ns - overlap_ns {
                    return Err(Fault::new(
                        FaultKind::OverlappingCaptures,
                        "captures of overlapping times in one archive; give each as a file of its own",
                        None,
                    ));
                }
            }
            let (first_ns, last_ns) = self.span_ns.unwrap_or((time_ns, time_ns));
            self.span_ns = Some((first_ns.min(time_ns), last_ns.max(time_ns)));
        }
        Ok(packet)
    }

    /// Go to the next capture; whether there is one.
    fn next_capture(&mut self) -> bool {
        let next = self.archive.as_mut().and_then(Archive::next_capture);
        let is_there = next.is_some();
        if let Some(capture) = next {
            self.capture = capture;
            self.before_ns = self.span_ns.take().or(self.before_ns);
        }
        is_there
    }
}

/// Reader of a recording's files, one after the other; each has a summary of its own.
pub(crate) struct RecordingReader {
    /// The file being read, `None` after the last.
    pub(crate) file: Option<FileReader>,
    /// Files that were begun, that which is being read last.
    pub(crate) summaries: Vec<Summary>,
    /// Packets by number of their link type, of the files that have ended.
    pub(crate) link_records: BTreeMap<u32, u64>,
    /// Files to come, the next one last.
    coming: Vec<CaptureInput>,
}

impl RecordingReader {
    /// Open the first file; the others are opened as their turn comes.
    pub(crate) fn open(inputs: &[CaptureInput]) -> Result<Self, Fault> {
        let Some((first, later)) = inputs.split_first() else {
            return Err(Fault::new(
                FaultKind::SourceRead,
                "capture: no file was given",
                None,
            ));
        };
        Ok(Self {
            file: Some(first.open()?),
            summaries: vec![Summary::default()],
            link_records: BTreeMap::new(),
            coming: later.iter().rev().cloned().collect(),
        })
    }

    /// End the capture being read, with the fault that ended it if there was one, and open the next.
    ///
    /// All captures in an archive are one file of the recording.
    pub(crate) fn end_file(&mut self, fault: Option<Fault>) {
        if let (Some(mut file), Some(summary)) = (self.file.take(), self.summaries.last_mut()) {
            // What stands in the archive after an overlap is another recording as well, or mixed with one.
            let is_last = matches!(&fault, Some(fault) if fault.kind == FaultKind::OverlappingCaptures);
            if let Some(fault) = fault {
                summary.fail(match &file.archive {
                    Some(archive) => archive.of_member(&fault),
                    None => fault,
                });
            }
            if summary.records_read == 0 {
                if let Some(fault) = unsupported(&file.capture) {
                    summary.fail(fault);
                }
            }
            for (number, records) in file.capture.link_records() {
                *self.link_records.entry(number).or_default() += records;
            }
            if !is_last && file.next_capture() {
                self.file = Some(file);
                return;
            }
            if let Some(archive) = file.archive {
                for _ in 0..archive.other_members {
                    summary.refuse(PacketRefusal::MemberWithoutCapture);
                }
                if let Some(fault) = archive.fault {
                    summary.fail(fault);
                }
            }
        }
        while let Some(input) = self.coming.pop() {
            let mut summary = Summary::default();
            match input.open() {
                Ok(file) => self.file = Some(file),
                Err(fault) => summary.fail(fault),
            }
            self.summaries.push(summary);
            if self.file.is_some() {
                return;
            }
        }
    }

    /// Where no record of any file was decoded, say so of each file that has refused records.
    pub(crate) fn end(&mut self) {
        if self.summaries.iter().any(|summary| summary.records_read > 0) {
            return;
        }
        for summary in &mut self.summaries {
            if !summary.refused.is_empty() {
                let fault = nothing_usable(summary);
                summary.fail(fault);
            }
        }
    }

    /// What was seen of all files so far.
    pub(crate) fn summary(&self) -> Summary {
        Summary::of_all(&self.summaries)
    }
}

/// The fault of a capture of whose link types none has a decoder.
fn unsupported(reader: &CaptureReader) -> Option<Fault> {
    // Interfaces are of the last section, records of all.
    let of_records = reader.link_records();
    let numbers: Vec<_> = of_records
        .iter()
        .map(|(number, _)| LinkType::from_number(*number))
        .collect();
    let mut described = Vec::new();
    for link in numbers.into_iter().chain(reader.links()) {
        let LinkType::Other(number) = link else {
            return None;
        };
        let link = LinkType::describe(number);
        if !described.contains(&link) {
            described.push(link);
        }
    }
    let offset = matches!(reader, CaptureReader::Pcap(_)).then_some(20);
    let place = if offset.is_some() {
        "capture header: link type at offset 20"
    } else {
        "interface description: link type"
    };
    (!described.is_empty()).then(|| {
        Fault::new(
            FaultKind::UnsupportedLinkType,
            format!(
                "{place} is {}, for which there is no decoder; needed one of {}",
                described.join(" and "),
                LinkType::names()
            ),
            offset,
        )
    })
}

fn nothing_usable(summary: &Summary) -> Fault {
    let reasons: Vec<_> = summary
        .refused
        .iter()
        .map(|(reason, count)| {
            let number = reason
                .strip_prefix("link_type_")
                .and_then(|number| number.parse().ok());
            match number {
                Some(number) => format!("{count} of link type {}", LinkType::describe(number)),
                None => format!("{count} {reason}"),
            }
        })
        .collect();
    Fault::new(
        FaultKind::NothingUsable,
        format!(
            "capture: none of its {} records holds a packet that can be decoded: {}",
            summary.refused.values().sum::<u64>(),
            reasons.join(", ")
        ),
        None,
    )
}

/// When a capture began and ended, and on which links: this decides whether another one continues it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureSpan {
    /// Earliest packet, UTC epoch, in nanoseconds; `None` without a packet.
    pub first_ns: Option<i64>,
    /// Latest packet, UTC epoch, in nanoseconds.
    pub last_ns: Option<i64>,
    /// Link types of the packets, each once, in ascending order.
    pub link_types: Vec<u32>,
}

/// Read the times and link types of a capture, not its packets.
///
/// # Errors
///
/// A fault where nothing of it can be read; of a damaged capture the span ends at the damage.
pub fn capture_span(input: &CaptureInput) -> Result<CaptureSpan, Fault> {
    let mut file = input.open()?;
    let mut span = CaptureSpan::default();
    let mut links: Vec<LinkType> = Vec::new();
    loop {
        let packet = match file.next_packet() {
            Ok(Some(packet)) => packet,
            Err(fault) if fault.kind == FaultKind::OverlappingCaptures => break,
            Ok(None) | Err(_) => {
                if file.next_capture() {
                    continue;
                }
                break;
            }
        };
        if packet.implausible().is_some() {
            continue;
        }
        let time_ns = packet.time_ns;
        span.first_ns = Some(span.first_ns.map_or(time_ns, |first_ns| first_ns.min(time_ns)));
        span.last_ns = Some(span.last_ns.map_or(time_ns, |last_ns| last_ns.max(time_ns)));
        if !links.contains(&packet.link) {
            links.push(packet.link);
        }
    }
    span.link_types = links.into_iter().map(LinkType::number).collect();
    span.link_types.sort_unstable();
    Ok(span)
}

#[cfg(test)]
mod tests {
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
        let mut times = Vec::new();
        while let Some(reader) = recording.file.as_mut() {
            match reader.next_packet() {
                Ok(Some(packet)) => times.push(packet.time_ns),
                Ok(None) => recording.end_file(None),
                Err(fault) => recording.end_file(Some(fault)),
            }
        }
        assert_eq!(times, [1000, 2000, 5000, 9000]);
        assert_eq!((recording.summaries.len(), recording.link_records[&1]), (2, 4));
        assert_eq!(recording.summaries[0].refused["member_without_capture"], 1);
        assert!(recording.summaries.iter().all(|summary| summary.fault.is_none()));
        let span = capture_span(&inputs[0]).unwrap();
        assert_eq!((span.first_ns, span.last_ns), (Some(1000), Some(5000)));
        assert!(holds_capture(&archive) && holds_capture(&archive[..1600]));
        assert!(!holds_capture(&archive[..1024]) && !holds_capture(b"a text"));
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

    /// Times of the packets that are read, and what was seen.
    fn read(inputs: &[CaptureInput]) -> (Vec<i64>, Summary) {
        let mut recording = RecordingReader::open(inputs).unwrap();
        let mut times = Vec::new();
        while let Some(reader) = recording.file.as_mut() {
            match reader.next_packet() {
                Ok(Some(packet)) => times.push(packet.time_ns / 1000),
                Ok(None) => recording.end_file(None),
                Err(fault) => recording.end_file(Some(fault)),
            }
        }
        (times, recording.summary())
    }

    fn archive_of(captures: &[&[u32]]) -> CaptureInput {
        let mut entries: Vec<_> = captures
            .iter()
            .map(|times_us| entry("a.pcap", b'0', &capture(times_us)))
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
            let overlap = "of the archive: captures of overlapping times in one archive; give each as a file of its own";
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
        let mut times = Vec::new();
        while let Some(reader) = recording.file.as_mut() {
            match reader.next_packet() {
                Ok(Some(packet)) => times.push(packet.time_ns),
                Ok(None) => recording.end_file(None),
                Err(fault) => recording.end_file(Some(fault)),
            }
        }
        assert_eq!(times, [1000, 3000]);
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
}
