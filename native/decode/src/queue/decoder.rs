//! From a queue log of any form to the tables `queue_packet`, `queue_interval`, `queue` and `queue_log`.

use std::path::Path;

use arrow_array::RecordBatch;
use hashbrown::HashMap;

use crate::input::fault::{Fault, FaultKind};
use crate::input::line_reader::{Line, LineEnd, next_line};
use crate::input::source::PlainReader;
use crate::output::summary::Summary;
use crate::queue::batch::{self, QueueLogRow, QueueRow};
use crate::queue::event::{EventKind, QueueEvent, QueueId, QueueItem};
use crate::queue::flow::FlowCache;
use crate::queue::form::{QueueLogForm, RECOGNITION_BYTES, unrecognised};
use crate::queue::format::bpftrace;
use crate::queue::format::perf::PerfReader;
use crate::queue::format::qmon::{QmonReader, Record};
use crate::queue::format::table::{DeclaredClock, TableDeclaration, TableReader};
use crate::queue::packet_batch::QueuePacketBatch;
use crate::queue::pairing::QueuePairing;
use crate::queue::sort_window::SortWindow;

/// Several times the longest line of any probe.
const LONGEST_LINE_BYTES: usize = 16 * 1024;
/// So many batches of packets wait for one whose end may never come.
const WAITING_BATCHES: usize = 4;
/// Records between two looks at whether a batch is full, which cost a little.
const RECORDS_A_LOOK: usize = 4096;
/// More queues than any host has; a damaged log could name a new one with each event.
const MOST_QUEUES: usize = 1024;
/// Times beyond the year 2096 are damage.
const LATEST_NS: i64 = 4_000_000_000_000_000_000;

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

enum Reader {
    Bpftrace(FlowCache),
    Perf(PerfReader),
    Qmon(Box<QmonReader>),
    Table(Box<TableReader>),
}

impl Reader {
    /// What one line says, and a second thing it may say; `None` if it is malformed.
    fn line(&mut self, line: &[u8]) -> Option<(QueueItem, Option<QueueItem>)> {
        match self {
            Self::Bpftrace(flows) => bpftrace::parse_line(line, flows).map(|item| (item, None)),
            Self::Perf(reader) => reader.parse_line(line),
            Self::Table(reader) => reader.parse_line(line).map(|item| (item, None)),
            Self::Qmon(_) => None,
        }
    }
}

