//! Two captures of one run, before and after the bottleneck: the same packets matched, and what became of them.
//!
//! **Matching.** A packet is recognised by addresses, ports, protocol and IP identification, and by the sequence and
//! acknowledgement numbers of TCP, by sequence, timestamp and source of RTP, or by the first bytes of what it
//! carries. Packets with equal keys match in their order, so that a repeated identification costs nothing while
//! one of the two is not lost; reordering does not matter.
//!
//! **Direction.** Packets towards the bottleneck pass the first point first. A router between the points lowers
//! the hop limit, which tells the direction of a packet whatever the two clocks say; without a router the
//! median sign of the difference of times decides for a pair of hosts.
//!
//! **Memory.** The captures are read side by side, each behind which less time has passed. Of more than
//! [`WAITING`] packets that wait for their match the oldest is taken to have none.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::path::Path;

use arrow_array::RecordBatch;
use hashbrown::HashMap;

use crate::bytes::{be_u16, be_u32};
use crate::capture_reader::CaptureReader;
use crate::fault::Fault;
use crate::layers::{Endpoint, LayerDecoder, Packet, Transport};
use crate::pair_batch;
use crate::pair_clock::ClockEstimate;
use crate::source::PlainReader;
use crate::summary::Summary;

/// Packets without a match that are kept waiting (about 150 bytes each).
const WAITING: usize = 1 << 20;
const PAYLOAD_KEY_BYTES: usize = 24;

/// Which capture a packet is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    Before,
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DirectedFlow {
    pub(crate) source: Endpoint,
    pub(crate) destination: Endpoint,
    pub(crate) protocol: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PacketKey {
    flow: DirectedFlow,
    ip_id: u32,
    words: (u32, u32, u32),
}

impl PacketKey {
    fn of(packet: &Packet<'_>) -> Self {
        let words = match packet.transport {
            Transport::Tcp(segment) => (
                segment.sequence,
                segment.acknowledgement,
                u32::from(segment.flags) << 16 | packet.payload_bytes & 0xffff,
            ),
            Transport::Udp(payload) => payload_words(payload),
            Transport::Fragment | Transport::Other => payload_words(packet.ip_payload),
        };
        Self {
            flow: DirectedFlow {
                source: packet.source,
                destination: packet.destination,
                protocol: packet.protocol,
            },
            ip_id: packet.ip_id,
            words,
        }
    }
}

/// The first twelve bytes hold sequence, timestamp and source of RTP; of other content, what follows is mixed
/// in. Only bytes that a capture of small snapshots has too are looked at.
fn payload_words(payload: &[u8]) -> (u32, u32, u32) {
    let word = |offset| be_u32(payload, offset).unwrap_or_default();
    let mut mixed = word(8);
    for offset in (12..PAYLOAD_KEY_BYTES).step_by(4) {
        mixed = mixed.rotate_left(5).wrapping_mul(0x9e37_79b1) ^ word(offset);
    }
    (word(0), word(4), mixed)
}

/// What is kept of one sighting.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    point: Point,
    index: i64,
    time_ns: i64,
    wire_bytes: u32,
    hop_limit: u8,
    transport_word: Option<u32>,
}

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

/// A packet of the pair, in any direction while its direction is not known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairedPacket {
    pub(crate) flow: u32,
    pub(crate) ip_id: u32,
    pub(crate) transport_word: Option<u32>,
    pub(crate) wire_bytes: u32,
    /// Number in its capture while packets are matched, in the pair thereafter.
    pub(crate) index: i64,
    pub(crate) before_ns: Option<i64>,
    pub(crate) after_ns: Option<i64>,
}

/// Votes for the direction of a flow.
#[derive(Debug, Default, Clone, Copy)]
struct DirectionVotes {
    hops: i64,
    times: i64,
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

/// Choices of the caller.
#[derive(Debug, Clone, Copy)]
pub struct PairOptions {
    /// Rate of the bottleneck in bit/s; at least 1.
    pub rate_bps: i64,
    /// Most rows in a batch; at least 1.
    pub batch_rows: usize,
}

struct Side {
    reader: CaptureReader,
    layers: LayerDecoder,
    first_ns: Option<i64>,
    last_ns: i64,
    ended: bool,
    packets: i64,
}

impl Side {
    fn open(path: &Path) -> Result<Self, Fault> {
        Ok(Self {
            reader: CaptureReader::new(PlainReader::open(path)?)?,
            layers: LayerDecoder::default(),
            first_ns: None,
            last_ns: i64::MIN,
            ended: false,
            packets: 0,
        })
    }

