//! Names of servers, in the form in which they may be kept.
//!
//! A registrable domain is one label below a suffix under which ICANN's registries register names. The private
//! part of the public suffix list (such as `github.io` or `cloudfront.net`) does not count: a name below such a suffix
//! belongs to a customer, often to one person, while the flow is with the operator.

use std::net::IpAddr;
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
    /// An IP address: it would stand beside its own pseudonym.
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
        Ok(match self {
            Self::Registrable => Some(registrable.into()),
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

/// The registrable domain of a name in lower case; `None` where no registry of the public suffix list has it.
fn registrable(name: &str) -> Option<&str> {
    // In arpa there are addresses and the homes of devices (RFC 3172, RFC 8375), though the list has it.
    if name.rsplit('.').next() == Some("arpa") {
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
    fn addresses_and_names_of_devices_are_never_kept() {
        for names in [ServerNames::Registrable, ServerNames::Full, ServerNames::None] {
            for name in [
                "192.0.2.7",
                "2001:db8::7",
                "[2001:db8::7]",
                "127.1",
                "0x7f.0.0.0x1",
                "10.0.0.256",
            ] {
                assert_eq!(kept(names, name), Err(Unkept::Address), "{name}");
            }
            for name in [
                "johns-laptop",
                "localhost",
                "johns-laptop.local",
                "printer.lan",
                "nas.fritz.box.home",
                "7.2.0.192.in-addr.arpa",
                "camera.home.arpa",
            ] {
                assert_eq!(kept(names, name), Err(Unkept::Local), "{name}");
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
