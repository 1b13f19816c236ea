//! Keys of QUIC's Initial packets (RFC 9001, 5.2; RFC 9369, 3.3), which anybody on the path can derive.

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::{Aes128Gcm, KeyInit};
use hkdf::Hkdf;
use sha2::Sha256;

const NUMBER_BYTES: usize = 4;
const SAMPLE_BYTES: usize = 16;

/// A version of QUIC whose Initial packets are read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    /// The two bits of a long header that say Initial.
    pub(crate) initial: u8,
    salt: [u8; 20],
    /// Before `key`, `iv` and `hp`.
    label: &'static str,
}

const ONE: Version = Version {
    name: "1",
    initial: 0,
    salt: [
        0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
        0xbb, 0x7f, 0x0a,
    ],
    label: "quic ",
};

static TWO: Version = Version {
    name: "2",
    initial: 1,
    salt: [
        0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9,
        0xbd, 0x2e, 0xd9,
    ],
    label: "quicv2 ",
};

static FIRST: Version = ONE;

/// Drafts 33 and 34, which have the keys of version 1 (draft-ietf-quic-tls-33, 5.2).
static LAST_DRAFT: Version = Version {
    name: "draft-34",
    ..ONE
};

/// Drafts 29 to 32, which were deployed widely.
static DRAFT: Version = Version {
    name: "draft-29",
    initial: 0,
    salt: [
        0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61, 0x11, 0xe0, 0x43,
        0x90, 0xa8, 0x99,
    ],
    label: "quic ",
};

/// Drafts 23 to 28.
const EARLY: Version = Version {
    name: "draft-28",
    initial: 0,
    salt: [
        0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a, 0x11, 0xa7, 0xd2, 0x43, 0x2b, 0xb4, 0x63, 0x65, 0xbe,
        0xf9, 0xf5, 0x02,
    ],
    label: "quic ",
};

/// Facebook's, with the keys of draft 27.
static MVFST: Version = Version {
    name: "mvfst",
    ..EARLY
};

static EARLY_DRAFT: Version = EARLY;

impl Version {
    /// The version with a number, if it is read.
    pub(crate) fn of(number: u32) -> Option<&'static Self> {
        match number {
            0x0000_0001 => Some(&FIRST),
            0x6b33_43cf => Some(&TWO),
            0xff00_0021 | 0xff00_0022 => Some(&LAST_DRAFT),
            0xff00_001d..=0xff00_0020 => Some(&DRAFT),
            0xff00_0017..=0xff00_001c => Some(&EARLY_DRAFT),
            0xface_b002 | 0xface_b00e => Some(&MVFST),
            _ => None,
        }
    }
}

/// Keys of what the client of one connection sends in Initial packets.
pub(crate) struct ClientKeys {
    packet: Aes128Gcm,
    header: Aes128,
    nonce: [u8; 12],
}

impl std::fmt::Debug for ClientKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ClientKeys").finish_non_exhaustive()
    }
}

impl ClientKeys {
    /// The keys that follow from the connection ID of the server in the client's first packet.
    pub(crate) fn of(version: &Version, connection_id: &[u8]) -> Option<Self> {
        let initial = Hkdf::<Sha256>::new(Some(&version.salt), connection_id);
        let secret: [u8; 32] = expanded(&initial, "client in")?;
        let client = Hkdf::<Sha256>::from_prk(&secret).ok()?;
        let labelled = |label: &str| format!("{}{label}", version.label);
        let key: [u8; 16] = expanded(&client, &labelled("key"))?;
        let header: [u8; 16] = expanded(&client, &labelled("hp"))?;
        Some(Self {
            packet: Aes128Gcm::new(&key.into()),
            header: Aes128::new(&header.into()),
            nonce: expanded(&client, &labelled("iv"))?,
        })
    }

    /// The plain payload of an Initial packet whose number is `number_at` bytes behind its start; `None` where
    /// it is not authentic under these keys.
    pub(crate) fn open(&self, packet: &[u8], number_at: usize) -> Option<Vec<u8>> {
        let sample_at = number_at.checked_add(NUMBER_BYTES)?;
        let sample: [u8; SAMPLE_BYTES] = packet
            .get(sample_at..sample_at.checked_add(SAMPLE_BYTES)?)?
            .try_into()
            .ok()?;
        let mut mask = sample.into();
        self.header.encrypt_block(&mut mask);
        let (first_mask, number_mask) = mask.split_first()?;
        let first = packet.first()? ^ (first_mask & 0x0f);
        let number_bytes = usize::from(first & 3) + 1;
        let mut header = packet.get(..number_at + number_bytes)?.to_vec();
        *header.first_mut()? = first;
        let mut nonce = self.nonce;
        let number = header.get_mut(number_at..)?;
        for (byte, mask) in number.iter_mut().zip(number_mask) {
            *byte ^= mask;
        }
        // The first packets of a connection have numbers that are whole in these bytes.
        for (byte, number) in nonce.iter_mut().rev().zip(number.iter().rev()) {
            *byte ^= number;
        }
        let payload = Payload {
            msg: packet.get(header.len()..)?,
            aad: &header,
        };
        self.packet.decrypt(&nonce.into(), payload).ok()
    }

