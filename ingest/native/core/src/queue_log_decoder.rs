//! From the text of the bpftrace queue probe to the tables `queue_event` and `queue_log`.

use std::path::Path;

use arrow_array::RecordBatch;

use crate::fault::{Fault, FaultKind};
use crate::queue_batch::{self, QueueLogRow};
use crate::queue_event::{EventKind, QueueEvent, QueueLine, parse_line};
use crate::queue_pairing::QueuePairing;
use crate::source::PlainReader;
use crate::summary::Summary;

/// A log shows an event among so many lines that are not empty.
const RECOGNITION_LINES: usize = 50;
const RECOGNITION_BYTES: usize = 64 * 1024;
/// Several times the longest line of the probe.
const LONGEST_LINE_BYTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Closing,
    Finished,
}

/// Decoder of one queue log: batches come one by one, each with the name of its table.
pub struct QueueLogDecoder {
    batch_rows: usize,
    source: PlainReader,
    pairing: QueuePairing,
    log: QueueLogRow,
    stage: Stage,
    summary: Summary,
}

impl QueueLogDecoder {
    /// Open a queue log.
    ///
    /// # Errors
    ///
    /// A fault where nothing can be decoded: no such file, empty, or without an event among its first lines.
    pub fn open(path: &Path, batch_rows: usize) -> Result<Self, Fault> {
        Self::new(PlainReader::open(path)?, batch_rows)
    }

    fn new(mut source: PlainReader, batch_rows: usize) -> Result<Self, Fault> {
        if source.fill(RECOGNITION_BYTES) == 0 {
            return Err(source.fault().cloned().unwrap_or_else(|| {
                Fault::new(
                    FaultKind::Truncated,
                    "queue log: needed at least one line, found 0 bytes at offset 0",
                    Some(0),
                )
            }));
        }
        let mut lines = source
            .available()
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty());
        if !lines
            .by_ref()
            .take(RECOGNITION_LINES)
            .any(|line| matches!(parse_line(line), Some(QueueLine::Event(_))))
        {
            return Err(Fault::new(
                FaultKind::UnrecognisedFormat,
                format!(
                    "queue log: needed an event line (E, D or X and 18 fields) among the first {RECOGNITION_LINES} lines, found none"
                ),
                Some(0),
            ));
        }
        Ok(Self {
            batch_rows: batch_rows.max(1),
            source,
            pairing: QueuePairing::default(),
            log: QueueLogRow::default(),
            stage: Stage::Reading,
            summary: Summary::default(),
        })
    }

    /// What was seen so far; whole once [`Self::next_batch`] has returned `None`.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The next batch with the name of its table, `None` after the last.
    ///
    /// # Errors
    ///
    /// Only where Arrow refuses a batch; a fault of the input is in the summary.
    pub fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        while self.stage == Stage::Reading {
            if let Some(packets) = self.pairing.take_full(self.batch_rows) {
                return Ok(Some(("queue_event", queue_batch::queue_events(&packets)?)));
            }
            // Looking whether a batch is full costs a little, so it is done after a good number of lines.
            for _ in 0..self.batch_rows.min(4096) {
                if !self.read_line() {
                    self.pairing.close();
                    self.stage = Stage::Closing;
                    break;
                }
            }
        }
        if self.stage == Stage::Closing {
            let packets = self.pairing.take(self.batch_rows);
            if !packets.is_empty() {
                return Ok(Some(("queue_event", queue_batch::queue_events(&packets)?)));
            }
            self.stage = Stage::Finished;
            return Ok(Some((
                "queue_log",
                queue_batch::queue_log(std::mem::take(&mut self.log))?,
            )));
        }
        Ok(None)
    }

    /// Read one line; whether there was one.
    fn read_line(&mut self) -> bool {
        let offset = self.source.offset();
        let Some(line) = next_line(&mut self.source) else {
            if let Some(fault) = self.source.fault() {
                self.summary.fail(fault.clone());
            }
            return false;
        };
        let content = self
            .source
            .available()
            .get(..line.content_bytes)
            .unwrap_or_default();
        let parsed = if line.end == LineEnd::Terminated {
            parse_line(content)
        } else {
            None
        };
        self.source.consume(line.consumed_bytes);
        match parsed {
            Some(QueueLine::Event(event)) => self.event(event),
            Some(QueueLine::Lost(events)) => {
                self.log.lost_events = self.log.lost_events.saturating_add(events);
            }
            Some(QueueLine::Nothing) => {}
            None => self.refuse(&line, offset),
        }
        true
    }

    fn event(&mut self, event: QueueEvent) {
        self.summary.records_read += 1;
        match event.kind {
            EventKind::Enqueue => self.log.enqueue_events += 1,
            EventKind::Dequeue => self.log.dequeue_events += 1,
            EventKind::Drop => self.log.drop_events += 1,
        }
        let time_ns = event.time_ns;
        self.log.first_event_ns = Some(
            self.log
                .first_event_ns
                .map_or(time_ns, |first| first.min(time_ns)),
        );
        self.log.last_event_ns = Some(self.log.last_event_ns.map_or(time_ns, |last| last.max(time_ns)));
        self.pairing.event(event);
    }

    fn refuse(&mut self, line: &Line, offset: u64) {
        if line.end != LineEnd::EndOfContent {
            self.summary.refuse("malformed_line".into());
            self.summary.fail(Fault::new(
                FaultKind::CorruptRecord,
                format!("queue log: the line at offset {offset} is no event, header or loss report; it was left out"),
                Some(offset),
            ));
            return;
        }
        // The probe ends every line, and a cut last field may still look whole.
        self.summary.refuse("truncated_line".into());
        let fault = self.source.fault().cloned().unwrap_or_else(|| {
            Fault::new(
                FaultKind::Truncated,
                format!("queue log: needed the end of the line at offset {offset}, found the end of the content after {} bytes", line.content_bytes),
                Some(offset),
            )
        });
        self.summary.fail(fault);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Terminated,
    /// Longer than any line of the probe; only its last piece is still available.
    Overlong,
    EndOfContent,
}

