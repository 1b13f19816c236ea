//! Two captures of one run, before and after the bottleneck: the same packets matched, and what became of them.
//!
//! **Two passes.** A packet's queuing delay is over the minimum time of the whole recording, and which way a flow
//! goes is known when all of it was seen. So the captures are read twice: the first pass finds the flows' ways, the
//! minimum times and the span of each way, the second gives the rows. Both match in the same order, hence alike.
//!
//! **Direction.** Packets towards the bottleneck pass the first point first. A router between the points lowers
//! the hop limit, which shows the direction of a packet independently of the two clocks; without a router the
//! median sign of the difference of times decides for a pair of hosts.
//!
//! **Memory.** The captures are read side by side, each behind which less time has passed. Sightings that wait
//! are bounded (see the matcher), and with them the rows that wait for an earlier packet's fate; so are flows.

use arrow_array::RecordBatch;

use crate::capture::recording::CaptureInput;
use crate::output::fault::{Fault, FaultKind};
use crate::output::summary::Summary;
use crate::pair::batch;
use crate::pair::clock::{ClockEstimate, LowerEdge, WaySpan};
use crate::pair::flows::FlowNumbers;
use crate::pair::matcher::Bounds;
use crate::pair::pass::Pass;
use crate::pair::refusal::PairRefusal;
use crate::pair::row_order::RowOrder;
use crate::pair::sighting::PairedPacket;
use crate::pair::sums::{FlowSums, PairSums};
use crate::pair::survey::{FlowSurvey, TimesSeen, directions};

/// Choices of the caller.
#[derive(Debug, Clone, Copy)]
pub struct PairOptions {
    /// Rate of the bottleneck in bit/s; at least 1.
    pub rate_bps: i64,
    /// Bytes that the bottleneck lets pass at once, such as a token bucket does; `None` where it is not known.
    pub burst_bytes: Option<u32>,
    /// Most rows in a batch; at least 1.
    pub batch_rows: usize,
    /// Most packets that wait for their counterpart; at least 1. The default holds 75 MB.
    pub waiting: usize,
    /// Packets that pass before one that waits is taken to have none; at least 1.
    pub patience: u64,
}

impl PairOptions {
    /// Defaults for a bottleneck of a rate.
    #[must_use]
    pub fn of_rate(rate_bps: i64) -> Self {
        let bounds = Bounds::default();
        Self {
            rate_bps,
            burst_bytes: None,
            batch_rows: 65_536,
            waiting: bounds.waiting,
            patience: bounds.patience,
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            waiting: self.waiting,
            patience: self.patience,
        }
    }
}

enum Stage {
    Surveying(Box<Pass>),
    Pairing(Box<(Pass, RowOrder)>),
    /// Rows of flows, the next one at this place.
    Flows(usize),
    Pair,
    Ended,
}

/// Decoder of a pair of captures: rows of `packet_pair`, `flow_pair` and `capture_pair`.
///
/// Each capture may be in several files in the order of time.
pub struct PairDecoder {
    options: PairOptions,
    inputs: (Vec<CaptureInput>, Vec<CaptureInput>),
    stage: Stage,
    flows: FlowNumbers,
    flow_sums: Vec<FlowSums>,
    sums: PairSums,
    summary: Summary,
}

impl PairDecoder {
    /// Open both captures and read their headers.
    ///
    /// # Errors
    ///
    /// A fault where one of them cannot be decoded at all.
    pub fn open(
        before: Vec<CaptureInput>,
        after: Vec<CaptureInput>,
        options: PairOptions,
    ) -> Result<Self, Fault> {
        let options = PairOptions {
            rate_bps: options.rate_bps.max(1),
            burst_bytes: options.burst_bytes,
            batch_rows: options.batch_rows.max(1),
            waiting: options.waiting.max(1),
            patience: options.patience.max(1),
        };
        let pass = Pass::open(&before, &after, options.bounds(), (u64::MAX, u64::MAX))?;
        Ok(Self {
            options,
            inputs: (before, after),
            stage: Stage::Surveying(Box::new(pass)),
            flows: FlowNumbers::default(),
            flow_sums: Vec::new(),
            sums: PairSums {
                rate_bps: options.rate_bps,
                burst_bytes: options.burst_bytes,
                ..PairSums::default()
            },
            summary: Summary::default(),
        })
    }