    /// A packet whose header is plain, as its sender protects it.
    #[cfg(test)]
    pub(crate) fn seal(&self, header: &[u8], number_bytes: usize, payload: &[u8]) -> Vec<u8> {
        let mut nonce = self.nonce;
        let number_at = header.len() - number_bytes;
        for (byte, number) in nonce.iter_mut().rev().zip(header[number_at..].iter().rev()) {
            *byte ^= number;
        }
        let content = Payload {
            msg: payload,
            aad: header,
        };
        let sealed = self.packet.encrypt(&nonce.into(), content).unwrap();
        let mut packet = [header, &sealed].concat();
        let sample: [u8; SAMPLE_BYTES] = packet[number_at + 4..number_at + 20].try_into().unwrap();
        let mut mask = sample.into();
        self.header.encrypt_block(&mut mask);
        packet[0] ^= mask[0] & 0x0f;
        for place in 0..number_bytes {
            packet[number_at + place] ^= mask[1 + place];
        }
        packet
    }
}

/// HKDF-Expand-Label of TLS 1.3 (RFC 8446, 7.1) without a context.
fn expanded<const SIZE: usize>(secret: &Hkdf<Sha256>, label: &str) -> Option<[u8; SIZE]> {
    let mut info = u16::try_from(SIZE).ok()?.to_be_bytes().to_vec();
    info.push(u8::try_from(label.len() + 6).ok()?);
    info.extend(b"tls13 ");
    info.extend(label.as_bytes());
    info.push(0);
    let mut output = [0; SIZE];
    secret.expand(&info, &mut output).ok()?;
    Some(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECTION_ID: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

    #[test]
    fn keys_are_those_of_the_standards() {
        // The client's packets of RFC 9001, A.2 and RFC 9369, A.2: the protected header and the start of the frames.
        for (number, header, sample_mask) in [
            (1, [0xc3, 0, 0, 0, 1], [0x43, 0x7b, 0x9a, 0xec, 0x36]),
            (
                0x6b33_43cf,
                [0xd3, 0x6b, 0x33, 0x43, 0xcf],
                [0x94, 0xa0, 0xc9, 0x5e, 0x80],
            ),
        ] {
            let version = Version::of(number).unwrap();
            let keys = ClientKeys::of(version, &CONNECTION_ID).unwrap();
            let plain = [&header[..], &[8], &CONNECTION_ID, &[0, 0, 0x44, 0x9e, 0, 0, 0, 2]].concat();
            let payload = [crypto_frame().as_slice(), &[0; 1162 - 245]].concat();
            let sealed = keys.seal(&plain, 4, &payload);
            assert_eq!(sealed.len(), 1200);
            let mask: Vec<u8> = (0..5)
                .map(|place| {
                    let at = [0, 18, 19, 20, 21][place];
                    sealed[at] ^ plain[at]
                })
                .collect();
            assert_eq!(mask[1..], sample_mask[1..]);
            assert_eq!(mask[0], sample_mask[0] & 0x0f);
            assert_eq!(keys.open(&sealed, 18).unwrap(), payload);
            for place in [0, 6, 30, 1199] {
                let mut damaged = sealed.clone();
                damaged[place] ^= 4;
                assert_eq!(keys.open(&damaged, 18), None);
            }
            for length in 0..sealed.len() {
                assert_eq!(keys.open(&sealed[..length], 18), None);
            }
        }
    }

    /// The CRYPTO frame of both appendices.
    fn crypto_frame() -> Vec<u8> {
        let digits = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868\
                      04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578\
                      616d706c652e636f6dff01000100000a00080006001d0017001800100007000504616c706e\
                      000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fed\
                      ba753de171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e\
                      0403050306030203080408050806002d00020101001c00024001003900320408\
                      ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff";
        (0..digits.len() / 2)
            .map(|place| u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).unwrap())
            .collect()
    }
}
