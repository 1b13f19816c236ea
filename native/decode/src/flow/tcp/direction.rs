//! One direction of a TCP connection: what is outstanding, holes, and timestamps that await their echo.

use std::collections::VecDeque;

use crate::flow::tcp::passed::{Passed, Passing};
use crate::flow::tcp::rtt::RttStatistics;
use crate::flow::tcp::sequence::distance;
use crate::packet::types::TcpSegment;

/// Of a connection whose acknowledgements never pass, only so many segments are remembered.
const OUTSTANDING_SEGMENTS: usize = 16_384;
/// Timestamps awaiting their echo; a connection has one for each tick of its clock in a round trip.
const PENDING_TIMESTAMPS: usize = 4096;
/// Segments that are joined when one retransmission repeats them: fewer are looked at again sooner than moved.
const FEWEST_JOINED: usize = 16;
/// A capture that begins in mid-flow may see segments from below its first; as far down as a window reaches.
const BELOW_FIRST_SEGMENT_BYTES: u32 = 1 << 20;
/// Room that an empty queue keeps: a short connection needs no more, and asking for it again costs more than its packets.
const KEPT_ROOM: usize = 16;
/// Room of a queue that is kept although it may be much more than it needs.
const LEAST_GIVEN_BACK: usize = 1024;
/// Of a connection with more holes, the oldest are forgotten; a segment that fills one counts as retransmitted.
const HOLES: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    start: u32,
    end: u32,
    sent_ns: i64,
    /// Its place in the order in which segments passed, which a step of the clock does not change.
    order: u32,
    retransmitted: bool,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    start: u32,
    end: u32,
    seen_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct PendingTimestamp {
    value: u32,
    sent_ns: i64,
}

/// What one direction of a connection sent, and how its data was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct TcpDirection {
    pub(crate) flags: u16,
    pub(crate) unique_payload_bytes: i64,
    /// Copies that the capture holds of segments that had passed.
    pub(crate) duplicate_packets: i64,
    pub(crate) retransmitted_packets: i64,
    pub(crate) spurious_retransmitted_packets: i64,
    pub(crate) out_of_order_packets: i64,
    pub(crate) duplicate_acknowledgements: i64,
    pub(crate) sack_packets: i64,
    pub(crate) dsack_packets: i64,
    pub(crate) ece_packets: i64,
    pub(crate) cwr_packets: i64,
    pub(crate) zero_windows: i64,
    pub(crate) rtt: RttStatistics,
    pub(crate) timestamp_rtt: RttStatistics,
    pub(crate) initial_sequence: Option<u32>,
    /// One past the highest sequence number seen.
    pub(crate) next_sequence: Option<u32>,
    /// The highest acknowledgement of this direction's data.
    acknowledged: Option<u32>,
    pub(crate) last_window: u16,
    /// The order of the newest of the acknowledged segments.
    newest_acknowledged: Option<u32>,
    /// Segments that passed so far, as [`Outstanding::order`] counts them.
    order: u32,
    /// The byte that probed a window of zero, until another follows it.
    probed: Option<u32>,
    /// By sequence number, without overlap.
    outstanding: VecDeque<Outstanding>,
    holes: Vec<Hole>,
    timestamps: VecDeque<PendingTimestamp>,
    /// Where the numbering before the last SYN stood, until a segment tells which of the two goes on.
    numbering_before: Option<(u32, u32)>,
    passed: Passed,
}

fn empty<T>(queue: &mut VecDeque<T>) {
    queue.clear();
    queue.shrink_to(KEPT_ROOM);
}

/// Give back memory of a queue that once was long.
pub(crate) fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > LEAST_GIVEN_BACK && queue.len() < queue.capacity() / 4 {
        queue.shrink_to(LEAST_GIVEN_BACK.max(2 * queue.len()));
    }
}

impl TcpDirection {
    /// A direction that has sent nothing, in the memory of one that is of no use any more.
    pub(crate) fn in_memory_of(other: &mut Self) -> Self {
        other.restart();
        Self {
            outstanding: std::mem::take(&mut other.outstanding),
            holes: std::mem::take(&mut other.holes),
            timestamps: std::mem::take(&mut other.timestamps),
            ..Self::default()
        }
    }

