//! Link layers: from a frame to the network protocol inside it.

use std::borrow::Cow;

use etherparse::{Ethernet2Slice, SingleVlanSlice};

use crate::bytes::{be_u16, be_u32};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// IEEE 802.1Q, 802.1ad and the tag numbers that were in use before 802.1ad.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// Below this the field of an Ethernet header is the length of an IEEE 802.3 frame.
const ETHERTYPE_SMALLEST: u16 = 0x0600;
const SLL_HEADER_BYTES: usize = 16;
const SLL2_HEADER_BYTES: usize = 20;
const VLAN_TAG_BYTES: usize = 4;

/// Link types that have a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkType {
    Ethernet,
    LinuxSll,
    LinuxSll2,
    RawIp,
    BsdLoopback,
}

impl LinkType {
    /// The supported types, as messages name them.
    pub(crate) const SUPPORTED: &'static str = "ethernet, linux_sll, linux_sll2, raw, null, loop";

    /// The type of a number of the tcpdump registry.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            113 => Some(Self::LinuxSll),
            276 => Some(Self::LinuxSll2),
            // 12 and 14 are the DLT values that older writers put into files in place of 101.
            12 | 14 | 101 | 228 | 229 => Some(Self::RawIp),
            0 | 108 => Some(Self::BsdLoopback),
            _ => None,
        }
    }
}

/// The offset of the IP header in a frame, or the reason why there is none to decode.
pub(crate) fn ip_offset(link: LinkType, frame: &[u8]) -> Result<usize, Cow<'static, str>> {
    const CUT: Cow<'static, str> = Cow::Borrowed("link_header_cut");
    match link {
        LinkType::RawIp => Ok(0),
        LinkType::BsdLoopback => {
            let family = be_u32(frame, 0).ok_or(CUT)?;
            // The family is in the byte order of the capturing host; its values are small in either.
            let family = family.min(family.swap_bytes());
            match family {
                2 | 10 | 24 | 28 | 30 => Ok(4),
                other => Err(format!("address_family_{other}").into()),
            }
        }
        LinkType::LinuxSll => after_ethertype(frame, SLL_HEADER_BYTES, be_u16(frame, 14).ok_or(CUT)?),
        LinkType::LinuxSll2 => after_ethertype(frame, SLL2_HEADER_BYTES, be_u16(frame, 0).ok_or(CUT)?),
        LinkType::Ethernet => {
            let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).map_err(|_| CUT)?;
            after_ethertype(frame, ethernet.header_len(), ethernet.ether_type().0)
        }
    }
}

fn after_ethertype(frame: &[u8], mut offset: usize, mut ethertype: u16) -> Result<usize, Cow<'static, str>> {
    const CUT: Cow<'static, str> = Cow::Borrowed("link_header_cut");
    while ETHERTYPES_VLAN.contains(&ethertype) {
        let tag = SingleVlanSlice::from_slice(frame.get(offset..).unwrap_or_default()).map_err(|_| CUT)?;
        ethertype = tag.ether_type().0;
        offset += VLAN_TAG_BYTES;
    }
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok(offset),
        ETHERTYPE_ARP => Err("arp".into()),
        ETHERTYPE_PPPOE_SESSION => {
            // RFC 2516: six bytes of PPPoE, then the PPP protocol number.
            let protocol = be_u16(frame, offset + 6).ok_or(CUT)?;
            match protocol {
                0x0021 | 0x0057 => Ok(offset + 8),
                other => Err(format!("ppp_0x{other:04x}").into()),
            }
        }
        length if length < ETHERTYPE_SMALLEST => Err("ieee_802_3".into()),
        other => Err(format!("ethertype_0x{other:04x}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ethernet(ethertypes: &[u16]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        for (place, ethertype) in ethertypes.iter().enumerate() {
            if place > 0 {
                frame.extend([0, 7]);
            }
            frame.extend(ethertype.to_be_bytes());
        }
        frame.extend([0; 8]);
        frame
    }

    #[test]
    fn vlan_tags_are_passed() {
        assert_eq!(ip_offset(LinkType::Ethernet, &ethernet(&[0x0800])), Ok(14));
        assert_eq!(
            ip_offset(LinkType::Ethernet, &ethernet(&[0x8100, 0x86dd])),
            Ok(18)
        );
        assert_eq!(
            ip_offset(LinkType::Ethernet, &ethernet(&[0x88a8, 0x8100, 0x0800])),
            Ok(22)
        );
    }

    #[test]
    fn what_is_not_ip_is_named() {
        let refusal = |ethertype| ip_offset(LinkType::Ethernet, &ethernet(&[ethertype])).unwrap_err();
        assert_eq!(refusal(0x0806), "arp");
        assert_eq!(refusal(0x88cc), "ethertype_0x88cc");
        assert_eq!(refusal(0x0026), "ieee_802_3");
        assert_eq!(refusal(0x8864), "ppp_0x0000");
        assert_eq!(
            ip_offset(LinkType::Ethernet, &[0; 13]),
            Err("link_header_cut".into())
        );
        assert_eq!(
            ip_offset(LinkType::Ethernet, &ethernet(&[0x8100])[..16]),
            Err("link_header_cut".into())
        );
    }

    #[test]
    fn other_link_headers_lead_to_ip() {
        let mut sll = [0; 16];
        sll[3] = 1;
        sll[14] = 8;
        assert_eq!(ip_offset(LinkType::LinuxSll, &sll), Ok(16));
        let mut sll2 = [0; 20];
        sll2[0] = 8;
        assert_eq!(ip_offset(LinkType::LinuxSll2, &sll2), Ok(20));
        assert_eq!(ip_offset(LinkType::BsdLoopback, &[2, 0, 0, 0]), Ok(4));
        assert_eq!(ip_offset(LinkType::BsdLoopback, &[0, 0, 0, 30]), Ok(4));
        assert_eq!(
            ip_offset(LinkType::BsdLoopback, &[0, 0, 0, 7]),
            Err("address_family_7".into())
        );
    }
}
