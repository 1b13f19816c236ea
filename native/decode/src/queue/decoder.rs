//! From a queue log of any form to the tables `queue_packet`, `queue_interval`, `queue` and `queue_log`.

use std::path::Path;

use arrow_array::RecordBatch;

use crate::input::line_reader::{Line, LineEnd, next_line};
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::output::summary::Summary;
use crate::queue::batch::{self, QueueLogRow};
use crate::queue::form::{QueueLogForm, RECOGNITION_BYTES};
use crate::queue::format::qmon::Record;
use crate::queue::intake::Intake;
use crate::queue::interval::QueueInterval;
use crate::queue::packet_batch::QueuePacketBatch;
use crate::queue::pairing::matching::QueuePairing;
use crate::queue::reader::Reader;
use crate::queue::refusal::QueueLogRefusal;

/// Several times the longest line of any probe.
const LONGEST_LINE_BYTES: usize = 16 * 1024;
/// So many batches of packets wait for one whose end may never come.
const WAITING_BATCHES: usize = 4;
/// Records between two looks at whether a batch is full, which cost a little.
const RECORDS_A_LOOK: usize = 4096;

/// What the caller chooses.
#[derive(Debug, Clone, Copy)]
pub struct QueueLogOptions {
    /// Most rows of a batch.
    pub batch_rows: usize,
    /// Length of the intervals of `queue_interval`.
    pub interval_ms: i32,
    /// An event that comes longer than this after the one before is damaged.
    pub longest_silence_ms: i64,
}

impl Default for QueueLogOptions {
    fn default() -> Self {
        Self {
            batch_rows: 65_536,
            interval_ms: 100,
            longest_silence_ms: 24 * 3600 * 1000,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Closing,
    Intervals,
    Queues,
    Finished,
}

/// Decoder of one queue log: batches come one by one, each with the name of its table.
pub struct QueueLogDecoder {
    options: QueueLogOptions,
    reader: Reader,
    source: PlainReader,
    intake: Intake,
    packets: QueuePacketBatch,
    stage: Stage,
}

impl QueueLogDecoder {
    /// Open a queue log.
    ///
    /// # Errors
    ///
    /// A fault where nothing can be decoded: no such file, empty, not of the form, or a declaration that is not valid.
    pub fn open(path: &Path, form: &QueueLogForm, options: QueueLogOptions) -> Result<Self, Fault> {
        Self::new(PlainReader::open(path)?, form, options)
    }

    /// Decode content in memory, compressed or not.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn over(content: Vec<u8>, form: &QueueLogForm, options: QueueLogOptions) -> Result<Self, Fault> {
        Self::new(PlainReader::in_memory(content), form, options)
    }

    fn new(mut source: PlainReader, form: &QueueLogForm, options: QueueLogOptions) -> Result<Self, Fault> {
        let options = QueueLogOptions {
            batch_rows: options.batch_rows.max(1),
            interval_ms: options.interval_ms.max(1),
            longest_silence_ms: options.longest_silence_ms.max(1),
        };
        if source.fill(RECOGNITION_BYTES) == 0 {
            return Err(source.fault().cloned().unwrap_or_else(|| {
                Fault::new(
                    FaultKind::Truncated,
                    "queue log: needed at least one record, found 0 bytes at offset 0",
                    Some(0),
                )
            }));
        }
        let opened = Reader::open(form, source.available())?;
        let mut log = QueueLogRow::default();
        log.utc = opened.utc;
        let longest_silence_ns = options.longest_silence_ms.saturating_mul(1_000_000);
        let pairing = QueuePairing::new(
            opened.drops_logged,
            i64::from(options.interval_ms) * 1_000_000,
            longest_silence_ns,
        );
        Ok(Self {
            options,
            intake: Intake::new(
                pairing,
                log,
                longest_silence_ns,
                opened.reader.of_several_processors(),
            ),
            reader: opened.reader,
            source,
            packets: QueuePacketBatch::default(),
            stage: Stage::Reading,
        })
    }

    /// What was seen so far; whole once [`Self::next_batch`] has returned `None`.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.intake.summary
    }

