//! Two captures of one run, before and after the bottleneck: the same packets matched, and what became of them.
//!
//! **Two passes.** A packet's queuing delay is over the least time of the whole recording, and which way a flow
//! goes is known when all of it was seen. So the captures are read twice: the first pass finds the flows' ways, the
//! least times and the span of each way, the second gives the rows. Both match in the same order, hence alike.
//!
//! **Direction.** Packets towards the bottleneck pass the first point first. A router between the points lowers
//! the hop limit, which tells the direction of a packet whatever the two clocks say; without a router the
//! median sign of the difference of times decides for a pair of hosts.
//!
//! **Memory.** The captures are read side by side, each behind which less time has passed. Sightings that wait
//! are bounded (see the matcher), and with them the rows that wait for an earlier packet's fate; so are flows.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::net::IpAddr;

use arrow_array::RecordBatch;
use hashbrown::HashMap;

use crate::capture::recording::{CaptureInput, RecordingReader};
use crate::input::bytes::{be_u16, be_u32};
use crate::input::fault::Fault;
use crate::output::summary::Summary;
use crate::packet::layers::{LayerDecoder, Packet, Transport};
use crate::pair::batch;
use crate::pair::clock::{ClockEstimate, LowerEdge, WaySpan};
use crate::pair::matcher::{
    Bounds, DirectedFlow, FlowNumbers, Matcher, PacketKey, PairedPacket, Point, Sighting,
};

const TOO_MANY_FLOWS: Cow<'static, str> = Cow::Borrowed("too_many_flows");

/// What became of a packet that was sent towards the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Delivered,
    Dropped,
    /// The second capture had ended before the packet could have passed it.
    InFlightAtEnd,
    /// Seen only behind the bottleneck: the first capture missed it.
    NotSeenBefore,
}

impl Fate {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Dropped => "dropped",
            Self::InFlightAtEnd => "in_flight_at_end",
            Self::NotSeenBefore => "not_seen_before",
        }
    }
}

/// What the first pass finds of one flow.
#[derive(Debug, Default, Clone, Copy)]
struct FlowSurvey {
    /// Votes for its direction: by hop limits, and by times.
    hops: i64,
    times: i64,
    sent: i64,
    matched: i64,
    /// Of the packets that both captures have; `None` without one.
    times_seen: Option<TimesSeen>,
}

#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "names carry units")]
struct TimesSeen {
    first_ns: i64,
    last_ns: i64,
    /// Second point's time minus the first's.
    least_difference_ns: i64,
    greatest_difference_ns: i64,
    /// Least difference less serialisation.
    floor_ns: i64,
}

impl FlowSurvey {
    fn add(&mut self, packet: &PairedPacket, delay_ns: Option<i64>) {
        self.sent += i64::from(packet.before_ns.is_some());
        let (Some(before_ns), Some(after_ns), Some(delay_ns)) = (packet.before_ns, packet.after_ns, delay_ns)
        else {
            return;
        };
        let difference_ns = after_ns - before_ns;
        self.matched += 1;
        self.hops += i64::from(packet.hops.signum());
        self.times += difference_ns.signum();
        let seen = self.times_seen.get_or_insert(TimesSeen {
            first_ns: before_ns,
            last_ns: before_ns,
            least_difference_ns: difference_ns,
            greatest_difference_ns: difference_ns,
            floor_ns: delay_ns,
        });
        seen.first_ns = seen.first_ns.min(before_ns);
        seen.last_ns = seen.last_ns.max(before_ns);
        seen.least_difference_ns = seen.least_difference_ns.min(difference_ns);
        seen.greatest_difference_ns = seen.greatest_difference_ns.max(difference_ns);
        seen.floor_ns = seen.floor_ns.min(delay_ns);
    }
}

