"""Columns of call_poll, and the order in which the readers of WebRTC statistics keep their values."""

from __future__ import annotations

from typing import Final

from sojourn_ingest.schema import table

DECLARED: Final = [
    field for field in table("call_poll").arrow_schema() if field.name not in ("source_hash", "decoder_version")
]
KEY: Final = [
    "poll_index", "peer_connection", "ssrc", "direction", "stream_number", "media_kind", "stats_format", "poll_ns",
    "clock",
]  # fmt: skip
#: Columns that reports fill, in the order of a report's list of values.
VALUES: Final[list[str]] = [field.name for field in DECLARED if field.name not in KEY]
PLACE: Final = {name: place for place, name in enumerate(VALUES)}
