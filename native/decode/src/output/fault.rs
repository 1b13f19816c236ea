//! What can be wrong with an input.

/// Kind of a fault; each one is a named exception for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The content is not of the format that was asked for.
    UnrecognisedFormat,
    /// The content ends inside a record or header.
    Truncated,
    /// A record contradicts the format.
    CorruptRecord,
    /// The capture's link type has no decoder.
    UnsupportedLinkType,
    /// The captures in an archive do not follow one another in time.
    OverlappingCaptures,
    /// What is stored stands for more content than is read of so little.
    ExpandsTooFar,
    /// The log does not say by which queue packets were dropped.
    UnknownQueue,
    /// Packets of a pair of captures look alike.
    IndistinctPackets,
    /// A packet of a pair of captures takes longer than any does.
    ImpossibleDelay,
    /// Segments of TCP differ between the points of a pair of captures.
    OtherSegments,
    /// Every record was refused.
    NothingUsable,
    /// The compressed stream is damaged.
    Compression,
    /// A checksum of the compressed stream does not match, so that any byte of the content may be wrong.
    Checksum,
    /// The operating system refused to open or read the file.
    SourceRead,
    /// Decoded rows did not form an Arrow batch, which no input should bring about.
    Batch,
}

/// A fault of an input: what is wrong in one line, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// One line: layer, needed and actual length, offset, and what was expected or what to do.
    pub message: String,
    /// Offset in the plain (decompressed) content, if there is one.
    pub offset: Option<u64>,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>, offset: Option<u64>) -> Self {
        Self {
            kind,
            message: message.into(),
            offset,
        }
    }
}
