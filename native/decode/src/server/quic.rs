//! The client's Initial packets of QUIC (RFC 9000, 17.2.2), and the `ClientHello` in their CRYPTO frames.

use crate::server::assembly::Assembly;
use crate::server::client_hello::HELLO_BYTES;
use crate::server::quic_keys::{ClientKeys, Version};
use crate::server::reader::Fields;

/// The shortest connection ID that a client may choose for the server, from which the keys follow (RFC 9000, 7.2).
const FIRST_CONNECTION_ID_BYTES: usize = 8;
const CONNECTION_ID_BYTES: usize = 20;
const RETRY_FROM_INITIAL: u8 = 3;

/// An Initial packet within a datagram.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Initial<'d> {
    pub(crate) version: &'static Version,
    connection_id: &'d [u8],
    /// From its first byte to its end; `None` where it was captured in part.
    packet: Option<&'d [u8]>,
    number_at: usize,
}

/// The next Initial packet of a datagram, passing over other packets with long headers; `None` where there is none.
pub(crate) fn next_initial<'d>(datagram: &mut &'d [u8]) -> Option<Initial<'d>> {
    loop {
        let packet = *datagram;
        let mut fields = Fields(packet);
        let first = fields.u8().filter(|first| first & 0x80 != 0)?;
        let version = Version::of(fields.u32()?)?;
        let connection_id = fields.after_u8()?;
        let own_id = fields.after_u8()?;
        if connection_id.len().max(own_id.len()) > CONNECTION_ID_BYTES {
            return None;
        }
        // Version 2 has the same four kinds in an order turned by one.
        let kind = (first >> 4 & 3).wrapping_sub(version.initial) & 3;
        match kind {
            0 => {
                fields.after_varint()?;
            }
            RETRY_FROM_INITIAL => return None,
            _ => {}
        }
        let length = usize::try_from(fields.varint()?).ok()?;
        let number_at = packet.len() - fields.0.len();
        let whole = fields.bytes(length).is_some();
        *datagram = fields.0;
        if kind == 0 {
            let packet = packet.get(..number_at + length).filter(|_| whole);
            if packet.is_none() {
                *datagram = &[];
            }
            return Some(Initial {
                version,
                connection_id,
                packet,
                number_at,
            });
        }
        if !whole {
            return None;
        }
    }
}

/// What an Initial packet brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brought {
    Frames,
    /// The capture has only the start of the packet.
    Cut,
    /// It is not the client's, or its keys follow from a packet that is not there.
    NotDecrypted,
}

/// The CRYPTO frames of one client, put together.
#[derive(Debug)]
pub(crate) struct ClientCrypto {
    pub(crate) version: &'static Version,
    keys: ClientKeys,
    assembly: Assembly,
}

impl ClientCrypto {
    /// Begin with a packet that is the client's first, if it is.
    pub(crate) fn begin(initial: &Initial<'_>) -> Result<Self, Brought> {
        let packet = initial.packet.ok_or(Brought::Cut)?;
        if initial.connection_id.len() < FIRST_CONNECTION_ID_BYTES {
            return Err(Brought::NotDecrypted);
        }
        let keys = ClientKeys::of(initial.version, initial.connection_id).ok_or(Brought::NotDecrypted)?;
        let payload = keys
            .open(packet, initial.number_at)
            .ok_or(Brought::NotDecrypted)?;
        let mut crypto = Self {
            version: initial.version,
            keys,
            assembly: Assembly::new(HELLO_BYTES),
        };
        crypto.frames(&payload);
        Ok(crypto)
    }

    /// Go on with a packet of the same client.
    pub(crate) fn packet(&mut self, initial: &Initial<'_>) -> Brought {
        let Some(packet) = initial.packet else {
            return Brought::Cut;
        };
        let Some(payload) = self.keys.open(packet, initial.number_at) else {
            return Brought::NotDecrypted;
        };
        self.frames(&payload);
        Brought::Frames
    }

    /// The client's messages from their start, as far as they are there.
    pub(crate) fn messages(&self) -> &[u8] {
        self.assembly.beginning()
    }

    /// Put in the CRYPTO frames of a payload; its other frames are passed over.
    fn frames(&mut self, payload: &[u8]) {
        let mut fields = Fields(payload);
        while let Some((offset, data)) = next_crypto(&mut fields) {
            self.assembly.add(offset, data);
        }
    }
}