/// Whether each flow goes towards the bottleneck.
///
/// A flow of which nothing matched goes as the other flows of its hosts go.
fn directions(flows: &[DirectedFlow], surveys: &[FlowSurvey]) -> Vec<bool> {
    let by_hops = surveys.iter().any(|survey| survey.hops != 0);
    let vote = |survey: &FlowSurvey| if by_hops { survey.hops } else { survey.times };
    let mut by_hosts: HashMap<(IpAddr, IpAddr), i64> = HashMap::new();
    for (flow, survey) in flows.iter().zip(surveys) {
        let votes = vote(survey);
        if votes != 0 {
            let (source, destination) = (flow.source.address, flow.destination.address);
            *by_hosts.entry((source, destination)).or_default() += votes;
            *by_hosts.entry((destination, source)).or_default() -= votes;
        }
    }
    flows
        .iter()
        .zip(surveys)
        .map(|(flow, survey)| match vote(survey) {
            0 => {
                let hosts = (flow.source.address, flow.destination.address);
                by_hosts.get(&hosts).copied().unwrap_or_default() > 0
            }
            own => own > 0,
        })
        .collect()
}

/// Sums of one flow towards the bottleneck.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FlowSums {
    pub(crate) sent: i64,
    pub(crate) delivered: i64,
    pub(crate) dropped: i64,
    pub(crate) in_flight_at_end: i64,
    pub(crate) not_seen_before: i64,
    pub(crate) delay_min_ns: Option<i64>,
    pub(crate) delay_max_ns: Option<i64>,
    pub(crate) delay_sum_ns: i128,
}

impl FlowSums {
    fn add(&mut self, fate: Fate, delay_ns: Option<i64>) {
        match fate {
            Fate::Delivered => self.delivered += 1,
            Fate::Dropped => self.dropped += 1,
            Fate::InFlightAtEnd => self.in_flight_at_end += 1,
            Fate::NotSeenBefore => self.not_seen_before += 1,
        }
        self.sent += i64::from(fate != Fate::NotSeenBefore);
        if let Some(delay_ns) = delay_ns {
            self.delay_min_ns = Some(self.delay_min_ns.map_or(delay_ns, |least| least.min(delay_ns)));
            self.delay_max_ns = Some(self.delay_max_ns.map_or(delay_ns, |most| most.max(delay_ns)));
            self.delay_sum_ns += i128::from(delay_ns);
        }
    }

    pub(crate) fn delay_mean_us(&self) -> Option<f64> {
        self.delay_min_ns
            .map(|_| self.delay_sum_ns as f64 / self.delivered as f64 / 1e3)
    }
}

/// What a pair of captures comes to.
#[derive(Debug, Default, Clone)]
pub(crate) struct PairSums {
    pub(crate) rate_bps: i64,
    pub(crate) before_packets: i64,
    pub(crate) after_packets: i64,
    pub(crate) all: FlowSums,
    pub(crate) reverse_matched: i64,
    pub(crate) delay_floor_ns: Option<i64>,
    pub(crate) after_end_ns: i64,
    pub(crate) clock: ClockEstimate,
}

impl PairSums {
    /// Time from point to point less the serialisation at the bottleneck, in the two captures' clocks.
    fn delay_ns(&self, packet: &PairedPacket) -> Option<i64> {
        let serialisation_ns = i128::from(packet.wire_bytes) * 8_000_000_000 / i128::from(self.rate_bps);
        let serialisation_ns = i64::try_from(serialisation_ns).unwrap_or(i64::MAX);
        Some((packet.after_ns? - packet.before_ns?).saturating_sub(serialisation_ns))
    }

    /// The same less the smallest of the whole recording, in which the clocks' offset falls out.
    pub(crate) fn queuing_delay_ns(&self, packet: &PairedPacket) -> Option<i64> {
        Some(self.delay_ns(packet)?.saturating_sub(self.delay_floor_ns?))
    }

