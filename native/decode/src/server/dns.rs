//! Answers of DNS (RFC 1035; RFC 3596): which addresses a name that was asked for has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::server::reader::Fields;

const A: u16 = 1;
const AAAA: u16 = 28;
const INTERNET: u16 = 1;
const NAME_BYTES: usize = 255;

/// The name that was asked for, and the addresses at the end of its aliases.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) name: Vec<u8>,
    pub(crate) addresses: Vec<IpAddr>,
}

/// Read a message that answers one question with addresses; of one that is cut, the addresses before the end.
///
/// All addresses of the section answer the question, whatever aliases (CNAME) lie between (RFC 1034, 4.3.2).
pub(crate) fn answer(message: &[u8]) -> Option<Answer> {
    let mut fields = Fields(message);
    fields.u16()?;
    let flags = fields.u16()?;
    // A response to a standard query, without an error.
    if flags & 0x8000 == 0 || flags & 0x780f != 0 {
        return None;
    }
    let questions = fields.u16()?;
    let answers = fields.u16()?;
    fields.u32()?;
    if questions != 1 {
        return None;
    }
    let name = question_name(&mut fields)?;
    let kind = fields.u16()?;
    if !matches!(kind, A | AAAA) || fields.u16()? != INTERNET {
        return None;
    }
    let mut addresses = Vec::new();
    for _ in 0..answers {
        let Some((kind, class, data)) = record(&mut fields) else {
            break;
        };
        let address: Option<IpAddr> = match (kind, class) {
            (A, INTERNET) => <[u8; 4]>::try_from(data).ok().map(|it| Ipv4Addr::from(it).into()),
            (AAAA, INTERNET) => <[u8; 16]>::try_from(data)
                .ok()
                .map(|it| Ipv6Addr::from(it).into()),
            _ => None,
        };
        addresses.extend(address);
    }
    (!addresses.is_empty()).then_some(Answer { name, addresses })
}

/// A name without compression, its labels with dots between them.
fn question_name(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    loop {
        let length = fields.u8()?;
        if length == 0 {
            return Some(name);
        }
        let label = fields.bytes(usize::from(length)).filter(|_| length < 64)?;
        if label.contains(&b'.') || name.len() + label.len() >= NAME_BYTES {
            return None;
        }
        if !name.is_empty() {
            name.push(b'.');
        }
        name.extend_from_slice(label);
    }
}

/// Type, class and data of a record; `None` where the message ends.
fn record<'b>(fields: &mut Fields<'b>) -> Option<(u16, u16, &'b [u8])> {
    loop {
        match fields.u8()? {
            0 => break,
            // The rest of the name is elsewhere in the message.
            0xc0..=0xff => {
                fields.u8()?;
                break;
            }
            length @ 1..=63 => {
                fields.bytes(usize::from(length))?;
            }
            _ => return None,
        }
    }
    let kind = fields.u16()?;
    let class = fields.u16()?;
    fields.u32()?;
    Some((kind, class, fields.after_u16()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A response for a name with an alias and addresses.
    pub(crate) fn response(name: &str, kind: u16, addresses: &[IpAddr]) -> Vec<u8> {
        let mut message = vec![0, 7, 0x81, 0x80, 0, 1];
        message.extend((addresses.len() as u16 + 1).to_be_bytes());
        message.extend([0; 4]);
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend(label.as_bytes());
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend([0, 1]);
        message.extend([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 4, 1, b'x', 0xc0, 12]);
        for address in addresses {
            message.extend([1, b'x', 0xc0, 12]);
            let (kind, data) = match address {
                IpAddr::V4(address) => (A, address.octets().to_vec()),
                IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
            };
            message.extend(kind.to_be_bytes());
            message.extend([0, 1, 0, 0, 0, 9, 0, data.len() as u8]);
            message.extend(data);
        }
        message
    }

    fn addresses() -> [IpAddr; 2] {
        [[192, 0, 2, 7].into(), [9u8; 16].into()]
    }

    #[test]
    fn the_name_asked_for_has_the_addresses_behind_its_aliases() {
        let read = answer(&response("www.example.com", A, &addresses())).unwrap();
        assert_eq!(read.name, b"www.example.com");
        assert_eq!(read.addresses, addresses());
    }

    #[test]
    fn a_message_cut_anywhere_gives_the_addresses_before_the_cut() {
        let message = response("www.example.com", A, &addresses());
        let mut before = 0;
        for length in 0..message.len() {
            let count = answer(&message[..length]).map_or(0, |answer| answer.addresses.len());
            assert!(count >= before && count < 2);
            before = count;
        }
        assert_eq!(before, 1);
    }

    #[test]
    fn queries_errors_and_other_questions_answer_nothing() {
        let message = response("www.example.com", A, &addresses());
        for (place, value) in [
            (2, 0x01),
            (2, 0xa9),
            (3, 0x83),
            (5, 0),
            (5, 2),
            (31, 12),
            (12, 0xc0),
        ] {
            let mut other = message.clone();
            other[place] = value;
            assert_eq!(answer(&other), None, "byte {place}");
        }
        assert_eq!(
            answer(&response("7.2.0.192.in-addr.arpa", 12, &addresses())),
            None
        );
    }
}
