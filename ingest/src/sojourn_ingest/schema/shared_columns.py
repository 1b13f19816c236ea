"""Columns that several tables have, the names of the Arrow types that the lake uses, and bounds of numbers."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column

STRING = "string"
INT8 = "int8"
INT16 = "int16"
INT32 = "int32"
INT64 = "int64"
FLOAT = "float64"
BOOL = "bool"

LONGEST_RUN_S = 86_400
"""A day, from the first to the last time that a run states: models have a row for each second of it."""
SHORTEST_WINDOW_MS = 1
RATE_BPS = (1, 10**13)
DELAY_MS = (0, 3_600_000)
COUNT = (0, 2**53 - 1)
SCORE = (-(2**53) + 1, 2**53 - 1)
QUEUE_SIZE = (1, 2**53 - 1)
"""Of a queue without a limit, it is left out."""
UTC_NS = (0, 92 * 10**17)
"""Until the year 2261: the nanoseconds fit 63 bits."""

PROVENANCE = (
    Column(
        "source_hash",
        STRING,
        "SHA-256 of the plain (decompressed) content from which the row was decoded",
        nullable=False,
    ),
    Column("decoder_version", STRING, "version of the reader that wrote the row", nullable=False),
)

#: One direction of one flow of a capture, beside the provenance.
FLOW_DIRECTION = (
    Column("flow_id", INT64, "flow of the same capture", nullable=False),
    Column("direction", STRING, "fwd (initiator to responder) or rev", nullable=False, codes=("fwd", "rev")),
)

#: Of a table with one row for each interval of a capture.
INTERVAL_START_NS = Column(
    "interval_start_ns",
    INT64,
    "start of the interval, UTC, in ns since the epoch, a multiple of its length",
    "ns",
    nullable=False,
)
INTERVAL_MS = Column("interval_ms", INT32, "length of the interval", "ms", nullable=False)

#: What a description says of its study or data set, after its name.
DESCRIBED = (
    Column("title", STRING, "title", nullable=False, has_public_names=True),
    Column(
        "description",
        STRING,
        "what was measured, and what the data can and cannot say",
        nullable=False,
        has_public_names=True,
    ),
    Column("citation", STRING, "citation", has_public_names=True),
    Column("licence", STRING, "SPDX identifier of the data's licence", nullable=False, has_public_names=True),
    Column("url", STRING, "URL of the data", has_public_names=True),
    Column("synthetic", BOOL, "true if the data is generated, not measured", nullable=False),
)


def endpoint_columns(prefix: str, who: str) -> tuple[Column, ...]:
    """Return host key, prefix key and port of one end, named after ``prefix``."""
    return (
        Column(
            f"{prefix}_host_key",
            STRING,
            f"{who}: the address if it may be kept (private, loopback, documentation, or --addresses keep), else "
            "hk- and the HMAC-SHA256 of the address",
        ),
        Column(
            f"{prefix}_prefix_key",
            STRING,
            f"{who}: the /24 (IPv4) or /48 (IPv6) prefix if it may be kept, else pk- and its HMAC-SHA256",
        ),
        Column(f"{prefix}_port", INT32, f"{who}: transport port; null if the protocol has none"),
    )