    /// A packet that left so late that even without a queue it would have passed after the second capture's
    /// end says nothing about a drop.
    pub(crate) fn fate(&self, packet: &PairedPacket) -> Fate {
        match (packet.before_ns, packet.after_ns) {
            (Some(_), Some(_)) => Fate::Delivered,
            (None, _) => Fate::NotSeenBefore,
            (Some(before_ns), None) => {
                let earliest_ns = self
                    .delay_floor_ns
                    .map(|floor_ns| before_ns.saturating_add(floor_ns));
                if earliest_ns.is_some_and(|earliest_ns| earliest_ns > self.after_end_ns) {
                    Fate::InFlightAtEnd
                } else {
                    Fate::Dropped
                }
            }
        }
    }
}

/// Choices of the caller.
#[derive(Debug, Clone, Copy)]
pub struct PairOptions {
    /// Rate of the bottleneck in bit/s; at least 1.
    pub rate_bps: i64,
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

struct Side {
    recording: RecordingReader,
    layers: LayerDecoder,
    point: Point,
    first_ns: Option<i64>,
    last_ns: i64,
    records: u64,
    /// A capture that still grows must not give the second pass more than the first one saw.
    records_at_most: u64,
    packets: i64,
}

impl Side {
    fn open(inputs: &[CaptureInput], point: Point, records_at_most: u64) -> Result<Self, Fault> {
        Ok(Self {
            recording: RecordingReader::open(inputs)?,
            layers: LayerDecoder::default(),
            point,
            first_ns: None,
            last_ns: i64::MIN,
            records: 0,
            records_at_most,
            packets: 0,
        })
    }

    fn ended(&self) -> bool {
        self.recording.file.is_none() || self.records >= self.records_at_most
    }

    fn elapsed_ns(&self) -> i64 {
        self.first_ns
            .map_or(i64::MIN, |first_ns| self.last_ns.saturating_sub(first_ns))
    }

    /// Read one record; a packet of it goes to the matcher.
    fn read(&mut self, flows: &mut FlowNumbers, matcher: &mut Matcher, found: &mut impl FnMut(PairedPacket)) {
        let (Some(reader), Some(summary)) = (&mut self.recording.file, self.recording.summaries.last_mut())
        else {
            return;
        };
        let captured = match reader.next_packet() {
            Ok(Some(captured)) => captured,
            Ok(None) => return self.recording.end_file(None),
            Err(fault) => return self.recording.end_file(Some(fault)),
        };
        self.records += 1;
        self.first_ns.get_or_insert(captured.time_ns);
        self.last_ns = self.last_ns.max(captured.time_ns);
        let packet = match self.layers.decode(&captured) {
            Ok(packet) => packet,
            Err(reason) => return summary.refuse(reason),
        };
        let Some(flow) = flows.number(DirectedFlow::of(&packet)) else {
            return summary.refuse(TOO_MANY_FLOWS);
        };
        summary.records_read += 1;
        let sighting = Sighting {
            point: self.point,
            index: self.packets,
            time_ns: captured.time_ns,
            wire_bytes: captured.wire_bytes,
            hop_limit: packet.hop_limit,
            transport_word: transport_word(&packet),
        };
        self.packets += 1;
        matcher.sighted(PacketKey::of(&packet, flow), sighting, found);
    }
}

fn transport_word(packet: &Packet<'_>) -> Option<u32> {
    match packet.transport {
        Transport::Tcp(segment) => Some(segment.sequence),
        Transport::Udp(payload) => be_u32(payload, 0).or_else(|| be_u16(payload, 0).map(u32::from)),
        Transport::Fragment | Transport::Other => None,
    }
}

/// Both captures, read side by side.
struct Pass {
    before: Side,
    after: Side,
    matcher: Matcher,
}

impl Pass {
    fn open(
        before: &[CaptureInput],
        after: &[CaptureInput],
        bounds: Bounds,
        records_at_most: (u64, u64),
    ) -> Result<Self, Fault> {
        Ok(Self {
            before: Side::open(before, Point::Before, records_at_most.0)?,
            after: Side::open(after, Point::After, records_at_most.1)?,
            matcher: Matcher::new(bounds),
        })
    }

