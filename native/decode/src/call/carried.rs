//! A payload that another protocol carries, and what is known of it from that protocol.

use crate::output::decoded::Decoded;
use crate::rtp::carrier::Carrier;

/// What sets up calls and reports on them.
pub(crate) const SIGNALLING: &[Decoded] = &[
    Decoded {
        kind: "call",
        name: "stun",
        meaning: "requests and their answers by transaction, over UDP and TCP (RFC 8489); classic STUN over UDP (RFC 3489)",
    },
    Decoded {
        kind: "call",
        name: "turn",
        meaning: "allocations, and packets relayed in ChannelData, Send and Data indications (RFC 8656)",
    },
    Decoded {
        kind: "call",
        name: "dtls",
        meaning: "start and end of the handshake, and the alert that ends it, up to DTLS 1.3 (RFC 6347, RFC 9147)",
    },
    Decoded {
        kind: "call",
        name: "rtcp",
        meaning: "loss, jitter and round-trip time of sender and receiver reports (RFC 3550, section 6.4); SRTCP is counted (RFC 3711)",
    },
];

/// A payload inside of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried<'p> {
    /// What of it was captured.
    pub(crate) bytes: &'p [u8],
    /// Its original length.
    pub(crate) payload_bytes: u32,
    pub(crate) carrier: Carrier,
}

impl<'p> Carried<'p> {
    /// What is in `payload` from `offset` on, in its original length.
    pub(crate) fn behind(payload: &'p [u8], payload_bytes: u32, offset: usize, carrier: Carrier) -> Self {
        Self {
            bytes: payload.get(offset..).unwrap_or_default(),
            payload_bytes: payload_bytes.saturating_sub(u32::try_from(offset).unwrap_or(u32::MAX)),
            carrier,
        }
    }
}
