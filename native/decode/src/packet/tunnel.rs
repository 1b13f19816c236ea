//! Encapsulations of IP in IP, GRE, VXLAN, Geneve, GTP-U and Teredo: where the packet inside begins.

use crate::input::bytes::{be_u16, be_u32};
use crate::packet::types::{Packet, Transport, Tunnel};

const PROTOCOL_IPV4: u8 = 4;
const PROTOCOL_IPV6: u8 = 41;
const PROTOCOL_GRE: u8 = 47;
const PORT_GTP_U: u16 = 2152;
const PORT_GRE_IN_UDP: u16 = 4754;
const PORT_VXLAN_GPE: u16 = 4790;
const PORT_GENEVE: u16 = 6081;
const PORT_TEREDO: u16 = 3544;
/// The prefix `2001::/32` (RFC 4380, 2.6).
const TEREDO_PREFIX: u32 = 0x2001_0000;
const IPV6_HEADER_BYTES: usize = 40;
const GTP_G_PDU: u8 = 0xff;
/// Extension headers that a GTP-U packet can sensibly chain.
const GTP_EXTENSIONS: usize = 16;

/// What is inside, and how far behind the carrying header it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inner {
    Ip(usize),
    Ethernet(usize),
    Ppp(usize),
}

impl Inner {
    pub(crate) fn offset(self) -> usize {
        match self {
            Self::Ip(offset) | Self::Ethernet(offset) | Self::Ppp(offset) => offset,
        }
    }
}

/// The encapsulation of a packet, if it is one.
pub(crate) fn inner(packet: &Packet<'_>) -> Option<(Tunnel, Inner)> {
    match packet.transport {
        Transport::Udp(payload) => {
            let ports = [packet.source.port, packet.destination.port];
            if ports.contains(&PORT_GTP_U) {
                return Some((Tunnel::GtpU, gtp_u(payload)?));
            }
            match packet.destination.port {
                4789 | 8472 => Some((Tunnel::Vxlan, vxlan(payload)?)),
                PORT_VXLAN_GPE => Some((Tunnel::Vxlan, vxlan_gpe(payload)?)),
                PORT_GENEVE => Some((Tunnel::Geneve, geneve(payload)?)),
                PORT_GRE_IN_UDP => Some((Tunnel::GreInUdp, gre(payload)?)),
                _ if ports.contains(&PORT_TEREDO) => Some((Tunnel::Teredo, teredo(payload)?)),
                // Between clients and relays any port is used, and the addresses inside tell.
                _ if matches!(payload, [0x60..=0x6f, ..]) => {
                    let whole =
                        be_u16(payload, 4)? as usize + IPV6_HEADER_BYTES == packet.payload_bytes as usize;
                    let is_between = [8, 24]
                        .map(|place| be_u32(payload, place))
                        .contains(&Some(TEREDO_PREFIX));
                    (whole && is_between).then_some((Tunnel::Teredo, Inner::Ip(0)))
                }
                _ => None,
            }
        }
        Transport::Other => match packet.protocol {
            PROTOCOL_IPV4 | PROTOCOL_IPV6 => Some((Tunnel::IpInIp, Inner::Ip(0))),
            PROTOCOL_GRE => Some((Tunnel::Gre, gre(packet.ip_payload)?)),
            _ => None,
        },
        Transport::Tcp(_) | Transport::Fragment => None,
    }
}

/// RFC 2784 and 2890, and RFC 2637 with its PPP (version 1).
fn gre(bytes: &[u8]) -> Option<Inner> {
    let flags = be_u16(bytes, 0)?;
    let protocol = be_u16(bytes, 2)?;
    let has = |bit: u16| flags & bit != 0;
    let field = |present: bool| if present { 4 } else { 0 };
    // Source routing (RFC 1701) has a length of its own and has left the Internet.
    if has(0x4000) {
        return None;
    }
    let offset = 4 + field(has(0x8000)) + field(has(0x2000)) + field(has(0x1000));
    match (flags & 7, protocol) {
        (0, 0x0800 | 0x86dd) => Some(Inner::Ip(offset)),
        // ERSPAN: type II has eight bytes of its own and always a sequence number, type I neither.
        (0, 0x88be) if has(0x1000) => Some(Inner::Ethernet(offset + 8)),
        (0, 0x6558 | 0x88be) => Some(Inner::Ethernet(offset)),
        (0, 0x22eb) if has(0x1000) => erspan_three(bytes.get(offset..)?, offset),
        // An acknowledgement without a payload has no sequence number.
        (1, 0x880b) if has(0x1000) => Some(Inner::Ppp(offset + field(flags & 0x0080 != 0))),
        _ => None,
    }
}

