//! A recording: the packets of one capture file, or of several that follow one another in time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::capture::archive::Archive;
use crate::capture::reader::CaptureReader;
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::output::summary::Summary;
use crate::packet::link_type::LinkType;
use crate::packet::refusal::PacketRefusal;

/// One capture, compressed or not.
#[derive(Debug, Clone)]
pub enum CaptureInput {
    /// A file.
    File(PathBuf),
    /// Content in memory.
    Memory(Vec<u8>),
}

impl CaptureInput {
    /// Its reader; of an archive, that of the first capture in it, and the archive.
    fn open(&self) -> Result<(CaptureReader, Option<Archive>), Fault> {
        let mut source = match self {
            Self::File(path) => PlainReader::open(path)?,
            Self::Memory(content) => PlainReader::in_memory(content.clone()),
        };
        // A packet may hold what would be the magic of an archive.
        if CaptureReader::begins(&mut source) || !Archive::begins(&mut source) {
            return CaptureReader::new(source).map(|reader| (reader, None));
        }
        let mut archive = Archive::new(source);
        match archive.next_capture() {
            Some(reader) => Ok((reader, Some(archive))),
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

/// Reader of a recording's files, one after the other; each has a summary of its own.
pub(crate) struct RecordingReader {
    /// The file being read, `None` after the last.
    pub(crate) file: Option<CaptureReader>,
    /// Files that were begun, that which is being read last.
    pub(crate) summaries: Vec<Summary>,
    /// Packets by number of their link type, of the files that have ended.
    pub(crate) link_records: BTreeMap<u32, u64>,
    /// The archive that holds the file, if it is in one.
    archive: Option<Archive>,
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
        let (file, archive) = first.open()?;
        Ok(Self {
            file: Some(file),
            archive,
            summaries: vec![Summary::default()],
            link_records: BTreeMap::new(),
            coming: later.iter().rev().cloned().collect(),
        })
    }

    /// End the file being read, with the fault that ended it if there was one, and open the next.
    ///
    /// All captures in an archive are one file of the recording.
    pub(crate) fn end_file(&mut self, fault: Option<Fault>) {
        if let Some(summary) = self.summaries.last_mut() {
            if let Some(fault) = fault {
                summary.fail(match &self.archive {
                    Some(archive) => archive.of_member(&fault),
                    None => fault,
                });
            }
            if let Some(reader) = &self.file {
                if summary.records_read == 0 {
                    if let Some(fault) = unsupported(reader) {
                        summary.fail(fault);
                    }
                }
            }
        }
        for (number, records) in self.file.iter().flat_map(CaptureReader::link_records) {
            *self.link_records.entry(number).or_default() += records;
        }
        self.file = self.archive.as_mut().and_then(Archive::next_capture);
        if self.file.is_some() {
            return;
        }
        if let (Some(archive), Some(summary)) = (self.archive.take(), self.summaries.last_mut()) {
            for _ in 0..archive.other_members {
                summary.refuse(PacketRefusal::MemberWithoutCapture);
            }
            if let Some(fault) = archive.fault {
                summary.fail(fault);
            }
        }
        while let Some(input) = self.coming.pop() {
            let mut summary = Summary::default();
            match input.open() {
                Ok((reader, archive)) => {
                    self.file = Some(reader);
                    self.archive = archive;
                }
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
    let (mut reader, mut archive) = input.open()?;
    let mut span = CaptureSpan::default();
    let mut links: Vec<LinkType> = Vec::new();
    loop {
        let Ok(Some(packet)) = reader.next_packet() else {
            match archive.as_mut().and_then(Archive::next_capture) {
                Some(next) => reader = next,
                None => break,
            }
            continue;
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
        assert!(CaptureInput::Memory(capture.content).open().unwrap().1.is_none());
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
