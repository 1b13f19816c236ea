//! From the capture files of one recording to the tables flow, `flow_interval`, `rtp_stream`, `rtp_interval`, `call_flow`,
//! `rtcp_report`, packet and `capture_link`.

use arrow_array::RecordBatch;

use crate::call::batch::{self as call_batch, CallRow, MediaFound, ReportRow, RtpIntervalRow};
use crate::capture::link_batch;
use crate::capture::packet_batch::{self, PacketRow};
use crate::capture::recording::{CaptureInput, RecordingReader};
use crate::flow::batch::{self as flow_batch, IntervalRow, RtpRow};
use crate::flow::ecn::batch::{self as ecn_batch, EcnIntervalRow, EcnRow};
use crate::flow::record::Flow;
use crate::flow::spin::batch::{self as spin_batch, EdgeRow, SpinRow};
use crate::flow::table::{Bounds, FlowTable};
use crate::output::columns::Filled;
use crate::output::fault::Fault;
use crate::output::summary::Summary;
use crate::packet::direction::Direction;
use crate::packet::layers::LayerDecoder;
use crate::packet::refusal::PacketRefusal;
use crate::rtp::hints::{RtpHint, RtpHints};
use crate::server::name::ServerNames;

/// Rows of flows are wide, so that their batch is bounded below the caller's wish.
const FLOW_BATCH_ROWS: usize = 16_384;
/// Flows that are taken into a batch at a time.
const FLOWS_TAKEN: usize = 256;
/// Memory of segments, media, calls and spin bits, of all open flows together. An hour of a stream of RTP takes 0.3 MB.
const KEPT_BYTES: usize = 1 << 29;
/// How often, in packets, it is looked whether there is a batch to hand out.
const STRIDE_PACKETS: u64 = 1024;

/// Choices of the caller.
#[derive(Debug, Clone, Copy)]
pub struct CaptureOptions {
    /// Length of an interval of `flow_interval`; at least 1.
    pub interval_ms: i32,
    /// Most rows in a batch; at least 1.
    pub batch_rows: usize,
    /// Whether to give the table packet.
    pub packets: bool,
    /// Silence after which a flow has ended, in milliseconds; at least 1.
    pub idle_ms: i64,
    /// Most flows open at a time; at least 1.
    pub open_flows: usize,
    /// How much of the names of servers is kept.
    pub server_names: ServerNames,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            interval_ms: 100,
            batch_rows: 65_536,
            packets: false,
            idle_ms: 600_000,
            open_flows: 65_536,
            server_names: ServerNames::Registrable,
        }
    }
}

/// Decoder of one recording: batches come one by one, each with the name of its table.
///
/// Rows of a flow come when it has ended, and of its intervals at the latest then; flows that end with the
/// recording come in the order of their numbers.
pub struct CaptureDecoder {
    options: CaptureOptions,
    recording: RecordingReader,
    layers: LayerDecoder,
    table: FlowTable,
    /// Flows that have ended.
    flows: Filled,
    intervals: Vec<IntervalRow>,
    rtp: Vec<RtpRow>,
    ecn: Vec<EcnRow>,
    ecn_intervals: Vec<EcnIntervalRow>,
    spin: Vec<SpinRow>,
    spin_edges: Vec<EdgeRow>,
    rtp_intervals: Vec<RtpIntervalRow>,
    calls: Vec<CallRow>,
    reports: Vec<ReportRow>,
    packets: Vec<PacketRow>,
    records_seen: i64,
    links_given: bool,
}

impl CaptureDecoder {
    /// Open a recording, which may be in several files in the order of time, and read the first file's header.
    ///
    /// # Errors
    ///
    /// A fault where nothing can be decoded: no such file, no capture, or cut in its header.
    pub fn open(inputs: &[CaptureInput], options: CaptureOptions) -> Result<Self, Fault> {
        let options = CaptureOptions {
            interval_ms: options.interval_ms.max(1),
            batch_rows: options.batch_rows.max(1),
            idle_ms: options.idle_ms.max(1),
            open_flows: options.open_flows.clamp(1, u32::MAX as usize - 1),
            ..options
        };
        let bounds = Bounds {
            idle_ns: options.idle_ms.saturating_mul(1_000_000),
            flows: options.open_flows,
            kept_bytes: KEPT_BYTES,
        };
        let mut table = FlowTable::new(i64::from(options.interval_ms) * 1_000_000, bounds);
        table.name(options.server_names);
        Ok(Self {
            options,
            recording: RecordingReader::open(inputs)?,
            layers: LayerDecoder::default(),
            table,
            flows: Filled::default(),
            intervals: Vec::new(),
            rtp: Vec::new(),
            ecn: Vec::new(),
            ecn_intervals: Vec::new(),
            spin: Vec::new(),
            spin_edges: Vec::new(),
            rtp_intervals: Vec::new(),
            calls: Vec::new(),
            reports: Vec::new(),
            packets: Vec::new(),
            records_seen: 0,
            links_given: false,
        })
    }

