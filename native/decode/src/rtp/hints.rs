//! Flows of which it is known from elsewhere whether they are RTP, such as from a run's manifest.
//!
//! What is declared is believed: a packet of a declared source counts from the first one on, whatever its header's
//! version and payload type look like. Sources that are not declared are still found by their looks, unless
//! the flow is declared not to be RTP.

use std::net::SocketAddr;

use hashbrown::HashMap;

use crate::packet::direction::{Direction, PerDirection};
use crate::packet::types::Endpoint;
use crate::rtp::stream::RtpPacket;

/// A UDP flow in one direction, and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtpHint {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// `false`: no packet between the two ends is RTP, but those that another hint declares.
    pub is_rtp: bool,
    /// Synchronisation source; without it, and without a payload type, any that looks like RTP.
    pub ssrc: Option<u32>,
    /// Payload type, which identifies the packets if the synchronisation source is not known.
    pub payload_type: Option<u8>,
}

/// What is declared of one direction of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Declared {
    #[default]
    Nothing,
    NotRtp,
    /// Synchronisation source and payload type of each stream, as far as they are known.
    Rtp(Vec<(Option<u32>, Option<u8>)>),
}

/// How a UDP payload is to be taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// RTP, because it was declared.
    Declared(RtpPacket),
    /// RTP if those after it fit.
    Candidate(RtpPacket),
    NotRtp,
}

impl Declared {
    /// Read a UDP payload, of which `captured` is there.
    pub(crate) fn read(&self, captured: &[u8], payload_bytes: u32, time_ns: i64) -> Reading {
        let by_looks = || RtpPacket::parse(captured, payload_bytes, time_ns);
        let streams = match self {
            Self::Nothing => return by_looks().map_or(Reading::NotRtp, Reading::Candidate),
            Self::NotRtp => return Reading::NotRtp,
            Self::Rtp(streams) => streams,
        };
        let fields = RtpPacket::fields(captured, payload_bytes, time_ns);
        let is_declared = |packet: &RtpPacket| {
            streams.iter().any(|stream| match stream {
                (Some(ssrc), _) => packet.ssrc == *ssrc,
                (None, Some(payload_type)) => packet.payload_type == *payload_type,
                (None, None) => false,
            })
        };
        match fields {
            Some(packet) if is_declared(&packet) => Reading::Declared(packet),
            _ => match by_looks() {
                None => Reading::NotRtp,
                Some(packet) if streams.contains(&(None, None)) => Reading::Declared(packet),
                Some(packet) => Reading::Candidate(packet),
            },
        }
    }
}

/// The hints of one recording by the two ends.
#[derive(Debug, Default)]
pub(crate) struct RtpHints(HashMap<(Endpoint, Endpoint), Declared>);

fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint {
        address: address.ip(),
        port: address.port(),
    }
}

impl RtpHints {
    pub(crate) fn new(hints: &[RtpHint]) -> Self {
        let mut declared: HashMap<_, Declared> = HashMap::new();
        for hint in hints {
            let (source, destination) = (endpoint(hint.source), endpoint(hint.destination));
            if hint.is_rtp {
                let stream = (hint.ssrc, hint.payload_type);
                match declared.entry((source, destination)).or_default() {
                    Declared::Rtp(streams) => streams.push(stream),
                    other => *other = Declared::Rtp(vec![stream]),
                }
            } else {
                for ends in [(source, destination), (destination, source)] {
                    let declaration = declared.entry(ends).or_default();
                    if *declaration == Declared::Nothing {
                        *declaration = Declared::NotRtp;
                    }
                }
            }
        }
        Self(declared)
    }

    /// What is declared of a flow; `None` where nothing is.
    pub(crate) fn of(&self, initiator: Endpoint, responder: Endpoint) -> Option<Box<PerDirection<Declared>>> {
        if self.0.is_empty() {
            return None;
        }
        let of = |direction| {
            let ends = match direction {
                Direction::Fwd => (initiator, responder),
                Direction::Rev => (responder, initiator),
            };
            self.0.get(&ends).cloned().unwrap_or_default()
        };
        let declared = PerDirection {
            fwd: of(Direction::Fwd),
            rev: of(Direction::Rev),
        };
        let nothing = declared.fwd == Declared::Nothing && declared.rev == Declared::Nothing;
        (!nothing).then(|| Box::new(declared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(is_rtp: bool, ssrc: Option<u32>, payload_type: Option<u8>) -> RtpHint {
        RtpHint {
            source: "10.0.0.1:5004".parse().unwrap(),
            destination: "10.0.0.2:5006".parse().unwrap(),
            is_rtp,
            ssrc,
            payload_type,
        }
    }

    fn declared(hints: &[RtpHint]) -> PerDirection<Declared> {
        let ends = [hints[0].source, hints[0].destination].map(endpoint);
        *RtpHints::new(hints).of(ends[0], ends[1]).unwrap()
    }

    fn payload(version: u8, payload_type: u8, ssrc: u8) -> Vec<u8> {
        let mut bytes = vec![version << 6, payload_type, 0, 1, 0, 0, 0, 9, 0, 0, 0, ssrc];
        bytes.extend([0; 20]);
        bytes
    }

    fn kind(declared: &Declared, payload: &[u8]) -> &'static str {
        match declared.read(payload, payload.len() as u32, 0) {
            Reading::Declared(_) => "declared",
            Reading::Candidate(_) => "candidate",
            Reading::NotRtp => "not rtp",
        }
    }

    #[test]
    fn a_declared_source_is_rtp_whatever_its_version_and_others_must_prove_it() {
        let flow = declared(&[hint(true, Some(7), None)]);
        assert_eq!(kind(&flow.fwd, &payload(0, 96, 7)), "declared");
        // 200 would be a sender report by its looks.
        assert_eq!(kind(&flow.fwd, &payload(2, 200, 7)), "declared");
        assert_eq!(kind(&flow.fwd, &payload(2, 96, 8)), "candidate");
        assert_eq!(kind(&flow.fwd, &payload(0, 96, 8)), "not rtp");
        assert_eq!(kind(&flow.fwd, &payload(2, 96, 7)[..11]), "not rtp");
        assert_eq!(flow.rev, Declared::Nothing);
    }

    #[test]
    fn a_payload_type_tells_the_packets_where_the_source_is_not_known() {
        let flow = declared(&[hint(true, None, Some(75))]);
        assert_eq!(kind(&flow.fwd, &payload(1, 0xcb, 1)), "declared");
        assert_eq!(kind(&flow.fwd, &payload(2, 96, 1)), "candidate");
        let any = declared(&[hint(true, None, None)]);
        assert_eq!(kind(&any.fwd, &payload(2, 96, 1)), "declared");
        assert_eq!(kind(&any.fwd, &payload(1, 96, 1)), "not rtp");
    }

    #[test]
    fn what_is_declared_not_to_be_rtp_is_not_either_way_unless_another_hint_says_so() {
        let flow = declared(&[hint(false, None, None)]);
        assert_eq!((&flow.fwd, &flow.rev), (&Declared::NotRtp, &Declared::NotRtp));
        assert_eq!(kind(&flow.fwd, &payload(2, 96, 1)), "not rtp");
        for hints in [
            [hint(false, None, None), hint(true, Some(7), None)],
            [hint(true, Some(7), None), hint(false, None, None)],
        ] {
            let flow = declared(&hints);
            assert_eq!(kind(&flow.fwd, &payload(2, 96, 7)), "declared");
            assert_eq!(flow.rev, Declared::NotRtp);
        }
    }
}
