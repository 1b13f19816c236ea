//! Addresses as people write them: parsing, the ranges that name no public host, and prefixes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IPV4_PREFIX_BITS: u32 = 24;
const IPV6_PREFIX_BITS: u32 = 48;

/// Ranges of the IANA special-purpose registries whose addresses name no public host: private, loopback,
/// link-local, documentation, benchmarking, reserved, multicast. Shared address space (RFC 6598) is not among them,
/// nor is any range that embeds a public IPv4 address (Teredo, 6to4, NAT64).
const KEPT_IPV4: [(Ipv4Addr, u32); 13] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 29),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

const KEPT_IPV6: [(Ipv6Addr, u32); 8] = [
    (Ipv6Addr::UNSPECIFIED, 127),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

/// The address that `text` names; a zone is left out, and an IPv4-mapped address is the IPv4 one.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    let text = text.split_once('%').map_or(text, |(address, _)| address);
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

fn mask4(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0)
}

fn mask6(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0)
}

/// Whether an address may stand as it is, because it names no public host.
pub(crate) fn is_kept(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => KEPT_IPV4
            .iter()
            .any(|(network, bits)| u32::from(address) & mask4(*bits) == u32::from(*network)),
        IpAddr::V6(address) => KEPT_IPV6
            .iter()
            .any(|(network, bits)| u128::from(address) & mask6(*bits) == u128::from(*network)),
    }
}

/// The first address of the /24 or /48 around an address, and its length in bits.
pub(crate) fn prefix_of(address: IpAddr) -> (IpAddr, u32) {
    match address {
        IpAddr::V4(address) => (
            IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask4(IPV4_PREFIX_BITS))),
            IPV4_PREFIX_BITS,
        ),
        IpAddr::V6(address) => (
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask6(IPV6_PREFIX_BITS))),
            IPV6_PREFIX_BITS,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_and_mapping_are_undone() {
        assert_eq!(parse("fe80::1%eth0"), parse("fe80::1"));
        assert_eq!(parse("::ffff:8.8.8.8"), parse("8.8.8.8"));
        assert_eq!(parse("8.8.8.08"), None);
        assert_eq!(parse(" 8.8.8.8"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn what_embeds_a_public_address_is_not_kept() {
        for text in [
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2002:808:808::1",
            "64:ff9b::808:808",
            "64:ff9b:1::808:808",
            "100.64.0.1",
        ] {
            assert!(!is_kept(parse(text).unwrap()), "{text}");
        }
        for text in [
            "10.9.8.7",
            "127.0.0.1",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "2001:db8::1",
            "203.0.113.9",
            "255.255.255.255",
        ] {
            assert!(is_kept(parse(text).unwrap()), "{text}");
        }
        assert!(!is_kept(parse("11.0.0.0").unwrap()) && !is_kept(parse("172.32.0.0").unwrap()));
    }
}
