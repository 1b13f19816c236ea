//! DTLS records as far as they show a handshake (RFC 6347 for 1.0 and 1.2, RFC 9147 for 1.3).

use crate::input::bytes::be_u16;

const RECORD_HEADER_BYTES: usize = 13;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const FATAL: u8 = 2;
/// DTLS 1.0, its draft that OpenSSL spoke, and 1.2; 1.3 keeps the number of 1.2.
const VERSIONS: [u16; 3] = [0xfeff, 0xfefd, 0x0100];

/// What the records of one datagram show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DtlsRecords {
    pub(crate) client_hello: bool,
    /// A record of a later epoch, whose content is encrypted.
    pub(crate) encrypted: bool,
    /// Description of a fatal alert that was sent in the clear.
    pub(crate) fatal_alert: Option<u8>,
}

/// The records that a UDP payload begins with.
///
/// The short header of DTLS 1.3 has too little in it to be told from other payloads: it is taken only if a
/// handshake was seen in the flow.
pub(crate) fn datagram(captured: &[u8], payload_bytes: u32, in_handshake: bool) -> Option<DtlsRecords> {
    if matches!(captured.first()?, 0x20..=0x3f) {
        return in_handshake.then_some(DtlsRecords {
            encrypted: true,
            ..DtlsRecords::default()
        });
    }
    let mut records = DtlsRecords::default();
    let mut offset = 0;
    while offset < payload_bytes as usize {
        let Some(length) = record(captured, offset, payload_bytes as usize, &mut records) else {
            // What follows whole records may be cut, or in another form.
            return (offset > 0).then_some(records);
        };
        offset += length;
    }
    Some(records)
}

fn record(captured: &[u8], offset: usize, whole_bytes: usize, records: &mut DtlsRecords) -> Option<usize> {
    let kind = *captured.get(offset)?;
    let (version, epoch) = (be_u16(captured, offset + 1)?, be_u16(captured, offset + 3)?);
    let body = offset + RECORD_HEADER_BYTES;
    let length = usize::from(be_u16(captured, body - 2)?);
    if !matches!(kind, 20..=26) || !VERSIONS.contains(&version) || length == 0 || body + length > whole_bytes
    {
        return None;
    }
    match (kind, epoch) {
        (_, 1..) => records.encrypted = true,
        (HANDSHAKE, 0) => records.client_hello |= captured.get(body) == Some(&CLIENT_HELLO),
        (ALERT, 0) if captured.get(body) == Some(&FATAL) => {
            records.fatal_alert = records.fatal_alert.or(captured.get(body + 1).copied());
        }
        _ => {}
    }
    Some(RECORD_HEADER_BYTES + length)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(kind: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 0];
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    fn read(bytes: &[u8], in_handshake: bool) -> Option<DtlsRecords> {
        datagram(bytes, bytes.len() as u32, in_handshake)
    }

    #[test]
    fn records_of_a_datagram_are_read_one_after_the_other() {
        let bytes = [
            record(22, 0, &[1, 0, 0]),
            record(20, 0, &[1]),
            record(22, 1, &[9; 40]),
        ]
        .concat();
        let records = read(&bytes, false).unwrap();
        assert!(records.client_hello && records.encrypted && records.fatal_alert.is_none());
        for length in 0..RECORD_HEADER_BYTES {
            assert_eq!(datagram(&bytes[..length], bytes.len() as u32, false), None);
        }
        let alert = read(&record(21, 0, &[2, 40]), false).unwrap();
        assert_eq!(alert.fatal_alert, Some(40));
        assert_eq!(read(&record(21, 0, &[1, 0]), false).unwrap().fatal_alert, None);
    }

    #[test]
    fn other_payloads_are_not_dtls() {
        let mut other = record(22, 0, &[1, 0, 0]);
        other[1] = 3;
        assert_eq!(read(&other, true), None);
        assert_eq!(read(&record(19, 0, &[1]), true), None);
        assert_eq!(read(&record(22, 0, &[]), true), None);
        assert_eq!(read(&record(22, 0, &[1, 2])[..14], true), None);
        assert_eq!(read(&[0x2f, 1, 2], false), None);
        assert!(read(&[0x2f, 1, 2], true).unwrap().encrypted);
    }
}
