"""The table of attempts."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT64, STRING

INGEST_OUTCOME = Table(
    "ingest_outcome",
    "every attempt to ingest",
    "one path with one content, as one decoder version saw it",
    ("source_path", "content_hash", "decoder_version"),
    (
        Column("source_path", STRING, "path as given, made absolute", nullable=False),
        Column("content_hash", STRING, "SHA-256 of the plain content, as far as it could be read", nullable=False),
        Column("decoder_version", STRING, "version of the decoder", nullable=False),
        Column("size_bytes", INT64, "size of the file", "bytes", nullable=False),
        Column("modified_ns", INT64, "modification time of the file, UTC epoch", "ns", nullable=False),
        Column("compression", STRING, "none, gzip, zstd or xz", nullable=False),
        Column("format", STRING, "recognised format; null when none was recognised"),
        Column(
            "status",
            STRING,
            "ok, partial (damaged: what came before the fault was kept), or rejected",
            nullable=False,
            codes=("ok", "partial", "rejected"),
        ),
        Column("duplicate_of", STRING, "path whose identical content is already in the lake; null: this is the first"),
        Column(
            "part_of",
            STRING,
            "source_path of the recording that this file is a part of, in whose row its records count too; "
            "null: it is a separate recording",
        ),
        Column("records_read", INT64, "packets, events, polls or rows decoded", nullable=False),
        Column("records_refused", INT64, "records seen but not decoded", nullable=False),
        Column("refused_by_reason", STRING, "count of refused records by reason, JSON object", nullable=False),
        Column("reason", STRING, "kind of the fault, in one word; null when ok"),
        Column("message", STRING, "what is wrong, and what was expected or what to do; null when ok"),
        Column("fault_offset_bytes", INT64, "offset of the first fault in the plain content", "bytes"),
        Column("started_ns", INT64, "start of the attempt, UTC epoch", "ns", nullable=False),
        Column("duration_ms", FLOAT, "duration of the attempt", "ms", nullable=False),
    ),
)

TABLES = (INGEST_OUTCOME,)
