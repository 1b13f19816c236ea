"""One file ingested into a lake of its own, for tests of readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below

Row = dict[str, Any]


def rows_of(lake: Lake, table: str) -> list[Row]:
    return [row for file in lake.files(table) for row in pq.read_table(file).to_pylist()]


def ingested_as(table: str, folder: Path, content: bytes, name: str = "f") -> tuple[list[Row], Row]:
    """Return the rows of a table of one file, and its outcome."""
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / name
    path.write_bytes(content)
    lake = Lake(folder / "lake")
    with lake.writing():
        IngestSession(lake, Pseudonymiser(b"key")).run(files_below([path]), lambda _: None)
    (outcome,) = rows_of(lake, "ingest_outcome")
    return rows_of(lake, table), outcome
