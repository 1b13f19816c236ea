//! STUN (RFC 8489), classic STUN (RFC 3489), and the two ways in which TURN carries packets (RFC 8656).

use crate::call::carried::Carried;
use crate::input::bytes::{be_u16, be_u32};
use crate::rtp::carrier::{Carrier, Encapsulation};

pub(crate) const STUN_HEADER_BYTES: usize = 20;
pub(crate) const CHANNEL_HEADER_BYTES: usize = 4;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const MAGIC_COOKIE: u32 = 0x2112_a442;
const METHOD_BINDING: u16 = 1;
const METHOD_ALLOCATE: u16 = 3;
const METHOD_SEND: u16 = 6;
const METHOD_DATA: u16 = 7;
const ATTRIBUTE_DATA: u16 = 0x0013;
const PADDING_BYTES: usize = 4;
/// The counts of a DNS query with one question, which are where a transaction begins.
const ONE_QUESTION: [u32; 2] = [0x0001_0000, 0];

/// The class of a message (RFC 8489, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Request,
    Indication,
    Success,
    Error,
}

/// A STUN message, and the payload inside where it is an indication of TURN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StunMessage<'p> {
    pub(crate) class: Class,
    pub(crate) method: u16,
    /// Without the magic cookie: RFC 3489, in which the cookie's place belongs to the transaction.
    pub(crate) classic: bool,
    pub(crate) transaction: [u8; 16],
    pub(crate) data: Option<Carried<'p>>,
    /// Length with the header.
    pub(crate) whole_bytes: usize,
}

impl StunMessage<'_> {
    pub(crate) fn is_binding(&self) -> bool {
        self.method == METHOD_BINDING
    }

    pub(crate) fn is_allocation(&self) -> bool {
        self.method == METHOD_ALLOCATE
    }
}

/// The message that fills a UDP payload, of which `captured` is there.
pub(crate) fn datagram(captured: &[u8], payload_bytes: u32) -> Option<StunMessage<'_>> {
    let message = message(captured)?;
    if message.whole_bytes != payload_bytes as usize {
        return None;
    }
    (!message.classic || is_classic(captured, &message)).then_some(message)
}

/// The message that a stream continues with; only the magic cookie can tell it there.
pub(crate) fn in_stream(captured: &[u8]) -> Option<StunMessage<'_>> {
    message(captured).filter(|message| !message.classic)
}

fn message(captured: &[u8]) -> Option<StunMessage<'_>> {
    let kind = be_u16(captured, 0)?;
    let length = usize::from(be_u16(captured, 2)?);
    let classic = be_u32(captured, 4)? != MAGIC_COOKIE;
    // Applications leave out padding at the end, but where the cookie is missing every sign of STUN counts.
    if kind >> 14 != 0 || (classic && length % PADDING_BYTES != 0) {
        return None;
    }
    let class = match kind & 0x0110 {
        0 => Class::Request,
        0x0010 => Class::Indication,
        0x0100 => Class::Success,
        _ => Class::Error,
    };
    let method = kind & 0x000f | (kind & 0x00e0) >> 1 | (kind & 0x3e00) >> 2;
    let mut message = StunMessage {
        class,
        method,
        classic,
        transaction: captured.get(4..STUN_HEADER_BYTES)?.try_into().ok()?,
        data: None,
        whole_bytes: STUN_HEADER_BYTES + length,
    };
    if class == Class::Indication && matches!(method, METHOD_SEND | METHOD_DATA) && !classic {
        message.data = data(captured, message.whole_bytes);
    }
    Some(message)
}

/// Attributes of a message: type, length, and where the value begins.
fn attributes(captured: &[u8], whole_bytes: usize) -> impl Iterator<Item = (u16, usize, usize)> {
    let mut offset = STUN_HEADER_BYTES;
    std::iter::from_fn(move || {
        if offset >= whole_bytes {
            return None;
        }
        let kind = be_u16(captured, offset)?;
        let length = usize::from(be_u16(captured, offset + 2)?);
        let value = offset + ATTRIBUTE_HEADER_BYTES;
        offset = value + length.next_multiple_of(PADDING_BYTES);
        Some((kind, length, value))
    })
}

fn data(captured: &[u8], whole_bytes: usize) -> Option<Carried<'_>> {
    let (_, length, value) = attributes(captured, whole_bytes)
        .find(|(kind, length, value)| *kind == ATTRIBUTE_DATA && value + length <= whole_bytes)?;
    let there = captured.get(value..).unwrap_or_default();
    Some(Carried {
        bytes: there.get(..length).unwrap_or(there),
        payload_bytes: u32::try_from(length).ok()?,
        carrier: Carrier {
            encapsulation: Some(Encapsulation::TurnIndication),
            media: None,
        },
    })
}

/// Whether a message without the cookie is STUN: its type is one of RFC 3489, its attributes fill it, and it is not a
/// DNS message whose number looks like a type.
///
/// Type 2 has another meaning there, but is what Zoom's servers answer with; it counts by its transaction alone.
fn is_classic(captured: &[u8], message: &StunMessage<'_>) -> bool {
    let kind = be_u16(captured, 0);
    let has_type = matches!(kind, Some(0x0001 | 0x0002 | 0x0101 | 0x0111));
    if !has_type || [4, 8].map(|place| be_u32(captured, place)) == ONE_QUESTION.map(Some) {
        return false;
    }
    let mut end = STUN_HEADER_BYTES;
    for (_, length, value) in attributes(captured, message.whole_bytes) {
        end = value + length.next_multiple_of(PADDING_BYTES);
    }
    end == message.whole_bytes
}

