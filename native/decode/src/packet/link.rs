//! Link layers: from a frame to the network protocol inside it.

use etherparse::{Ethernet2Slice, SingleVlanSlice};

use crate::input::bytes::{be_u16, be_u32};
use crate::output::decoded::Decoded;
use crate::packet::link_type::LinkType;
use crate::packet::refusal::PacketRefusal;
use crate::packet::wireless::{after_ieee80211, after_radiotap};
use crate::packet::wrapped::{after_nflog, after_pktap};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
const ETHERTYPE_MPLS: u16 = 0x8847;
const ETHERTYPE_MPLS_MULTICAST: u16 = 0x8848;
/// Cisco's `FabricPath` and IEEE 802.1ah: an Ethernet frame follows the tag.
const ETHERTYPE_FABRIC_PATH: u16 = 0x8903;
const ETHERTYPE_BACKBONE: u16 = 0x88e7;
const FABRIC_PATH_TAG_BYTES: usize = 2;
const BACKBONE_TAG_BYTES: usize = 4;
const ETHERNET_ADDRESSES_BYTES: usize = 12;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;
const PPPOE_HEADER_BYTES: usize = 6;
/// IEEE 802.1Q, 802.1ad and the tag numbers that were in use before 802.1ad.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// Below this the field of an Ethernet header is the length of an IEEE 802.3 frame.
const ETHERTYPE_SMALLEST: u16 = 0x0600;
const SLL_HEADER_BYTES: usize = 16;
const SLL2_HEADER_BYTES: usize = 20;
const VLAN_TAG_BYTES: usize = 4;
const CUT: PacketRefusal = PacketRefusal::LinkHeaderCut;

/// What may be between the link header and IP.
pub(crate) const ENCAPSULATIONS: &[Decoded] = &[
    Decoded {
        kind: "link encapsulation",
        name: "vlan",
        meaning: "any number of tags (IEEE 802.1Q, 802.1ad, and the numbers used before it)",
    },
    Decoded {
        kind: "link encapsulation",
        name: "pppoe",
        meaning: "session packets (RFC 2516)",
    },
    Decoded {
        kind: "link encapsulation",
        name: "mpls",
        meaning: "any number of labels over IP (RFC 3032)",
    },
    Decoded {
        kind: "link encapsulation",
        name: "pbb",
        meaning: "provider backbone bridges, any number of tags (IEEE 802.1ah)",
    },
    Decoded {
        kind: "link encapsulation",
        name: "fabricpath",
        meaning: "Cisco FabricPath's outer header",
    },
    Decoded {
        kind: "link encapsulation",
        name: "llc-snap",
        meaning: "IEEE 802.3 and IEEE 802.11 frames with a SNAP header that names IP (IEEE 802.2, RFC 1042)",
    },
];

/// The offset of the IP header in a frame, or the reason why there is none to decode.
pub(crate) fn ip_offset(link: LinkType, frame: &[u8]) -> Result<usize, PacketRefusal> {
    match link {
        LinkType::RawIp => Ok(0),
        // Serial lines are captured under the numbers of PPP also where they run Cisco HDLC, which its address tells.
        LinkType::Ppp if matches!(frame, [0x0f | 0x8f, ..]) => ip_offset(LinkType::CiscoHdlc, frame),
        LinkType::Ppp => after_ppp(frame, 0),
        LinkType::PppOverEthernet => after_pppoe(frame, 0),
        LinkType::CiscoHdlc => after_ethertype(frame, 4, be_u16(frame, 2).ok_or(CUT)?),
        LinkType::Other(number) => Err(PacketRefusal::LinkType(number)),
        LinkType::BsdLoopback => {
            let family = be_u32(frame, 0).ok_or(CUT)?;
            // The family is in the byte order of the capturing host; its values are small in either.
            let family = family.min(family.swap_bytes());
            match family {
                2 | 10 | 24 | 28 | 30 => Ok(4),
                other => Err(PacketRefusal::AddressFamily(other)),
            }
        }
        LinkType::Ieee80211 => after_snap(frame, after_ieee80211(frame)?),
        LinkType::Radiotap => after_snap(frame, after_radiotap(frame)?),
        LinkType::Nflog => after_nflog(frame),
        LinkType::Pktap => {
            let (offset, number) = after_pktap(frame)?;
            match LinkType::from_number(number) {
                // No header of its kind is inside of another.
                LinkType::Pktap => Err(PacketRefusal::LinkType(number)),
                link => Ok(offset + ip_offset(link, frame.get(offset..).unwrap_or_default())?),
            }
        }
        LinkType::LinuxSll => after_ethertype(frame, SLL_HEADER_BYTES, be_u16(frame, 14).ok_or(CUT)?),
        LinkType::LinuxSll2 => after_ethertype(frame, SLL2_HEADER_BYTES, be_u16(frame, 0).ok_or(CUT)?),
        LinkType::Ethernet if matches!(frame, [_, _, _, _, _, _, _, _, _, _, _, _, 8, 0, ..]) => Ok(14),
        LinkType::Ethernet => {
            let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).map_err(|_| CUT)?;
            after_ethertype(frame, ethernet.header_len(), ethernet.ether_type().0)
        }
    }
}

