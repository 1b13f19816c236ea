//! One TCP connection as it passes the capture point.
//!
//! **RTT samples.** A segment is outstanding from the time it passes. It gives a sample when an acknowledgement
//! ends exactly where the segment ends, it passed once, and no segment below it passed later: otherwise
//! the acknowledgement waited for another segment, or nobody can say which copy it answers (Karn's rule). A
//! segment that a later acknowledgement covers cumulatively gives none. These are the rules of tcptrace, with
//! which a test holds the samples to agreement.
//!
//! **RTT by timestamps.** The first echo of a timestamp (RFC 7323) that a data segment carried, kept apart:
//! it tells retransmissions from originals, but has the resolution of the sender's timestamp clock.
//!
//! **Retransmitted or out of order.** A data segment below the highest sequence number is out of order if it
//! brings bytes that had not passed, within a time in which no sender can have learned of the hole: the
//! smallest RTT of the whole path (the smallest samples of the two directions added, as the capture point
//! splits the path), or 3 ms while a direction has no sample. Every other one is a retransmission.
//! A segment of at most one byte just below the highest sequence number is a keep-alive and neither. A
//! retransmission is spurious if all of it had been acknowledged when it passed.

use std::collections::VecDeque;

use crate::flow::record::{Direction, PerDirection};
use crate::flow::tcp_rtt::RttStatistics;
use crate::packet::layers::TcpSegment;

/// Without an RTT sample, reordering is told from retransmission by the time Wireshark uses.
const REORDERING_TIME_NS: i64 = 3_000_000;
/// Of a connection whose acknowledgements never pass, only so many segments are remembered.
const OUTSTANDING_SEGMENTS: usize = 16_384;
/// Timestamps awaiting their echo; a connection has one for each tick of its clock in a round trip.
const PENDING_TIMESTAMPS: usize = 4096;
/// A capture that begins in mid-flow may see segments from below its first; as far down as a window reaches.
const BELOW_FIRST_SEGMENT_BYTES: u32 = 1 << 20;
/// Of a connection with more holes, the oldest are forgotten; a segment that fills one counts as retransmitted.
const HOLES: usize = 64;

/// Distance from `from` to `to` in sequence space (RFC 9293, 3.4).
fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    start: u32,
    end: u32,
    sent_ns: i64,
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
    initial_sequence: Option<u32>,
    /// One past the highest sequence number seen.
    next_sequence: Option<u32>,
    /// The highest acknowledgement of this direction's data.
    acknowledged: Option<u32>,
    last_window: u16,
    /// When the newest of the acknowledged segments passed.
    newest_acknowledged_ns: Option<i64>,
    /// By sequence number, without overlap.
    outstanding: VecDeque<Outstanding>,
    holes: Vec<Hole>,
    timestamps: VecDeque<PendingTimestamp>,
}

impl TcpDirection {
    /// Forget sequence state: the host began a new connection inside this flow, or the flow is over.
    fn restart(&mut self) {
        self.next_sequence = None;
        self.acknowledged = None;
        self.newest_acknowledged_ns = None;
        self.outstanding = VecDeque::new();
        self.holes = Vec::new();
        self.timestamps = VecDeque::new();
    }

