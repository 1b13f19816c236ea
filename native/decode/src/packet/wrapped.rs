//! Captures whose records have a header of the capturing system before the packet: NFLOG and PKTAP.

use crate::input::bytes::{be_u16, le_u32};
use crate::packet::refusal::PacketRefusal;

const CUT: PacketRefusal = PacketRefusal::LinkHeaderCut;
const NFLOG_HEADER_BYTES: usize = 4;
const NFLOG_ATTRIBUTE_BYTES: usize = 4;
const NFLOG_PAYLOAD: u16 = 9;
/// The packet record of PKTAP, as opposed to one that only describes a process.
const PKTAP_PACKET: u32 = 1;

/// The offset of the IP packet in a record of NFLOG (tcpdump.org/linktypes): the payload among its attributes.
///
/// Attributes are in the byte order of the capturing host, which nothing tells; the order in which the payload is
/// found is taken.
pub(crate) fn after_nflog(frame: &[u8]) -> Result<usize, PacketRefusal> {
    if frame.len() < NFLOG_HEADER_BYTES {
        return Err(CUT);
    }
    nflog_payload(frame, u16::swap_bytes)
        .or_else(|| nflog_payload(frame, |number| number))
        .ok_or(PacketRefusal::NflogNoPacket)
}

fn nflog_payload(frame: &[u8], in_order: impl Fn(u16) -> u16) -> Option<usize> {
    let mut offset = NFLOG_HEADER_BYTES;
    loop {
        let length = usize::from(in_order(be_u16(frame, offset)?));
        let attribute = in_order(be_u16(frame, offset + 2)?);
        if length < NFLOG_ATTRIBUTE_BYTES {
            return None;
        }
        if attribute == NFLOG_PAYLOAD {
            return Some(offset + NFLOG_ATTRIBUTE_BYTES);
        }
        offset += length.next_multiple_of(4);
    }
}

/// Where the packet begins in a record of PKTAP and the number of its link type (Apple's `net/pktap.h`).
pub(crate) fn after_pktap(frame: &[u8]) -> Result<(usize, u32), PacketRefusal> {
    let field = |place| le_u32(frame, place).ok_or(CUT);
    let (length, record, link_type) = (field(0)? as usize, field(4)?, field(8)?);
    if record != PKTAP_PACKET {
        return Err(PacketRefusal::PktapNoPacket);
    }
    if length < 12 || length > frame.len() {
        return Err(CUT);
    }
    Ok((length, link_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_of_nflog_is_found_in_either_byte_order() {
        let record = |order: fn(u16) -> [u8; 2]| {
            let mut bytes = vec![2, 0, 0, 5];
            for (length, attribute, content) in [(7u16, 10u16, vec![1; 4]), (24, 9, vec![0x45; 20])] {
                bytes.extend(order(length));
                bytes.extend(order(attribute));
                bytes.extend(content);
            }
            bytes
        };
        for bytes in [record(u16::to_le_bytes), record(u16::to_be_bytes)] {
            assert_eq!(after_nflog(&bytes), Ok(16));
            for length in 0..16 {
                assert!(after_nflog(&bytes[..length]).is_err());
            }
        }
        assert_eq!(after_nflog(&[2, 0, 0, 0]), Err(PacketRefusal::NflogNoPacket));
    }

    #[test]
    fn pktap_names_the_link_type_inside() {
        let mut bytes = vec![16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9];
        assert_eq!(after_pktap(&bytes), Ok((16, 1)));
        for length in 0..16 {
            assert_eq!(after_pktap(&bytes[..length]), Err(CUT));
        }
        bytes[4] = 2;
        assert_eq!(after_pktap(&bytes), Err(PacketRefusal::PktapNoPacket));
    }
}