    /// Whether a segment is a copy that the capture holds of one that passed; if so it is counted, if not remembered.
    pub(crate) fn is_copy(&mut self, segment: &TcpSegment, passing: &Passing) -> bool {
        // Only what lies below the highest sequence number, or takes no number, can have passed.
        let may_be = self
            .next_sequence
            .is_none_or(|next| distance(next, segment.sequence) < 0 || passing.payload_bytes == 0);
        let copy = self.passed.is_copy(segment, passing, may_be);
        self.duplicate_packets += i64::from(copy);
        copy
    }

    /// A SYN brings another initial sequence number.
    pub(crate) fn begin_again(&mut self) {
        let before = self.initial_sequence.zip(self.next_sequence);
        self.restart();
        self.numbering_before = before;
    }

    /// The first segment after such a SYN tells which connection is meant: that whose numbers it is nearer to.
    pub(crate) fn settle_numbering(&mut self, sequence: u32) {
        let Some((initial, next_before)) = self.numbering_before.take() else {
            return;
        };
        let from = |next: u32| distance(next, sequence).unsigned_abs();
        if self
            .next_sequence
            .is_some_and(|next| from(next_before) < from(next))
        {
            self.restart();
            self.initial_sequence = Some(initial);
            self.next_sequence = Some(next_before);
        }
    }

    /// Forget sequence state: the host began a new connection inside this flow, or the flow is over.
    pub(crate) fn restart(&mut self) {
        self.next_sequence = None;
        self.acknowledged = None;
        self.newest_acknowledged = None;
        self.probed = None;
        empty(&mut self.outstanding);
        self.holes.clear();
        empty(&mut self.timestamps);
        self.numbering_before = None;
    }

    /// A segment passes, while the other end's window is `window_is_zero`.
    pub(crate) fn send(
        &mut self,
        segment: &TcpSegment,
        payload_bytes: u32,
        time_ns: i64,
        reordering_ns: i64,
        window_is_zero: bool,
    ) {
        let controls = u32::from(segment.has(TcpSegment::SYN)) + u32::from(segment.has(TcpSegment::FIN));
        let length = payload_bytes.saturating_add(controls);
        if segment.has(TcpSegment::RST) {
            return;
        }
        let start = segment.sequence;
        if length == 0 {
            // A keep-alive without its byte is answered like one that has it.
            if self.next_sequence == Some(start.wrapping_add(1)) {
                self.order = self.order.wrapping_add(1);
                self.repeat(start, start.wrapping_add(1), time_ns);
            }
            return;
        }
        self.order = self.order.wrapping_add(1);
        let end = start.wrapping_add(length);
        let next = if let Some(next) = self.next_sequence {
            next
        } else {
            if !segment.has(TcpSegment::SYN) {
                self.open_hole(Hole {
                    start: start.wrapping_sub(BELOW_FIRST_SEGMENT_BYTES),
                    end: start,
                    seen_ns: time_ns,
                });
            }
            start
        };
        let ahead = distance(next, start);
        if ahead >= 0 {
            if ahead > 0 {
                self.open_hole(Hole {
                    start: next,
                    end: start,
                    seen_ns: time_ns,
                });
            }
            self.unique_payload_bytes += i64::from(payload_bytes);
            self.extend(start, end, time_ns);
            self.probed = (window_is_zero && length == 1 && payload_bytes == 1).then_some(start);
            return;
        }
        if ahead == -1 && controls == 0 && payload_bytes <= 1 {
            self.repeat(start, end, time_ns);
            return;
        }
        // SYN and FIN take a sequence number before and after the payload.
        let payload_start = start.wrapping_add(u32::from(segment.has(TcpSegment::SYN)));
        let payload_end = payload_start.wrapping_add(payload_bytes);
        let (filled, filled_bytes) = self.fill_holes(start, end, (payload_start, payload_end));
        let beyond_bytes = distance(next, end).max(0);
        let new_bytes = i64::from(filled_bytes) + i64::from(distance(next, payload_end).max(0));
        self.unique_payload_bytes += new_bytes.min(payload_bytes.into());
        // After its probe, a window that opens is filled from the byte on that probed it.
        let follows_probe = ahead == -1 && self.probed.take() == Some(start);
        if payload_bytes > 0 && !follows_probe {
            match filled {
                Some(seen_ns) if time_ns.abs_diff(seen_ns) < reordering_ns.unsigned_abs() => {
                    self.out_of_order_packets += 1;
                }
                _ => {
                    self.retransmitted_packets += 1;
                    if self.is_acknowledged(end) {
                        self.spurious_retransmitted_packets += 1;
                    }
                }
            }
        }
        self.repeat(start, if beyond_bytes > 0 { next } else { end }, time_ns);
        if beyond_bytes > 0 {
            self.extend(next, end, time_ns);
        }
    }