fn after_ethertype(frame: &[u8], mut offset: usize, mut ethertype: u16) -> Result<usize, PacketRefusal> {
    loop {
        let tag_bytes = match ethertype {
            tag if ETHERTYPES_VLAN.contains(&tag) => {
                let tag = frame.get(offset..).unwrap_or_default();
                ethertype = SingleVlanSlice::from_slice(tag).map_err(|_| CUT)?.ether_type().0;
                offset += VLAN_TAG_BYTES;
                continue;
            }
            ETHERTYPE_BACKBONE => BACKBONE_TAG_BYTES,
            ETHERTYPE_FABRIC_PATH => FABRIC_PATH_TAG_BYTES,
            _ => break,
        };
        offset += tag_bytes + ETHERNET_ADDRESSES_BYTES;
        ethertype = be_u16(frame, offset).ok_or(CUT)?;
        offset += 2;
    }
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok(offset),
        ETHERTYPE_ARP => Err(PacketRefusal::Arp),
        ETHERTYPE_PPPOE_SESSION => after_pppoe(frame, offset),
        ETHERTYPE_MPLS | ETHERTYPE_MPLS_MULTICAST => after_mpls(frame, offset),
        length if length < ETHERTYPE_SMALLEST => after_llc(frame, offset),
        other => Err(PacketRefusal::EtherType(other)),
    }
}

/// RFC 2516: six bytes of `PPPoE`, of which code 0 carries PPP, then the PPP protocol number.
fn after_pppoe(frame: &[u8], offset: usize) -> Result<usize, PacketRefusal> {
    match frame.get(offset + 1) {
        None => Err(CUT),
        Some(0) => after_ppp(frame, offset + PPPOE_HEADER_BYTES),
        Some(_) => Err(PacketRefusal::PppoeDiscovery),
    }
}

/// RFC 1661 and 1662: address and control may be left out, and so may the protocol's first byte when it is 0.
pub(crate) fn after_ppp(frame: &[u8], mut offset: usize) -> Result<usize, PacketRefusal> {
    if frame.get(offset..offset + 2) == Some(&[0xff, 0x03]) {
        offset += 2;
    }
    let first = *frame.get(offset).ok_or(CUT)?;
    let (protocol, length) = if first & 1 == 1 {
        (u16::from(first), 1)
    } else {
        (be_u16(frame, offset).ok_or(CUT)?, 2)
    };
    match protocol {
        PPP_IPV4 | PPP_IPV6 => Ok(offset + length),
        PPP_MPLS => after_mpls(frame, offset + length),
        other => Err(PacketRefusal::PppProtocol(other)),
    }
}

/// RFC 3032: labels up to the bottom of the stack; what follows shows its version in its first four bits.
fn after_mpls(frame: &[u8], mut offset: usize) -> Result<usize, PacketRefusal> {
    loop {
        let label = be_u32(frame, offset).ok_or(CUT)?;
        offset += 4;
        if label & 0x100 != 0 {
            break;
        }
    }
    match frame.get(offset).map(|byte| byte >> 4) {
        Some(4 | 6) => Ok(offset),
        None => Err(CUT),
        Some(_) => Err(PacketRefusal::MplsNotIp),
    }
}

/// An LLC header that is there whole, or cut.
fn after_snap(frame: &[u8], offset: usize) -> Result<usize, PacketRefusal> {
    if frame.len() < offset + 8 {
        return Err(CUT);
    }
    after_llc(frame, offset)
}