    /// Read one record; whether there was one.
    fn read(&mut self, flows: &mut FlowNumbers, found: &mut impl FnMut(PairedPacket)) -> bool {
        let (before, after) = (&mut self.before, &mut self.after);
        if before.ended() && after.ended() {
            self.matcher.finish(found);
            return false;
        }
        let first = !before.ended() && (after.ended() || before.elapsed_ns() <= after.elapsed_ns());
        let side = if first { before } else { after };
        side.read(flows, &mut self.matcher, found);
        true
    }
}

/// A place in the order of the first capture.
#[derive(Debug)]
enum Place {
    /// The packet's fate is not known yet.
    Open,
    /// The packet is no row: it goes the other way.
    Empty,
    Row(PairedPacket),
}

/// Rows in the order of the first capture, out of packets in the order in which their fates are known.
struct RowOrder {
    towards: Vec<bool>,
    places: VecDeque<Place>,
    passed: i64,
    rows: i64,
    /// Number of the next row that the first capture does not have; they are numbered after all others.
    next_unseen: i64,
    ready: VecDeque<PairedPacket>,
    edges: (Option<LowerEdge>, Option<LowerEdge>),
}

impl RowOrder {
    fn take(&mut self, packet: PairedPacket) {
        let towards = self.towards.get(packet.flow as usize).copied().unwrap_or(false);
        if let (Some(before_ns), Some(after_ns)) = (packet.before_ns, packet.after_ns) {
            let (edge, difference_ns) = if towards {
                (&mut self.edges.0, after_ns - before_ns)
            } else {
                (&mut self.edges.1, before_ns - after_ns)
            };
            if let Some(edge) = edge {
                edge.add(before_ns, difference_ns);
            }
        }
        if packet.before_ns.is_none() {
            if towards {
                let index = self.next_unseen;
                self.next_unseen += 1;
                self.ready.push_back(PairedPacket { index, ..packet });
            }
            return;
        }
        let Ok(place) = usize::try_from(packet.index - self.passed) else {
            return;
        };
        while self.places.len() <= place {
            self.places.push_back(Place::Open);
        }
        if let Some(place) = self.places.get_mut(place) {
            *place = if towards { Place::Row(packet) } else { Place::Empty };
        }
        while let Some(Place::Row(_) | Place::Empty) = self.places.front() {
            if let Some(Place::Row(packet)) = self.places.pop_front() {
                self.ready.push_back(PairedPacket {
                    index: self.rows,
                    ..packet
                });
                self.rows += 1;
            }
            self.passed += 1;
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

    /// The first pass, and what the second one needs to know.
    fn survey(&mut self, mut pass: Pass) -> Result<Stage, Fault> {
        let mut surveys: Vec<FlowSurvey> = Vec::new();
        let sums = &self.sums;
        let mut found = |packet: PairedPacket| {
            let place = packet.flow as usize;
            if place >= surveys.len() {
                surveys.resize(place + 1, FlowSurvey::default());
            }
            if let Some(survey) = surveys.get_mut(place) {
                survey.add(&packet, sums.delay_ns(&packet));
            }
        };
        while pass.read(&mut self.flows, &mut found) {}
        surveys.resize(self.flows.flows().len(), FlowSurvey::default());
        let towards = directions(self.flows.flows(), &surveys);
        let mut spans: (Option<WaySpan>, Option<WaySpan>) = (None, None);
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
                let floor_ns = &mut self.sums.delay_floor_ns;
                *floor_ns = Some(floor_ns.map_or(seen.floor_ns, |least| least.min(seen.floor_ns)));
            }
        }
        self.sums.before_packets = pass.before.packets;
        self.sums.after_packets = pass.after.packets;
        self.sums.after_end_ns = pass.after.last_ns;
        self.summary = Summary::of_all(&[pass.before.recording.summary(), pass.after.recording.summary()]);
        self.flow_sums = vec![FlowSums::default(); towards.len()];
        let records = (pass.before.records, pass.after.records);
        drop(pass);
        let second = Pass::open(&self.inputs.0, &self.inputs.1, self.options.bounds(), records)?;
        let order = RowOrder {
            towards,
            places: VecDeque::new(),
            passed: 0,
            rows: 0,
            next_unseen: sent,
            ready: VecDeque::new(),
            edges: (spans.0.map(LowerEdge::new), spans.1.map(LowerEdge::new)),
        };
        Ok(Stage::Pairing(Box::new((second, order))))
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
    use crate::packet::layers::Endpoint;
    use crate::test_capture::TestCapture;
    use etherparse::PacketBuilder;

    const MS: i64 = 1_000_000;

    fn flow(port: u16, towards: bool) -> DirectedFlow {
        let mut ends = [1u8, 2].map(|host| Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        });
        if !towards {
            ends.reverse();
        }
        DirectedFlow {
            source: ends[0],
            destination: ends[1],
            protocol: 17,
        }
    }

