//! Bounds of a record of any capture format, and the fault of one that is cut.

use crate::output::fault::{Fault, FaultKind};

/// libpcap's own bound on a record (`MAXIMUM_SNAPLEN`). The snapshot length of the file header is no bound:
/// whole captures exist whose records are longer.
pub(crate) const MAXIMUM_RECORD_BYTES: u32 = 262_144;

/// The fault of a record, or of a part of one, that the content ends in.
pub(crate) fn cut(layer: &str, needed: usize, available: usize, offset: u64) -> Fault {
    Fault::new(
        FaultKind::Truncated,
        format!(
            "{layer}: needed {needed} bytes, found {available} in the record at offset {offset}; the packets before it were kept"
        ),
        Some(offset),
    )
}