    /// Take it as known, from now on, which flows are RTP.
    #[must_use]
    pub fn with_rtp_hints(mut self, hints: &[RtpHint]) -> Self {
        self.table.declare(RtpHints::new(hints));
        self
    }

    /// What was seen so far of all files; whole once [`Self::next_batch`] has returned `None`.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.recording.summary()
    }

    /// What was seen of each file, in their order.
    #[must_use]
    pub fn file_summaries(&self) -> &[Summary] {
        &self.recording.summaries
    }

    /// SHA-256 of the content of a [`CaptureInput::HashedFile`], in lower-case hexadecimal, once
    /// [`Self::next_batch`] has returned `None`; also of what stands behind damage that ended the decoding.
    ///
    /// # Errors
    ///
    /// A fault of kind `SourceRead` where the file could not be read to its end.
    pub fn content_hash(&self) -> Result<Option<String>, Fault> {
        self.recording.content_hash.clone()
    }

    /// The next batch with the name of its table, `None` after the last.
    ///
    /// # Errors
    ///
    /// Only where Arrow refuses a batch; a fault of the input ends the batches and is in the summary.
    pub fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        let rows = self.options.batch_rows;
        let flow_rows = rows.min(FLOW_BATCH_ROWS);
        loop {
            let last = self.recording.file.is_none() && !self.table.has_ended();
            let due = |pending: usize, batch: usize| pending >= batch || (last && pending > 0);
            if due(self.packets.len(), rows) {
                let batch: Vec<_> = self.packets.drain(..rows.min(self.packets.len())).collect();
                return Ok(Some(("packet", packet_batch::packets(&batch)?)));
            }
            self.take_flows(flow_rows);
            if due(self.flows.rows(), flow_rows) {
                return Ok(Some(("flow", std::mem::take(&mut self.flows).into_batch()?)));
            }
            if due(self.intervals.len(), rows) {
                let batch: Vec<_> = self.intervals.drain(..rows.min(self.intervals.len())).collect();
                let intervals = flow_batch::intervals(&batch, self.options.interval_ms)?;
                return Ok(Some(("flow_interval", intervals)));
            }
            if due(self.ecn.len(), rows) {
                let batch: Vec<_> = self.ecn.drain(..rows.min(self.ecn.len())).collect();
                return Ok(Some(("flow_ecn", ecn_batch::flows(&batch)?)));
            }
            if due(self.ecn_intervals.len(), rows) {
                let pending = rows.min(self.ecn_intervals.len());
                let batch: Vec<_> = self.ecn_intervals.drain(..pending).collect();
                let intervals = ecn_batch::intervals(&batch, self.options.interval_ms)?;
                return Ok(Some(("flow_ecn_interval", intervals)));
            }
            if due(self.spin.len(), rows) {
                let batch: Vec<_> = self.spin.drain(..rows.min(self.spin.len())).collect();
                return Ok(Some(("flow_spin", spin_batch::flows(&batch)?)));
            }
            if due(self.spin_edges.len(), rows) {
                let count = rows.min(self.spin_edges.len());
                let batch: Vec<_> = self.spin_edges.drain(..count).collect();
                return Ok(Some(("flow_spin_edge", spin_batch::edges(&batch)?)));
            }
            if due(self.rtp.len(), flow_rows) {
                let batch: Vec<_> = self.rtp.drain(..flow_rows.min(self.rtp.len())).collect();
                return Ok(Some(("rtp_stream", flow_batch::rtp_streams(&batch)?)));
            }
            if due(self.rtp_intervals.len(), rows) {
                let count = rows.min(self.rtp_intervals.len());
                let batch: Vec<_> = self.rtp_intervals.drain(..count).collect();
                return Ok(Some(("rtp_interval", call_batch::rtp_intervals(&batch)?)));
            }
            if due(self.calls.len(), flow_rows) {
                let batch: Vec<_> = self.calls.drain(..flow_rows.min(self.calls.len())).collect();
                return Ok(Some(("call_flow", call_batch::calls(&batch)?)));
            }
            if due(self.reports.len(), rows) {
                let batch: Vec<_> = self.reports.drain(..rows.min(self.reports.len())).collect();
                return Ok(Some(("rtcp_report", call_batch::reports(&batch)?)));
            }
            if last && !self.links_given {
                self.links_given = true;
                if self.recording.summary().records_read > 0 {
                    let links: Vec<_> = self.recording.link_records.iter().collect();
                    return Ok(Some(("capture_link", link_batch::links(&links)?)));
                }
            }
            if last {
                return Ok(None);
            }
            self.read();
        }
    }

    /// Take flows that have ended into the batch, up to so many rows: soon, because what is kept of them is still near
    /// the processor, and their memory is used again. A few at a time, because one may have a hundred thousand rows of
    /// media or edges.
    fn take_flows(&mut self, rows: usize) {
        let batch_rows = self.options.batch_rows;
        while self.spin_edges.len().max(self.rtp_intervals.len()) < batch_rows
            && self.rtp.len() < rows
            && self.reports.len() < batch_rows
        {
            let ended = self.table.take_ended(FLOWS_TAKEN.min(rows - self.flows.rows()));
            if ended.is_empty() {
                return;
            }
            self.flows = flow_batch::add_flows(std::mem::take(&mut self.flows), &ended);
            for mut flow in ended {
                self.take_rows(&mut flow);
                self.table.give_back(flow);
            }
        }
    }

    fn take_rows(&mut self, flow: &mut Flow) {
        self.ecn.extend(ecn_batch::rows_of(flow));
        self.ecn_intervals.extend(ecn_batch::intervals_of(flow));
        self.spin.extend(spin_batch::rows_of(flow));
        self.spin_edges.extend(spin_batch::edges_of(flow));
        for direction in [Direction::Fwd, Direction::Rev] {
            let series = flow.traffic.get(direction).intervals.as_slice();
            self.intervals.extend(series.iter().map(|interval| IntervalRow {
                flow_id: flow.id,
                direction,
                interval: *interval,
            }));
        }
        let mut media = MediaFound::default();
        if let Some(streams) = flow.rtp.take() {
            for (direction, streams) in [(Direction::Fwd, streams.fwd), (Direction::Rev, streams.rev)] {
                for mut stream in streams.into_streams() {
                    media.add(&stream);
                    self.rtp_intervals
                        .extend(RtpIntervalRow::of(flow.id, direction, &stream));
                    stream.intervals.clear();
                    self.rtp.push(RtpRow {
                        flow_id: flow.id,
                        direction,
                        stream,
                    });
                }
            }
        }
        if let Some(call) = flow.call.take() {
            self.reports.extend(ReportRow::of(flow.id, &call));
            self.calls.extend(CallRow::new(flow.id, call, media));
        }
    }

    /// Read a stride of packets; at the end of the last file, end every flow.
    fn read(&mut self) {
        let (Some(reader), Some((summary, summaries_before))) = (
            &mut self.recording.file,
            self.recording.summaries.split_last_mut(),
        ) else {
            return;
        };
        for _ in 0..STRIDE_PACKETS {
            match reader.next_packet() {
                Ok(Some(captured)) => {
                    let index = self.records_seen;
                    self.records_seen += 1;
                    let decoded = match captured.implausible() {
                        None => self.layers.decode(&captured),
                        Some(reason) => Err(reason),
                    };
                    // By reference: to take the result apart is to copy the packet.
                    match &decoded {
                        Ok(packet) => {
                            summary.records_read += 1;
                            let placement = self.table.packet(packet, captured.time_ns, captured.wire_bytes);
                            if self.options.packets {
                                let (time_ns, wire_bytes) = (captured.time_ns, captured.wire_bytes);
                                self.packets
                                    .push(PacketRow::new(index, time_ns, wire_bytes, packet, placement));
                            }
                        }
                        Err(reason) => {
                            summary.refuse(*reason);
                            if *reason == PacketRefusal::IpFragment {
                                self.layers.hold(&captured, (index, summaries_before.len()));
                            }
                        }
                    }
                    if let Some(fragments) = self.layers.take_released() {
                        for fragment in fragments {
                            let of_file = summaries_before.get_mut(fragment.file).unwrap_or(&mut *summary);
                            of_file.give_back(PacketRefusal::IpFragment);
                            of_file.records_read += 1;
                            let (time_ns, wire_bytes) = (fragment.time_ns, fragment.wire_bytes);
                            let packet = fragment.packet();
                            let placement = self.table.packet(&packet, time_ns, wire_bytes);
                            if self.options.packets {
                                let index = fragment.record;
                                self.packets
                                    .push(PacketRow::new(index, time_ns, wire_bytes, &packet, placement));
                            }
                        }
                    }
                }
                Ok(None) => return self.end_file(None),
                Err(fault) => return self.end_file(Some(fault)),
            }
        }
        self.table
            .take_intervals(&mut self.intervals, &mut self.ecn_intervals);
    }

    fn end_file(&mut self, fault: Option<Fault>) {
        self.recording.end_file(fault);
        if self.recording.file.is_none() {
            self.recording.end();
            self.table.finish();
        }
    }
}

#[cfg(test)]
mod tests;