/// Offset and bytes of the next CRYPTO frame; `None` at the end, or where another frame is than an Initial may have.
fn next_crypto<'b>(fields: &mut Fields<'b>) -> Option<(usize, &'b [u8])> {
    loop {
        match fields.varint()? {
            // PADDING, PING
            0 | 1 => {}
            // ACK, and ACK with counts of ECN
            kind @ (2 | 3) => {
                fields.varint()?;
                fields.varint()?;
                let ranges = fields.varint()?;
                fields.varint()?;
                for _ in 0..ranges {
                    fields.varint()?;
                    fields.varint()?;
                }
                if kind == 3 {
                    for _ in 0..3 {
                        fields.varint()?;
                    }
                }
            }
            // CRYPTO
            6 => {
                let offset = usize::try_from(fields.varint()?).ok()?;
                return Some((offset, fields.after_varint()?));
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::server::client_hello::tests::hello;

    pub(crate) const CONNECTION_ID: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    pub(crate) const VERSIONS: [u32; 7] = [
        1,
        0x6b33_43cf,
        0xff00_001d,
        0xff00_001b,
        0xface_b002,
        0xff00_0021,
        0xff00_0022,
    ];

    /// A protected Initial packet of a client with frames; keys are those of `keys_of`, the ID is `to`.
    pub(crate) fn initial(
        number: u32,
        keys_of: &[u8],
        to: &[u8],
        packet_number: u8,
        frames: &[u8],
    ) -> Vec<u8> {
        let version = Version::of(number).unwrap();
        let mut payload = frames.to_vec();
        payload.resize(payload.len().max(60), 0);
        let length = (payload.len() + 16 + 1) as u16 | 0x4000;
        let header = [
            &[0xc0 | version.initial << 4][..],
            &number.to_be_bytes(),
            &[to.len() as u8],
            to,
            &[0, 0],
            &length.to_be_bytes(),
            &[packet_number],
        ]
        .concat();
        ClientKeys::of(version, keys_of)
            .unwrap()
            .seal(&header, 1, &payload)
    }

    pub(crate) fn crypto(offset: usize, data: &[u8]) -> Vec<u8> {
        [
            &[6][..],
            &(offset as u16 | 0x4000).to_be_bytes(),
            &(data.len() as u16 | 0x4000).to_be_bytes(),
            data,
        ]
        .concat()
    }

    #[test]
    fn frames_in_any_order_over_packets_of_one_datagram_and_of_several_give_the_message() {
        let message = hello("www.example.com", 900);
        for number in VERSIONS {
            let acknowledgement = [2, 5, 0, 1, 0, 0, 0];
            let first = [&[0, 1][..], &acknowledgement, &crypto(300, &message[300..700])].concat();
            let second = crypto(700, &message[700..]);
            let third = [crypto(100, &message[100..300]), crypto(0, &message[..100])].concat();
            let datagram = [
                initial(number, &CONNECTION_ID, &CONNECTION_ID, 0, &first),
                initial(number, &CONNECTION_ID, b"of-server", 1, &second),
            ]
            .concat();
            let mut rest = datagram.as_slice();
            let one = next_initial(&mut rest).unwrap();
            let mut client = ClientCrypto::begin(&one).unwrap();
            let two = next_initial(&mut rest).unwrap();
            assert_eq!(client.packet(&two), Brought::Frames);
            assert_eq!(next_initial(&mut rest), None);
            assert!(client.messages().is_empty());
            let last = initial(number, &CONNECTION_ID, b"of-server", 2, &third);
            let three = next_initial(&mut last.as_slice()).unwrap();
            assert_eq!(client.packet(&three), Brought::Frames);
            assert_eq!(client.messages(), message);
        }
    }

    #[test]
    fn packets_that_are_cut_of_others_or_damaged_are_told() {
        let sealed = initial(1, &CONNECTION_ID, &CONNECTION_ID, 0, &crypto(0, b"abc"));
        for length in 0..sealed.len() {
            if let Some(cut) = next_initial(&mut &sealed[..length]) {
                assert_eq!(ClientCrypto::begin(&cut).unwrap_err(), Brought::Cut);
            }
        }
        let of_others = initial(1, b"not-those-keys", &CONNECTION_ID, 0, &crypto(0, b"abc"));
        let other = next_initial(&mut of_others.as_slice()).unwrap();
        assert_eq!(ClientCrypto::begin(&other).unwrap_err(), Brought::NotDecrypted);
        let short_id = initial(1, b"short", b"short", 0, &crypto(0, b"abc"));
        let short = next_initial(&mut short_id.as_slice()).unwrap();
        assert_eq!(ClientCrypto::begin(&short).unwrap_err(), Brought::NotDecrypted);
        let mut client = ClientCrypto::begin(&next_initial(&mut sealed.as_slice()).unwrap()).unwrap();
        assert_eq!(client.packet(&other), Brought::NotDecrypted);
        assert_eq!(client.messages(), b"abc");
    }

    #[test]
    fn short_headers_and_unknown_versions_have_no_initial() {
        for datagram in [
            &[0x40; 1200][..],
            &[0xc0, 0, 0, 0, 0, 8],
            &[0xc0, 0x51, 0x30, 0x34, 0x36],
            &[0x80],
            &[],
        ] {
            assert_eq!(next_initial(&mut &*datagram), None);
        }
    }
}
