"""Readers of WebRTC statistics in tests: one file ingested, dumps that are made up, and polls put together by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below

DUMPS = "data/public/jitsi__rtcstats-server/src/test/dumps"
START_MS = 1_700_000_000_000

Row = dict[str, Any]


def ingested(folder: Path, content: bytes, name: str = "f") -> tuple[list[Row], Row]:
    """Return the streams of one file, and its outcome."""
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / name
    path.write_bytes(content)
    lake = Lake(folder / "lake")
    with lake.writing():
        IngestSession(lake, Pseudonymiser(b"key")).run(files_below([path]), lambda _: None)
    rows = [row for file in lake.files("call_poll") for row in pq.read_table(file).to_pylist()]
    (outcome,) = [row for file in lake.files("ingest_outcome") for row in pq.read_table(file).to_pylist()]
    return rows, outcome


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