    /// What was seen of both captures; whole once [`Self::next_batch`] has returned `None`.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The next batch with the name of its table, `None` after the last.
    ///
    /// # Errors
    ///
    /// Where Arrow refuses a batch, or a capture cannot be opened a second time; any other fault of the input is
    /// in the summary.
    pub fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Surveying(pass) => self.stage = self.survey(*pass)?,
                Stage::Pairing(mut pairing) => {
                    let rows = self.next_rows(&mut pairing);
                    if rows.is_empty() {
                        let (_, order) = *pairing;
                        self.sums.clock = ClockEstimate::new(order.edges.0.as_ref(), order.edges.1.as_ref());
                        self.stage = Stage::Flows(0);
                        continue;
                    }
                    self.stage = Stage::Pairing(pairing);
                    let batch = batch::packets(&rows, self.flows.flows(), &self.sums)?;
                    return Ok(Some(("packet_pair", batch)));
                }
                Stage::Flows(start) => {
                    let flows: Vec<_> = self
                        .flows
                        .flows()
                        .iter()
                        .copied()
                        .zip(self.flow_sums.iter().copied())
                        .filter(|(_, sums)| sums.sent + sums.not_seen_before > 0)
                        .enumerate()
                        .skip(start)
                        .take(self.options.batch_rows)
                        .collect();
                    if flows.is_empty() {
                        self.stage = Stage::Pair;
                        continue;
                    }
                    self.stage = Stage::Flows(start + flows.len());
                    return Ok(Some(("flow_pair", batch::flows(&flows)?)));
                }
                Stage::Pair => return Ok(Some(("capture_pair", batch::pair(&self.sums)?))),
                Stage::Ended => return Ok(None),
            }
        }
    }

    /// What a pass finds of each flow.
    fn surveyed(&mut self, pass: &mut Pass) -> Vec<FlowSurvey> {
        let mut surveys: Vec<FlowSurvey> = Vec::new();
        let sums = &self.sums;
        let mut sink = |packet: PairedPacket| {
            let place = packet.flow as usize;
            if place >= surveys.len() {
                surveys.resize(place + 1, FlowSurvey::default());
            }
            if let Some(survey) = surveys.get_mut(place) {
                survey.add(&packet, sums.delay_ns(&packet));
            }
        };
        while pass.read(&mut self.flows, &mut sink) {}
        surveys
    }

    /// The first pass, and what the second one needs to know. It is repeated if a capture has cut packets so short that
    /// they are recognised by less.
    fn survey(&mut self, mut pass: Pass) -> Result<Stage, Fault> {
        let mut surveys = self.surveyed(&mut pass);
        // A pass that is repeated ends before the damage.
        self.summary = Summary::of_all(&[pass.before.recording.summary(), pass.after.recording.summary()]);
        if self.flows.settle() {
            let records = (pass.before.records, pass.after.records);
            pass = Pass::open(&self.inputs.0, &self.inputs.1, self.options.bounds(), records)?;
            surveys = self.surveyed(&mut pass);
        }
        surveys.resize(self.flows.flows().len(), FlowSurvey::default());
        self.give_up_indistinct(&mut surveys);
        let towards = directions(self.flows.flows(), &surveys);
        let mut spans: (Option<WaySpan>, Option<WaySpan>) = (None, None);
        let mut floor: Option<TimesSeen> = None;
        let mut sent = 0;
        for (survey, towards) in surveys.iter().zip(&towards) {
            let way = if *towards {
                sent += survey.sent;
                &mut spans.0
            } else {
                self.sums.reverse_matched += survey.matched;
                &mut spans.1
            };
            let Some(seen) = survey.times_seen else { continue };
            let span = WaySpan {
                first_ns: seen.first_ns,
                last_ns: seen.last_ns,
                least_ns: if *towards {
                    seen.least_difference_ns
                } else {
                    -seen.greatest_difference_ns
                },
            };
            *way = Some(way.map_or(span, |other| other.and(span)));
            if *towards {
                let lowest = floor.get_or_insert(seen);
                lowest.lower_floor(seen.floor_ns, seen.floor_wire_bytes);
            }
        }
        self.sums.delay_floor_ns = floor.map(|seen| seen.floor_ns);
        self.sums.floor_wire_bytes = floor.map_or(0, |seen| seen.floor_wire_bytes);
        self.sums.before_packets = pass.before.packets;
        self.sums.after_packets = pass.after.packets;
        self.sums.after_end_ns = pass.after.last_ns;
        self.flow_sums = vec![FlowSums::default(); towards.len()];
        let records = (pass.before.records, pass.after.records);
        drop(pass);
        let second = Pass::open(&self.inputs.0, &self.inputs.1, self.options.bounds(), records)?;
        let edges = (spans.0.map(LowerEdge::new), spans.1.map(LowerEdge::new));
        let order = RowOrder::new(towards, sent, edges);
        Ok(Stage::Pairing(Box::new((second, order))))
    }

    /// Refuse the packets of flows that are given up, and forget what was seen of them.
    fn give_up_indistinct(&mut self, surveys: &mut [FlowSurvey]) {
        let mut packets = 0;
        for (flow, survey) in surveys.iter_mut().enumerate() {
            let given_up = self.flows.give_up_indistinct(flow, survey.matched);
            if given_up > 0 {
                *survey = FlowSurvey::default();
                packets += given_up;
            }
        }
        if packets == 0 {
            return;
        }
        self.summary.records_read = self.summary.records_read.saturating_sub(packets);
        self.summary.refuse_all(PairRefusal::IndistinctPacket, packets);
        let message = format!(
            "pair of captures: {packets} packets cannot be told apart and some of them are missing at a point, so they have no delays; record at least 96 bytes of each packet"
        );
        self.summary
            .fail(Fault::new(FaultKind::IndistinctPackets, message, None));
    }

    fn next_rows(&mut self, (pass, order): &mut (Pass, RowOrder)) -> Vec<PairedPacket> {
        while order.ready.len() < self.options.batch_rows {
            if !pass.read(&mut self.flows, &mut |packet| order.take(packet)) {
                break;
            }
        }
        let count = order.ready.len().min(self.options.batch_rows);
        let rows: Vec<_> = order.ready.drain(..count).collect();
        for packet in &rows {
            let fate = self.sums.fate(packet);
            let delay_ns = self.sums.queuing_delay_ns(packet);
            self.sums.all.add(fate, delay_ns);
            if let Some(sums) = self.flow_sums.get_mut(packet.flow as usize) {
                sums.add(fate, delay_ns);
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_capture::{TestCapture, udp_fragments};
    use etherparse::PacketBuilder;

    const MS: i64 = 1_000_000;

    fn frame(towards: bool, identification: u16, hop_limit: u8) -> Vec<u8> {
        let (source, destination) = if towards { (1, 2) } else { (2, 1) };
        let mut frame = Vec::new();
        PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4([10, 0, 0, source], [10, 0, 0, destination], hop_limit)
            .udp(9, 9)
            .write(&mut frame, &identification.to_be_bytes())
            .unwrap();
        frame[18..20].copy_from_slice(&identification.to_be_bytes());
        frame
    }

    /// The column of the only table of that name, with what it is in each row.
    fn decode(
        before: &[Vec<u8>],
        after: &[Vec<u8>],
        options: PairOptions,
    ) -> (PairSums, Vec<FlowSums>, Summary) {
        let inputs = |files: &[Vec<u8>]| files.iter().cloned().map(CaptureInput::Memory).collect();
        let mut decoder = PairDecoder::open(inputs(before), inputs(after), options).unwrap();
        let mut rows = 0;
        while let Some((table, batch)) = decoder.next_batch().unwrap() {
            assert!(batch.num_rows() <= options.batch_rows);
            if table == "packet_pair" {
                rows += batch.num_rows() as i64;
            }
        }
        let sums = decoder.sums.clone();
        assert_eq!(rows, sums.all.sent + sums.all.not_seen_before);
        (sums, decoder.flow_sums.clone(), decoder.summary.clone())
    }

    /// 500 packets each way, of which every seventh towards the bottleneck is dropped; the others queue.
    fn two_captures(parts: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut before: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut after = Vec::new();
        for n in 0..500u16 {
            let at_us = u32::from(n) * 10_000;
            before.push((at_us, frame(true, n, 64)));
            if n % 7 != 3 {
                after.push((at_us + 20_000 + u32::from(n % 5) * 1000, frame(true, n, 63)));
            }
            after.push((at_us + 1, frame(false, n, 64)));
            before.push((at_us + 15_001, frame(false, n, 63)));
        }
        let in_files = |mut packets: Vec<(u32, Vec<u8>)>| -> Vec<Vec<u8>> {
            packets.sort();
            let each = packets.len().div_ceil(parts);
            packets
                .chunks(each)
                .map(|chunk| {
                    let mut capture = TestCapture::new(1);
                    for (time_us, frame) in chunk {
                        capture.record(*time_us, frame);
                    }
                    capture.content
                })
                .collect()
        };
        (in_files(before), in_files(after))
    }

    /// Packets `gap_us` apart, of which the capture before the bottleneck has `snap` bytes; some are lost.
    fn snapped(
        snap: usize,
        gap_us: u32,
        are_identified: bool,
        lost: impl Fn(u16) -> bool,
    ) -> (Vec<u8>, Vec<u8>) {
        let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
        for n in 0..100u16 {
            let mut whole = frame(true, if are_identified { n + 1 } else { 0 }, 64);
            whole.extend([7; 40]);
            // An RTP header: version and type, sequence number.
            whole[42..44].copy_from_slice(&[0x80, 0x60]);
            whole[44..46].copy_from_slice(&n.to_be_bytes());
            let length = u16::try_from(whole.len()).unwrap();
            whole[16..18].copy_from_slice(&(length - 14).to_be_bytes());
            whole[38..40].copy_from_slice(&(length - 34).to_be_bytes());
            let time_us = u32::from(n) * gap_us;
            before.snapped(time_us, &whole[..snap], u32::from(length));
            if !lost(n) {
                after.record(time_us + 20_000, &whole);
            }
        }
        (before.content, after.content)
    }

    #[test]
    fn packets_that_look_alike_have_no_delays_once_some_are_lost() {
        for (snap, are_distinct) in [(60, true), (46, true), (44, false), (42, false)] {
            let (before, after) = snapped(snap, 10_000, false, |n| n % 10 == 3);
            let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
            let (packets, reason) = if are_distinct {
                (190, None)
            } else {
                (0, Some(FaultKind::IndistinctPackets))
            };
            assert_eq!(summary.fault.map(|fault| fault.kind), reason, "{snap}");
            assert_eq!(summary.records_read, packets, "{snap}");
            assert_eq!(sums.all.delivered, if are_distinct { 90 } else { 0 }, "{snap}");
            assert_eq!(sums.all.delay_max_ns, are_distinct.then_some(0), "{snap}");
        }
        // The queue is empty whenever a packet comes, and one of the last is lost.
        let (before, after) = snapped(42, 50_000, false, |n| n == 90);
        let (_, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
        assert_eq!(summary.refused["indistinct_packet"], 199);
        // Nothing is lost, so that each is the one that comes next.
        let (before, after) = snapped(42, 10_000, false, |_| false);
        let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
        assert_eq!((sums.all.delivered, summary.fault), (100, None));
        // Of a flow that only one point sees, nothing could be measured.
        let (before, _) = snapped(42, 10_000, false, |_| false);
        let (_, other) = snapped(60, 10_000, true, |_| true);
        let (_, _, summary) = decode(&[before], &[other], PairOptions::of_rate(1_000_000_000));
        assert_eq!((summary.records_read, summary.fault), (100, None));
    }

    #[test]
    fn captures_with_different_snap_lengths_are_matched_by_what_both_have() {
        for snap in [64, 50, 44, 42] {
            let (before, after) = snapped(snap, 10_000, true, |n| n % 10 == 3);
            let (sums, _, summary) = decode(&[before], &[after], PairOptions::of_rate(1_000_000_000));
            assert_eq!(
                (sums.all.sent, sums.all.delivered, sums.all.not_seen_before),
                (100, 90, 0),
                "{snap}"
            );
            assert_eq!(summary.fault, None, "{snap}");
        }
    }

    #[test]
    fn a_pair_in_several_files_with_small_batches_comes_to_the_same() {
        let mut outcomes = Vec::new();
        for (parts, batch_rows) in [(1, 65_536), (3, 7)] {
            let (before, after) = two_captures(parts);
            let options = PairOptions {
                batch_rows,
                ..PairOptions::of_rate(1_000_000_000)
            };
            let (sums, flows, summary) = decode(&before, &after, options);
            assert_eq!(
                (
                    sums.all.sent,
                    sums.all.dropped,
                    sums.all.delivered,
                    sums.reverse_matched
                ),
                (500, 71, 429, 500)
            );
            assert_eq!(
                (sums.all.delay_min_ns, sums.all.delay_max_ns),
                (Some(0), Some(4 * MS))
            );
            assert_eq!(sums.clock.offset_ns, Some(2_500_000));
            assert_eq!(summary.records_read, 1929);
            outcomes.push(format!("{sums:?} {flows:?} {summary:?}"));
        }
        assert_eq!(outcomes[0], outcomes[1]);
    }

    #[test]
    fn fragments_are_matched_whichever_comes_first_at_either_point() {
        let (mut before, mut after) = (TestCapture::new(1), TestCapture::new(1));
        for id in 0..4 {
            let parts = udp_fragments(id, 3, 4);
            let at_us = u32::from(id) * 100_000;
            for (place, frame) in (0..).zip(&parts) {
                after.record(at_us + 10_000 + place, frame);
            }
            for (place, frame) in (0..).zip(parts.iter().rev()) {
                before.record(at_us + place, frame);
            }
        }
        let options = PairOptions::of_rate(1_000_000_000);
        let (sums, _, summary) = decode(&[before.content], &[after.content], options);
        assert_eq!((sums.all.sent, sums.all.delivered, sums.all.dropped), (12, 12, 0));
        assert_eq!((summary.records_read, summary.refused.len()), (24, 0));
    }

    #[test]
    fn a_packet_that_is_given_up_too_early_is_counted_on_both_sides() {
        let (before, after) = two_captures(1);
        let mut delivered = Vec::new();
        for patience in 4..14 {
            let options = PairOptions {
                patience,
                ..PairOptions::of_rate(1_000_000_000)
            };
            let (sums, _, _) = decode(&before, &after, options);
            if sums.all.sent > 0 {
                assert_eq!(sums.all.sent, 500);
                assert_eq!(sums.all.delivered + sums.all.not_seen_before, 429);
            }
            delivered.push(sums.all.delivered);
        }
        assert!(delivered.is_sorted());
        assert!(delivered[0] < 10);
        assert_eq!(delivered[9], 429);
    }
}
