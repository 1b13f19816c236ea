//! One TCP connection as it passes the capture point.
//!
//! **RTT samples.** A segment is outstanding from the time it passes. It gives a sample when an acknowledgement
//! ends exactly where the segment ends, it passed once, and no segment below it passed later: otherwise
//! the acknowledgement waited for another segment, or nobody can say which copy it answers (Karn's rule), be it data, a
//! probe of a window of zero or a keep-alive. A reset gives none, as anybody on the path can send it. What passed
//! later follows from the order of the capture, not from its clock. A segment that a later acknowledgement covers
//! cumulatively gives none. These are the rules of tcptrace, with which a test holds the samples to agreement.
//!
//! **RTT by timestamps.** The first echo of a timestamp (RFC 7323) that a data segment carried, kept apart:
//! it distinguishes retransmissions from originals, but has the resolution of the sender's timestamp clock.
//!
//! **Retransmitted or out of order.** A data segment below the highest sequence number is out of order if it
//! brings bytes that had not passed, within a time in which no sender can have learned of the hole: the
//! smallest RTT of the whole path (the smallest samples of the two directions added, as the capture point
//! splits the path), or 3 ms while a direction has no sample. Every other one is a retransmission.
//! Bytes that a capture holds twice are neither: a segment with the same numbers, flags, length and IP identification as
//! one shortly before is a copy of it, made where the packet was captured (a mirror of several ports or VLANs), and is left
//! out of all this. A segment without an identification is a copy only within a time in which nobody sends it again.
//! A segment of at most one byte just below the highest sequence number is a keep-alive and neither; so is the segment that
//! begins with the byte that probed a window of zero. A
//! retransmission is spurious if all of it had been acknowledged when it passed.

use crate::flow::ecn::connection::TcpEcn;
use crate::flow::tcp::direction::TcpDirection;
use crate::flow::tcp::handshake::Handshake;
use crate::flow::tcp::passed::Passing;
use crate::packet::direction::{Direction, PerDirection};
use crate::packet::types::TcpSegment;

/// Without an RTT sample, reordering is distinguished from retransmission by the time Wireshark uses.
const REORDERING_TIME_NS: i64 = 3_000_000;

/// Both directions of a connection.
#[derive(Debug, Default)]
pub(crate) struct TcpConnection {
    pub(crate) directions: PerDirection<TcpDirection>,
    handshake: Handshake,
    /// `None` until a segment of either direction has an ECN flag or an ECN codepoint.
    pub(crate) ecn: Option<Box<TcpEcn>>,
}

impl TcpConnection {
    /// Memory that is kept of ECN, holes, and segments whose acknowledgement or echo is awaited, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        let ecn = self.ecn.as_ref().map_or(0, |ecn| {
            size_of::<TcpEcn>() + ecn.directions.fwd.kept_bytes() + ecn.directions.rev.kept_bytes()
        });
        self.directions.fwd.kept_bytes() + self.directions.rev.kept_bytes() + ecn
    }

    pub(crate) fn packet(&mut self, direction: Direction, segment: &TcpSegment, passing: &Passing) {
        let Passing {
            payload_bytes,
            time_ns,
            ..
        } = *passing;
        if self.directions.get_mut(direction).is_copy(segment, passing) {
            return;
        }
        self.handshake.packet(direction, segment, payload_bytes, time_ns);
        if self.ecn.is_some() || passing.ecn != 0 || segment.has(TcpEcn::FLAGS) {
            self.ecn
                .get_or_insert_default()
                .packet(direction, segment, passing);
        }
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
                // A keep-alive lies below the next sequence number; an update of the window is not a duplicate.
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
        let window_is_zero = self.directions.get(direction.opposite()).window_is_zero();
        let own = self.directions.get_mut(direction);
        own.flags |= segment.flags;
        if segment.has(TcpSegment::SYN) {
            if own
                .initial_sequence
                .is_some_and(|initial| initial != segment.sequence)
            {
                own.begin_again();
            }
            own.initial_sequence = Some(segment.sequence);
        } else if !segment.has(TcpSegment::RST) {
            own.settle_numbering(segment.sequence);
        }
        // A reset carries no meaningful window.
        if segment.window == 0 && !segment.has(TcpSegment::RST) {
            own.zero_windows += 1;
        }
        own.last_window = segment.window;
        own.sack_packets += i64::from(segment.options.selective_acknowledgement);
        own.dsack_packets += i64::from(segment.options.duplicate_selective_acknowledgement);
        if !segment.has(TcpSegment::SYN) {
            // On a SYN the two flags negotiate; afterwards they report (RFC 3168, 6.1). With Accurate ECN they are
            // bits of a counter, and the counts are not given.
            own.ece_packets += i64::from(segment.has(TcpSegment::ECE));
            own.cwr_packets += i64::from(segment.has(TcpSegment::CWR));
        }
        own.send(segment, payload_bytes, time_ns, reordering_ns, window_is_zero);
        if let Some(timestamps) = segment.options.timestamps {
            if payload_bytes > 0 || segment.has(TcpSegment::SYN) {
                own.stamp(timestamps.value, time_ns);
            }
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

    /// Begin with another connection in the same memory.
    pub(crate) fn renew(&mut self) {
        let PerDirection { fwd, rev } = &mut self.directions;
        *self = Self {
            directions: PerDirection {
                fwd: TcpDirection::in_memory_of(fwd),
                rev: TcpDirection::in_memory_of(rev),
            },
            ..Self::default()
        };
    }

    /// Give up what is needed only while segments come.
    pub(crate) fn close(&mut self) {
        self.directions.fwd.restart();
        self.directions.rev.restart();
    }

    /// SYN to the acknowledgement of SYN-ACK; `None` unless each of the three passed, and none twice until then.
    pub(crate) fn handshake_rtt_ns(&self) -> Option<i64> {
        self.handshake.rtt_ns()
    }

    /// Whether `segment` opens a new connection on the ports of this one, which is over.
    pub(crate) fn is_succeeded_by(&self, direction: Direction, segment: &TcpSegment) -> bool {
        let initial_sequence = self.directions.get(direction).initial_sequence;
        // The SYN before a SYN-ACK may be missing; if the host had not answered before, it answers to the SYN that passed.
        let opens = !segment.has(TcpSegment::ACK) || initial_sequence.is_some();
        opens && self.is_over() && initial_sequence != Some(segment.sequence)
    }
}

#[cfg(test)]
mod tests;
