//! The three-way handshake of a TCP connection (RFC 9293, 3.5).

use crate::flow::tcp::sequence::distance;
use crate::output::units::LONGEST_DELAY_NS;
use crate::packet::direction::Direction;
use crate::packet::types::TcpSegment;

#[derive(Debug, Clone, Copy)]
struct Syn {
    direction: Direction,
    sequence: u32,
    /// Its data (RFC 7413), which the other end takes or leaves.
    payload_bytes: u32,
    time_ns: i64,
}

impl Syn {
    /// Whether a SYN-ACK of the other end acknowledges it, with any of its data.
    fn is_answered(&self, direction: Direction, acknowledgement: u32) -> bool {
        let beyond = acknowledgement.wrapping_sub(self.sequence.wrapping_add(1));
        direction != self.direction && beyond <= self.payload_bytes
    }
}

/// SYN, SYN-ACK and the acknowledgement of it, as they pass.
#[derive(Debug, Default)]
pub(crate) struct Handshake {
    syn: Option<Syn>,
    syn_ack_sequence: Option<u32>,
    /// Direction and numbers of a SYN-ACK that overtook its SYN on the way into the capture.
    early_syn_ack: Option<(Direction, u32, u32)>,
    repeated: bool,
    rtt_ns: Option<i64>,
}

impl Handshake {
    /// A segment passes. What passes twice only after the third one changes nothing: it was answered by none of the three.
    pub(crate) fn packet(
        &mut self,
        direction: Direction,
        segment: &TcpSegment,
        payload_bytes: u32,
        time_ns: i64,
    ) {
        if self.rtt_ns.is_some() || segment.has(TcpSegment::RST) {
            return;
        }
        let acknowledges = segment.has(TcpSegment::ACK);
        match (segment.has(TcpSegment::SYN), acknowledges, self.syn) {
            (true, false, None) => {
                let syn = Syn {
                    direction,
                    sequence: segment.sequence,
                    payload_bytes,
                    time_ns,
                };
                self.syn = Some(syn);
                if let Some((other, sequence, acknowledgement)) = self.early_syn_ack {
                    if syn.is_answered(other, acknowledgement) {
                        self.syn_ack_sequence = Some(sequence);
                    }
                }
            }
            (true, true, None) => {
                self.repeated |= self.early_syn_ack.is_some();
                self.early_syn_ack = Some((direction, segment.sequence, segment.acknowledgement));
            }
            (true, false, Some(_)) => self.repeated = true,
            (true, true, Some(syn)) if syn.is_answered(direction, segment.acknowledgement) => {
                self.repeated |= self.syn_ack_sequence.is_some();
                self.syn_ack_sequence = Some(segment.sequence);
            }
            (false, true, Some(syn)) if direction == syn.direction => {
                if let Some(sequence) = self.syn_ack_sequence {
                    if distance(sequence, segment.acknowledgement) >= 1 {
                        self.rtt_ns = Some(time_ns - syn.time_ns);
                    }
                }
            }
            _ => {}
        }
    }

    /// SYN to the acknowledgement of SYN-ACK; `None` unless each of the three passed, and none twice until then.
    pub(crate) fn rtt_ns(&self) -> Option<i64> {
        // Others show that the clock was set meanwhile.
        self.rtt_ns
            .filter(|rtt_ns| !self.repeated && (0..=LONGEST_DELAY_NS).contains(rtt_ns))
    }
}