    fn survey(hops: i64, times: i64) -> FlowSurvey {
        FlowSurvey {
            hops,
            times,
            ..FlowSurvey::default()
        }
    }

    #[test]
    fn hop_limits_tell_the_direction_whatever_the_clocks_say() {
        let flows = [flow(1, true), flow(1, false)];
        assert_eq!(
            directions(&flows, &[survey(1, -1), survey(-1, -1)]),
            [true, false]
        );
    }

    #[test]
    fn without_hops_times_tell_and_an_unmatched_flow_goes_as_its_hosts_do() {
        let flows = [flow(1, true), flow(2, true), flow(3, false)];
        assert_eq!(
            directions(&flows, &[survey(0, 1), survey(0, 0), survey(0, 0)]),
            [true, true, false]
        );
    }

    fn packet(index: i64, before_ns: Option<i64>, after_ns: Option<i64>, wire_bytes: u32) -> PairedPacket {
        PairedPacket {
            flow: 0,
            ip_id: 0,
            transport_word: None,
            wire_bytes,
            index,
            before_ns,
            after_ns,
            hops: 0,
        }
    }

    #[test]
    fn queuing_delay_is_that_of_the_definition() {
        let mut sums = PairSums {
            rate_bps: 1_000_000,
            after_end_ns: 100 * MS,
            ..PairSums::default()
        };
        // 125 bytes take 1 ms at 1 Mbit/s.
        let quick = packet(0, Some(0), Some(26 * MS), 125);
        let slow = packet(0, Some(0), Some(47 * MS), 250);
        sums.delay_floor_ns = sums.delay_ns(&quick);
        assert_eq!(sums.delay_floor_ns, Some(25 * MS));
        assert_eq!(sums.queuing_delay_ns(&quick), Some(0));
        assert_eq!(sums.queuing_delay_ns(&slow), Some(20 * MS));
        assert_eq!(sums.fate(&packet(0, Some(70 * MS), None, 125)), Fate::Dropped);
        assert_eq!(
            sums.fate(&packet(0, Some(76 * MS), None, 125)),
            Fate::InFlightAtEnd
        );
    }

    #[test]
    fn rows_come_in_the_order_of_the_first_capture_and_the_unseen_are_numbered_last() {
        let mut order = RowOrder {
            towards: vec![true, false],
            places: VecDeque::new(),
            passed: 0,
            rows: 0,
            next_unseen: 3,
            ready: VecDeque::new(),
            edges: (None, None),
        };
        let back = PairedPacket {
            flow: 1,
            ..packet(1, Some(1), Some(0), 1)
        };
        order.take(packet(2, Some(2), Some(9), 1));
        order.take(packet(0, None, Some(5), 1));
        assert_eq!(order.ready.len(), 1);
        order.take(back);
        order.take(packet(3, Some(3), None, 1));
        order.take(packet(0, Some(0), Some(7), 1));
        let rows: Vec<_> = order.ready.iter().map(|row| (row.index, row.before_ns)).collect();
        assert_eq!(rows, [(3, None), (0, Some(0)), (1, Some(2)), (2, Some(3))]);
        assert!(order.places.is_empty());
    }

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