/// ERSPAN type III (draft-foschiano-erspan, 4.3): twelve bytes, and eight that depend on the platform where its last bit is
/// set. A frame is of Ethernet or IP.
fn erspan_three(bytes: &[u8], offset: usize) -> Option<Inner> {
    let (version, last) = (be_u32(bytes, 0)? >> 28, be_u32(bytes, 8)?);
    let offset = offset + if last & 1 == 0 { 12 } else { 20 };
    match (version, last >> 10 & 0x1f) {
        (2, 0) => Some(Inner::Ethernet(offset)),
        (2, 2) => Some(Inner::Ip(offset)),
        _ => None,
    }
}

/// RFC 7348, 5: the flag of a valid network identifier is set. Whoever receives it ignores the reserved fields, in which
/// others put a group policy and more; what is inside shows whether it is one.
fn vxlan(bytes: &[u8]) -> Option<Inner> {
    let (flags, _network) = (be_u32(bytes, 0)?, be_u32(bytes, 4)?);
    (flags & 0x0800_0000 != 0).then_some(Inner::Ethernet(8))
}

/// draft-ietf-nvo3-vxlan-gpe, 3: as VXLAN, with the protocol of what is inside where its flag is set.
fn vxlan_gpe(bytes: &[u8]) -> Option<Inner> {
    let inner = vxlan(bytes)?;
    match *bytes.get(..4)? {
        [flags, _, _, protocol] if flags & 4 != 0 => match protocol {
            1 | 2 => Some(Inner::Ip(8)),
            3 => Some(inner),
            _ => None,
        },
        _ => Some(inner),
    }
}

/// RFC 8926: version 0, no control packet, and options in words of four bytes; Ethernet or IP is inside.
fn geneve(bytes: &[u8]) -> Option<Inner> {
    let [first, second, ..] = bytes else {
        return None;
    };
    if first >> 6 != 0 || second & 0x80 != 0 {
        return None;
    }
    let offset = 8 + usize::from(first & 0x3f) * 4;
    match be_u16(bytes, 2)? {
        0x6558 => Some(Inner::Ethernet(offset)),
        0x0800 | 0x86dd => Some(Inner::Ip(offset)),
        _ => None,
    }
}

/// RFC 4380, 5.1.1: an indication of authentication and one of origin may come before the IPv6 packet.
fn teredo(bytes: &[u8]) -> Option<Inner> {
    let mut offset = 0;
    if be_u16(bytes, 0)? == 1 {
        let [identifier, authentication] = [2, 3].map(|place| bytes.get(place).copied());
        // The nonce has eight bytes, the confirmation one.
        offset += 13 + usize::from(identifier?) + usize::from(authentication?);
    }
    if be_u16(bytes, offset)? == 0 {
        offset += 8;
    }
    (bytes.get(offset)? >> 4 == 6).then_some(Inner::Ip(offset))
}

