//! M-Lab tcp-info files (JSON Lines of `sock_diag` messages) reduced to one row for each connection.
//!
//! A decoder takes one file after another, as the members of an archive come: the recorder splits a long connection
//! into several files, which one decoder joins again.

use std::io::Read;
use std::path::Path;

use arrow_array::RecordBatch;
use hashbrown::HashMap;

use crate::connection::refusal::TcpInfoRefusal;
use crate::connection::tcp_info::batch::{self, ConnectionRow};
use crate::connection::tcp_info::record::{Poll, Record, SocketId, parse};
use crate::connection::tcp_info::structure::TcpInfo;
use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};
use crate::output::summary::Summary;

/// Many times the longest line of the recorder.
const LONGEST_LINE_BYTES: usize = 256 * 1024;

/// How a decoder works.
#[derive(Debug, Clone, Copy)]
pub struct TcpInfoOptions {
    /// Connections that are kept open; of more, those without a poll for longest are given as they are.
    pub open_connections: usize,
    /// Give every poll instead of one row for each connection.
    pub polls: bool,
}

impl Default for TcpInfoOptions {
    fn default() -> Self {
        Self {
            open_connections: 262_144,
            polls: false,
        }
    }
}

struct Open {
    row: ConnectionRow,
    /// Number of the latest poll, to find silent connections.
    touched: u64,
}

/// Decoder of tcp-info files.
pub struct TcpInfoDecoder {
    options: TcpInfoOptions,
    source: Option<PlainReader>,
    /// Start of the connection as the metadata of the present file give it.
    start_ns: Option<i64>,
    open: HashMap<SocketId, Open>,
    connections: i64,
    ended: Vec<ConnectionRow>,
    polls: Vec<Poll>,
    polls_seen: u64,
    summary: Summary,
}

impl TcpInfoDecoder {
    /// A decoder without a file yet.
    #[must_use]
    pub fn new(options: TcpInfoOptions) -> Self {
        Self {
            options,
            source: None,
            start_ns: None,
            open: HashMap::new(),
            connections: 0,
            ended: Vec::new(),
            polls: Vec::new(),
            polls_seen: 0,
            summary: Summary::default(),
        }
    }

    /// Go on with a file.
    ///
    /// # Errors
    ///
    /// A fault of kind `SourceRead` where it cannot be opened.
    pub fn open(&mut self, path: &Path) -> Result<(), Fault> {
        self.begin(PlainReader::open(path)?);
        Ok(())
    }

    /// Go on with what a reader gives, compressed or not.
    ///
    /// # Errors
    ///
    /// A fault of kind `SourceRead` where its first bytes cannot be read.
    pub fn open_reader(&mut self, reader: Box<dyn Read + Send>) -> Result<(), Fault> {
        self.begin(PlainReader::stored(reader)?);
        Ok(())
    }

    fn begin(&mut self, source: PlainReader) {
        self.source = Some(source);
        self.start_ns = None;
    }

    /// What was seen so far, of all files.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Read up to `lines` lines on; whether the file has more.
    pub fn read(&mut self, lines: usize) -> bool {
        let Some(mut source) = self.source.take() else {
            return false;
        };
        for _ in 0..lines {
            if !self.read_line(&mut source) {
                return false;
            }
        }
        self.source = Some(source);
        true
    }

    fn read_line(&mut self, source: &mut PlainReader) -> bool {
        let mut searched = 0;
        let length = loop {
            let available = source.available();
            let line_feed = available
                .get(searched..)
                .unwrap_or_default()
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(place) = line_feed {
                break searched + place;
            }
            searched = available.len();
            if searched > LONGEST_LINE_BYTES {
                return self.overlong_line(source);
            }
            if source.fill(searched + 1) == searched {
                return self.end_of_content(source);
            }
        };
        let offset = source.offset();
        let line = source.available().get(..length).unwrap_or_default().trim_ascii();
        if !line.is_empty() {
            match parse(line) {
                Ok(record) => self.take(record),
                Err(what) => self.refuse_line(offset, &what),
            }
        }
        source.consume(length + 1);
        true
    }

    fn refuse_line(&mut self, offset: u64, what: &str) {
        self.summary.refuse(TcpInfoRefusal::MalformedLine);
        self.summary.fail(Fault::new(
            FaultKind::CorruptRecord,
            format!("tcp-info: line at byte {offset}: {what}"),
            Some(offset),
        ));
    }

    fn overlong_line(&mut self, source: &mut PlainReader) -> bool {
        self.refuse_line(source.offset(), "longer than any record");
        loop {
            let place = source.available().iter().position(|byte| *byte == b'\n');
            source.consume(place.map_or(source.available().len(), |place| place + 1));
            if place.is_some() {
                return true;
            }
            if source.fill(1) == 0 {
                return false;
            }
        }
    }

