//! What the handshake agreed on (RFC 3168, 6.1.1; RFC 9768, 3.1).

use crate::flow::tcp::sequence::distance;
use crate::packet::direction::Direction;
use crate::packet::types::TcpSegment;

/// AE, CWR and ECE as one number, as the ACE field has them.
pub(crate) fn ace_field(segment: &TcpSegment) -> u8 {
    u8::from(segment.has(TcpSegment::AE)) << 2
        | u8::from(segment.has(TcpSegment::CWR)) << 1
        | u8::from(segment.has(TcpSegment::ECE))
}

/// What the connection uses afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No ECN: not asked for, refused, or the answer is broken.
    None,
    Classic,
    Accurate,
    /// The handshake is not in the capture and nothing shows Accurate ECN.
    Unknown,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
            Self::Unknown => "unknown",
        }
    }
}

/// SYN and SYN-ACK, as they pass.
#[derive(Debug, Default)]
pub(crate) struct Negotiation {
    syn: Option<Syn>,
    answer: Option<Answer>,
    /// A repeated SYN had other flags: the sender fell back.
    pub(crate) fell_back: bool,
}

#[derive(Debug, Clone, Copy)]
struct Syn {
    direction: Direction,
    sequence: u32,
    flags: u8,
    ecn: u8,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    ecn: u8,
    /// The ACE field of the first pure acknowledgement of the SYN-ACK (RFC 9768, Table 3).
    acknowledged: Option<u8>,
}

impl Negotiation {
    /// A SYN without ACK passes; whether it opens another connection than the one known.
    pub(crate) fn syn(&mut self, direction: Direction, segment: &TcpSegment, ecn: u8) -> bool {
        let flags = ace_field(segment);
        let again = self
            .syn
            .filter(|syn| syn.sequence == segment.sequence && syn.direction == direction);
        let other = self.syn.is_some() && again.is_none();
        if other {
            *self = Self::default();
        }
        self.fell_back |= again.is_some_and(|syn| syn.flags != flags);
        if self.syn.is_none() {
            // The SYN-ACK may overtake its SYN on the way into the capture.
            let its_own = |answer: &Answer| answer.acknowledgement == segment.sequence.wrapping_add(1);
            self.answer = self.answer.filter(its_own);
        }
        if self.answer.is_none() || self.syn.is_none() {
            self.syn = Some(Syn {
                direction,
                sequence: segment.sequence,
                flags,
                ecn,
            });
        }
        other
    }

    /// A SYN-ACK passes.
    pub(crate) fn syn_ack(&mut self, direction: Direction, segment: &TcpSegment, ecn: u8) {
        let answers = self.syn.is_none_or(|syn| {
            syn.direction != direction && segment.acknowledgement == syn.sequence.wrapping_add(1)
        });
        if answers && self.answer.is_none() {
            self.answer = Some(Answer {
                sequence: segment.sequence,
                acknowledgement: segment.acknowledgement,
                flags: ace_field(segment),
                ecn,
                acknowledged: None,
            });
        }
    }

    /// Whether an acknowledgement answers the SYN-ACK only: its ACE field then is not a counter (RFC 9768, 3.2.2.1).
    pub(crate) fn is_of_handshake(
        &mut self,
        direction: Direction,
        segment: &TcpSegment,
        payload_bytes: u32,
    ) -> bool {
        let Some((syn, answer)) = self.syn.zip(self.answer.as_mut()) else {
            return false;
        };
        let pure = payload_bytes == 0 && !segment.options.selective_acknowledgement;
        let only =
            direction == syn.direction && pure && distance(answer.sequence, segment.acknowledgement) == 1;
        if only {
            answer.acknowledged.get_or_insert(ace_field(segment));
        }
        only
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.name() {
            "not_seen" => Mode::Unknown,
            "classic" | "classic_nonce" => Mode::Classic,
            "accurate_not_ect" | "accurate_ect0" | "accurate_ect1" | "accurate_ce" => Mode::Accurate,
            _ => Mode::None,
        }
    }

    /// The verdict of RFC 9768, Table 2, and of RFC 3168, 6.1.1.
    pub(crate) fn name(&self) -> &'static str {
        let Some(syn) = self.syn else {
            return "not_seen";
        };
        let Some(answer) = self.answer else {
            return "unanswered";
        };
        match (syn.flags, answer.flags) {
            (0b111, 0b010) => "accurate_not_ect",
            (0b111, 0b011) => "accurate_ect1",
            (0b111, 0b100) => "accurate_ect0",
            (0b111, 0b110) => "accurate_ce",
            (0b111 | 0b011, 0b001) => "classic",
            (0b111 | 0b011, 0b101) => "classic_nonce",
            (0b111 | 0b011, 0b000) => "refused",
            (0b111 | 0b011, _) => "broken",
            (_, 0b000) => "not_requested",
            _ => "broken",
        }
    }

    /// The flags of the SYN and of the SYN-ACK as a number: AE 4, CWR 2, ECE 1.
    pub(crate) fn flags(&self) -> (Option<u8>, Option<u8>) {
        (
            self.syn.map(|syn| syn.flags),
            self.answer.map(|answer| answer.flags),
        )
    }

    /// The codepoint that a direction's SYN or SYN-ACK had here, and that the other end says it had there.
    pub(crate) fn codepoints(&self, direction: Direction) -> (Option<u8>, Option<u8>) {
        let (Some(syn), answer) = (self.syn, self.answer) else {
            return (None, None);
        };
        let accurate = self.mode() == Mode::Accurate;
        let codepoint = |code: u8| match code {
            0b010 => Some(0),
            0b011 => Some(1),
            0b100 => Some(2),
            0b110 => Some(3),
            _ => None,
        };
        if direction == syn.direction {
            let answered = answer.filter(|_| accurate).map(|answer| answer.flags);
            (Some(syn.ecn), answered.and_then(codepoint))
        } else {
            let acknowledged = answer.filter(|_| accurate).and_then(|answer| answer.acknowledged);
            (answer.map(|answer| answer.ecn), acknowledged.and_then(codepoint))
        }
    }

    /// Where the counter of CE packets of a direction begins (RFC 9768, 3.2.2): 5, or 6 if its SYN or SYN-ACK came as CE.
    pub(crate) fn counter_begins(&self, direction: Direction) -> Option<u8> {
        (self.mode() == Mode::Accurate).then(|| {
            if self.codepoints(direction).1 == Some(3) {
                6
            } else {
                5
            }
        })
    }
}