    /// The next batch with the name of its table, `None` after the last.
    ///
    /// # Errors
    ///
    /// Only where Arrow refuses a batch; a fault of the input is in the summary.
    pub fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        let rows = self.options.batch_rows;
        while self.stage == Stage::Reading {
            if self.collect_packets() >= rows {
                return self.queue_packets().map(Some);
            }
            self.intake
                .pairing
                .set_aside(rows, rows.saturating_mul(WAITING_BATCHES));
            if self.intake.pairing.intervals().waiting() >= rows {
                let intervals = self.intake.pairing.intervals().take(rows, false);
                if !intervals.is_empty() {
                    return Ok(Some(("queue_interval", self.queue_intervals(&intervals)?)));
                }
            }
            for _ in 0..rows.min(RECORDS_A_LOOK) {
                if !self.read_record() {
                    self.intake.close();
                    self.stage = Stage::Closing;
                    break;
                }
            }
        }
        if self.stage == Stage::Closing {
            if self.collect_packets() > 0 {
                return self.queue_packets().map(Some);
            }
            self.stage = Stage::Intervals;
        }
        if self.stage == Stage::Intervals {
            let intervals = self.intake.pairing.intervals().take(rows, true);
            if !intervals.is_empty() {
                return Ok(Some(("queue_interval", self.queue_intervals(&intervals)?)));
            }
            self.stage = Stage::Queues;
            if !self.intake.queues.is_empty() {
                return Ok(Some(("queue", batch::queues(&self.intake.queues)?)));
            }
        }
        if self.stage == Stage::Queues {
            self.stage = Stage::Finished;
            return Ok(Some((
                "queue_log",
                batch::queue_log(std::mem::take(&mut self.intake.log))?,
            )));
        }
        Ok(None)
    }

    /// Move packets that have ended into the batch under construction; how many rows it has then.
    fn collect_packets(&mut self) -> usize {
        let (packets, queues) = (&mut self.packets, &self.intake.queues);
        let most = self.options.batch_rows.saturating_sub(packets.rows());
        self.intake
            .pairing
            .hand_out(most, |packet| packets.append(packet, queues));
        packets.rows()
    }

    fn queue_packets(&mut self) -> Result<(&'static str, RecordBatch), Fault> {
        Ok(("queue_packet", self.packets.finish(self.intake.log.clock())?))
    }

    fn queue_intervals(&self, intervals: &[QueueInterval]) -> Result<RecordBatch, Fault> {
        batch::queue_intervals(intervals, self.options.interval_ms, self.intake.log.clock())
    }

    /// Read one record or line; whether there was one and more may follow.
    fn read_record(&mut self) -> bool {
        if let Reader::Qmon(reader) = &mut self.reader {
            let offset = self.source.offset();
            return match reader.next(&mut self.source) {
                Record::Item(item) => {
                    self.intake.item(item, offset);
                    true
                }
                Record::Refused(reason, fault) => {
                    self.intake.summary.refuse(reason);
                    if let Some(fault) = fault {
                        self.intake.summary.fail(fault);
                    }
                    true
                }
                Record::Stopped(reason, fault) => {
                    if let Some(reason) = reason {
                        self.intake.log.probe_failed |= reason == QueueLogRefusal::ProbeFailed;
                        self.intake.summary.refuse(reason);
                    }
                    self.intake.summary.fail(fault);
                    false
                }
                Record::End => false,
            };
        }
        self.read_line()
    }

    fn read_line(&mut self) -> bool {
        let offset = self.source.offset();
        let Some(line) = next_line(&mut self.source, LONGEST_LINE_BYTES) else {
            if let Some(fault) = self.source.fault() {
                self.intake.summary.fail(fault.clone());
            }
            return false;
        };
        let content = self
            .source
            .available()
            .get(..line.content_bytes)
            .unwrap_or_default();
        let parsed = if line.end == LineEnd::Terminated {
            self.reader.line(content)
        } else {
            None
        };
        self.source.consume(line.consumed_bytes);
        match parsed {
            Some((item, more)) => {
                self.intake.item(item, offset);
                if let Some(more) = more {
                    self.intake.item(more, offset);
                }
            }
            None => self.refuse_line(&line, offset),
        }
        true
    }

    fn refuse_line(&mut self, line: &Line, offset: u64) {
        if line.end != LineEnd::EndOfContent {
            let message = format!(
                "queue log: the line at offset {offset} is not an event, header or loss report; it was left out"
            );
            self.intake.refuse(
                QueueLogRefusal::MalformedLine,
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        }
        // The probe ends every line, and a cut last field may still look whole.
        self.intake.summary.refuse(QueueLogRefusal::TruncatedLine);
        let fault = self.source.fault().cloned().unwrap_or_else(|| {
            Fault::new(
                FaultKind::Truncated,
                format!("queue log: needed the end of the line at offset {offset}, found the end of the content after {} bytes", line.content_bytes),
                Some(offset),
            )
        });
        self.intake.summary.fail(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    const E: &str = "E 100 ff01 1514 1 1514 40 3 6 10.0.1.2 1 10.0.2.2 2 3 4 0 0 - 8\n";
    const D: &str = "D 300 ff01 1514 0 0 40 3 6 10.0.1.2 1 10.0.2.2 2 3 4 201 0 - 8\n";

    type Decoded = (Vec<(&'static str, usize)>, Summary);

    fn decode_all(content: &[u8]) -> Result<Decoded, Fault> {
        let options = QueueLogOptions {
            batch_rows: 3,
            ..QueueLogOptions::default()
        };
        let mut decoder = QueueLogDecoder::over(content.to_vec(), &QueueLogForm::Bpftrace, options)?;
        let mut batches = Vec::new();
        while let Some((table, batch)) = decoder.next_batch()? {
            batches.push((table, batch.num_rows()));
        }
        Ok((batches, decoder.summary().clone()))
    }

    #[test]
    fn batches_end_with_the_row_of_the_log() {
        let times = (0..4).map(|n| {
            [E, D]
                .concat()
                .replace(" 100 ", &format!(" {n}100 "))
                .replace(" 300 ", &format!(" {n}300 "))
        });
        let content = format!("# header\n\n{}", times.collect::<String>());
        let (batches, summary) = decode_all(content.as_bytes()).unwrap();
        assert_eq!(
            batches,
            [
                ("queue_packet", 3),
                ("queue_packet", 1),
                ("queue_interval", 1),
                ("queue", 1),
                ("queue_log", 1)
            ]
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
    fn lost_events_are_counted_up_to_what_can_be_added_up() {
        let content = format!("{E}{D}Lost 9223372036854775807 events\nLost 9223372036854775807 events\n");
        let options = QueueLogOptions::default();
        let mut decoder =
            QueueLogDecoder::over(content.into_bytes(), &QueueLogForm::Bpftrace, options).unwrap();
        let mut lost = Vec::new();
        while let Some((table, batch)) = decoder.next_batch().unwrap() {
            if table == "queue_log" {
                let column = batch.column_by_name("lost_events").unwrap();
                lost.push(column.as_primitive::<Int64Type>().value(0));
            }
        }
        assert_eq!(lost, [1 << 40]);
    }

    #[test]
    fn a_malformed_line_is_left_out_and_told_of() {
        let content = format!("{E}nonsense\nmore nonsense\n{D}");
        let (batches, summary) = decode_all(content.as_bytes()).unwrap();
        let fault = summary.fault.unwrap();
        assert_eq!(batches.first(), Some(&("queue_packet", 1)));
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
            kind(format!("{}{E}", "x\n".repeat(crate::queue::form::RECOGNITION_LINES)).as_bytes()),
            FaultKind::UnrecognisedFormat
        );
    }

    #[test]
    fn times_that_cannot_be_are_refused_and_the_rest_is_kept() {
        let later = |line: &str, time: &str| line.replace(" 100 ", time).replace(" 300 ", time);
        let content = [
            E,
            D,
            &later(E, " 9000000000 "),
            // Handed on already: a second and more after it were read.
            &later(D, " 200 "),
            // A week later, then where it was.
            &later(D, " 604800000000000 "),
            &later(D, " 9000000201 "),
        ]
        .concat();
        let (_, summary) = decode_all(content.as_bytes()).unwrap();
        let fault = summary.fault.unwrap();
        assert_eq!(summary.records_read, 4);
        assert_eq!(
            (
                summary.refused["time_backwards"],
                summary.refused["impossible_time"]
            ),
            (1, 1)
        );
        assert_eq!(fault.kind, FaultKind::CorruptRecord);
        assert!(fault.message.contains("before one read earlier"));
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let content = [E, D].concat().repeat(20).into_bytes();
        for place in E.len()..content.len() {
            let mut damaged = content.clone();
            damaged[place] = damaged[place].wrapping_mul(31).wrapping_add(7);
            let (_, summary) = decode_all(&damaged).unwrap();
            assert!(summary.records_read >= 36);
        }
    }
}
