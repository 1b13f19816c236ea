//! What the layouts of archives share: ways over bytes, and faults.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};

/// Beyond, no file system has a file, and sums of lengths need not be checked.
pub(super) const LARGEST_BYTES: u64 = 1 << 60;

/// Leave out bytes, as many as are there.
pub(super) fn skip_bytes(source: &mut PlainReader, mut bytes: u64) {
    while bytes > 0 {
        let there = source.fill(1);
        if there == 0 {
            return;
        }
        let count = there.min(usize::try_from(bytes).unwrap_or(usize::MAX));
        source.consume(count);
        bytes -= count as u64;
    }
}

/// What stands for the name of a file; `tar` may write it as `./name`, too.
pub(super) fn name_hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.strip_prefix(b"./").unwrap_or(name).hash(&mut hasher);
    hasher.finish()
}

/// A file that unpacking would put in the place of an earlier one.
pub(super) fn repeated(offset: u64, member: u64) -> Fault {
    Fault::new(
        FaultKind::CorruptRecord,
        format!(
            "archive: member {member} has the name of an earlier one, whose place it takes; unpack the archive and give its folder"
        ),
        Some(offset),
    )
}

/// What ended an archive before its end.
pub(super) fn cut(source: &PlainReader, members: u64) -> Fault {
    source.fault().cloned().unwrap_or_else(|| {
        Fault::new(
            FaultKind::Truncated,
            format!("archive: ends without its end marker after member {members}; copy the file again"),
            Some(source.offset()),
        )
    })
}

/// A header that is none.
pub(super) fn damaged_header(offset: u64, members: u64) -> Fault {
    Fault::new(
        FaultKind::CorruptRecord,
        format!(
            "archive: the header after member {members} is damaged at offset {offset}; copy the file again"
        ),
        Some(offset),
    )
}

/// What goes on behind the end of an archive.
pub(super) fn continues(source: &PlainReader, members: u64) -> Fault {
    Fault::new(
        FaultKind::CorruptRecord,
        format!(
            "archive continues after its end marker, which follows member {members}; copy the file again, or unpack archives that were joined and give them one by one"
        ),
        Some(source.offset()),
    )
}