    fn elapsed_ns(&self) -> i64 {
        self.first_ns.map_or(i64::MIN, |first_ns| self.last_ns - first_ns)
    }
}

/// Decoder of a pair of captures: rows of `packet_pair`, `flow_pair` and `capture_pair`.
///
/// Delays need the smallest of the whole recording, so rows come after everything was read.
pub struct PairDecoder {
    options: PairOptions,
    matcher: Matcher,
    rows: Option<std::vec::IntoIter<PairedPacket>>,
    emitted: Emitted,
    sums: PairSums,
    flow_sums: Vec<FlowSums>,
    sides: Option<(Box<Side>, Box<Side>)>,
    summary: Summary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Emitted {
    Nothing,
    Packets,
    Flows,
    All,
}

#[derive(Default)]
struct Matcher {
    flows: HashMap<DirectedFlow, u32>,
    flow_list: Vec<DirectedFlow>,
    votes: Vec<DirectionVotes>,
    waiting: HashMap<PacketKey, VecDeque<Sighting>>,
    oldest_first: VecDeque<(PacketKey, i64, Point)>,
    waiting_count: usize,
    packets: Vec<PairedPacket>,
}

impl Matcher {
    fn flow(&mut self, flow: DirectedFlow) -> u32 {
        let next = u32::try_from(self.flow_list.len()).unwrap_or(u32::MAX);
        let place = *self.flows.entry(flow).or_insert(next);
        if place == next {
            self.flow_list.push(flow);
            self.votes.push(DirectionVotes::default());
        }
        place
    }

    fn sighted(&mut self, key: PacketKey, sighting: Sighting) {
        if let Some(queue) = self.waiting.get_mut(&key)
            && queue
                .front()
                .is_some_and(|waiting| waiting.point != sighting.point)
            && let Some(other) = queue.pop_front()
        {
            if queue.is_empty() {
                self.waiting.remove(&key);
            }
            self.waiting_count -= 1;
            self.matched(key, other, sighting);
            return;
        }
        self.waiting.entry(key).or_default().push_back(sighting);
        self.oldest_first.push_back((key, sighting.index, sighting.point));
        self.waiting_count += 1;
        while self.waiting_count > WAITING || self.oldest_first.len() > 2 * WAITING {
            self.give_up_oldest();
        }
    }

    fn matched(&mut self, key: PacketKey, one: Sighting, other: Sighting) {
        let (before, after) = match one.point {
            Point::Before => (one, other),
            Point::After => (other, one),
        };
        let flow = self.flow(key.flow);
        if let Some(votes) = self.votes.get_mut(flow as usize) {
            votes.hops += (i64::from(before.hop_limit) - i64::from(after.hop_limit)).signum();
            votes.times += (after.time_ns - before.time_ns).signum();
        }
        self.packets.push(PairedPacket {
            flow,
            ip_id: key.ip_id,
            transport_word: before.transport_word,
            wire_bytes: before.wire_bytes,
            index: before.index,
            before_ns: Some(before.time_ns),
            after_ns: Some(after.time_ns),
        });
    }

    /// Take the oldest packet that waits to have no match; the places of those that found one are passed.
    fn give_up_oldest(&mut self) {
        let Some((key, index, point)) = self.oldest_first.pop_front() else {
            return;
        };
        let Some(queue) = self.waiting.get_mut(&key) else {
            return;
        };
        let waits = |waiting: &Sighting| waiting.index == index && waiting.point == point;
        if !queue.front().is_some_and(waits) {
            return;
        }
        let sighting = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&key);
        }
        if let Some(sighting) = sighting {
            self.waiting_count -= 1;
            self.unmatched(key, sighting);
        }
    }

    fn unmatched(&mut self, key: PacketKey, sighting: Sighting) {
        let flow = self.flow(key.flow);
        let before = sighting.point == Point::Before;
        self.packets.push(PairedPacket {
            flow,
            ip_id: key.ip_id,
            transport_word: sighting.transport_word,
            wire_bytes: sighting.wire_bytes,
            index: sighting.index,
            before_ns: before.then_some(sighting.time_ns),
            after_ns: (!before).then_some(sighting.time_ns),
        });
    }

    /// Whether each flow goes towards the bottleneck.
    ///
    /// A flow of which nothing matched goes as the other flows of its hosts go.
    fn directions(&self) -> Vec<bool> {
        let mut by_hosts: HashMap<(IpAddr, IpAddr), i64> = HashMap::new();
        let hop_votes: i64 = self.votes.iter().map(|votes| votes.hops.abs()).sum();
        let vote = |votes: &DirectionVotes| if hop_votes > 0 { votes.hops } else { votes.times };
        for (flow, votes) in self.flow_list.iter().zip(&self.votes) {
            let (source, destination) = (flow.source.address, flow.destination.address);
            *by_hosts.entry((source, destination)).or_default() += vote(votes);
            *by_hosts.entry((destination, source)).or_default() -= vote(votes);
        }
        self.flow_list
            .iter()
            .zip(&self.votes)
            .map(|(flow, votes)| {
                let own = vote(votes);
                let hosts = (flow.source.address, flow.destination.address);
                let known = if own == 0 {
                    by_hosts.get(&hosts).copied().unwrap_or_default()
                } else {
                    own
                };
                known > 0
            })
            .collect()
    }
}

