//! The flows of one capture that are open, bounded in number and in what is kept of each.
//!
//! A flow ends when it has been silent for the idle time (a TCP connection that is over: for the time in which
//! its ports rest), when its ports are used again, when there are too many, or with the capture. Which flow
//! is silent for longest is known without a search: the flows are in two lists by the time of their last
//! packets, one for those that are over. A packet moves its flow to the end of its list.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::flow::batch::IntervalRow;
use crate::flow::ecn::batch::EcnIntervalRow;
use crate::flow::naming::Naming;
use crate::flow::record::{EndReason, Flow};
use crate::flow::spares::Spares;
use crate::packet::direction::Direction;
use crate::packet::protocol::PROTOCOL_UDP;
use crate::packet::types::{Endpoint, Packet, TcpSegment, Transport, Tunnels};
use crate::rtp::hints::RtpHints;
use crate::server::name::ServerNames;

const NONE: u32 = u32::MAX;
/// Intervals kept in memory, of all open flows together (24 bytes each).
const INTERVALS_KEPT: usize = 1 << 21;
/// RFC 9293, 3.4.2 wants four minutes, no system waits longer than two; Linux waits one.
const CLOSED_IDLE_NS: i64 = 120_000_000_000;

/// Bounds of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) idle_ns: i64,
    pub(crate) flows: usize,
    /// Memory of segments, media, calls and spin bits, of all open flows together.
    pub(crate) kept_bytes: usize,
}

/// Both ends in an order that does not depend on the direction of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FlowKey {
    lower: Endpoint,
    upper: Endpoint,
    protocol: u8,
    tunnels: Tunnels,
}

/// In few writes of whole words, because every packet is hashed; equality compares what the hash omits.
impl Hash for FlowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (self.lower.address, self.upper.address) {
            (IpAddr::V4(lower), IpAddr::V4(upper)) => {
                state.write_u64(u64::from(lower.to_bits()) << 32 | u64::from(upper.to_bits()));
            }
            (lower, upper) => (lower, upper).hash(state),
        }
        let ports = u64::from(self.lower.port) << 16 | u64::from(self.upper.port);
        state.write_u64(ports << 8 | u64::from(self.protocol));
    }
}

impl FlowKey {
    fn of(packet: &Packet<'_>) -> Self {
        let in_order = match (packet.source.address, packet.destination.address) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                (source.to_bits(), packet.source.port) <= (destination.to_bits(), packet.destination.port)
            }
            _ => packet.source <= packet.destination,
        };
        let (lower, upper) = if in_order {
            (packet.source, packet.destination)
        } else {
            (packet.destination, packet.source)
        };
        Self {
            lower,
            upper,
            protocol: packet.protocol,
            tunnels: packet.tunnels,
        }
    }
}

#[derive(Debug)]
struct Slot {
    flow: Box<Flow>,
    key: FlowKey,
    touched_ns: i64,
    kept_bytes: usize,
    over: bool,
    previous: u32,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
}

/// Which flow a packet belongs to, for the packet table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement {
    pub(crate) flow_id: i64,
    pub(crate) direction: Direction,
}

/// The open flows, and those that have ended since they were last taken out.
#[derive(Debug)]
pub(crate) struct FlowTable {
    interval_ns: i64,
    bounds: Bounds,
    rtp_hints: RtpHints,
    naming: Naming,
    /// Places of flows by their keys, which are in the slots: it is small, so that it stays near the processor.
    open: HashTable<u32>,
    hasher: DefaultHashBuilder,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Flows that go on, and flows that are over.
    lists: [List; 2],
    flows_seen: i64,
    newest_ns: i64,
    intervals_kept: usize,
    kept_bytes: usize,
    /// Where the last packet belonged: the next one often belongs there too.
    last_place: u32,
    /// No flow has been silent for long enough before this time.
    due_ns: i64,
    ended: VecDeque<Box<Flow>>,
    spares: Spares,
}

