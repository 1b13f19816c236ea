//! From a capture file to the tables flow, `flow_interval` and `rtp_stream`.

use std::collections::VecDeque;
use std::path::Path;

use arrow_array::RecordBatch;

use crate::capture_reader::CaptureReader;
use crate::fault::Fault;
use crate::flow::{Direction, Flow};
use crate::flow_batch::{self, IntervalRow, RtpRow};
use crate::flow_table::FlowTable;
use crate::layers::decode;
use crate::source::PlainReader;
use crate::summary::Summary;

/// Choices of the caller.
#[derive(Debug, Clone, Copy)]
pub struct CaptureOptions {
    /// Length of an interval of `flow_interval`; at least 1.
    pub interval_ms: i32,
    /// Most rows in a batch; at least 1.
    pub batch_rows: usize,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            interval_ms: 100,
            batch_rows: 65_536,
        }
    }
}

enum State {
    Reading(Box<(CaptureReader, FlowTable)>),
    /// What is left to hand out, in the order of the flows. Rows of a flow are known at its end, and every
    /// flow ends with the capture, so nothing comes earlier; in return the order is that of the key.
    Emitting {
        flows: Vec<Flow>,
        given: usize,
        ended: VecDeque<Flow>,
        intervals: Vec<IntervalRow>,
        rtp: Vec<RtpRow>,
    },
}

/// Decoder of one capture: batches come one by one, each with the name of its table.
pub struct CaptureDecoder {
    options: CaptureOptions,
    state: State,
    summary: Summary,
}

impl CaptureDecoder {
    /// Open a capture and read its file header.
    ///
    /// # Errors
    ///
    /// A fault where nothing can be decoded: no such file, no capture, cut in its header, or of a link type
    /// without a decoder.
    pub fn open(path: &Path, options: CaptureOptions) -> Result<Self, Fault> {
        Self::new(PlainReader::open(path)?, options)
    }

    fn new(source: PlainReader, options: CaptureOptions) -> Result<Self, Fault> {
        let options = CaptureOptions {
            interval_ms: options.interval_ms.max(1),
            batch_rows: options.batch_rows.max(1),
        };
        let reader = CaptureReader::new(source)?;
        let table = FlowTable::new(i64::from(options.interval_ms) * 1_000_000);
        Ok(Self {
            options,
            state: State::Reading(Box::new((reader, table))),
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
    /// Only where Arrow refuses a batch; a fault of the input ends the batches and is in the summary.
    pub fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        if let State::Reading(_) = &self.state {
            let emitting = State::Emitting {
                flows: Vec::new(),
                given: 0,
                ended: VecDeque::new(),
                intervals: Vec::new(),
                rtp: Vec::new(),
            };
            if let State::Reading(reading) = std::mem::replace(&mut self.state, emitting) {
                let (mut reader, mut table) = *reading;
                self.read(&mut reader, &mut table);
                if let State::Emitting { flows, .. } = &mut self.state {
                    *flows = table.into_flows();
                }
            }
        }
        self.emit()
    }

    fn read(&mut self, reader: &mut CaptureReader, table: &mut FlowTable) {
        loop {
            match reader.next_packet() {
                Ok(None) => return,
                Err(fault) => {
                    self.summary.fail(fault);
                    return;
                }
                Ok(Some(captured)) => match decode(&captured) {
                    Err(reason) => self.summary.refuse(reason),
                    Ok(packet) => {
                        self.summary.records_read += 1;
                        table.packet(&packet, captured.time_ns, captured.wire_bytes);
                    }
                },
            }
        }
    }

    fn emit(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        let State::Emitting {
            flows,
            given,
            ended,
            intervals,
            rtp,
        } = &mut self.state
        else {
            return Ok(None);
        };
        let rows = self.options.batch_rows;
        if let Some(left) = flows.get(*given..)
            && !left.is_empty()
        {
            let left = left.get(..rows).unwrap_or(left);
            *given += left.len();
            return Ok(Some(("flow", flow_batch::flows(left)?)));
        }
        ended.extend(std::mem::take(flows));
        while intervals.len() < rows
            && let Some(flow) = ended.pop_front()
        {
            for direction in [Direction::Fwd, Direction::Rev] {
                let series = flow.traffic.get(direction).intervals.as_slice();
                intervals.extend(series.iter().map(|interval| IntervalRow {
                    flow_id: flow.id,
                    direction,
                    interval: *interval,
                }));
            }
            if let Some(streams) = flow.rtp {
                let streams = [(Direction::Fwd, streams.fwd), (Direction::Rev, streams.rev)];
                for (direction, streams) in streams {
                    rtp.extend(streams.into_streams().into_iter().map(|stream| RtpRow {
                        flow_id: flow.id,
                        direction,
                        stream,
                    }));
                }
            }
        }
        if !intervals.is_empty() {
            let batch: Vec<_> = intervals.drain(..rows.min(intervals.len())).collect();
            return Ok(Some((
                "flow_interval",
                flow_batch::intervals(&batch, self.options.interval_ms)?,
            )));
        }
        if !rtp.is_empty() {
            let batch: Vec<_> = rtp.drain(..rows.min(rtp.len())).collect();
            return Ok(Some(("rtp_stream", flow_batch::rtp_streams(&batch)?)));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::reader_over;
    use crate::test_capture::{TestCapture, tcp_frame, udp6_frame, with_link_header};

    fn decode_all(content: &[u8], batch_rows: usize) -> (Vec<(&'static str, usize)>, Summary) {
        let options = CaptureOptions {
            interval_ms: 10,
            batch_rows,
        };
        let mut decoder = CaptureDecoder::new(reader_over(content), options).unwrap();
        let mut batches = Vec::new();
        while let Some((table, batch)) = decoder.next_batch().unwrap() {
            batches.push((table, batch.num_rows()));
        }
        (batches, decoder.summary().clone())
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
        assert_eq!(batches, [("flow", 2), ("flow_interval", 40), ("rtp_stream", 1)]);
        assert_eq!(summary.records_read, 40);
        let refused: Vec<_> = summary.refused.into_iter().collect();
        assert_eq!(refused, [("arp".into(), 1), ("link_header_cut".into(), 1)]);
        assert_eq!(summary.fault, None);
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
}