/// 3GPP TS 29.281: version 1, protocol type GTP, a G-PDU; optional fields and extension headers are passed.
fn gtp_u(bytes: &[u8]) -> Option<Inner> {
    let flags = *bytes.first()?;
    if flags & 0xf0 != 0x30 || *bytes.get(1)? != GTP_G_PDU {
        return None;
    }
    let mut offset = 8;
    if flags & 0x07 != 0 {
        let mut next = if flags & 0x04 != 0 { *bytes.get(11)? } else { 0 };
        offset = 12;
        for _ in 0..GTP_EXTENSIONS {
            if next == 0 {
                break;
            }
            let length = usize::from(*bytes.get(offset)?) * 4;
            if length == 0 {
                return None;
            }
            next = *bytes.get(offset + length - 1)?;
            offset += length;
        }
    }
    matches!(bytes.get(offset)? >> 4, 4 | 6).then_some(Inner::Ip(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_of_gre_are_passed() {
        assert_eq!(gre(&[0, 0, 8, 0]), Some(Inner::Ip(4)));
        assert_eq!(gre(&[0xb0, 0, 0x86, 0xdd]), Some(Inner::Ip(16)));
        assert_eq!(gre(&[0x10, 0, 0x88, 0xbe]), Some(Inner::Ethernet(16)));
        assert_eq!(gre(&[0x30, 0x81, 0x88, 0x0b]), Some(Inner::Ppp(16)));
        assert_eq!(gre(&[0x20, 0x81, 0x88, 0x0b]), None);
        let mut three = [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 9, 0x20][..], &[0; 11]].concat();
        assert_eq!(gre(&three), Some(Inner::Ethernet(20)));
        three[19] = 1;
        assert_eq!(gre(&three), Some(Inner::Ethernet(28)));
        three[18] = 8;
        assert_eq!(gre(&three), Some(Inner::Ip(28)));
        for length in 0..three.len() {
            assert_eq!(gre(&three[..length]), None);
        }
        three[8] = 0x10;
        assert_eq!(gre(&three), None);
        assert_eq!(gre(&[0, 0, 8]), None);
    }

    #[test]
    fn extension_headers_of_gtp_u_are_passed() {
        let plain = [0x30, 0xff, 0, 20, 0, 0, 0, 1, 0x45];
        assert_eq!(gtp_u(&plain), Some(Inner::Ip(8)));
        let extended = [0x34, 0xff, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0, 0x60];
        assert_eq!(gtp_u(&extended), Some(Inner::Ip(16)));
        for length in 0..extended.len() {
            assert_eq!(gtp_u(&extended[..length]), None);
        }
        let mut echo = plain;
        echo[1] = 1;
        assert_eq!(gtp_u(&echo), None);
    }

    #[test]
    fn options_of_geneve_are_passed() {
        let mut header = [2, 0, 0x65, 0x58, 0, 0, 7, 0];
        assert_eq!(geneve(&header), Some(Inner::Ethernet(16)));
        header[0] = 0;
        header[2..4].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(geneve(&header), Some(Inner::Ip(8)));
        header[1] = 0x80;
        assert_eq!(geneve(&header), None);
        header[..2].copy_from_slice(&[0x40, 0]);
        assert_eq!(geneve(&header), None);
        for length in 0..4 {
            assert_eq!(geneve(&[0, 0, 8, 0][..length]), None);
        }
    }

    #[test]
    fn indications_of_teredo_are_passed() {
        assert_eq!(teredo(&[0x60, 0, 0, 0]), Some(Inner::Ip(0)));
        let mut origin = vec![0, 0, 1, 2, 3, 4, 5, 6, 0x60];
        assert_eq!(teredo(&origin), Some(Inner::Ip(8)));
        let mut both = vec![0, 1, 2, 1];
        both.extend([9; 12]);
        both.append(&mut origin);
        assert_eq!(teredo(&both), Some(Inner::Ip(24)));
        for length in 0..both.len() {
            assert_eq!(teredo(&both[..length]), None);
        }
        assert_eq!(teredo(&[0x45, 0, 0, 0]), None);
    }

    #[test]
    fn vxlan_needs_its_flag_and_ignores_what_is_reserved() {
        // As sent by the standard, with a group policy, with all reserved bits, and with the reserved byte alone.
        for header in [
            [8, 0, 0, 0, 0, 0, 7, 0],
            [0x88, 0, 0, 5, 0, 0, 7, 0],
            [0xff, 0xff, 0xff, 0xff, 0, 0, 7, 0xff],
            [8, 0, 0, 0, 0, 0, 7, 1],
        ] {
            assert_eq!(vxlan(&header), Some(Inner::Ethernet(8)));
        }
        for (header, inside) in [
            ([8, 0, 0, 0, 0, 0, 7, 0], Some(Inner::Ethernet(8))),
            ([12, 0, 0, 1, 0, 0, 7, 0], Some(Inner::Ip(8))),
            ([12, 0, 0, 3, 0, 0, 7, 0], Some(Inner::Ethernet(8))),
            ([12, 0, 0, 4, 0, 0, 7, 0], None),
            ([4, 0, 0, 1, 0, 0, 7, 0], None),
        ] {
            assert_eq!(vxlan_gpe(&header), inside);
        }
        assert_eq!(vxlan(&[0, 0, 0, 0, 0, 0, 7, 0]), None);
        assert_eq!(vxlan(&[0xf7, 0xff, 0xff, 0xff, 0, 0, 7, 0xff]), None);
        assert_eq!(vxlan(&[8, 0, 0, 0, 0, 0, 7]), None);
    }
}