impl FlowTable {
    pub(crate) fn new(interval_ns: i64, bounds: Bounds) -> Self {
        let empty = List {
            oldest: NONE,
            newest: NONE,
        };
        Self {
            interval_ns,
            bounds,
            rtp_hints: RtpHints::default(),
            naming: Naming::default(),
            open: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            slots: Vec::new(),
            free: Vec::new(),
            lists: [empty; 2],
            flows_seen: 0,
            newest_ns: i64::MIN,
            intervals_kept: 0,
            kept_bytes: 0,
            last_place: NONE,
            due_ns: i64::MAX,
            ended: VecDeque::new(),
            spares: Spares::default(),
        }
    }

    /// Take it as known what of the flows to come is RTP.
    pub(crate) fn declare(&mut self, rtp_hints: RtpHints) {
        self.rtp_hints = rtp_hints;
    }

    /// Keep the names of servers in this form.
    pub(crate) fn name(&mut self, names: ServerNames) {
        self.naming = Naming::new(names);
    }

    pub(crate) fn packet(&mut self, packet: &Packet<'_>, time_ns: i64, wire_bytes: u32) -> Placement {
        self.newest_ns = self.newest_ns.max(time_ns);
        if self.newest_ns > self.due_ns {
            self.end_idle();
        }
        let key = FlowKey::of(packet);
        let open_place = match self.slot(self.last_place) {
            Some(slot) if slot.key == key => Some(self.last_place),
            _ => self.place_of(&key),
        };
        let place = match open_place {
            Some(place)
                if self
                    .slot(place)
                    .is_some_and(|slot| is_succeeded_by(&slot.flow, packet)) =>
            {
                self.end(place, EndReason::PortsReused);
                self.begin(key, packet, time_ns)
            }
            Some(place) => place,
            None => self.begin(key, packet, time_ns),
        };
        self.last_place = place;
        let newest_ns = self.newest_ns;
        let interval_ns = self.interval_ns;
        let mut placement = Placement {
            flow_id: 0,
            direction: Direction::Fwd,
        };
        let mut moves = false;
        let mut given_up = None;
        if let Some(slot) = self.slots.get_mut(place as usize).and_then(Option::as_mut) {
            placement.flow_id = slot.flow.id;
            placement.direction = slot.flow.direction_of(packet);
            let intervals_before = slot.flow.intervals_kept();
            slot.flow
                .packet(packet, placement.direction, time_ns, wire_bytes, interval_ns);
            slot.touched_ns = newest_ns;
            let kept_bytes = slot.flow.kept_bytes();
            self.kept_bytes = (self.kept_bytes + kept_bytes).saturating_sub(slot.kept_bytes);
            slot.kept_bytes = kept_bytes;
            let over = slot.flow.is_over();
            moves = slot.next != NONE || over != slot.over;
            let intervals_kept = self.intervals_kept + slot.flow.intervals_kept();
            self.intervals_kept = intervals_kept.saturating_sub(intervals_before);
            given_up = self
                .naming
                .packet(packet, &mut slot.flow, placement.direction, place);
        }
        if let Some((place, flow_id)) = given_up {
            if let Some(slot) = self.slot_mut(place) {
                if slot.flow.id == flow_id {
                    slot.flow.search.finish(&mut slot.flow.server);
                }
            }
        }
        if moves {
            self.move_to_end(place);
        }
        if self.kept_bytes > self.bounds.kept_bytes {
            self.end_large();
        }
        placement
    }

    /// End the flows of which most memory is kept until half of what is set aside for it is free.
    fn end_large(&mut self) {
        let mut large: Vec<_> = (0..)
            .zip(&self.slots)
            .filter_map(|(place, slot)| Some((slot.as_ref()?.kept_bytes, place)))
            .collect();
        large.sort_unstable_by_key(|(kept_bytes, _)| std::cmp::Reverse(*kept_bytes));
        for (_, place) in large {
            if self.kept_bytes <= self.bounds.kept_bytes / 2 {
                return;
            }
            self.end(place, EndReason::Evicted);
        }
    }

