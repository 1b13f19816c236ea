//! Numbers in the units of the tables, and the longest delay there is.

/// An hour. An IP packet lives for at most 255 s (RFC 791, 3.2) and a segment of TCP for two minutes (RFC 9293, 3.4.2): a
/// longer time from a packet to its answer shows a clock that was set meanwhile.
pub(crate) const LONGEST_DELAY_NS: i64 = 3_600_000_000_000;

/// Whole microseconds, rounded half up.
pub(crate) fn microseconds(nanoseconds: i64) -> i64 {
    nanoseconds.saturating_add(500).div_euclid(1000)
}