/// IEEE 802.2 with a SNAP header may hold an Ethernet type; everything else of IEEE 802.3 is not IP.
fn after_llc(frame: &[u8], offset: usize) -> Result<usize, PacketRefusal> {
    let snap = frame.get(offset..offset + 8);
    match snap {
        Some([0xaa, 0xaa, 0x03, 0, 0, 0, high, low]) => match u16::from_be_bytes([*high, *low]) {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok(offset + 8),
            ETHERTYPE_ARP => Err(PacketRefusal::Arp),
            _ => Err(PacketRefusal::Ieee8023),
        },
        _ => Err(PacketRefusal::Ieee8023),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::refusal::Refusal;

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
        let refusal = |ethertype| {
            ip_offset(LinkType::Ethernet, &ethernet(&[ethertype]))
                .unwrap_err()
                .name()
        };
        assert_eq!(refusal(0x0806), "arp");
        assert_eq!(refusal(0x88cc), "ethertype_0x88cc");
        assert_eq!(refusal(0x0026), "ieee_802_3");
        assert_eq!(refusal(0x8864), "ppp_0x0000");
        assert_eq!(ip_offset(LinkType::Ethernet, &[0; 13]), Err(CUT));
        assert_eq!(
            ip_offset(LinkType::Ethernet, &ethernet(&[0x8100])[..16]),
            Err(CUT)
        );
    }

    #[test]
    fn frames_inside_of_frames_are_read() {
        let inner = ethernet(&[0x8100, 0x0800]);
        let backbone = [&ethernet(&[0x88a8, 0x88e7])[..18], &[0, 0, 0, 9], &inner].concat();
        assert_eq!(ip_offset(LinkType::Ethernet, &backbone), Ok(18 + 4 + 18));
        let fabric_path = [&ethernet(&[0x8903])[..14], &[0, 1], &inner].concat();
        assert_eq!(ip_offset(LinkType::Ethernet, &fabric_path), Ok(16 + 18));
        for length in 14..34 {
            assert_eq!(
                ip_offset(LinkType::Ethernet, &fabric_path[..length]),
                Err(CUT),
                "{length}"
            );
        }
        // Tags without end.
        let tags = [0x88, 0xe7].repeat(600);
        assert_eq!(ip_offset(LinkType::Ethernet, &tags), Err(CUT));
    }

    #[test]
    fn wireless_and_wrapped_frames_lead_to_ip() {
        let mut wireless = vec![8, 1];
        wireless.resize(24, 0);
        wireless.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45]);
        assert_eq!(ip_offset(LinkType::Ieee80211, &wireless), Ok(32));
        let radiotap = [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wireless].concat();
        assert_eq!(ip_offset(LinkType::Radiotap, &radiotap), Ok(40));
        assert_eq!(ip_offset(LinkType::Radiotap, &radiotap[..38]), Err(CUT));
        let pktap = |link_type: u8, frame: &[u8]| {
            let header = [12, 0, 0, 0, 1, 0, 0, 0, link_type, 0, 0, 0];
            ip_offset(LinkType::Pktap, &[&header[..], frame].concat())
        };
        assert_eq!(pktap(1, &ethernet(&[0x0800])), Ok(26));
        assert_eq!(pktap(127, &radiotap), Ok(52));
        assert_eq!(pktap(147, &[0; 40]), Err(PacketRefusal::LinkType(147)));
    }

    #[test]
    fn cisco_hdlc_is_told_from_ppp_by_its_address() {
        for address in [0x0f, 0x8f] {
            assert_eq!(ip_offset(LinkType::Ppp, &[address, 0, 8, 0, 0x45]), Ok(4));
            let keep_alive = ip_offset(LinkType::Ppp, &[address, 0, 0x80, 0x35, 0]);
            assert_eq!(keep_alive, Err(PacketRefusal::EtherType(0x8035)));
        }
        assert_eq!(ip_offset(LinkType::Ppp, &[0xff, 3, 0, 0x21, 0x45]), Ok(4));
        assert_eq!(ip_offset(LinkType::Ppp, &[0x21, 0x45]), Ok(1));
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
            Err(PacketRefusal::AddressFamily(7))
        );
    }
}
