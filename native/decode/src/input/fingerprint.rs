//! Identity of a file by its plain content.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::input::source::PlainReader;
use crate::output::fault::Fault;

/// Hash, size and head of a file's plain content.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    /// SHA-256 of the plain content in lower-case hexadecimal, as far as it could be read.
    pub sha256: String,
    /// Length of the plain content.
    pub plain_bytes: u64,
    /// none, gzip, zstd or xz.
    pub compression: &'static str,
    /// First bytes of the plain content.
    pub head: Vec<u8>,
    /// What kept the content from being read whole.
    pub fault: Option<Fault>,
}

/// Hash the plain content of a file in bounded memory.
///
/// # Errors
///
/// A fault of kind `SourceRead` where the file cannot be opened or read.
pub fn fingerprint(path: &Path, head_bytes: usize) -> Result<Fingerprint, Fault> {
    let mut reader = PlainReader::open(path)?;
    let mut hash = Sha256::new();
    let mut head = Vec::new();
    loop {
        let count = reader.fill(1);
        if count == 0 {
            break;
        }
        let content = reader.available();
        hash.update(content);
        let wanted = head_bytes.saturating_sub(head.len()).min(content.len());
        head.extend(content.iter().take(wanted));
        reader.consume(count);
    }
    let fault = match reader.fault() {
        Some(fault) if fault.kind == crate::output::fault::FaultKind::SourceRead => return Err(fault.clone()),
        fault => fault.cloned(),
    };
    let mut sha256 = String::with_capacity(64);
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(sha256, "{byte:02x}");
    }
    Ok(Fingerprint {
        sha256,
        plain_bytes: reader.offset(),
        compression: reader.compression().name(),
        head,
        fault,
    })
}