/// The packet in `ChannelData`, and the length with its header but without padding.
fn channel(captured: &[u8]) -> Option<(Carried<'_>, usize)> {
    if !matches!(captured.first()?, 0x40..=0x4f) {
        return None;
    }
    let length = usize::from(be_u16(captured, 2)?);
    let there = captured.get(CHANNEL_HEADER_BYTES..).unwrap_or_default();
    let carried = Carried {
        bytes: there.get(..length).unwrap_or(there),
        payload_bytes: u32::try_from(length).ok()?,
        carrier: Carrier {
            encapsulation: Some(Encapsulation::TurnChannel),
            media: None,
        },
    };
    Some((carried, CHANNEL_HEADER_BYTES + length))
}

/// The packet in `ChannelData` that fills a UDP payload, which may be padded.
pub(crate) fn channel_datagram(captured: &[u8], payload_bytes: u32) -> Option<Carried<'_>> {
    let (carried, whole_bytes) = channel(captured)?;
    let payload_bytes = payload_bytes as usize;
    let fills = payload_bytes == whole_bytes || payload_bytes == whole_bytes.next_multiple_of(PADDING_BYTES);
    fills.then_some(carried)
}

/// The packet in `ChannelData` that a stream continues with, and its length with header and padding.
pub(crate) fn channel_in_stream(captured: &[u8]) -> Option<(Carried<'_>, usize)> {
    let (carried, whole_bytes) = channel(captured)?;
    Some((carried, whole_bytes.next_multiple_of(PADDING_BYTES)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A message of a type with attributes, and a transaction of one byte repeated.
    pub(crate) fn stun(kind: u16, transaction: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, value) in attributes {
            body.extend(kind.to_be_bytes());
            body.extend((value.len() as u16).to_be_bytes());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(MAGIC_COOKIE.to_be_bytes());
        bytes.extend([transaction; 12]);
        bytes.extend(body);
        bytes
    }

    /// Without the magic cookie.
    pub(crate) fn classic(kind: u16, transaction: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = stun(kind, transaction, attributes);
        bytes[4..8].fill(transaction);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<(Class, u16, bool)> {
        datagram(bytes, bytes.len() as u32).map(|message| (message.class, message.method, message.classic))
    }

    #[test]
    fn class_and_method_are_read_and_the_length_must_fit() {
        assert_eq!(read(&stun(0x0001, 7, &[])), Some((Class::Request, 1, false)));
        assert_eq!(
            read(&stun(0x0103, 7, &[(6, b"name")])),
            Some((Class::Success, 3, false))
        );
        assert_eq!(read(&stun(0x0113, 7, &[])), Some((Class::Error, 3, false)));
        assert_eq!(read(&stun(0x0017, 7, &[])), Some((Class::Indication, 7, false)));
        let message = stun(0x0001, 7, &[(6, b"name")]);
        assert_eq!(datagram(&message, message.len() as u32 + 4), None);
        for length in 0..STUN_HEADER_BYTES {
            assert_eq!(datagram(&message[..length], message.len() as u32), None);
        }
    }

    #[test]
    fn classic_messages_need_their_type_and_attributes_that_fill_them() {
        assert_eq!(read(&classic(1, 7, &[])), Some((Class::Request, 1, true)));
        assert_eq!(
            read(&classic(0x0101, 7, &[(1, &[0; 8])])),
            Some((Class::Success, 1, true))
        );
        assert_eq!(read(&classic(3, 7, &[])), None);
        let mut broken = classic(1, 7, &[(1, &[0; 8])]);
        broken[23] = 200;
        assert_eq!(read(&broken), None);
        let mut query = classic(1, 0, &[]);
        query[4..8].copy_from_slice(&[0, 1, 0, 0]);
        assert_eq!(read(&query), None);
    }

    #[test]
    fn an_indication_carries_its_data() {
        let message = stun(0x0016, 7, &[(0x0012, &[0; 8]), (ATTRIBUTE_DATA, b"media")]);
        let data = datagram(&message, message.len() as u32).unwrap().data.unwrap();
        assert_eq!((data.bytes, data.payload_bytes), (&b"media"[..], 5));
        // Snapped inside the data, which keeps its original length.
        let data = datagram(&message[..38], message.len() as u32)
            .unwrap()
            .data
            .unwrap();
        assert_eq!((data.bytes, data.payload_bytes), (&b"me"[..], 5));
        for length in STUN_HEADER_BYTES..36 {
            assert_eq!(
                datagram(&message[..length], message.len() as u32).unwrap().data,
                None
            );
        }
    }

    #[test]
    fn channel_data_is_as_long_as_it_says() {
        let bytes = [0x40, 1, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0];
        for length in [9, 12] {
            assert_eq!(
                channel_datagram(&bytes[..length], length as u32).unwrap().bytes,
                &[1, 2, 3, 4, 5]
            );
        }
        assert_eq!(channel_datagram(&bytes[..10], 10), None);
        assert_eq!(channel_in_stream(&bytes).unwrap().1, 12);
        for length in 0..4 {
            assert_eq!(channel_in_stream(&bytes[..length]), None);
        }
        assert_eq!(channel_datagram(&[0x50, 0, 0, 0], 4), None);
    }
}
