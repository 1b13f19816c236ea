//! Sequence space of TCP.

use crate::twos_complement::TwosComplement;

/// Distance from `from` to `to` in sequence space (RFC 9293, 3.4).
pub(crate) fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).signed()
}
