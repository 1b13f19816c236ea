//! IEEE 802.11 data frames, with or without a radiotap header: where the LLC header begins.
//!
//! Of a data frame only what is neither protected nor a part of several frames can be decoded: the bytes of the
//! others are not an IP packet from the first to the last. Each reason is counted by its name.

use crate::input::bytes::{le_u16, le_u32};
use crate::packet::refusal::PacketRefusal;

const CUT: PacketRefusal = PacketRefusal::LinkHeaderCut;
const RADIOTAP_SMALLEST: usize = 8;
/// A further bitmap of present fields follows.
const RADIOTAP_EXTENDED: u32 = 1 << 31;
const RADIOTAP_TIMER: u32 = 1;
const RADIOTAP_FLAGS: u32 = 1 << 1;
/// The header is padded to four bytes.
const RADIOTAP_DATA_PAD: u8 = 0x20;

const TYPE_DATA: u8 = 2;
const SUBTYPE_NO_DATA: u8 = 4;
const SUBTYPE_QOS: u8 = 8;
const TO_AND_FROM_DS: u8 = 3;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
const AGGREGATE: u8 = 0x80;

/// The offset of the LLC header in a frame behind radiotap (radiotap.org).
pub(crate) fn after_radiotap(frame: &[u8]) -> Result<usize, PacketRefusal> {
    let word = |place| le_u32(frame, place);
    let length = usize::from(le_u16(frame, 2).ok_or(CUT)?);
    if length < RADIOTAP_SMALLEST {
        return Err(CUT);
    }
    let first = word(4).ok_or(CUT)?;
    let (mut present, mut end) = (first, RADIOTAP_SMALLEST);
    while present & RADIOTAP_EXTENDED != 0 {
        present = word(end).ok_or(CUT)?;
        end += 4;
    }
    if first & RADIOTAP_TIMER != 0 {
        end = end.next_multiple_of(8) + 8;
    }
    let padded = first & RADIOTAP_FLAGS != 0
        && frame.get(end).is_some_and(|flags| flags & RADIOTAP_DATA_PAD != 0)
        && end < length;
    after_header(frame, length, padded)
}

/// The offset of the LLC header in a frame that begins with the header of IEEE 802.11.
pub(crate) fn after_ieee80211(frame: &[u8]) -> Result<usize, PacketRefusal> {
    after_header(frame, 0, false)
}

/// IEEE 802.11, 9.2 and 9.3.2: frame control, addresses, and the fields that depend on them.
fn after_header(frame: &[u8], start: usize, padded: bool) -> Result<usize, PacketRefusal> {
    let byte = |place: usize| frame.get(start + place).copied().ok_or(CUT);
    let (control, flags) = (byte(0)?, byte(1)?);
    let subtype = control >> 4;
    if control >> 2 & 3 != TYPE_DATA || subtype & SUBTYPE_NO_DATA != 0 {
        return Err(PacketRefusal::Ieee80211NoData);
    }
    if flags & PROTECTED != 0 {
        return Err(PacketRefusal::Ieee80211Protected);
    }
    if flags & MORE_FRAGMENTS != 0 || byte(22)? & 0x0f != 0 {
        return Err(PacketRefusal::Ieee80211Fragment);
    }
    let mut header_bytes = 24;
    if flags & TO_AND_FROM_DS == TO_AND_FROM_DS {
        header_bytes += 6;
    }
    if subtype & SUBTYPE_QOS != 0 {
        if byte(header_bytes)? & AGGREGATE != 0 {
            return Err(PacketRefusal::Ieee80211Aggregate);
        }
        header_bytes += 2;
        if flags & ORDER != 0 {
            header_bytes += 4;
        }
    }
    if padded {
        header_bytes = header_bytes.next_multiple_of(4);
    }
    Ok(start + header_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(subtype: u8, flags: u8) -> Vec<u8> {
        let mut frame = vec![0; 40];
        frame[0] = subtype << 4 | TYPE_DATA << 2;
        frame[1] = flags;
        frame
    }

    #[test]
    fn the_header_of_a_data_frame_has_the_length_of_its_fields() {
        for (subtype, flags, offset) in [(0, 1, 24), (0, 3, 30), (8, 2, 26), (8, 3, 32), (8, 0x82, 30)] {
            assert_eq!(
                after_ieee80211(&data(subtype, flags)),
                Ok(offset),
                "{subtype} {flags}"
            );
        }
    }

    #[test]
    fn what_holds_no_whole_packet_is_told_by_its_reason() {
        use PacketRefusal::{Ieee80211Aggregate, Ieee80211Fragment, Ieee80211NoData, Ieee80211Protected};
        assert_eq!(after_ieee80211(&data(4, 1)), Err(Ieee80211NoData));
        assert_eq!(after_ieee80211(&[0x80; 30]), Err(Ieee80211NoData));
        assert_eq!(after_ieee80211(&data(0, 0x41)), Err(Ieee80211Protected));
        assert_eq!(after_ieee80211(&data(0, 5)), Err(Ieee80211Fragment));
        let mut later = data(0, 1);
        later[22] = 1;
        assert_eq!(after_ieee80211(&later), Err(Ieee80211Fragment));
        let mut aggregate = data(8, 1);
        aggregate[24] = 0x80;
        assert_eq!(after_ieee80211(&aggregate), Err(Ieee80211Aggregate));
        for length in 0..24 {
            assert_eq!(after_ieee80211(&data(0, 1)[..length.min(22)]), Err(CUT));
        }
    }

    #[test]
    fn radiotap_fields_and_its_padding_are_passed() {
        let plain = [&[0, 0, 8, 0, 0, 0, 0, 0][..], &data(8, 1)].concat();
        assert_eq!(after_radiotap(&plain), Ok(34));
        // Timer and flags, which ask for padding; a second bitmap before them.
        let mut header = vec![0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0];
        header.resize(24, 0);
        header.push(RADIOTAP_DATA_PAD);
        let padded = [header, data(8, 1)].concat();
        assert_eq!(after_radiotap(&padded), Ok(25 + 28));
        for length in 0..27 {
            assert_eq!(after_radiotap(&padded[..length]), Err(CUT), "{length}");
        }
        assert_eq!(after_radiotap(&[0, 0, 4, 0, 0, 0, 0, 0]), Err(CUT));
    }
}
