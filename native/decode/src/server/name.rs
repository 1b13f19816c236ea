//! Names of servers, in the form in which they may be kept.
//!
//! A registrable domain is one label below a suffix under which ICANN's registries register names. The private
//! part of the public suffix list (such as `github.io` or `cloudfront.net`) does not count: a name below such a suffix
//! belongs to a customer, often to one person, while the flow is with the operator.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use psl::Type;

const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

/// How much of the names of servers is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ServerNames {
    /// The domain that is registered: one label below a suffix of ICANN's part of the public suffix list.
    #[default]
    Registrable,
    /// The whole name.
    Full,
    /// Nothing.
    None,
}

/// Why a name is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unkept {
    /// An IP address, or a domain made of one: it would stand beside its own pseudonym.
    Address,
    /// No registry has it: it is the name of a device in somebody's network.
    Local,
    /// Not a name of hosts (RFC 1123, 2.1, and underscores).
    Invalid,
}

impl ServerNames {
    /// The form of a name in which it is kept; nothing where no name is to be kept.
    pub(crate) fn kept(self, name: &[u8]) -> Result<Option<Arc<str>>, Unkept> {
        let name = name.strip_suffix(b".").unwrap_or(name);
        let text = std::str::from_utf8(name).map_err(|_| Unkept::Invalid)?;
        let unbracketed = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        let last_label = text.rsplit('.').next().unwrap_or_default();
        // Resolvers take 127.1 and 0x7f.1 for addresses too: no name ends in a number (RFC 3696, 2).
        let ends_in_number =
            last_label.starts_with(|first: char| first.is_ascii_digit()) && is_number(last_label);
        if unbracketed.parse::<IpAddr>().is_ok() || ends_in_number {
            return Err(Unkept::Address);
        }
        let is_label = |label: &str| {
            (1..=LABEL_BYTES).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if text.len() > NAME_BYTES || !text.split('.').all(is_label) {
            return Err(Unkept::Invalid);
        }
        let lower = text.to_ascii_lowercase();
        let registrable = registrable(&lower).ok_or(Unkept::Local)?;
        if has_address(registrable) {
            return Err(Unkept::Address);
        }
        Ok(match self {
            Self::Registrable => Some(registrable.into()),
            // Access networks name hosts by their addresses.
            Self::Full if has_address(&lower) => Some(registrable.into()),
            Self::Full => Some(lower.into()),
            Self::None => None,
        })
    }
}

fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

const OCTETS: usize = 4;
const OCTET_DIGITS: usize = 3;
const IPV6_GROUPS: usize = 8;
const MAC_PAIRS: usize = 6;
const MAC_FOURS: usize = 3;
const MAC_SIXES: usize = 2;
/// Of an IPv6 address, its network.
const IPV6_NETWORK_GROUPS: usize = 4;

/// Whether a name has an IP or a hardware address in it, with what names can part its numbers by: `host-192-0-2-7`,
/// `ip6-2001-db8--7`. A word may stand directly before it and behind it. A name that only looks so is taken for one: what
/// is hidden of it is little. Hexadecimal digits that nothing parts are not looked at: hashes are written so.
fn has_address(name: &str) -> bool {
    // No top-level domain is part of an address, though `de` may be a pair of digits.
    let name = name.rsplit_once('.').map_or(name, |(below, _)| below);
    let labels: Vec<&str> = name.split('.').collect();
    let parts: Vec<&str> = name
        .split(['.', '-', '_'])
        .filter(|part| !part.is_empty())
        .collect();
    parts.windows(OCTETS).any(is_ipv4)
        || parts
            .iter()
            .any(|part| part.split('x').collect::<Vec<_>>().windows(OCTETS).any(is_ipv4))
        || parts.windows(MAC_PAIRS).any(is_mac)
        || labels.windows(MAC_FOURS).any(is_mac_of_fours)
        || name
            .split(|letter: char| !letter.is_ascii_digit())
            .any(is_ipv4_of_digits)
        || has_ipv6(name, '.')
        || labels.iter().any(|label| {
            let groups: Vec<&str> = label.split('-').collect();
            has_ipv6(label, '-')
                || has_ipv6(label, '_')
                || groups.windows(IPV6_NETWORK_GROUPS).any(is_ipv6_network)
                || groups.windows(MAC_SIXES).any(is_mac_of_sixes)
        })
}

fn is_octet(digits: &str) -> bool {
    digits.len() <= OCTET_DIGITS && digits.parse::<u8>().is_ok()
}

fn is_ipv4(parts: &[&str]) -> bool {
    let not_digit = |letter: char| !letter.is_ascii_digit();
    let [first, inner @ .., last] = parts else {
        return false;
    };
    is_octet(first.rsplit(not_digit).next().unwrap_or_default())
        && inner.iter().all(|part| is_octet(part))
        && is_octet(last.split(not_digit).next().unwrap_or_default())
}

/// Whether digits are four octets with all their zeros.
fn is_ipv4_of_digits(digits: &str) -> bool {
    digits.len() == OCTETS * OCTET_DIGITS
        && (0..OCTETS).all(|octet| {
            let start = octet * OCTET_DIGITS;
            digits.get(start..start + OCTET_DIGITS).is_some_and(is_octet)
        })
}

/// Whether parts are pairs of hexadecimal digits, some decimal digits and some letters among them.
fn is_mac(parts: &[&str]) -> bool {
    let [first, inner @ .., last] = parts else {
        return false;
    };
    let last_pair = first.get(first.len().saturating_sub(2)..).unwrap_or_default();
    let mut pairs = vec![last_pair, last.get(..2).unwrap_or_default()];
    pairs.extend(inner);
    pairs.iter().all(|pair| is_hexadecimal(pair, 2)) && has_both(&pairs)
}

/// Whether labels are a hardware address in fours: `0000.5e00.53af`. With hyphens, parts of a UUID look so.
fn is_mac_of_fours(labels: &[&str]) -> bool {
    labels.iter().all(|label| is_hexadecimal(label, 4)) && has_both(labels)
}

/// Whether groups are a hardware address in sixes: `00005e-0053af`.
fn is_mac_of_sixes(groups: &[&str]) -> bool {
    groups.iter().all(|group| is_hexadecimal(group, 6)) && has_both(groups)
}

/// Whether groups of four digits are the network of a public IPv6 address. Parts of a UUID are fewer.
fn is_ipv6_network(groups: &[&str]) -> bool {
    groups.iter().all(|group| is_hexadecimal(group, 4))
        && groups.first().is_some_and(|first| first.starts_with(['2', '3']))
        && has_both(groups)
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether there are decimal digits and letters: without either, it is a date or a list of words.
fn has_both(groups: &[&str]) -> bool {
    let has = |kind: fn(&u8) -> bool| groups.concat().as_bytes().iter().any(kind);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

fn has_ipv6(label: &str, separator: char) -> bool {
    let groups: Vec<&str> = label.split(separator).collect();
    (3..=IPV6_GROUPS + 1).any(|count| {
        let may_be = |groups: &&[&str]| {
            let inner = groups.get(1..count - 1).unwrap_or_default();
            match inner.iter().filter(|group| group.is_empty()).count() {
                0 => count == IPV6_GROUPS,
                gaps => gaps == 1,
            }
        };
        groups.windows(count).filter(may_be).any(|groups| {
            let text = groups.join(":");
            let not_digit = |letter: char| !letter.is_ascii_hexdigit() && letter != ':';
            // Without the words directly before and behind it, whose letters may be digits, too.
            let (word, rest) = text.split_at(text.find(':').unwrap_or_default());
            let first = word.rsplit(not_digit).next().unwrap_or_default();
            let first = first.get(first.len().saturating_sub(4)..).unwrap_or_default();
            let (inner, last) = rest.split_at(rest.rfind(':').map_or(0, |colon| colon + 1));
            let last = last.split(not_digit).next().unwrap_or_default();
            let last = last.get(..last.len().min(4)).unwrap_or_default();
            let text = format!("{first}{inner}{last}");
            let parsed = text.parse::<Ipv6Addr>();
            // Of the ranges that hosts have, or of IPv4; short words in hexadecimal digits begin others.
            let is_of_hosts = matches!(
                parsed.map(|address| address.segments()),
                Ok([0x2000..=0x3fff | 0xfc00..=0xfdff | 0xfe80 | 0x64, ..] | [0, 0, 0, 0, 0, 0xffff, ..])
            );
            // A number before the name of a site or a branch: `preview-2042--example`, `x64--release`.
            let is_number_and_word = text.split_once("::").is_some_and(|(number, word)| {
                !number.contains(':') && !word.contains(|letter: char| letter.is_ascii_digit())
            });
            is_of_hosts && !is_number_and_word
        })
    })
}

/// Domains below which routers, Windows and Tailscale name the devices of a network, as if a registry had them. In arpa
/// there are addresses and the homes of devices (RFC 3172, RFC 8375), though the public suffix list has it.
const OF_DEVICES: [&str; 12] = [
    "arpa",
    "fritz.box",
    "easy.box",
    "kabel.box",
    "o2.box",
    "attlocal.net",
    "gateway.2wire.net",
    "mynetworksettings.com",
    "domain.name",
    "mshome.net",
    "ts.net",
    "beta.tailscale.net",
];

/// The registrable domain of a name in lower case; `None` where no registry of the public suffix list has it.
fn registrable(name: &str) -> Option<&str> {
    let is_below = |domain: &&str| {
        name.strip_suffix(domain)
            .is_some_and(|above| above.is_empty() || above.ends_with('.'))
    };
    if OF_DEVICES.iter().any(is_below) || !name.contains('.') {
        return None;
    }
    let mut below = name;
    let suffix_bytes = loop {
        let suffix = psl::suffix(below.as_bytes())?;
        match suffix.typ()? {
            Type::Icann => break suffix.as_bytes().len(),
            Type::Private => {
                let labels = below.get(below.len() - suffix.as_bytes().len()..)?;
                below = labels.split_once('.')?.1;
            }
        }
    };
    let labels = name.get(..name.len() - suffix_bytes)?;
    let Some(labels) = labels.strip_suffix('.') else {
        return Some(name);
    };
    name.get(labels.rfind('.').map_or(0, |dot| dot + 1)..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(names: ServerNames, name: &str) -> Result<Option<String>, Unkept> {
        Ok(names.kept(name.as_bytes())?.map(|kept| kept.to_string()))
    }

    #[test]
    fn a_registrable_domain_is_one_label_below_what_a_registry_registers() {
        for (name, domain) in [
            ("www.Example.COM", "example.com"),
            ("example.com.", "example.com"),
            ("a.b.c.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("d111.cloudfront.net", "cloudfront.net"),
            ("somebody.github.io", "github.io"),
            ("github.io", "github.io"),
            ("bucket.s3.eu-west-1.amazonaws.com", "amazonaws.com"),
            ("home-of.somebody.dyndns.org", "dyndns.org"),
            ("www.xn--80aswg.xn--p1ai", "xn--80aswg.xn--p1ai"),
            ("_dns.resolver.example.net", "example.net"),
        ] {
            assert_eq!(
                kept(ServerNames::Registrable, name),
                Ok(Some(domain.into())),
                "{name}"
            );
            assert_eq!(kept(ServerNames::None, name), Ok(None));
            let whole = name.trim_end_matches('.').to_ascii_lowercase();
            assert_eq!(kept(ServerNames::Full, name), Ok(Some(whole)));
        }
    }

    #[test]
    fn of_a_full_name_with_an_address_the_registrable_domain_is_kept() {
        for name in [
            "ec2-192-0-2-7.compute-1.example.com",
            "host-192-0-2-7.example.com",
            "192.0.2.7.example.com",
            "dsl192_000_002_007x.example.com",
            "7.2.0.192.dyn.example.com",
            "192-0-2-7.0123456789abcdef.example.com",
            "ip6-2001-db8--7.example.com",
            "2001-0db8-0000-0000-0000-0000-0000-0007.example.com",
            "2001_db8__7.example.com",
            "00-00-5e-00-53-af.example.com",
            "00.00.5e.00.53.af.example.com",
            "192--0--2--7.example.com",
            "dsl192000002007.example.com",
            "2a00--1.example.com",
            "host2001-db8--7.example.com",
            "mac00-00-5e-00-53-af.example.com",
            "0000.5e00.53af.example.com",
            "node2001-db8--7.example.com",
            "2001-db8--7face.example.com",
            "2001.db8.85a3.8d3.1319.8a2e.370.7344.example.com",
            "--ffff-c000-207.example.com",
            "192x0x2x7.example.com",
            "ip6-2001-0db8-abcd-1234.example.com",
            "cpe-00005e-0053af.example.com",
            "2001-db8--face.example.com",
        ] {
            assert_eq!(
                kept(ServerNames::Full, name),
                Ok(Some("example.com".into())),
                "{name}"
            );
            assert_eq!(
                kept(ServerNames::Registrable, name),
                Ok(Some("example.com".into()))
            );
        }
        for name in [
            "rr4---sn-4g5e6nsz.example.com",
            "edge-2-14-7.example.com",
            "v1.300.2.3.example.com",
            "550e8400-e29b-41d4-a716-446655440000.example.com",
            "de--ad-be-ef.example.com",
            "xn--80aswg.example.com",
            "build-20261127.example.com",
            "2026-11-27.example.com",
            "c0000207.example.com",
            "ab-cd-ef-12-34.de",
            "deploy-preview-2042--mysite.example.com",
            "main--3000--app.coder.example.com",
            "x64--release.example.com",
            "fd00--shop.com",
            "550e8400-2e9b-41d4-a716-446655440000.example.com",
            "2026-1127-1200-0000.example.com",
        ] {
            assert_eq!(kept(ServerNames::Full, name), Ok(Some(name.into())), "{name}");
        }
    }

    #[test]
    fn addresses_and_names_of_devices_are_never_kept() {
        for names in [ServerNames::Registrable, ServerNames::Full, ServerNames::None] {
            for name in [
                "192.0.2.7",
                "2001:db8::7",
                "[2001:db8::7]",
                "127.1",
                "0x7f.0.0.0x1",
                "10.0.0.256",
                "192-0-2-7.com",
                "host192-0-2-7.com",
                "www.2001-db8--7.net",
                "00-00-5e-00-53-af.org",
            ] {
                assert_eq!(kept(names, name), Err(Unkept::Address), "{name}");
            }
            for name in [
                "johns-laptop",
                "com",
                "fritz.box",
                "johns-laptop.fritz.box",
                "easy.box",
                "johns-laptop.easy.box",
                "johns-laptop.kabel.box",
                "johns-laptop.o2.box",
                "Johns-iPhone.attlocal.net",
                "johns-laptop.gateway.2wire.net",
                "johns-laptop.mynetworksettings.com",
                "johns-laptop.domain.name",
                "johns-laptop.mshome.net",
                "johns-laptop.tail1234.ts.net",
                "johns-laptop.john.beta.tailscale.net",
                "johns-laptop.speedport.ip",
                "localhost",
                "johns-laptop.local",
                "printer.lan",
                "nas.fritz.box.home",
                "7.2.0.192.in-addr.arpa",
                "camera.home.arpa",
            ] {
                assert_eq!(kept(names, name), Err(Unkept::Local), "{name}");
            }
            for name in ["easybox.com", "www.tailscale.net", "www.2wire.net", "xts.net"] {
                assert!(kept(names, name).is_ok(), "{name}");
            }
            let long_label = format!("{}.com", "a".repeat(64));
            let long_name = format!("{}com", "abcdefgh.".repeat(30));
            for name in [
                "",
                ".",
                "a..com",
                ".com",
                "a b.com",
                "bücher.de",
                "a\0b.com",
                &long_label,
                &long_name,
            ] {
                assert_eq!(kept(names, name), Err(Unkept::Invalid), "{name:?}");
            }
            assert_eq!(names.kept(b"\xff\xfe.com"), Err(Unkept::Invalid));
        }
    }
}
