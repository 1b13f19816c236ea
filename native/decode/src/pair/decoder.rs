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
use crate::output::units::LONGEST_DELAY_NS;
use crate::pair::batch;
use crate::pair::clock::{ClockEstimate, LowerEdge, WaySpan};
use crate::pair::flows::FlowNumbers;
use crate::pair::matcher::Bounds;
use crate::pair::pass::Pass;
use crate::pair::refusal::PairRefusal;
use crate::pair::row_order::RowOrder;
use crate::pair::segments::LoneSegments;
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
        let mut lone = LoneSegments::default();
        let sums = &self.sums;
        let mut sink = |packet: PairedPacket| {
            let place = packet.flow as usize;
            if place >= surveys.len() {
                surveys.resize(place + 1, FlowSurvey::default());
            }
            if let Some(survey) = surveys.get_mut(place) {
                survey.add(&packet, sums.delay_ns(&packet), &mut lone);
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
        if self.flows.settle(surveys.iter().map(|survey| survey.matched)) {
            let records = (pass.before.records, pass.after.records);
            pass = Pass::open(&self.inputs.0, &self.inputs.1, self.options.bounds(), records)?;
            surveys = self.surveyed(&mut pass);
        }
        surveys.resize(self.flows.flows().len(), FlowSurvey::default());
        self.give_up_indistinct(&mut surveys);
        let towards = directions(self.flows.flows(), &surveys);
        self.give_up_other_segments(&mut surveys);
        self.give_up_impossible(&mut surveys, &towards);
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
        if packets > 0 {
            let message = format!(
                "{packets} packets cannot be told apart and some of them are missing at a point, so they have no delays; record at least 96 bytes of each packet"
            );
            self.refuse(
                PairRefusal::IndistinctPacket,
                packets,
                FaultKind::IndistinctPackets,
                &message,
            );
        }
    }

    /// Refuse the packets of flows whose segments differ between the points. Those that matched have told which way the
    /// flows go by then.
    fn give_up_other_segments(&mut self, surveys: &mut [FlowSurvey]) {
        let mut packets = 0;
        for (flow, survey) in surveys
            .iter_mut()
            .enumerate()
            .filter(|(_, survey)| survey.segments.differ())
        {
            *survey = FlowSurvey::default();
            packets += self.flows.give_up(flow);
        }
        if packets > 0 {
            let message = format!(
                "{packets} packets are of TCP flows whose segments were merged, split or rewritten between the points, so they have no loss and no delays; record with offloads off (ethtool -K DEV gro off lro off tso off gso off)"
            );
            self.refuse(
                PairRefusal::OtherSegments,
                packets,
                FaultKind::OtherSegments,
                &message,
            );
        }
    }

    /// Refuse the packets of flows in which a packet takes more than an hour longer than another: it is not the same
    /// packet, or a clock was set. Where such times lie between flows, a clock was set, and all are refused.
    fn give_up_impossible(&mut self, surveys: &mut [FlowSurvey], towards: &[bool]) {
        let has_own = |survey: &FlowSurvey| {
            survey.times_seen.is_some_and(|seen| {
                seen.greatest_difference_ns
                    .saturating_sub(seen.least_difference_ns)
                    > LONGEST_DELAY_NS
            })
        };
        let mut packets = 0;
        for (flow, survey) in surveys
            .iter_mut()
            .enumerate()
            .filter(|(_, survey)| has_own(survey))
        {
            *survey = FlowSurvey::default();
            packets += self.flows.give_up(flow);
        }
        if has_impossible_delays(surveys, towards) {
            for (flow, survey) in surveys.iter_mut().enumerate() {
                *survey = FlowSurvey::default();
                packets += self.flows.give_up(flow);
            }
        }
        if packets > 0 {
            let message = format!(
                "{packets} packets are of flows in which one takes more than an hour longer than another from point to point, so they have no delays: it is another packet, or a clock was set while it was recorded"
            );
            self.refuse(
                PairRefusal::ImpossibleDelay,
                packets,
                FaultKind::ImpossibleDelay,
                &message,
            );
        }
    }

    /// Refuse packets that were read.
    fn refuse(&mut self, reason: PairRefusal, packets: u64, kind: FaultKind, message: &str) {
        self.summary.records_read = self.summary.records_read.saturating_sub(packets);
        self.summary.refuse_all(reason, packets);
        self.summary
            .fail(Fault::new(kind, format!("pair of captures: {message}"), None));
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

/// Whether packets of a way have delays so different that a clock was set between them.
fn has_impossible_delays(surveys: &[FlowSurvey], towards: &[bool]) -> bool {
    [true, false].into_iter().any(|way| {
        let seen = || {
            surveys
                .iter()
                .zip(towards)
                .filter(move |(_, towards)| **towards == way)
                .filter_map(|(survey, _)| survey.times_seen)
        };
        let least_ns = seen().map(|seen| seen.least_difference_ns).min();
        let greatest_ns = seen().map(|seen| seen.greatest_difference_ns).max();
        greatest_ns
            .zip(least_ns)
            .is_some_and(|(greatest_ns, least_ns)| greatest_ns.saturating_sub(least_ns) > LONGEST_DELAY_NS)
    })
}

#[cfg(test)]
mod tests;
