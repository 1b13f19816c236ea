//! Pseudonyms: a keyed hash in the place of a public address.

use std::collections::HashSet;
use std::fmt::Write;
use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::pseudonym::address::{is_kept, prefix_of};

const BLOCK_BYTES: usize = 64;
/// 128 bits of the digest: hosts stay distinct, and keys short.
const PSEUDONYM_BYTES: usize = 16;

/// What becomes of public addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPolicy {
    /// They become keyed hashes.
    Pseudonymise,
    /// They stand as they are.
    Keep,
}

/// HMAC-SHA256 (RFC 2104) with the two padded keys hashed once.
#[derive(Clone)]
struct Hmac {
    inner: Sha256,
    outer: Sha256,
}

impl Hmac {
    fn new(key: &[u8]) -> Self {
        let hashed;
        let key = if key.len() > BLOCK_BYTES {
            hashed = Sha256::digest(key);
            hashed.as_slice()
        } else {
            key
        };
        let padded = |filler: u8| {
            let mut block = [filler; BLOCK_BYTES];
            for (byte, of_key) in block.iter_mut().zip(key) {
                *byte ^= of_key;
            }
            Sha256::new_with_prefix(block)
        };
        Self {
            inner: padded(0x36),
            outer: padded(0x5c),
        }
    }

    fn hexadecimal(&self, message: &str, into: &mut String) {
        let inner = self.inner.clone().chain_update(message).finalize();
        let digest = self.outer.clone().chain_update(inner).finalize();
        for byte in digest.iter().take(PSEUDONYM_BYTES) {
            for digit in [byte >> 4, byte & 15] {
                into.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
            }
        }
    }
}

/// Turns addresses into host and prefix keys, and knows the hosts that are to be forgotten.
#[derive(Clone)]
pub struct Pseudonyms {
    hmac: Hmac,
    policy: AddressPolicy,
    forget: Hmac,
    forgotten: HashSet<String>,
}

impl Pseudonyms {
    /// Pseudonyms under a key. `forgotten` are fingerprints of hosts under `forget_key`, see [`Self::forget_fingerprint`].
    #[must_use]
    pub fn new(key: &[u8], policy: AddressPolicy, forget_key: &[u8], forgotten: HashSet<String>) -> Self {
        Self {
            hmac: Hmac::new(key),
            policy,
            forget: Hmac::new(forget_key),
            forgotten,
        }
    }

    /// Write the host key of an address, or of a name that stands for a host in somebody's table.
    fn host_key_of(
        &self,
        message: &mut String,
        into: &mut String,
        domain: &str,
        text: &dyn std::fmt::Display,
    ) {
        message.clear();
        let _ = write!(message, "{domain}:{text}");
        into.push_str("hk-");
        self.hmac.hexadecimal(message, into);
    }

    /// Host key and prefix key of one address, into two buffers that are empty.
    pub(crate) fn keys(&self, address: IpAddr, message: &mut String, host: &mut String, prefix: &mut String) {
        let (network, bits) = prefix_of(address);
        if self.policy == AddressPolicy::Keep || is_kept(address) {
            let _ = write!(host, "{address}");
            let _ = write!(prefix, "{network}/{bits}");
            return;
        }
        self.host_key_of(message, host, "host", &address);
        message.clear();
        let _ = write!(message, "prefix:{network}/{bits}");
        prefix.push_str("pk-");
        self.hmac.hexadecimal(message, prefix);
    }

    /// The host key of a name that is no address, such as a customer number.
    #[must_use]
    pub fn key_of_name(&self, name: &str) -> String {
        let mut key = String::new();
        self.host_key_of(&mut String::new(), &mut key, "name", &name);
        key
    }

    /// The fingerprint under which a host is remembered as one to forget, which says nothing of the address.
    #[must_use]
    pub fn forget_fingerprint(&self, host: &str) -> String {
        let mut fingerprint = String::from("fm-");
        self.forget
            .hexadecimal(&format!("forget:{host}"), &mut fingerprint);
        fingerprint
    }

    pub(crate) fn is_forgotten(&self, address: IpAddr) -> bool {
        !self.forgotten.is_empty()
            && self
                .forgotten
                .contains(&self.forget_fingerprint(&address.to_string()))
    }

    /// Whether a name that is no address is one to forget.
    #[must_use]
    pub fn is_forgotten_name(&self, name: &str) -> bool {
        !self.forgotten.is_empty() && self.forgotten.contains(&self.forget_fingerprint(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        // Test cases 2 and 6 (a key longer than a block), the first 128 bits.
        let mut digest = String::new();
        Hmac::new(b"Jefe").hexadecimal("what do ya want for nothing?", &mut digest);
        assert_eq!(digest, "5bdcc146bf60754e6a042426089575c7");
        digest.clear();
        Hmac::new(&[0xaa; 131]).hexadecimal(
            "Test Using Larger Than Block-Size Key - Hash Key First",
            &mut digest,
        );
        assert_eq!(digest, "60e431591ee0b67f0d8a26aacbf5b77f");
    }
}
