"""Readers of WebRTC statistics in tests: one file ingested, dumps that are made up, and polls put together by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

from ingested_files import Row, ingested_as

DUMPS = "data/public/jitsi__rtcstats-server/src/test/dumps"
START_MS = 1_700_000_000_000

ingested = partial(ingested_as, "call_poll")


def inbound(ssrc: int, **values: Any) -> Row:
    return {"type": "inbound-rtp", "kind": "video", "ssrc": ssrc, **values}


def dump(*polls: tuple[int, dict[str, Any]], connection: str = "PC_0") -> bytes:
    """A dump of rtcstats with a room and a person in it, which are not to be kept."""
    first = ["connectionInfo", None, {"path": "/secret-room", "userAgent": "someone's browser"}, START_MS]
    rows = [first, *(["getstats", connection, value, START_MS + time] for time, value in polls)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def connections_of(content: bytes) -> list[str]:
    """Peer connections in the order of their first poll."""
    names: list[str] = []
    for line in content.splitlines():
        row = json.loads(line)
        if row[0] == "getstats" and row[1] not in names:
            names.append(row[1])
    return names


def whole_polls(content: bytes) -> list[tuple[int, dict[str, Row]]]:
    """Polls of a dump with every field, put together without the reader."""
    reports: dict[str, Row] = {}
    polls = []
    for line in content.splitlines():
        row = json.loads(line)
        if row[0] == "getstats":
            for name, report in row[2].items():
                if isinstance(report, dict):
                    reports.setdefault(name, {}).update(report)
            polls.append((row[3], {name: dict(reports[name]) for name in row[2] if name in reports}))
    return polls


def compared_columns(rows: Iterable[Row]) -> list[Row]:
    left_out = ("source_hash", "decoder_version", "poll_ns")
    return sorted(
        ({name: value for name, value in row.items() if name not in left_out} for row in rows),
        key=lambda row: (row["poll_index"], row["ssrc"], row["direction"]),
    )