impl PairDecoder {
    /// Open both captures and read their headers.
    ///
    /// # Errors
    ///
    /// A fault where one of them cannot be decoded at all.
    pub fn open(before: &Path, after: &Path, options: PairOptions) -> Result<Self, Fault> {
        let options = PairOptions {
            rate_bps: options.rate_bps.max(1),
            batch_rows: options.batch_rows.max(1),
        };
        Ok(Self {
            options,
            matcher: Matcher::default(),
            rows: None,
            emitted: Emitted::Nothing,
            sums: PairSums {
                rate_bps: options.rate_bps,
                ..PairSums::default()
            },
            flow_sums: Vec::new(),
            sides: Some((Box::new(Side::open(before)?), Box::new(Side::open(after)?))),
            summary: Summary::default(),
        })
    }

    /// What was seen so far of both captures; whole once [`Self::next_batch`] has returned `None`.
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
        if let Some((mut before, mut after)) = self.sides.take() {
            self.read(&mut before, &mut after);
            self.finish(&before, &after);
            self.emitted = Emitted::Packets;
        }
        if self.emitted == Emitted::Packets {
            let rows: Vec<_> = self
                .rows
                .iter_mut()
                .flatten()
                .take(self.options.batch_rows)
                .collect();
            if !rows.is_empty() {
                let batch = pair_batch::packets(&rows, &self.matcher.flow_list, &self.sums)?;
                return Ok(Some(("packet_pair", batch)));
            }
            self.emitted = Emitted::Flows;
            let flows: Vec<_> = self
                .matcher
                .flow_list
                .iter()
                .copied()
                .zip(self.flow_sums.iter().copied())
                .filter(|(_, sums)| sums.sent + sums.not_seen_before > 0)
                .collect();
            if !flows.is_empty() {
                return Ok(Some(("flow_pair", pair_batch::flows(&flows)?)));
            }
        }
        if self.emitted == Emitted::Flows {
            self.emitted = Emitted::All;
            return Ok(Some(("capture_pair", pair_batch::pair(&self.sums)?)));
        }
        Ok(None)
    }

    fn read(&mut self, before: &mut Side, after: &mut Side) {
        while !before.ended || !after.ended {
            let first = !before.ended && (after.ended || before.elapsed_ns() <= after.elapsed_ns());
            let (side, point) = if first {
                (&mut *before, Point::Before)
            } else {
                (&mut *after, Point::After)
            };
            match side.reader.next_packet() {
                Ok(None) => side.ended = true,
                Err(fault) => {
                    self.summary.fail(fault);
                    side.ended = true;
                }
                Ok(Some(captured)) => {
                    side.first_ns.get_or_insert(captured.time_ns);
                    side.last_ns = side.last_ns.max(captured.time_ns);
                    match side.layers.decode(&captured) {
                        Err(reason) => self.summary.refuse(reason),
                        Ok(packet) => {
                            self.summary.records_read += 1;
                            let sighting = Sighting {
                                point,
                                index: side.packets,
                                time_ns: captured.time_ns,
                                wire_bytes: captured.wire_bytes,
                                hop_limit: packet.hop_limit,
                                transport_word: transport_word(&packet),
                            };
                            side.packets += 1;
                            self.matcher.sighted(PacketKey::of(&packet), sighting);
                        }
                    }
                }
            }
        }
        while !self.matcher.oldest_first.is_empty() {
            self.matcher.give_up_oldest();
        }
    }

    fn finish(&mut self, before: &Side, after: &Side) {
        let towards = self.matcher.directions();
        let is_towards = |packet: &PairedPacket| towards.get(packet.flow as usize).copied().unwrap_or(false);
        let packets = std::mem::take(&mut self.matcher.packets);
        let (mut rows, back): (Vec<_>, Vec<_>) = packets.into_iter().partition(is_towards);
        let floor = rows.iter().filter_map(|packet| self.sums.delay_ns(packet)).min();
        self.sums.delay_floor_ns = floor;
        self.sums.before_packets = before.packets;
        self.sums.after_packets = after.packets;
        self.sums.reverse_matched = back
            .iter()
            .filter(|packet| packet.before_ns.is_some() && packet.after_ns.is_some())
            .count() as i64;
        self.sums.clock = ClockEstimate::new(&rows, &back);
        // A packet that left so late that even without a queue it would have passed after the second capture's
        // end says nothing about a drop.
        self.sums.after_end_ns = after.last_ns;
        rows.sort_by_key(|packet| (packet.before_ns.is_none(), packet.index));
        for (number, packet) in rows.iter_mut().enumerate() {
            packet.index = number as i64;
        }
        self.flow_sums = vec![FlowSums::default(); self.matcher.flow_list.len()];
        for packet in &rows {
            let fate = self.sums.fate(packet);
            let delay_ns = self.sums.queuing_delay_ns(packet);
            self.sums.all.add(fate, delay_ns);
            if let Some(sums) = self.flow_sums.get_mut(packet.flow as usize) {
                sums.add(fate, delay_ns);
            }
        }
        self.rows = Some(rows.into_iter());
    }
}

