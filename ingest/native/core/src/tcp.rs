//! One TCP connection as it passes the capture point.
//!
//! **RTT samples.** A segment that extends the highest sequence number is outstanding from the time it
//! passes. An acknowledgement gives one sample, that of the last segment which it covers: the segments
//! below were waiting for the delayed or lost acknowledgements of others, as in tcptrace. Karn's rule: once a
//! segment below the highest sequence number passes, the receiver cannot acknowledge anything from its start
//! to that highest number before this segment arrives, so none of that range gives a sample.
//!
//! **Retransmitted or out of order.** A data segment below the highest sequence number is out of order if it
//! brings bytes that had not passed, within a time in which no sender can have learned of the hole: the
//! smallest RTT of the whole path (the smallest samples of the two directions added, as the capture point
//! splits the path), or 3 ms while a direction has no sample. Every other one is a retransmission.
//! A segment of at most one byte just below the highest sequence number is a keep-alive and neither.

use std::collections::VecDeque;

use crate::flow::{Direction, PerDirection};
use crate::layers::TcpSegment;
use crate::tcp_rtt::RttStatistics;

/// Without an RTT sample, reordering is told from retransmission by the time Wireshark uses.
const REORDERING_TIME_NS: i64 = 3_000_000;
/// Of a connection whose acknowledgements never pass, only so many segments are remembered.
const OUTSTANDING_SEGMENTS: usize = 65_536;
/// Of a connection with more holes, the oldest are forgotten; a segment that fills one counts as retransmitted.
const HOLES: usize = 64;

/// Distance from `from` to `to` in sequence space (RFC 9293, 3.4).
fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    end: u32,
    sent_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    start: u32,
    end: u32,
    seen_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct SequenceRange {
    start: u32,
    end: u32,
}

/// What one direction of a connection sent, and how its data was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct TcpDirection {
    pub(crate) flags: u16,
    pub(crate) retransmitted_packets: i64,
    pub(crate) out_of_order_packets: i64,
    pub(crate) zero_windows: i64,
    pub(crate) rtt: RttStatistics,
    initial_sequence: Option<u32>,
    /// One past the highest sequence number seen.
    next_sequence: Option<u32>,
    outstanding: VecDeque<Outstanding>,
    holes: Vec<Hole>,
    ambiguous: Option<SequenceRange>,
}

impl TcpDirection {
    /// Forget sequence state: the host began a new connection inside this flow.
    fn restart(&mut self) {
        self.next_sequence = None;
        self.outstanding.clear();
        self.holes.clear();
        self.ambiguous = None;
    }

    fn send(&mut self, segment: &TcpSegment, payload_bytes: u32, time_ns: i64, reordering_ns: i64) {
        let controls = u32::from(segment.has(TcpSegment::SYN)) + u32::from(segment.has(TcpSegment::FIN));
        let length = payload_bytes.saturating_add(controls);
        if length == 0 || segment.has(TcpSegment::RST) {
            return;
        }
        let start = segment.sequence;
        let end = start.wrapping_add(length);
        let next = self.next_sequence.unwrap_or(start);
        let ahead = distance(next, start);
        if ahead >= 0 {
            if ahead > 0 {
                self.open_hole(Hole {
                    start: next,
                    end: start,
                    seen_ns: time_ns,
                });
            }
            self.extend(end, time_ns);
            return;
        }
        if ahead == -1 && controls == 0 && payload_bytes <= 1 {
            return;
        }
        let filled = self.fill_holes(start, end);
        if payload_bytes > 0 {
            match filled {
                Some(seen_ns) if time_ns - seen_ns < reordering_ns => self.out_of_order_packets += 1,
                _ => self.retransmitted_packets += 1,
            }
        }
        if distance(next, end) > 0 {
            self.extend(end, time_ns);
        }
        let highest = self.next_sequence.unwrap_or(end);
        let start = match self.ambiguous {
            Some(range) if distance(range.start, start) > 0 => range.start,
            _ => start,
        };
        self.ambiguous = Some(SequenceRange { start, end: highest });
    }

    fn extend(&mut self, end: u32, time_ns: i64) {
        self.next_sequence = Some(end);
        if self.outstanding.len() == OUTSTANDING_SEGMENTS {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(Outstanding {
            end,
            sent_ns: time_ns,
        });
    }

    fn open_hole(&mut self, hole: Hole) {
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Take `start..end` out of the holes; the time of the oldest hole that it met, if it met any.
    fn fill_holes(&mut self, start: u32, end: u32) -> Option<i64> {
        let mut met = None;
        let mut right_rest = None;
        self.holes.retain_mut(|hole| {
            if distance(hole.start, end) <= 0 || distance(start, hole.end) <= 0 {
                return true;
            }
            met.get_or_insert(hole.seen_ns);
            let left = distance(hole.start, start) > 0;
            let right = distance(end, hole.end) > 0;
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
        met
    }

    fn acknowledge(&mut self, acknowledgement: u32, time_ns: i64) {
        let Some(next) = self.next_sequence else { return };
        let mut covered = None;
        while let Some(segment) = self.outstanding.front()
            && distance(segment.end, acknowledgement) >= 0
        {
            covered = self.outstanding.pop_front();
        }
        let Some(segment) = covered else { return };
        // An acknowledgement of data that did not pass here says nothing about the data that did.
        let beyond = distance(next, acknowledgement) > 0;
        let ambiguous = self.ambiguous.is_some_and(|range| {
            distance(range.start, segment.end) > 0 && distance(segment.end, range.end) >= 0
        });
        if !beyond && !ambiguous && time_ns >= segment.sent_ns {
            self.rtt.add(time_ns - segment.sent_ns);
        }
        if self
            .ambiguous
            .is_some_and(|range| distance(range.end, acknowledgement) >= 0)
        {
            self.ambiguous = None;
        }
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
            (Some(fwd), Some(rev)) => fwd + rev,
            _ => REORDERING_TIME_NS,
        };
        if segment.has(TcpSegment::ACK) && !segment.has(TcpSegment::RST) {
            self.directions
                .get_mut(direction.opposite())
                .acknowledge(segment.acknowledgement, time_ns);
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
        own.send(segment, payload_bytes, time_ns, reordering_ns);
    }

    /// SYN to the acknowledgement of SYN-ACK; `None` unless each of the three passed and none twice.
    pub(crate) fn handshake_rtt_ns(&self) -> Option<i64> {
        self.handshake.rtt_ns.filter(|_| !self.handshake.repeated)
    }

    /// Whether `segment` opens a new connection on the ports of this one, which is over.
    pub(crate) fn is_succeeded_by(&self, direction: Direction, segment: &TcpSegment) -> bool {
        let opens = segment.has(TcpSegment::SYN) && !segment.has(TcpSegment::ACK);
        let flags = self.directions.fwd.flags | self.directions.rev.flags;
        let over = flags & TcpSegment::RST != 0
            || self.directions.fwd.flags & self.directions.rev.flags & TcpSegment::FIN != 0;
        opens && over && self.directions.get(direction).initial_sequence != Some(segment.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Fwd, Rev};

    const MS: i64 = 1_000_000;

    fn segment(sequence: u32, acknowledgement: u32, flags: u16) -> TcpSegment {
        TcpSegment {
            sequence,
            acknowledgement,
            flags,
            window: 1000,
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
