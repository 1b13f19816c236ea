//! Identity of a file by its plain content.

use std::path::Path;

use crate::input::source::PlainReader;
use crate::output::fault::{Fault, FaultKind};

/// Hash, size and head of a file's plain content.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    /// SHA-256 of the plain content in lower-case hexadecimal, as far as it could be read; `None` if only the head was.
    pub sha256: Option<String>,
    /// Length of the plain content; if only the head was read, at most one byte more than the head.
    pub plain_bytes: u64,
    /// none, gzip, zstd or xz.
    pub compression: &'static str,
    /// First bytes of the plain content.
    pub head: Vec<u8>,
    /// What kept the content from being read whole.
    pub fault: Option<Fault>,
}

/// Hash the plain content of a file in bounded memory; of a content that begins with one of `head_only` read the head.
///
/// # Errors
///
/// A fault of kind `SourceRead` where the file cannot be opened or read.
pub fn fingerprint(path: &Path, head_bytes: usize, head_only: &[Vec<u8>]) -> Result<Fingerprint, Fault> {
    let mut reader = PlainReader::open(path)?.hashing();
    let available = reader.fill(head_bytes + 1);
    let head: Vec<u8> = reader.available().iter().take(head_bytes).copied().collect();
    let is_head_only = head_only.iter().any(|magic| head.starts_with(magic));
    let mut plain_bytes = available.min(head_bytes + 1) as u64;
    if !is_head_only {
        reader.read_through();
        plain_bytes = reader.offset();
    }
    let (compression, fault) = (reader.compression().name(), reader.fault().cloned());
    if let Some(fault) = fault.as_ref().filter(|fault| fault.kind == FaultKind::SourceRead) {
        return Err(fault.clone());
    }
    Ok(Fingerprint {
        sha256: if is_head_only { None } else { reader.into_hash()? },
        plain_bytes,
        compression,
        head,
        fault,
    })
}