fn transport_word(packet: &Packet<'_>) -> Option<u32> {
    match packet.transport {
        Transport::Tcp(segment) => Some(segment.sequence),
        Transport::Udp(payload) => be_u32(payload, 0).or_else(|| be_u16(payload, 0).map(u32::from)),
        Transport::Fragment | Transport::Other => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn key(number: u32, towards: bool) -> PacketKey {
        let mut ends = [1u8, 2].map(|host| Endpoint {
            address: [10, 0, 0, host].into(),
            port: 1000,
        });
        if !towards {
            ends.reverse();
        }
        PacketKey {
            flow: DirectedFlow {
                source: ends[0],
                destination: ends[1],
                protocol: 17,
            },
            ip_id: number,
            words: (0, 0, 0),
        }
    }

    fn sighting(point: Point, index: i64, time_ns: i64, hop_limit: u8) -> Sighting {
        Sighting {
            point,
            index,
            time_ns,
            wire_bytes: 125,
            hop_limit,
            transport_word: None,
        }
    }

    #[test]
    fn equal_keys_match_in_their_order_and_a_lost_one_stays() {
        let mut matcher = Matcher::default();
        for index in 0..3 {
            matcher.sighted(key(7, true), sighting(Point::Before, index, index * MS, 64));
        }
        for index in 0..2 {
            matcher.sighted(key(7, true), sighting(Point::After, index, (10 + index) * MS, 63));
        }
        while !matcher.oldest_first.is_empty() {
            matcher.give_up_oldest();
        }
        let delays: Vec<_> = matcher
            .packets
            .iter()
            .map(|packet| packet.after_ns.map(|after| after - packet.before_ns.unwrap()))
            .collect();
        assert_eq!(delays, [Some(10 * MS), Some(10 * MS), None]);
        assert!(matcher.waiting.is_empty());
    }

    #[test]
    fn hop_limits_tell_the_direction_whatever_the_clocks_say() {
        let mut matcher = Matcher::default();
        for (number, towards) in [(1, true), (2, false)] {
            let (first, second) = if towards { (64, 63) } else { (63, 64) };
            // The second clock is an hour behind.
            matcher.sighted(key(number, towards), sighting(Point::Before, 0, 0, first));
            matcher.sighted(
                key(number, towards),
                sighting(Point::After, 0, -3_600_000 * MS, second),
            );
        }
        assert_eq!(matcher.directions(), [true, false]);
    }

    #[test]
    fn without_hops_times_tell_and_an_unmatched_flow_goes_as_its_hosts_do() {
        let mut matcher = Matcher::default();
        matcher.sighted(key(1, true), sighting(Point::Before, 0, 0, 64));
        matcher.sighted(key(1, true), sighting(Point::After, 0, MS, 64));
        let mut other = key(2, true);
        other.flow.source.port = 7;
        matcher.sighted(other, sighting(Point::Before, 1, 0, 64));
        matcher.sighted(key(3, false), sighting(Point::Before, 2, 0, 64));
        while !matcher.oldest_first.is_empty() {
            matcher.give_up_oldest();
        }
        assert_eq!(matcher.directions(), [true, true, false]);
    }

    #[test]
    fn queuing_delay_is_that_of_the_definition() {
        let packet = |before_ns, after_ns, wire_bytes| PairedPacket {
            flow: 0,
            ip_id: 0,
            transport_word: None,
            wire_bytes,
            index: 0,
            before_ns: Some(before_ns),
            after_ns,
        };
        let mut sums = PairSums {
            rate_bps: 1_000_000,
            after_end_ns: 100 * MS,
            ..PairSums::default()
        };
        // 125 bytes take 1 ms at 1 Mbit/s.
        let quick = packet(0, Some(26 * MS), 125);
        let slow = packet(0, Some(47 * MS), 250);
        sums.delay_floor_ns = sums.delay_ns(&quick);
        assert_eq!(sums.delay_floor_ns, Some(25 * MS));
        assert_eq!(sums.queuing_delay_ns(&quick), Some(0));
        assert_eq!(sums.queuing_delay_ns(&slow), Some(20 * MS));
        assert_eq!(sums.fate(&packet(70 * MS, None, 125)), Fate::Dropped);
        assert_eq!(sums.fate(&packet(76 * MS, None, 125)), Fate::InFlightAtEnd);
    }
}