    fn is_acknowledged(&self, end: u32) -> bool {
        self.acknowledged
            .is_some_and(|acknowledged| distance(end, acknowledged) >= 0)
    }

    fn extend(&mut self, start: u32, end: u32, time_ns: i64) {
        self.next_sequence = Some(end);
        if self.outstanding.len() == OUTSTANDING_SEGMENTS {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(Outstanding {
            start,
            end,
            sent_ns: time_ns,
            order: self.order,
            retransmitted: false,
        });
    }

    /// Note that `start..end`, below the highest sequence number, passes: what is outstanding of it was
    /// retransmitted, what had not passed becomes outstanding.
    fn repeat(&mut self, start: u32, end: u32, time_ns: i64) {
        let mut cursor = start;
        if let Some(acknowledged) = self.acknowledged {
            if distance(cursor, acknowledged) > 0 {
                self.newest_acknowledged = Some(self.order);
                cursor = acknowledged;
            }
        }
        let mut place = self
            .outstanding
            .partition_point(|segment| distance(segment.end, cursor) >= 0);
        let mut first_repeated = place;
        while distance(cursor, end) > 0 {
            let next_segment = self
                .outstanding
                .get_mut(place)
                .filter(|segment| distance(segment.start, end) > 0);
            let gap_end = match next_segment {
                Some(segment) if distance(segment.start, cursor) >= 0 => {
                    segment.retransmitted = true;
                    segment.sent_ns = time_ns;
                    segment.order = self.order;
                    cursor = segment.end;
                    place += 1;
                    continue;
                }
                Some(segment) => segment.start,
                None => end,
            };
            place = self.join(first_repeated, place);
            if self.outstanding.len() == OUTSTANDING_SEGMENTS {
                return;
            }
            self.outstanding.insert(
                place,
                Outstanding {
                    start: cursor,
                    end: gap_end,
                    sent_ns: time_ns,
                    order: self.order,
                    retransmitted: false,
                },
            );
            cursor = gap_end;
            place += 1;
            first_repeated = place;
        }
        self.join(first_repeated, place);
    }

    /// Join many segments that one retransmission repeated, of which nothing differs any more; return the place after them.
    fn join(&mut self, first: usize, after: usize) -> usize {
        if after - first < FEWEST_JOINED {
            return after;
        }
        if let Some(last) = self.outstanding.get(after - 1).copied() {
            self.outstanding.drain(first + 1..after);
            if let Some(joined) = self.outstanding.get_mut(first) {
                joined.end = last.end;
            }
        }
        first + 1
    }

    fn open_hole(&mut self, hole: Hole) {
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Take `start..end` out of the holes; the time of the oldest hole that it met, if it met any, and how
    /// many bytes of the payload filled them.
    fn fill_holes(&mut self, start: u32, end: u32, payload: (u32, u32)) -> (Option<i64>, u32) {
        let mut met = None;
        let mut filled_bytes = 0u32;
        let mut right_rest = None;
        self.holes.retain_mut(|hole| {
            if distance(hole.start, end) <= 0 || distance(start, hole.end) <= 0 {
                return true;
            }
            met.get_or_insert(hole.seen_ns);
            let left = distance(hole.start, start) > 0;
            let right = distance(end, hole.end) > 0;
            let filled_start = if left { start } else { hole.start };
            let filled_end = if right { end } else { hole.end };
            let (payload_start, payload_end) = payload;
            let first = if distance(filled_start, payload_start) > 0 {
                payload_start
            } else {
                filled_start
            };
            let last = if distance(payload_end, filled_end) > 0 {
                payload_end
            } else {
                filled_end
            };
            filled_bytes = filled_bytes.saturating_add(distance(first, last).max(0).unsigned_abs());
            if left && right {
                right_rest = Some(Hole { start: end, ..*hole });
            }
            if left {
                hole.end = start;
            } else if right {
                hole.start = end;
            }
            left || right
        });
        if let Some(rest) = right_rest {
            self.open_hole(rest);
        }
        (met, filled_bytes)
    }

    /// Memory that is kept beside this, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.outstanding.capacity() * size_of::<Outstanding>()
            + self.timestamps.capacity() * size_of::<PendingTimestamp>()
            + self.holes.capacity() * size_of::<Hole>()
    }

    #[cfg(test)]
    pub(crate) fn outstanding_segments(&self) -> usize {
        self.outstanding.len()
    }

    /// The other direction acknowledges data of this one.
    pub(crate) fn acknowledge(&mut self, acknowledgement: u32, time_ns: i64) {
        if self.next_sequence.is_none() {
            return;
        }
        if !self.is_acknowledged(acknowledgement) {
            self.acknowledged = Some(acknowledgement);
        }
        give_back(&mut self.outstanding);
        while let Some(segment) = self.outstanding.front().copied() {
            if distance(segment.start, acknowledgement) <= 0 {
                break;
            }
            self.outstanding.pop_front();
            let waited_for_another = self
                .newest_acknowledged
                .is_some_and(|newest| distance(segment.order, newest) > 0);
            let exact = segment.end == acknowledgement;
            if exact && !segment.retransmitted && !waited_for_another {
                self.rtt.add(time_ns - segment.sent_ns);
            }
            if self
                .newest_acknowledged
                .is_none_or(|newest| distance(newest, segment.order) > 0)
            {
                self.newest_acknowledged = Some(segment.order);
            }
            if distance(acknowledgement, segment.end) > 0 {
                // What is sent again of the rest is a repetition (Karn), and the rest gives no sample either.
                self.outstanding.push_front(Outstanding {
                    start: acknowledgement,
                    retransmitted: true,
                    ..segment
                });
                break;
            }
        }
    }

    /// A segment carries a timestamp.
    pub(crate) fn stamp(&mut self, value: u32, time_ns: i64) {
        let newer = self
            .timestamps
            .back()
            .is_none_or(|last| distance(last.value, value) > 0);
        if newer {
            if self.timestamps.len() == PENDING_TIMESTAMPS {
                self.timestamps.pop_front();
            }
            self.timestamps.push_back(PendingTimestamp {
                value,
                sent_ns: time_ns,
            });
        }
    }

    /// The other direction echoes a timestamp.
    pub(crate) fn echo(&mut self, value: u32, time_ns: i64) {
        give_back(&mut self.timestamps);
        while let Some(pending) = self.timestamps.front().copied() {
            if distance(pending.value, value) < 0 {
                break;
            }
            self.timestamps.pop_front();
            if pending.value == value {
                self.timestamp_rtt.add(time_ns - pending.sent_ns);
            }
        }
    }

    /// Whether this direction last said that it takes nothing more.
    pub(crate) fn window_is_zero(&self) -> bool {
        self.last_window == 0 && self.zero_windows > 0
    }

    /// RFC 5681, 2: acknowledges nothing new, carries nothing, changes nothing, while data is outstanding.
    pub(crate) fn is_duplicated_by(&self, acknowledgement: u32) -> bool {
        self.acknowledged == Some(acknowledgement)
            && self
                .next_sequence
                .is_some_and(|next| distance(acknowledgement, next) > 0)
    }
}