struct Line {
    /// Bytes without the line end.
    content_bytes: usize,
    /// Bytes to move on by.
    consumed_bytes: usize,
    end: LineEnd,
}

fn next_line(source: &mut PlainReader) -> Option<Line> {
    let line_end = |source: &PlainReader| source.available().iter().position(|byte| *byte == b'\n');
    if source.fill(1) == 0 {
        return None;
    }
    let mut overlong = false;
    let mut place = line_end(source);
    while place.is_none() {
        if source.available().len() > LONGEST_LINE_BYTES {
            overlong = true;
            source.consume(source.available().len());
        }
        let kept = source.available().len();
        if source.fill(kept + 1) == kept {
            break;
        }
        place = line_end(source);
    }
    let content_bytes = place.unwrap_or(source.available().len());
    Some(Line {
        content_bytes,
        consumed_bytes: place.map_or(content_bytes, |place| place + 1),
        end: match place {
            _ if overlong || content_bytes > LONGEST_LINE_BYTES => LineEnd::Overlong,
            Some(_) => LineEnd::Terminated,
            None => LineEnd::EndOfContent,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::reader_over;

    const E: &str = "E 100 ff01 1514 1 1514 40 3 6 10.0.1.2 1 10.0.2.2 2 3 4 0 0 - 8\n";
    const D: &str = "D 300 ff01 1514 0 0 40 3 6 10.0.1.2 1 10.0.2.2 2 3 4 201 0 - 8\n";

    type Decoded = (Vec<(&'static str, usize)>, Summary);

    fn decode_all(content: &[u8]) -> Result<Decoded, Fault> {
        let mut decoder = QueueLogDecoder::new(reader_over(content), 3)?;
        let mut batches = Vec::new();
        while let Some((table, batch)) = decoder.next_batch()? {
            batches.push((table, batch.num_rows()));
        }
        Ok((batches, decoder.summary().clone()))
    }

    #[test]
    fn batches_end_with_the_row_of_the_log() {
        let content = format!("# header\n\n{}", [E, D].concat().repeat(4));
        let (batches, summary) = decode_all(content.as_bytes()).unwrap();
        assert_eq!(
            batches,
            [("queue_event", 3), ("queue_event", 1), ("queue_log", 1)]
        );
        assert_eq!(
            summary,
            Summary {
                records_read: 8,
                ..Summary::default()
            }
        );
    }

    #[test]
    fn a_malformed_line_is_left_out_and_told_of() {
        let content = format!("{E}nonsense\nmore nonsense\n{D}");
        let (batches, summary) = decode_all(content.as_bytes()).unwrap();
        let fault = summary.fault.unwrap();
        assert_eq!(batches, [("queue_event", 1), ("queue_log", 1)]);
        assert_eq!(
            (fault.kind, fault.offset),
            (FaultKind::CorruptRecord, Some(E.len() as u64))
        );
        assert_eq!((summary.records_read, summary.refused["malformed_line"]), (2, 2));
    }

    #[test]
    fn a_cut_last_line_is_a_truncation() {
        let content = [E, D].concat();
        for length in E.len() + 1..content.len() {
            let (_, summary) = decode_all(&content.as_bytes()[..length]).unwrap();
            let fault = summary.fault.unwrap();
            assert_eq!(
                (fault.kind, fault.offset),
                (FaultKind::Truncated, Some(E.len() as u64))
            );
            assert_eq!((summary.records_read, summary.refused["truncated_line"]), (1, 1));
        }
    }

    #[test]
    fn an_overlong_line_is_one_malformed_line() {
        let content = format!("{E}{}{D}{D}", "E 1 ".repeat(300_000) + "\n");
        let (_, summary) = decode_all(content.as_bytes()).unwrap();
        assert_eq!((summary.records_read, summary.refused["malformed_line"]), (3, 1));
    }

    #[test]
    fn what_is_no_queue_log_is_said() {
        let kind = |content: &[u8]| decode_all(content).unwrap_err().kind;
        assert_eq!(kind(b""), FaultKind::Truncated);
        assert_eq!(kind(b"hello\nworld\n"), FaultKind::UnrecognisedFormat);
        assert_eq!(kind(&[0xd4, 0xc3, 0xb2, 0xa1]), FaultKind::UnrecognisedFormat);
        assert_eq!(
            kind(format!("{}{E}", "x\n".repeat(RECOGNITION_LINES)).as_bytes()),
            FaultKind::UnrecognisedFormat
        );
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let content = [E, D].concat().repeat(20).into_bytes();
        for place in E.len()..content.len() {
            let mut damaged = content.clone();
            damaged[place] = damaged[place].wrapping_mul(31).wrapping_add(7);
            let (_, summary) = decode_all(&damaged).unwrap();
            assert!(summary.records_read >= 37);
        }
    }
}