/// What waits for its turn in time.
enum Timed {
    Event { queue: u32, event: QueueEvent },
    Lost(i64),
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
    window: SortWindow<Timed>,
    pairing: QueuePairing,
    packets: QueuePacketBatch,
    numbers: HashMap<QueueId, u32>,
    queues: Vec<QueueRow>,
    last_queue: Option<(QueueId, u32)>,
    log: QueueLogRow,
    events_read: bool,
    stage: Stage,
    summary: Summary,
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
        let mut log = QueueLogRow::default();
        let (reader, drops_logged) = match form {
            QueueLogForm::Table(declaration) => {
                let declaration = TableDeclaration::from_json(declaration)?;
                log.utc = declaration.clock == DeclaredClock::Utc;
                let drops_logged = declaration.drops_logged;
                (
                    Reader::Table(Box::new(TableReader::new(declaration)?)),
                    drops_logged,
                )
            }
            known if QueueLogForm::of(source.available()).as_ref() == Some(known) => match form {
                QueueLogForm::Perf => (Reader::Perf(PerfReader::default()), true),
                QueueLogForm::Qmon => (Reader::Qmon(Box::default()), false),
                _ => (Reader::Bpftrace(FlowCache::default()), true),
            },
            _ => return Err(unrecognised(form)),
        };
        Ok(Self {
            options,
            reader,
            source,
            window: SortWindow::default(),
            pairing: QueuePairing::new(
                drops_logged,
                i64::from(options.interval_ms) * 1_000_000,
                options.longest_silence_ms.saturating_mul(1_000_000),
            ),
            packets: QueuePacketBatch::default(),
            numbers: HashMap::new(),
            queues: Vec::new(),
            last_queue: None,
            log,
            events_read: false,
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
        let rows = self.options.batch_rows;
        while self.stage == Stage::Reading {
            if self.collect_packets() >= rows {
                return self.queue_packets().map(Some);
            }
            self.pairing.set_aside(rows, rows.saturating_mul(WAITING_BATCHES));
            if self.pairing.intervals().waiting() >= rows {
                let intervals = self.pairing.intervals().take(rows, false);
                if !intervals.is_empty() {
                    return Ok(Some(("queue_interval", self.queue_intervals(&intervals)?)));
                }
            }
            for _ in 0..rows.min(RECORDS_A_LOOK) {
                if !self.read_record() {
                    self.close();
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
            let intervals = self.pairing.intervals().take(rows, true);
            if !intervals.is_empty() {
                return Ok(Some(("queue_interval", self.queue_intervals(&intervals)?)));
            }
            self.stage = Stage::Queues;
            if !self.queues.is_empty() {
                return Ok(Some(("queue", batch::queues(&self.queues)?)));
            }
        }
        if self.stage == Stage::Queues {
            self.stage = Stage::Finished;
            return Ok(Some((
                "queue_log",
                batch::queue_log(std::mem::take(&mut self.log))?,
            )));
        }
        Ok(None)
    }

    /// Move packets that have ended into the batch under construction; how many rows it has then.
    fn collect_packets(&mut self) -> usize {
        let (packets, queues) = (&mut self.packets, &self.queues);
        let most = self.options.batch_rows.saturating_sub(packets.rows());
        self.pairing
            .hand_out(most, |packet| packets.append(packet, queues));
        packets.rows()
    }

    fn queue_packets(&mut self) -> Result<(&'static str, RecordBatch), Fault> {
        Ok(("queue_packet", self.packets.finish(self.log.clock())?))
    }

    fn queue_intervals(
        &self,
        intervals: &[crate::queue::interval::QueueInterval],
    ) -> Result<RecordBatch, Fault> {
        batch::queue_intervals(intervals, self.options.interval_ms, self.log.clock())
    }

    /// Read one record or line; whether there was one and more may follow.
    fn read_record(&mut self) -> bool {
        if let Reader::Qmon(reader) = &mut self.reader {
            let offset = self.source.offset();
            return match reader.next(&mut self.source) {
                Record::Item(item) => {
                    self.item(item, offset);
                    true
                }
                Record::Refused(reason, fault) => {
                    self.summary.refuse(reason.into());
                    if let Some(fault) = fault {
                        self.summary.fail(fault);
                    }
                    true
                }
                Record::Stopped(reason, fault) => {
                    if let Some(reason) = reason {
                        self.log.probe_failed |= reason == "probe_failed";
                        self.summary.refuse(reason.into());
                    }
                    self.summary.fail(fault);
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
            self.reader.line(content)
        } else {
            None
        };
        self.source.consume(line.consumed_bytes);
        match parsed {
            Some((item, more)) => {
                self.item(item, offset);
                if let Some(more) = more {
                    self.item(more, offset);
                }
            }
            None => self.refuse_line(&line, offset),
        }
        true
    }

    fn item(&mut self, item: QueueItem, offset: u64) {
        match item {
            QueueItem::Event(queue, event) => self.take_in(queue, event, offset),
            QueueItem::Lost { events, saturated } => {
                self.log.lost_events = self.log.lost_events.saturating_add(events);
                self.log.lost_events_is_minimum |= saturated;
                let newest_ns = self.window.newest_ns().filter(|_| self.events_read);
                self.pairing.losses().report(newest_ns);
                let newest_ns = newest_ns.unwrap_or(i64::MIN);
                if self.window.push(newest_ns, u8::MAX, Timed::Lost(events)).is_err() {
                    self.pairing.intervals().lost(events);
                }
            }
            QueueItem::ClockOffset(offset_ns) => {
                if self.events_read || self.log.clock_offset_ns.is_some() {
                    let message = format!(
                        "queue log: the clock offset at offset {offset} comes after the first event or a second time; it was left out"
                    );
                    self.refuse(
                        "late_clock_offset",
                        Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
                    );
                } else {
                    self.log.clock_offset_ns = Some(offset_ns);
                    self.log.utc = true;
                }
            }
            QueueItem::OpenAtEnd { dequeues, enqueues } => {
                self.log.stated_open = Some((dequeues, enqueues, offset));
            }
            QueueItem::Nothing => {}
        }
    }

    /// An event as read: its time is checked and brought to the log's clock, and it waits for its turn.
    fn take_in(&mut self, queue: QueueId, mut event: QueueEvent, offset: u64) {
        let offset_ns = self.log.clock_offset_ns.unwrap_or(0);
        let newest_ns = self.window.newest_ns().filter(|_| self.events_read);
        let time_ns = event.time_ns.checked_add(offset_ns).filter(|time_ns| {
            let silence_ns = newest_ns.map_or(0, |newest| time_ns.saturating_sub(newest));
            (0..LATEST_NS).contains(time_ns)
                && silence_ns <= self.options.longest_silence_ms.saturating_mul(1_000_000)
        });
        let Some(time_ns) = time_ns else {
            let message = format!(
                "queue log: the event at offset {offset} has a time that cannot be ({} ns); it was left out",
                event.time_ns
            );
            self.refuse(
                "impossible_time",
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        };
        event.time_ns = time_ns;
        let Some(number) = self.queue_number(queue, &event) else {
            let message = format!(
                "queue log: the event at offset {offset} is of yet another queue after {MOST_QUEUES}; it was left out"
            );
            self.refuse(
                "too_many_queues",
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        };
        // At the same time an enqueue goes before a dequeue in the binary form, whose events are of several
        // processors; a text stands in the order in which the kernel worked.
        let rank = match (&self.reader, event.kind) {
            (Reader::Qmon(_), EventKind::Dequeue) => 1,
            _ => 0,
        };
        let timed = Timed::Event { queue: number, event };
        if self.window.push(time_ns, rank, timed).is_err() {
            let message = format!(
                "queue log: the event at offset {offset} lies more than {} ms before one read earlier; it was left out",
                crate::queue::sort_window::WINDOW_NS / 1_000_000
            );
            self.refuse(
                "time_backwards",
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
            return;
        }
        self.events_read = true;
        self.pairing
            .losses()
            .event_read(self.window.newest_ns().unwrap_or(time_ns));
        self.summary.records_read += 1;
        let (pairing, queues, log) = (&mut self.pairing, &mut self.queues, &mut self.log);
        while self.window.next_due(|timed| pair(timed, pairing, queues, log)) {}
    }

    /// The number of a queue, new ones being numbered as they come; events that name none are of the last one.
    fn queue_number(&mut self, queue: QueueId, event: &QueueEvent) -> Option<u32> {
        if event.kind == EventKind::Free {
            return Some(self.last_queue.map_or(0, |(_, number)| number));
        }
        if let Some((last, number)) = self.last_queue
            && last == queue
        {
            return Some(number);
        }
        let number = match self.numbers.get(&queue) {
            Some(number) => *number,
            None if self.queues.len() >= MOST_QUEUES => return None,
            None => {
                let number = u32::try_from(self.queues.len()).ok()?;
                self.numbers.insert(queue, number);
                self.queues.push(QueueRow::new(queue));
                number
            }
        };
        self.last_queue = Some((queue, number));
        Some(number)
    }

    fn close(&mut self) {
        let (pairing, queues, log) = (&mut self.pairing, &mut self.queues, &mut self.log);
        while self.window.next(|timed| pair(timed, pairing, queues, log)) {}
        self.pairing.close();
        let open = self.pairing.left_open();
        self.log.open = open;
        if let (Some((dequeues, enqueues, offset)), Some(found)) = (self.log.stated_open, open)
            && (dequeues, enqueues) != found
            && self.log.lost_events == 0
        {
            let message = format!(
                "queue log: the probe says it held {dequeues} dequeues and {enqueues} enqueues open, but the log has {} and {}: records are missing that no loss report counts",
                found.0, found.1
            );
            self.summary
                .fail(Fault::new(FaultKind::CorruptRecord, message, Some(offset)));
        }
        self.stage = Stage::Closing;
    }

    fn refuse(&mut self, reason: &'static str, fault: Fault) {
        self.summary.refuse(reason.into());
        self.summary.fail(fault);
    }

    fn refuse_line(&mut self, line: &Line, offset: u64) {
        if line.end != LineEnd::EndOfContent {
            let message = format!(
                "queue log: the line at offset {offset} is no event, header or loss report; it was left out"
            );
            self.refuse(
                "malformed_line",
                Fault::new(FaultKind::CorruptRecord, message, Some(offset)),
            );
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

/// What has its turn goes to the pairing, and is counted.
fn pair(timed: &mut Timed, pairing: &mut QueuePairing, queues: &mut Vec<QueueRow>, log: &mut QueueLogRow) {
    let (queue, event) = match timed {
        Timed::Lost(events) => {
            pairing.intervals().lost(*events);
            return;
        }
        Timed::Event { queue, event } => (*queue, event),
    };
    if !pairing.event(queue, event) {
        return;
    }
    if queues.is_empty() {
        queues.push(QueueRow::new(QueueId::default()));
    }
    log.count(event.kind, event.time_ns);
    if let Some(row) = queues.get_mut(queue as usize) {
        row.count(event.kind, event.time_ns, event.drop_counter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
