"""Sources decoded in Rust: captures and queue logs share one way from the decoder to facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from sojourn_ingest import _native
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading

REASONS: dict[type[_native.DecodeError], str] = {
    _native.UnrecognisedFormatError: "unrecognised_format",
    _native.TruncatedError: "truncated",
    _native.CorruptRecordError: "corrupt_record",
    _native.OverlappingCapturesError: "overlapping_captures",
    _native.UnsupportedLinkTypeError: "unsupported_link_type",
    _native.NothingUsableError: "nothing_usable",
    _native.CompressionError: "compression",
    _native.ChecksumError: "checksum",
    _native.ExpandsTooFarError: "expands_too_far",
    _native.UnknownQueueError: "drop_of_unknown_queue",
    _native.IndistinctPacketsError: "indistinct_packet",
    _native.ImpossibleDelayError: "impossible_delay",
    _native.OtherSegmentsError: "other_segments",
    _native.SourceReadError: "unreadable",
}


class NativeDecoder(Protocol):
    """What CaptureDecoder and QueueLogDecoder have in common."""

    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]: ...

    def summary(self) -> _native.Summary:
        """Return what was seen, once the iteration has ended."""


def input_error(error: _native.DecodeError) -> InputError:
    """Return a decode error as an InputError with its one-word reason."""
    message, offset = error.args
    return InputError(REASONS.get(type(error), "decode_error"), str(message), offset)


def facts(decoder: NativeDecoder, context: Context, reading: Reading) -> Facts:
    """Yield the decoder's batches with addresses replaced, then note what it saw."""
    for table, batch in decoder:
        yield table, context.pseudonymiser.replace_addresses(batch)
    seen = read_summary(decoder.summary())
    reading.records_read, reading.fault = seen.records_read, seen.fault
    for reason, count in seen.refused.items():
        reading.refuse(reason, count)


def read_summary(summary: _native.Summary) -> Reading:
    """Return what a decoder saw as a Reading."""
    fault = None if summary.fault is None else input_error(summary.fault)
    return Reading(records_read=summary.records_read, refused=dict(summary.refused), fault=fault)
