//! Faults of the core as Python exceptions, one for each kind.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use sojourn_decode::{Fault, FaultKind};

create_exception!(
    sojourn_ingest._native,
    DecodeError,
    PyException,
    "A fault in an input; args is (message, offset), the byte offset in the plain content or None."
);
create_exception!(
    sojourn_ingest._native,
    UnrecognisedFormatError,
    DecodeError,
    "The content is not of the format that was asked for."
);
create_exception!(
    sojourn_ingest._native,
    TruncatedError,
    DecodeError,
    "The content ends inside a record or header."
);
create_exception!(
    sojourn_ingest._native,
    CorruptRecordError,
    DecodeError,
    "A record contradicts the format, such as a length no record can have."
);
create_exception!(
    sojourn_ingest._native,
    OverlappingCapturesError,
    DecodeError,
    "The captures in an archive do not follow one another in time."
);
create_exception!(
    sojourn_ingest._native,
    UnsupportedLinkTypeError,
    DecodeError,
    "The capture's link type has no decoder."
);
create_exception!(
    sojourn_ingest._native,
    NothingUsableError,
    DecodeError,
    "Every record of the input was refused."
);
create_exception!(
    sojourn_ingest._native,
    CompressionError,
    DecodeError,
    "The compressed stream is damaged."
);
create_exception!(
    sojourn_ingest._native,
    ChecksumError,
    CompressionError,
    "A checksum of the compressed stream does not match, so that any byte of the content may be wrong."
);
create_exception!(
    sojourn_ingest._native,
    ExpandsTooFarError,
    DecodeError,
    "What is stored stands for more content than is read of so little."
);
create_exception!(
    sojourn_ingest._native,
    UnknownQueueError,
    DecodeError,
    "The log does not say by which queue packets were dropped."
);
create_exception!(
    sojourn_ingest._native,
    IndistinctPacketsError,
    DecodeError,
    "Packets of a pair of captures look alike."
);
create_exception!(
    sojourn_ingest._native,
    ImpossibleDelayError,
    DecodeError,
    "A packet of a pair of captures takes longer than any does."
);
create_exception!(
    sojourn_ingest._native,
    OtherSegmentsError,
    DecodeError,
    "Segments of TCP differ between the points of a pair of captures."
);
create_exception!(
    sojourn_ingest._native,
    SourceReadError,
    DecodeError,
    "The operating system refused to read the file."
);

/// The exception of a fault, not yet raised.
pub(crate) fn to_exception(fault: &Fault) -> PyErr {
    let arguments = (fault.message.clone(), fault.offset);
    match fault.kind {
        FaultKind::UnrecognisedFormat => UnrecognisedFormatError::new_err(arguments),
        FaultKind::Truncated => TruncatedError::new_err(arguments),
        FaultKind::CorruptRecord => CorruptRecordError::new_err(arguments),
        FaultKind::OverlappingCaptures => OverlappingCapturesError::new_err(arguments),
        FaultKind::UnsupportedLinkType => UnsupportedLinkTypeError::new_err(arguments),
        FaultKind::NothingUsable => NothingUsableError::new_err(arguments),
        FaultKind::ExpandsTooFar => ExpandsTooFarError::new_err(arguments),
        FaultKind::UnknownQueue => UnknownQueueError::new_err(arguments),
        FaultKind::IndistinctPackets => IndistinctPacketsError::new_err(arguments),
        FaultKind::ImpossibleDelay => ImpossibleDelayError::new_err(arguments),
        FaultKind::OtherSegments => OtherSegmentsError::new_err(arguments),
        FaultKind::Compression => CompressionError::new_err(arguments),
        FaultKind::Checksum => ChecksumError::new_err(arguments),
        FaultKind::SourceRead => SourceReadError::new_err(arguments),
        FaultKind::Batch => DecodeError::new_err(arguments),
    }
}

pub(crate) fn require_positive(name: &str, value: i64) -> PyResult<()> {
    if value < 1 {
        return Err(PyValueError::new_err(format!(
            "{name} must be at least 1, is {value}"
        )));
    }
    Ok(())
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DecodeError", py.get_type::<DecodeError>())?;
    module.add(
        "UnrecognisedFormatError",
        py.get_type::<UnrecognisedFormatError>(),
    )?;
    module.add("TruncatedError", py.get_type::<TruncatedError>())?;
    module.add("CorruptRecordError", py.get_type::<CorruptRecordError>())?;
    module.add(
        "OverlappingCapturesError",
        py.get_type::<OverlappingCapturesError>(),
    )?;
    module.add(
        "UnsupportedLinkTypeError",
        py.get_type::<UnsupportedLinkTypeError>(),
    )?;
    module.add("NothingUsableError", py.get_type::<NothingUsableError>())?;
    module.add("CompressionError", py.get_type::<CompressionError>())?;
    module.add("ChecksumError", py.get_type::<ChecksumError>())?;
    module.add("ExpandsTooFarError", py.get_type::<ExpandsTooFarError>())?;
    module.add("UnknownQueueError", py.get_type::<UnknownQueueError>())?;
    module.add("IndistinctPacketsError", py.get_type::<IndistinctPacketsError>())?;
    module.add("ImpossibleDelayError", py.get_type::<ImpossibleDelayError>())?;
    module.add("OtherSegmentsError", py.get_type::<OtherSegmentsError>())?;
    module.add("SourceReadError", py.get_type::<SourceReadError>())?;
    Ok(())
}
