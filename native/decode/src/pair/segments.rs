//! Segments of TCP that differ between the points: merged, split or rewritten on the way.
//!
//! A network card or a kernel with offloads merges segments that it receives (LRO, GRO) and splits those that it sends
//! (TSO), and the two captures may be on either side of it. A proxy that splits connections sends segments of its own.
//! Such packets have no counterpart though all their bytes arrived, so that they would count as lost.

use std::collections::{BTreeMap, VecDeque};

use crate::pair::sighting::PairedPacket;

/// Segments without a counterpart that are kept to be compared, about 50 bytes each: more than a link of 1 Gbit/s
/// carries in a second.
const KEPT: usize = 1 << 17;
/// Fewer packets at a point do not show that they are rewritten.
const PACKETS: u64 = 10;
/// Fewer may be a retransmission in another size.
const RECUT: usize = 2;
/// Less than one in so many is an exception.
const SHARE: u64 = 100;
/// What is merged or split is at least one in so many of what one of the points alone has.
const SHARE_OF_POINT: u64 = 3;

/// A flow, and the number of a segment's first byte.
type Start = (u32, u32);

/// The segments with data that one point alone has, of all flows, as far as they are kept.
///
/// What was merged or split has bytes that are alone at the other point too, in segments that begin or end elsewhere.
/// Bytes that a capture missed are not there; and a retransmission, of which one capture missed the first attempt or
/// the second, mostly begins and ends alike.
#[derive(Debug, Default)]
pub(crate) struct LoneSegments {
    before: BTreeMap<Start, u32>,
    after: BTreeMap<Start, u32>,
    /// In the order in which they came, and whether the first point has them.
    starts: VecDeque<(Start, bool)>,
}

impl LoneSegments {
    /// Take a segment that one point alone has. How many that the other point alone has share bytes with it, and begin
    /// or end elsewhere; there may be more than are counted.
    fn take(&mut self, start: Start, is_before: bool, payload_bytes: u32) -> usize {
        let (own, others) = if is_before {
            (&mut self.before, &self.after)
        } else {
            (&mut self.after, &self.before)
        };
        let (flow, sequence) = start;
        // Where numbers wrap around, a segment in 4 GiB is left out.
        let end = sequence.saturating_add(payload_bytes);
        let overlapping = others
            .range((flow, 0)..(flow, end))
            .rev()
            .take_while(|((_, first), bytes)| first.saturating_add(**bytes) > sequence)
            .filter(|(first, bytes)| (**first, **bytes) != (start, payload_bytes))
            .take(RECUT)
            .count();
        own.insert(start, payload_bytes);
        self.starts.push_back((start, is_before));
        if self.starts.len() > KEPT
            && let Some((oldest, is_before)) = self.starts.pop_front()
        {
            let own = if is_before {
                &mut self.before
            } else {
                &mut self.after
            };
            own.remove(&oldest);
        }
        overlapping
    }
}

/// Packets of a flow.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    before: u64,
    after: u64,
    matched: u64,
}

impl Seen {
    fn add(&mut self, packet: &PairedPacket) {
        let (before, after) = (packet.before_ns.is_some(), packet.after_ns.is_some());
        self.before += u64::from(before);
        self.after += u64::from(after);
        self.matched += u64::from(before && after);
    }

    /// Both points have enough packets, and next to none is the same at both. No loss does that.
    fn are_strange(&self) -> bool {
        let at_both = self.before.min(self.after);
        at_both >= PACKETS && SHARE * self.matched < at_both
    }
}

/// What the first pass finds of the segments of one flow; nothing unless it is TCP.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SegmentSurvey {
    /// With and without data: acknowledgements alone tell a proxy where data flow only the other way.
    all: Seen,
    with_data: Seen,
    /// Data that the first point alone has, and the second one.
    lone_bytes: (u64, u64),
    /// Segments that share bytes with others at the other point, and the data of the later ones, so that of what was
    /// merged or split little counts twice.
    recut: usize,
    recut_bytes: u64,
}

impl SegmentSurvey {
    pub(crate) fn add(&mut self, packet: &PairedPacket, lone: &mut LoneSegments) {
        let (Some(payload_bytes), Some(sequence)) = (packet.segment_bytes, packet.transport_word) else {
            return;
        };
        self.all.add(packet);
        if payload_bytes == 0 {
            return;
        }
        self.with_data.add(packet);
        let is_before = packet.before_ns.is_some();
        if is_before && packet.after_ns.is_some() {
            return;
        }
        let lone_bytes = if is_before {
            &mut self.lone_bytes.0
        } else {
            &mut self.lone_bytes.1
        };
        *lone_bytes += u64::from(payload_bytes);
        let recut = lone.take((packet.flow, sequence), is_before, payload_bytes);
        if recut > 0 {
            self.recut += recut;
            self.recut_bytes += u64::from(payload_bytes);
        }
    }

    /// Whether so many segments differ between the points that no loss of the flow is known.
    pub(crate) fn differ(&self) -> bool {
        self.are_recut() || self.with_data.are_strange() || self.all.are_strange()
    }

    /// Counted in bytes, which both points have of what was merged or split, while one packet may be many.
    ///
    /// Of all that one point alone has, it must be enough to matter beside what was lost. Of what the point with less of
    /// it has, it is nearly all if no capture missed packets, because what was lost is at the first point; of packets
    /// that a capture missed, only few are retransmissions in another size.
    fn are_recut(&self) -> bool {
        let (before, after) = self.lone_bytes;
        self.recut >= RECUT
            && SHARE * self.recut_bytes >= before + after
            && SHARE_OF_POINT * self.recut_bytes >= before.min(after)
    }
}
