"""The table of attempts."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT64, STRING

INGEST_OUTCOME = Table(
    "ingest_outcome",
    "every attempt to ingest",
    "one path with one content, as read by one decoder version",
    ("source_path", "content_hash", "decoder_version"),
    (
        Column("source_path", STRING, "path as given, converted to an absolute path", nullable=False),
        Column("content_hash", STRING, "SHA-256 of the plain content that could be read", nullable=False),
        Column("decoder_version", STRING, "version of the decoder", nullable=False),
        Column("size_bytes", INT64, "size of the file", "bytes", nullable=False),
        Column("modified_ns", INT64, "modification time of the file, UTC, in ns since the epoch", "ns", nullable=False),
        Column("compression", STRING, "compression of the file: none, gzip, zstd or xz", nullable=False),
        Column("format", STRING, "recognised format; null if none was recognised"),
        Column(
            "status",
            STRING,
            "outcome of reading: ok, partial (everything before the damage was kept), or rejected",
            nullable=False,
            codes=("ok", "partial", "rejected"),
        ),
        Column(
            "duplicate_of", STRING, "path whose identical content is already in the lake; null if this is the first"
        ),
        Column(
            "part_of",
            STRING,
            "source_path of the recording that this file is a part of; its records also count in the row of that "
            "recording; null if the file is a separate recording",
        ),
        Column("records_read", INT64, "packets, events, polls or rows decoded", nullable=False),
        Column("records_refused", INT64, "records seen but not decoded", nullable=False),
        Column("refused_by_reason", STRING, "counts of refused records by reason, as a JSON object", nullable=False),
        Column("reason", STRING, "kind of fault, in one word; null if the status is ok"),
        Column("message", STRING, "what is wrong, and what was expected or what to do; null if the status is ok"),
        Column("fault_offset_bytes", INT64, "offset of the first fault in the plain content", "bytes"),
        Column("started_ns", INT64, "start of the attempt, UTC, in ns since the epoch", "ns", nullable=False),
        Column("duration_ms", FLOAT, "duration of the attempt", "ms", nullable=False),
    ),
)

TABLES = (INGEST_OUTCOME,)