    fn place_of(&self, key: &FlowKey) -> Option<u32> {
        let is_of = |place: &u32| self.slot(*place).is_some_and(|slot| slot.key == *key);
        self.open.find(self.hasher.hash_one(key), is_of).copied()
    }

    fn slot(&self, place: u32) -> Option<&Slot> {
        self.slots.get(place as usize)?.as_ref()
    }

    fn slot_mut(&mut self, place: u32) -> Option<&mut Slot> {
        self.slots.get_mut(place as usize)?.as_mut()
    }

    fn begin(&mut self, key: FlowKey, packet: &Packet<'_>, time_ns: i64) -> u32 {
        if self.open.len() >= self.bounds.flows {
            let oldest = self
                .lists
                .iter()
                .rev()
                .map(|list| list.oldest)
                .find(|oldest| *oldest != NONE);
            if let Some(oldest) = oldest {
                self.end(oldest, EndReason::Evicted);
            }
        }
        let mut flow = self.spares.begin(self.flows_seen, packet, time_ns);
        if packet.protocol == PROTOCOL_UDP {
            flow.declared = self.rtp_hints.of(flow.initiator, flow.responder);
        }
        self.naming.begin(&mut flow, packet);
        let slot = Slot {
            flow,
            key,
            touched_ns: self.newest_ns,
            kept_bytes: 0,
            over: false,
            previous: NONE,
            next: NONE,
        };
        self.flows_seen += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
        });
        if let Some(vacant) = self.slots.get_mut(place as usize) {
            *vacant = Some(slot);
        }
        let Self {
            open, slots, hasher, ..
        } = self;
        let hash_of = |place: &u32| {
            let slot = slots.get(*place as usize).and_then(Option::as_ref);
            slot.map_or(0, |slot| hasher.hash_one(slot.key))
        };
        open.insert_unique(hasher.hash_one(key), place, hash_of);
        self.append(place, false);
        place
    }

    /// After which silence a flow ends, by whether it is over.
    fn idle_ns(&self, over: bool) -> i64 {
        if over {
            self.bounds.idle_ns.min(CLOSED_IDLE_NS)
        } else {
            self.bounds.idle_ns
        }
    }

    fn end_idle(&mut self) {
        self.due_ns = i64::MAX;
        for over in [false, true] {
            let idle_ns = self.idle_ns(over);
            while let Some(oldest) = self.lists.get(usize::from(over)).map(|list| list.oldest) {
                let Some(touched_ns) = self.slot(oldest).map(|slot| slot.touched_ns) else {
                    break;
                };
                if self.newest_ns.saturating_sub(touched_ns) <= idle_ns {
                    // The others of the list were touched later.
                    self.due_ns = self.due_ns.min(touched_ns.saturating_add(idle_ns));
                    break;
                }
                self.end(oldest, EndReason::Idle);
            }
        }
    }

    fn end(&mut self, place: u32, reason: EndReason) {
        self.unlink(place);
        let Some(mut slot) = self.slots.get_mut(place as usize).and_then(Option::take) else {
            return;
        };
        let hash = self.hasher.hash_one(slot.key);
        if let Ok(entry) = self.open.find_entry(hash, |open| *open == place) {
            entry.remove();
        }
        self.free.push(place);
        self.intervals_kept = self.intervals_kept.saturating_sub(slot.flow.intervals_kept());
        self.kept_bytes = self.kept_bytes.saturating_sub(slot.kept_bytes);
        slot.flow.end(reason);
        self.ended.push_back(slot.flow);
    }

    fn move_to_end(&mut self, place: u32) {
        self.unlink(place);
        let over = self.slot(place).is_some_and(|slot| slot.flow.is_over());
        self.append(place, over);
    }

    fn append(&mut self, place: u32, over: bool) {
        let Some(list) = self.lists.get_mut(usize::from(over)) else {
            return;
        };
        let before = list.newest;
        list.newest = place;
        if before == NONE {
            list.oldest = place;
        }
        let idle_ns = self.idle_ns(over);
        let mut due_ns = i64::MAX;
        if let Some(slot) = self.slot_mut(place) {
            slot.over = over;
            slot.previous = before;
            slot.next = NONE;
            due_ns = slot.touched_ns.saturating_add(idle_ns);
        }
        self.due_ns = self.due_ns.min(due_ns);
        if let Some(slot) = self.slot_mut(before) {
            slot.next = place;
        }
    }

    fn unlink(&mut self, place: u32) {
        let Some((previous, next, over)) = self.slot(place).map(|slot| (slot.previous, slot.next, slot.over))
        else {
            return;
        };
        if let Some(list) = self.lists.get_mut(usize::from(over)) {
            if previous == NONE {
                list.oldest = next;
            }
            if next == NONE {
                list.newest = previous;
            }
        }
        if let Some(slot) = self.slot_mut(previous) {
            slot.next = next;
        }
        if let Some(slot) = self.slot_mut(next) {
            slot.previous = previous;
        }
    }

    /// How many flows keep bytes of a handshake that is not whole.
    #[cfg(test)]
    pub(crate) fn readings(&self) -> usize {
        let reading = |slot: &&Slot| slot.flow.search.is_reading();
        self.slots.iter().flatten().filter(reading).count()
    }

    /// Take out flows that have ended, at most so many, in the order in which they did.
    #[expect(clippy::vec_box, reason = "a flow is large, and is handed on several times")]
    pub(crate) fn take_ended(&mut self, most: usize) -> Vec<Box<Flow>> {
        self.ended.drain(..most.min(self.ended.len())).collect()
    }

    /// Whether flows have ended that were not taken out.
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Take back a flow of which nothing is needed any more.
    pub(crate) fn give_back(&mut self, flow: Box<Flow>) {
        self.spares.give_back(flow);
    }

    /// When more intervals are kept than memory is set aside for, take out the oldest of every flow.
    pub(crate) fn take_intervals(&mut self, rows: &mut Vec<IntervalRow>, marked: &mut Vec<EcnIntervalRow>) {
        if self.intervals_kept <= INTERVALS_KEPT {
            return;
        }
        let keep = (INTERVALS_KEPT / 4 / self.open.len().max(1)).clamp(1, 64);
        self.intervals_kept = 0;
        for slot in self.slots.iter_mut().flatten() {
            for direction in [Direction::Fwd, Direction::Rev] {
                let series = &mut slot.flow.traffic.get_mut(direction).intervals;
                rows.extend(series.take_all_but(keep).map(|interval| IntervalRow {
                    flow_id: slot.flow.id,
                    direction,
                    interval,
                }));
                self.intervals_kept += series.as_slice().len();
                let first_kept_ns = series.as_slice().first().map(|interval| interval.start_ns);
                if let (Some(codepoints), Some(first_kept_ns)) = (&mut slot.flow.codepoints, first_kept_ns) {
                    let taken = codepoints.get_mut(direction).take_before(first_kept_ns);
                    marked.extend(taken.map(|interval| EcnIntervalRow {
                        flow_id: slot.flow.id,
                        direction,
                        interval,
                    }));
                }
            }
        }
    }

    /// End every flow with the capture; they are taken out by number.
    pub(crate) fn finish(&mut self) {
        let mut open: Vec<_> = self.slots.drain(..).flatten().map(|slot| slot.flow).collect();
        self.open.clear();
        self.free.clear();
        open.sort_unstable_by_key(|flow| flow.id);
        for flow in &mut open {
            flow.end(EndReason::CaptureEnd);
        }
        self.ended.extend(open);
    }
}

fn is_succeeded_by(flow: &Flow, packet: &Packet<'_>) -> bool {
    match (&flow.tcp, packet.transport) {
        (Some(tcp), Transport::Tcp(segment)) if segment.has(TcpSegment::SYN) => {
            tcp.is_succeeded_by(flow.direction_of(packet), &segment)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
