//! Numbers in the units of the tables.

/// Whole microseconds, rounded half up.
pub(crate) fn microseconds(nanoseconds: i64) -> i64 {
    nanoseconds.saturating_add(500).div_euclid(1000)
}