    /// The last line, which has no end: whole or cut.
    fn end_of_content(&mut self, source: &mut PlainReader) -> bool {
        let line = source.available().trim_ascii();
        let offset = source.offset();
        let fault = source.fault().cloned();
        match (line.is_empty(), parse(line)) {
            (true, _) => {}
            (false, Ok(record)) if fault.is_none() => self.take(record),
            _ => {
                self.summary.refuse(TcpInfoRefusal::TruncatedLine);
                let message = format!("tcp-info: the line at byte {offset} is cut; copy the file again");
                self.summary.fail(
                    fault
                        .clone()
                        .unwrap_or_else(|| Fault::new(FaultKind::Truncated, message, Some(offset))),
                );
            }
        }
        if let Some(fault) = fault {
            self.summary.fail(fault);
        }
        false
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Metadata { start_ns } => self.start_ns = start_ns,
            Record::Poll(poll) => self.take_poll(*poll),
        }
    }

    fn take_poll(&mut self, poll: Poll) {
        if self.options.polls {
            self.summary.records_read += 1;
            self.polls.push(poll);
            return;
        }
        if poll.socket.peer_port == 0 {
            self.summary.refuse(TcpInfoRefusal::NoPeer);
            return;
        }
        let Some(info) = poll.info else {
            self.summary.refuse(TcpInfoRefusal::NoTcpInfo);
            return;
        };
        let Some(time_ns) = poll.time_ns else {
            self.summary.refuse(TcpInfoRefusal::NoTime);
            return;
        };
        self.summary.records_read += 1;
        self.polls_seen += 1;
        let (number, start_ns, touched) = (self.connections, self.start_ns, self.polls_seen);
        let open = self.open.entry(poll.socket).or_insert_with(|| Open {
            row: ConnectionRow {
                number,
                start_ns: start_ns
                    .filter(|start_ns| *start_ns <= time_ns)
                    .unwrap_or(time_ns),
                last_ns: time_ns,
                client_address: poll.socket.peer.to_string(),
                ..ConnectionRow::default()
            },
            touched,
        });
        if open.row.number == number {
            self.connections += 1;
        }
        open.touched = touched;
        open.row.reduce(time_ns, &info, poll.congestion_control);
        if self.open.len() > self.options.open_connections {
            self.end_silent();
        }
    }

    /// Give the silent half of the open connections, so that the cost of looking is small for each.
    fn end_silent(&mut self) {
        let mut touched: Vec<u64> = self.open.values().map(|open| open.touched).collect();
        let middle = touched.len() / 2;
        let (_, median, _) = touched.select_nth_unstable(middle);
        let median = *median;
        let ended = self
            .open
            .extract_if(|_, open| open.touched < median)
            .map(|(_, open)| open.row);
        self.ended.extend(ended);
    }

    /// The rows of connections that have ended, or of all of them at the end of the last file; in polls mode, polls.
    ///
    /// # Errors
    ///
    /// Only where Arrow refuses a batch.
    pub fn take_batch(&mut self, last: bool) -> Result<RecordBatch, Fault> {
        if self.options.polls {
            return batch::polls(&std::mem::take(&mut self.polls));
        }
        if last {
            self.ended.extend(self.open.drain().map(|(_, open)| open.row));
        }
        let mut rows = std::mem::take(&mut self.ended);
        rows.sort_unstable_by_key(|row| row.number);
        batch::connections(&rows)
    }
}

