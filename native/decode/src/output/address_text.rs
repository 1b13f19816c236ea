//! An address as text, without an allocation: every flow and packet has two.

use std::fmt::Write;
use std::net::IpAddr;

/// An IPv4-mapped address of IPv6 has the longest text.
const LONGEST_BYTES: usize = 45;

/// The text of an address, as the standard library writes it.
pub(crate) struct AddressText {
    bytes: [u8; LONGEST_BYTES],
    length: usize,
}

impl AddressText {
    pub(crate) fn of(address: IpAddr) -> Self {
        let mut text = Self {
            bytes: [0; LONGEST_BYTES],
            length: 0,
        };
        match address {
            IpAddr::V4(address) => {
                for (place, octet) in address.octets().into_iter().enumerate() {
                    if place > 0 {
                        text.push(b'.');
                    }
                    if octet >= 100 {
                        text.push(b'0' + octet / 100);
                    }
                    if octet >= 10 {
                        text.push(b'0' + octet / 10 % 10);
                    }
                    text.push(b'0' + octet % 10);
                }
            }
            // The text fits, so that writing does not fail.
            IpAddr::V6(address) => drop(write!(text, "{address}")),
        }
        text
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }
}

impl Write for AddressText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl AsRef<str> for AddressText {
    fn as_ref(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_the_standard_library() {
        let octets = [0, 1, 9, 10, 11, 99, 100, 101, 199, 255];
        for first in octets {
            for last in octets {
                let address = IpAddr::from([first, last, 0, first ^ last]);
                assert_eq!(AddressText::of(address).as_ref(), address.to_string());
            }
        }
        for text in [
            "::",
            "::1",
            "2001:db8::1",
            "::ffff:255.255.255.255",
            "fe80:1111:2222:3333:4444:5555:6666:7777",
            "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
        ] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(AddressText::of(address).as_ref(), address.to_string());
        }
    }
}
