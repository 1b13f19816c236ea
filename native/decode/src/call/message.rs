//! What a payload is by its first byte (RFC 7983) and its shape.

use crate::call::carried::Carried;
use crate::call::dtls::{self, DtlsRecords};
use crate::call::rtcp::{self, Rtcp};
use crate::call::stun::{self, StunMessage};
use crate::call::zoom::{self, SERVER_MEDIA, ZoomMedia};

/// A payload that belongs to a call and is not RTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message<'p> {
    Stun(StunMessage<'p>),
    Channel(Carried<'p>),
    Dtls(DtlsRecords),
    Rtcp(Rtcp<'p>),
    Zoom(ZoomMedia<'p>),
}

/// The message that fills a payload, of which `captured` is there; `in_handshake` if DTLS was seen before it.
pub(crate) fn datagram(captured: &[u8], payload_bytes: u32, in_handshake: bool) -> Option<Message<'_>> {
    match *captured.first()? {
        0..=3 => stun::datagram(captured, payload_bytes).map(Message::Stun),
        SERVER_MEDIA | 13 | 15 | 16 | 30 => zoom::datagram(captured, payload_bytes).map(Message::Zoom),
        20..=26 => dtls::datagram(captured, payload_bytes, in_handshake).map(Message::Dtls),
        // Zoom's reports have numbers that the short header of DTLS 1.3 may have, too.
        0x20..=0x3f => match zoom::datagram(captured, payload_bytes) {
            Some(media) => Some(Message::Zoom(media)),
            None => dtls::datagram(captured, payload_bytes, in_handshake).map(Message::Dtls),
        },
        0x40..=0x4f => stun::channel_datagram(captured, payload_bytes).map(Message::Channel),
        0x80..=0xbf => rtcp::datagram(captured, payload_bytes).map(Message::Rtcp),
        _ => None,
    }
}