impl ConnectionRow {
    fn reduce(&mut self, time_ns: i64, info: &TcpInfo, congestion_control: Option<String>) {
        self.start_ns = self.start_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
        if let Some(rtt) = info.smoothed_rtt_us() {
            self.rtt_polls += 1;
            self.rtt_sum_us += u64::from(rtt);
            self.rtt_min_us = Some(self.rtt_min_us.map_or(rtt, |least| least.min(rtt)));
            self.rtt_max_us = self.rtt_max_us.max(Some(rtt));
        }
        if let Some(rtt) = info.kernel_min_rtt_us() {
            self.kernel_min_rtt_us = Some(self.kernel_min_rtt_us.map_or(rtt, |least| least.min(rtt)));
        }
        // Counters of a connection only grow; polls may come out of order.
        self.sent_bytes = self.sent_bytes.max(info.sent_bytes);
        self.acked_bytes = self.acked_bytes.max(info.acked_bytes);
        self.received_bytes = self.received_bytes.max(info.received_bytes);
        self.retransmitted_packets = self.retransmitted_packets.max(info.total_retransmits);
        if congestion_control.is_some() {
            self.congestion_control = congestion_control;
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};

    use super::*;
    use crate::connection::tcp_info::record::tests::line;

    const UNSET: u32 = u32::MAX;
    const PEER: [u8; 4] = [192, 0, 2, 9];

    fn decoder(files: &[String], options: TcpInfoOptions) -> TcpInfoDecoder {
        let mut decoder = TcpInfoDecoder::new(options);
        for file in files {
            decoder
                .open_reader(Box::new(std::io::Cursor::new(file.clone().into_bytes())))
                .unwrap();
            while decoder.read(2) {}
        }
        decoder
    }

    fn longs(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
        batch
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Int64Type>()
            .iter()
            .collect()
    }

    #[test]
    fn polls_of_one_connection_are_one_row_over_several_files() {
        let first = line("2020-01-01T00:00:01Z", PEER, 1, 0, UNSET, 10)
            + &line("2020-01-01T00:00:02Z", PEER, 1, 30_000, UNSET, 500);
        let second = line("2020-01-01T00:00:03Z", PEER, 1, 20_000, 19_000, 900)
            + &line("2020-01-01T00:00:03Z", PEER, 2, 0, UNSET, 0);
        let mut decoder = decoder(&[first, second], TcpInfoOptions::default());
        let batch = decoder.take_batch(true).unwrap();
        assert_eq!(longs(&batch, "connection_number"), [Some(0), Some(1)]);
        assert_eq!(longs(&batch, "rtt_samples"), [Some(2), Some(0)]);
        assert_eq!(longs(&batch, "rtt_min_us"), [Some(20_000), None]);
        assert_eq!(longs(&batch, "rtt_max_us"), [Some(30_000), None]);
        assert_eq!(longs(&batch, "kernel_min_rtt_us"), [Some(19_000), None]);
        assert_eq!(longs(&batch, "sent_bytes"), [Some(900), Some(0)]);
        assert_eq!(longs(&batch, "acked_bytes"), [Some(450), Some(0)]);
        let average = batch
            .column_by_name("rtt_avg_us")
            .unwrap()
            .as_primitive::<Float64Type>();
        assert_eq!(average.iter().collect::<Vec<_>>(), [Some(25_000.0), None]);
        let duration = batch
            .column_by_name("duration_ms")
            .unwrap()
            .as_primitive::<Float64Type>();
        assert_eq!(duration.iter().collect::<Vec<_>>(), [Some(2_000.0), Some(0.0)]);
        assert_eq!(decoder.summary().records_read, 4);
    }

    #[test]
    fn metadata_give_the_start() {
        let metadata = "{\"Metadata\":{\"StartTime\":\"2019-12-31T23:59:59Z\"}}\n";
        let mut decoder = decoder(
            &[metadata.to_owned() + &line("2020-01-01T00:00:01Z", PEER, 1, 1, 1, 1)],
            TcpInfoOptions::default(),
        );
        let batch = decoder.take_batch(true).unwrap();
        assert_eq!(longs(&batch, "start_ns"), [Some(1_577_836_799_000_000_000)]);
    }

    #[test]
    fn silent_connections_are_given_before_the_end() {
        let lines: String = (0..10)
            .map(|cookie| line("2020-01-01T00:00:01Z", PEER, cookie, 1, 1, 1))
            .collect();
        let options = TcpInfoOptions {
            open_connections: 4,
            polls: false,
        };
        let mut decoder = decoder(&[lines], options);
        let early_rows = decoder.take_batch(false).unwrap().num_rows();
        assert!((4..10).contains(&early_rows), "{early_rows}");
        assert_eq!(early_rows + decoder.take_batch(true).unwrap().num_rows(), 10);
    }

    #[test]
    fn damage_is_told_and_stops_nothing() {
        let good = line("2020-01-01T00:00:01Z", PEER, 1, 5, 5, 5);
        let no_time = line("0001-01-01T00:00:00Z", PEER, 1, 5, 5, 5);
        let content = format!(
            "{good}nonsense\n{no_time}{}",
            good.trim_end_matches('\n').split_at(40).0
        );
        let mut decoder = decoder(&[content], TcpInfoOptions::default());
        assert_eq!(decoder.take_batch(true).unwrap().num_rows(), 1);
        let summary = decoder.summary();
        assert_eq!(summary.records_read, 1);
        let refused: Vec<_> = summary
            .refused
            .iter()
            .map(|(reason, count)| (reason.as_ref(), *count))
            .collect();
        assert_eq!(
            refused,
            [("malformed_line", 1), ("no_time", 1), ("truncated_line", 1)]
        );
        assert_eq!(summary.fault.as_ref().unwrap().offset, Some(good.len() as u64));
    }

    #[test]
    fn an_overlong_line_is_one_malformed_line() {
        let good = line("2020-01-01T00:00:01Z", PEER, 1, 5, 5, 5);
        let content = format!("{good}{}\n{good}", "x".repeat(3 * LONGEST_LINE_BYTES));
        let decoder = decoder(&[content], TcpInfoOptions::default());
        assert_eq!(decoder.summary().records_read, 2);
        assert_eq!(decoder.summary().refused["malformed_line"], 1);
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let content = line("2020-01-01T00:00:01Z", PEER, 1, 5, 5, 5).into_bytes();
        for place in 0..content.len() {
            let mut damaged = content.clone();
            damaged[place] = damaged[place].wrapping_mul(31).wrapping_add(7);
            let mut decoder = TcpInfoDecoder::new(TcpInfoOptions::default());
            decoder
                .open_reader(Box::new(std::io::Cursor::new(damaged)))
                .unwrap();
            while decoder.read(10) {}
            decoder.take_batch(true).unwrap();
        }
    }
}
