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

/// The queues of a network card are written in turn, so two captures of one recording may overlap by a little.
const OVERLAP_NS: i64 = 1_000_000_000;

/// One capture, compressed or not.
#[derive(Debug, Clone)]
pub enum CaptureInput {
    /// A file.
    File(PathBuf),
    /// A file whose content is hashed as it is read; a capture, not an archive.
    HashedFile(PathBuf),
    /// Content in memory.
    Memory(Vec<u8>),
}

impl CaptureInput {
    fn source(&self) -> Result<PlainReader, Fault> {
        match self {
            Self::File(path) => PlainReader::open(path),
            Self::HashedFile(path) => PlainReader::open(path).map(PlainReader::hashing),
            Self::Memory(content) => Ok(PlainReader::in_memory(content.clone())),
        }
    }

    /// Its reader, at the first capture of it.
    fn open(&self) -> Result<FileReader, Fault> {
        let mut source = self.source()?;
        // A packet may hold what would be the magic of an archive.
        let form = if CaptureReader::begins(&mut source) {
            None
        } else {
            Archive::form_of(&mut source)
        };
        let Some(form) = form else {
            return CaptureReader::new(source).map(|capture| FileReader::new(capture, None));
        };
        let mut archive = Archive::new(source, form);
        match archive.next_capture() {
            Some(capture) => Ok(FileReader::new(capture, Some(archive))),
            None => Err(archive.without_capture()),
        }
    }
}

/// Whether a file is an archive that has a capture among its files.
///
/// # Errors
///
/// A fault where it cannot be opened.
pub fn holds_capture(input: &CaptureInput) -> Result<bool, Fault> {
    let mut source = input.source()?;
    let form = Archive::form_of(&mut source);
    Ok(form.is_some_and(|form| Archive::new(source, form).next_capture().is_some()))
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
                        "captures with overlapping times in one archive; give each as a separate file",
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
    /// SHA-256 of the content of the last file that ended, if it is hashed.
    pub(crate) content_hash: Result<Option<String>, Fault>,
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
            content_hash: Ok(None),
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
                for (reason, count) in &archive.refused {
                    summary.refuse_all(*reason, *count);
                }
                if let Some(fault) = archive.fault {
                    summary.fail(fault);
                }
            } else {
                self.content_hash = file.capture.into_source().into_hash();
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
mod tests;
