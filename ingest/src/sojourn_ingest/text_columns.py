"""Columns of text for the extension, which takes them as the two buffers that Arrow keeps them in."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest import _native

OFFSET_BYTES = 4


def text_buffers(column: pa.Array) -> tuple[memoryview, memoryview]:
    """Return offsets and bytes of a column of text; null becomes an empty text."""
    filled = pc.fill_null(column.cast(pa.string()), "")
    _, offsets, data = filled.buffers()
    # A slice shares the buffers of its whole, from which its offsets are taken.
    part = offsets.slice(filled.offset * OFFSET_BYTES, (len(filled) + 1) * OFFSET_BYTES) if len(filled) else b""
    return memoryview(part).cast("B"), memoryview(data or b"").cast("B")


def rfc3339_ns(column: pa.Array) -> pa.Array:
    """Return times of RFC 3339 as nanoseconds since the UTC epoch; null for what is not a time."""
    return _native.rfc3339_ns(*text_buffers(column)).column("ns")


def rfc3339_ns_of(text: str) -> int | None:
    """Return one time of RFC 3339 as nanoseconds since the UTC epoch; None for what is not a time."""
    nanoseconds: int | None = rfc3339_ns(pa.array([text]))[0].as_py()
    return nanoseconds