    fn send(&mut self, segment: &TcpSegment, payload_bytes: u32, time_ns: i64, reordering_ns: i64) {
        let controls = u32::from(segment.has(TcpSegment::SYN)) + u32::from(segment.has(TcpSegment::FIN));
        let length = payload_bytes.saturating_add(controls);
        if length == 0 || segment.has(TcpSegment::RST) {
            return;
        }
        let start = segment.sequence;
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
            return;
        }
        if ahead == -1 && controls == 0 && payload_bytes <= 1 {
            return;
        }
        let (filled, filled_bytes) = self.fill_holes(start, end);
        let beyond_bytes = distance(next, end).max(0);
        let new_bytes = i64::from(filled_bytes) + i64::from(beyond_bytes);
        self.unique_payload_bytes += new_bytes.min(payload_bytes.into());
        if payload_bytes > 0 {
            match filled {
                Some(seen_ns) if time_ns - seen_ns < reordering_ns => self.out_of_order_packets += 1,
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
            retransmitted: false,
        });
    }

    /// Note that `start..end`, below the highest sequence number, passes: what is outstanding of it was
    /// retransmitted, what had not passed becomes outstanding.
    fn repeat(&mut self, start: u32, end: u32, time_ns: i64) {
        let mut cursor = start;
        if let Some(acknowledged) = self.acknowledged
            && distance(cursor, acknowledged) > 0
        {
            self.newest_acknowledged_ns = self.newest_acknowledged_ns.max(Some(time_ns));
            cursor = acknowledged;
        }
        let mut place = self
            .outstanding
            .partition_point(|segment| distance(segment.end, cursor) >= 0);
        while distance(cursor, end) > 0 {
            let known = self
                .outstanding
                .get_mut(place)
                .filter(|segment| distance(segment.start, end) > 0);
            let gap_end = match known {
                Some(segment) if distance(segment.start, cursor) >= 0 => {
                    segment.retransmitted = true;
                    segment.sent_ns = time_ns;
                    cursor = segment.end;
                    place += 1;
                    continue;
                }
                Some(segment) => segment.start,
                None => end,
            };
            if self.outstanding.len() == OUTSTANDING_SEGMENTS {
                return;
            }
            self.outstanding.insert(
                place,
                Outstanding {
                    start: cursor,
                    end: gap_end,
                    sent_ns: time_ns,
                    retransmitted: false,
                },
            );
            cursor = gap_end;
            place += 1;
        }
    }

    fn open_hole(&mut self, hole: Hole) {
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Take `start..end` out of the holes; the time of the oldest hole that it met, if it met any, and how
    /// many bytes it filled.
    fn fill_holes(&mut self, start: u32, end: u32) -> (Option<i64>, u32) {
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
            filled_bytes = filled_bytes.saturating_add(filled_end.wrapping_sub(filled_start));
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

    fn acknowledge(&mut self, acknowledgement: u32, time_ns: i64) {
        if self.next_sequence.is_none() {
            return;
        }
        if !self.is_acknowledged(acknowledgement) {
            self.acknowledged = Some(acknowledgement);
        }
        while let Some(segment) = self.outstanding.front().copied()
            && distance(segment.start, acknowledgement) > 0
        {
            self.outstanding.pop_front();
            let waited_for_another = self
                .newest_acknowledged_ns
                .is_some_and(|newest| newest > segment.sent_ns);
            let exact = segment.end == acknowledgement;
            if exact && !segment.retransmitted && !waited_for_another && time_ns >= segment.sent_ns {
                self.rtt.add(time_ns - segment.sent_ns);
            }
            self.newest_acknowledged_ns = self.newest_acknowledged_ns.max(Some(segment.sent_ns));
        }
    }

    fn stamp(&mut self, value: u32, time_ns: i64) {
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

    fn echo(&mut self, value: u32, time_ns: i64) {
        while let Some(pending) = self.timestamps.front().copied()
            && distance(pending.value, value) >= 0
        {
            self.timestamps.pop_front();
            if pending.value == value && time_ns >= pending.sent_ns {
                self.timestamp_rtt.add(time_ns - pending.sent_ns);
            }
        }
    }

    /// RFC 5681, 2: acknowledges nothing new, carries nothing, changes nothing, while data is outstanding.
    fn is_duplicated_by(&self, acknowledgement: u32) -> bool {
        self.acknowledged == Some(acknowledgement)
            && self
                .next_sequence
                .is_some_and(|next| distance(acknowledgement, next) > 0)
    }
}

#[derive(Debug, Default)]
struct Handshake {
    syn: Option<(Direction, u32, i64)>,
    syn_ack_sequence: Option<u32>,
    repeated: bool,
    rtt_ns: Option<i64>,
}

impl Handshake {
    fn packet(&mut self, direction: Direction, segment: &TcpSegment, time_ns: i64) {
        if segment.has(TcpSegment::RST) {
            return;
        }
        let acknowledges = segment.has(TcpSegment::ACK);
        match (segment.has(TcpSegment::SYN), acknowledges, self.syn) {
            (true, false, None) => self.syn = Some((direction, segment.sequence, time_ns)),
            (true, false, Some(_)) => self.repeated = true,
            (true, true, Some((syn_direction, syn_sequence, _)))
                if direction != syn_direction && segment.acknowledgement == syn_sequence.wrapping_add(1) =>
            {
                self.repeated |= self.syn_ack_sequence.is_some();
                self.syn_ack_sequence = Some(segment.sequence);
            }
            (false, true, Some((syn_direction, _, syn_ns)))
                if direction == syn_direction && self.rtt_ns.is_none() =>
            {
                if let Some(sequence) = self.syn_ack_sequence
                    && distance(sequence, segment.acknowledgement) >= 1
                {
                    self.rtt_ns = Some(time_ns - syn_ns);
                }
            }
            _ => {}
        }
    }
}

/// Both directions of a connection.
#[derive(Debug, Default)]
pub(crate) struct TcpConnection {
    pub(crate) directions: PerDirection<TcpDirection>,
    handshake: Handshake,
}

impl TcpConnection {
    pub(crate) fn packet(
        &mut self,
        direction: Direction,
        segment: &TcpSegment,
        payload_bytes: u32,
        time_ns: i64,
    ) {
        self.handshake.packet(direction, segment, time_ns);
        let reordering_ns = match (self.directions.fwd.rtt.min_ns(), self.directions.rev.rtt.min_ns()) {
            (Some(fwd), Some(rev)) => fwd.saturating_add(rev),
            _ => REORDERING_TIME_NS,
        };
        let controls = TcpSegment::SYN | TcpSegment::FIN | TcpSegment::RST;
        if segment.has(TcpSegment::ACK) && !segment.has(TcpSegment::RST) {
            let pure = payload_bytes == 0 && !segment.has(controls);
            let duplicate = pure
                && self
                    .directions
                    .get(direction.opposite())
                    .is_duplicated_by(segment.acknowledgement);
            if duplicate {
                let own = self.directions.get_mut(direction);
                // A keep-alive lies below the next sequence number; an update of the window is no duplicate.
                let in_place = own.next_sequence.is_none_or(|next| next == segment.sequence);
                if in_place && own.last_window == segment.window {
                    own.duplicate_acknowledgements += 1;
                }
            }
            let acknowledged = self.directions.get_mut(direction.opposite());
            acknowledged.acknowledge(segment.acknowledgement, time_ns);
            if let Some(timestamps) = segment.options.timestamps {
                acknowledged.echo(timestamps.echo, time_ns);
            }
        }
        let own = self.directions.get_mut(direction);
        own.flags |= segment.flags;
        if segment.has(TcpSegment::SYN) {
            if own
                .initial_sequence
                .is_some_and(|initial| initial != segment.sequence)
            {
                own.restart();
            }
            own.initial_sequence = Some(segment.sequence);
        }
        // A reset carries no meaningful window.
        if segment.window == 0 && !segment.has(TcpSegment::RST) {
            own.zero_windows += 1;
        }
        own.last_window = segment.window;
        own.sack_packets += i64::from(segment.options.selective_acknowledgement);
        own.dsack_packets += i64::from(segment.options.duplicate_selective_acknowledgement);
        if !segment.has(TcpSegment::SYN) {
            // On a SYN the two flags negotiate; afterwards they report (RFC 3168, 6.1).
            own.ece_packets += i64::from(segment.has(TcpSegment::ECE));
            own.cwr_packets += i64::from(segment.has(TcpSegment::CWR));
        }
        own.send(segment, payload_bytes, time_ns, reordering_ns);
        if let Some(timestamps) = segment.options.timestamps
            && (payload_bytes > 0 || segment.has(TcpSegment::SYN))
        {
            own.stamp(timestamps.value, time_ns);
        }
    }

    /// Whether no SYN passed: the connection was there before the capture, or before this flow.
    pub(crate) fn starts_in_mid_flow(&self) -> bool {
        (self.directions.fwd.flags | self.directions.rev.flags) & TcpSegment::SYN == 0
    }

    /// Whether both ends said that they are done, or one broke off.
    pub(crate) fn is_over(&self) -> bool {
        let flags = self.directions.fwd.flags | self.directions.rev.flags;
        flags & TcpSegment::RST != 0
            || self.directions.fwd.flags & self.directions.rev.flags & TcpSegment::FIN != 0
    }

    /// Give up what is needed only while segments come.
    pub(crate) fn close(&mut self) {
        self.directions.fwd.restart();
        self.directions.rev.restart();
    }

    /// SYN to the acknowledgement of SYN-ACK; `None` unless each of the three passed and none twice.
    pub(crate) fn handshake_rtt_ns(&self) -> Option<i64> {
        self.handshake.rtt_ns.filter(|_| !self.handshake.repeated)
    }

    /// Whether `segment` opens a new connection on the ports of this one, which is over.
    pub(crate) fn is_succeeded_by(&self, direction: Direction, segment: &TcpSegment) -> bool {
        let opens = segment.has(TcpSegment::SYN) && !segment.has(TcpSegment::ACK);
        opens && self.is_over() && self.directions.get(direction).initial_sequence != Some(segment.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tcp_options::{TcpOptions, Timestamps};
    use Direction::{Fwd, Rev};

    const MS: i64 = 1_000_000;

    fn segment(sequence: u32, acknowledgement: u32, flags: u16) -> TcpSegment {
        TcpSegment {
            sequence,
            acknowledgement,
            flags,
            window: 1000,
            options: TcpOptions::default(),
        }
    }

    fn data(connection: &mut TcpConnection, sequence: u32, length: u32, time_ms: i64) {
        connection.packet(Fwd, &segment(sequence, 0, 0), length, time_ms * MS);
    }

    fn ack(connection: &mut TcpConnection, acknowledgement: u32, time_ms: i64) {
        connection.packet(
            Rev,
            &segment(1, acknowledgement, TcpSegment::ACK),
            0,
            time_ms * MS,
        );
    }

    #[test]
    fn an_acknowledgement_samples_the_last_segment_it_covers() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 150, 50, 10);
        ack(&mut connection, 200, 30);
        let rtt = &connection.directions.fwd.rtt;
        assert_eq!((rtt.samples(), rtt.min_us()), (1, Some(20_000)));
    }

    #[test]
    fn a_retransmitted_segment_gives_no_sample_and_later_ones_do() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 150, 50, 1);
        data(&mut connection, 100, 50, 300);
        ack(&mut connection, 200, 350);
        assert_eq!(connection.directions.fwd.rtt.samples(), 0);
        data(&mut connection, 200, 50, 360);
        ack(&mut connection, 250, 400);
        assert_eq!(connection.directions.fwd.rtt.samples(), 1);
        assert_eq!(connection.directions.fwd.retransmitted_packets, 1);
    }

    #[test]
    fn a_segment_covered_in_passing_gives_no_sample() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 150, 50, 1);
        ack(&mut connection, 170, 20);
        assert_eq!(connection.directions.fwd.rtt.samples(), 0);
        ack(&mut connection, 200, 30);
        assert_eq!(connection.directions.fwd.rtt.samples(), 0);
    }

    #[test]
    fn a_filled_hole_is_sampled_and_what_waited_for_it_is_not() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 200, 50, 1);
        data(&mut connection, 150, 50, 5);
        ack(&mut connection, 250, 30);
        assert_eq!(connection.directions.fwd.rtt.samples(), 0);
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 200, 50, 1);
        data(&mut connection, 150, 50, 5);
        ack(&mut connection, 200, 30);
        assert_eq!(connection.directions.fwd.rtt.min_us(), Some(25_000));
    }

    #[test]
    fn a_retransmission_of_what_was_acknowledged_is_spurious() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 150, 50, 0);
        ack(&mut connection, 150, 20);
        data(&mut connection, 100, 50, 25);
        data(&mut connection, 150, 50, 26);
        let fwd = &connection.directions.fwd;
        assert_eq!(
            (fwd.retransmitted_packets, fwd.spurious_retransmitted_packets),
            (2, 1)
        );
        assert_eq!(fwd.unique_payload_bytes, 100);
    }

    #[test]
    fn duplicate_acknowledgements_are_those_of_outstanding_data() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        for time_ms in [10, 11, 12] {
            ack(&mut connection, 150, time_ms);
        }
        assert_eq!(connection.directions.rev.duplicate_acknowledgements, 0);
        data(&mut connection, 150, 50, 20);
        data(&mut connection, 200, 50, 20);
        for time_ms in [40, 41, 42] {
            ack(&mut connection, 150, time_ms);
        }
        assert_eq!(connection.directions.rev.duplicate_acknowledgements, 3);
    }

    #[test]
    fn bytes_that_fill_a_hole_are_unique_once() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 200, 50, 1);
        data(&mut connection, 120, 60, 2);
        data(&mut connection, 150, 80, 3);
        data(&mut connection, 230, 40, 4);
        assert_eq!(connection.directions.fwd.unique_payload_bytes, 170);
    }

    #[test]
    fn what_lies_below_a_start_in_mid_flow_is_not_taken_for_a_retransmission() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 5000, 50, 0);
        data(&mut connection, 4950, 50, 1);
        let fwd = &connection.directions.fwd;
        assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (1, 0));
        assert_eq!(fwd.unique_payload_bytes, 100);
        assert!(connection.starts_in_mid_flow());
    }

    #[test]
    fn timestamps_give_samples_of_their_own() {
        let mut connection = TcpConnection::default();
        let stamped = |sequence, acknowledgement, flags, value, echo| TcpSegment {
            options: TcpOptions {
                timestamps: Some(Timestamps { value, echo }),
                ..TcpOptions::default()
            },
            ..segment(sequence, acknowledgement, flags)
        };
        connection.packet(Fwd, &stamped(100, 0, 0, 7, 0), 50, 0);
        connection.packet(Fwd, &stamped(100, 0, 0, 9, 0), 50, 200 * MS);
        for time_ms in [230, 240] {
            connection.packet(Rev, &stamped(1, 150, TcpSegment::ACK, 1, 9), 0, time_ms * MS);
        }
        let fwd = &connection.directions.fwd;
        assert_eq!(fwd.rtt.samples(), 0);
        assert_eq!(
            (fwd.timestamp_rtt.samples(), fwd.timestamp_rtt.min_us()),
            (1, Some(30_000))
        );
    }

    #[test]
    fn sequence_numbers_may_wrap() {
        let mut connection = TcpConnection::default();
        data(&mut connection, u32::MAX - 49, 100, 0);
        data(&mut connection, 50, 100, 1);
        ack(&mut connection, 150, 21);
        let fwd = &connection.directions.fwd;
        assert_eq!(
            (fwd.rtt.samples(), fwd.rtt.min_us(), fwd.retransmitted_packets),
            (1, Some(20_000), 0)
        );
    }

    #[test]
    fn a_hole_filled_at_once_is_reordering_and_later_a_retransmission() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 200, 50, 1);
        data(&mut connection, 150, 50, 2);
        data(&mut connection, 300, 50, 10);
        data(&mut connection, 250, 50, 110);
        let fwd = &connection.directions.fwd;
        assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (1, 1));
    }

    #[test]
    fn the_same_bytes_again_are_a_retransmission_however_soon() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 150, 50, 1);
        data(&mut connection, 100, 50, 1);
        assert_eq!(connection.directions.fwd.retransmitted_packets, 1);
    }

    #[test]
    fn a_hole_can_be_filled_from_its_middle() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 10, 0);
        data(&mut connection, 200, 10, 0);
        for start in [150, 110, 160] {
            data(&mut connection, start, 10, 1);
        }
        let fwd = &connection.directions.fwd;
        assert_eq!((fwd.out_of_order_packets, fwd.retransmitted_packets), (3, 0));
    }

    #[test]
    fn a_keep_alive_is_not_a_retransmission() {
        let mut connection = TcpConnection::default();
        data(&mut connection, 100, 50, 0);
        data(&mut connection, 149, 1, 1000);
        data(&mut connection, 149, 0, 2000);
        assert_eq!(connection.directions.fwd.retransmitted_packets, 0);
    }

    #[test]
    fn the_handshake_is_timed_only_when_nothing_was_repeated() {
        for repeat in [false, true] {
            let mut connection = TcpConnection::default();
            connection.packet(Fwd, &segment(7, 0, TcpSegment::SYN), 0, 0);
            connection.packet(
                Rev,
                &segment(99, 8, TcpSegment::SYN | TcpSegment::ACK),
                0,
                20 * MS,
            );
            if repeat {
                connection.packet(
                    Rev,
                    &segment(99, 8, TcpSegment::SYN | TcpSegment::ACK),
                    0,
                    21 * MS,
                );
            }
            connection.packet(Fwd, &segment(8, 100, TcpSegment::ACK), 0, 25 * MS);
            assert_eq!(connection.handshake_rtt_ns(), (!repeat).then_some(25 * MS));
            assert_eq!(connection.directions.fwd.rtt.min_us(), Some(20_000));
            assert_eq!(connection.directions.rev.rtt.samples(), i64::from(!repeat));
        }
    }

    #[test]
    fn a_new_connection_on_used_ports_is_told_from_a_repeated_syn() {
        let mut connection = TcpConnection::default();
        connection.packet(Fwd, &segment(7, 0, TcpSegment::SYN), 0, 0);
        let again = segment(5000, 0, TcpSegment::SYN);
        assert!(!connection.is_succeeded_by(Fwd, &again));
        connection.packet(Fwd, &segment(8, 1, TcpSegment::FIN | TcpSegment::ACK), 0, MS);
        connection.packet(Rev, &segment(1, 9, TcpSegment::FIN | TcpSegment::ACK), 0, MS);
        assert!(connection.is_succeeded_by(Fwd, &again));
        assert!(!connection.is_succeeded_by(Fwd, &segment(7, 0, TcpSegment::SYN)));
    }
}
