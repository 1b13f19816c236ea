"""The files of a compaction written by Spark's tasks: one task is one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sojourn_ingest.lake import DataFile, Lake, open_storage
from sojourn_ingest.lake.compaction import Group, WriteGroups, write_group
from sojourn_ingest.lake.pack import Part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _group(text: str) -> Group:
    group = json.loads(text)
    hidden = {name: tuple(Part(**part) for part in parts) for name, parts in group["hidden"].items()}
    files = tuple(DataFile(**file) for file in group["files"])
    return Group(
        group["table"],
        tuple(group["names"]),
        hidden,
        group["rows"],
        group["size_bytes"],
        files,
        tuple(group["sources"]),
    )


def write_groups_on(session: SparkSession) -> WriteGroups:
    """Return what writes the files of a compaction in this session's tasks."""
    return partial(_write_groups, session)


def _write_groups(session: SparkSession, lake: Lake, groups: Sequence[Group]) -> list[DataFile]:
    """Write each group's file in a task; a task that is tried again writes under another name."""
    uri = lake.storage.uri

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        storage = open_storage(uri)
        for batch in batches:
            for place, text in zip(batch.column("place").to_pylist(), batch.column("told").to_pylist(), strict=True):
                file = json.dumps(asdict(write_group(storage, _group(text))))
                yield pa.RecordBatch.from_pydict({"place": [place], "told": [file]})

    if not groups:
        return []
    schema = "place bigint, told string"
    rows = [(place, json.dumps(asdict(group))) for place, group in enumerate(groups)]
    spread = session.sparkContext.parallelize(rows, len(rows))
    written = session.createDataFrame(spread, schema).mapInArrow(write, schema).collect()
    return [DataFile(**json.loads(written_file)) for _, written_file in sorted(tuple(row) for row in written)]
