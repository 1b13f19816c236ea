"""The files of a compaction written by Spark's tasks: one task is one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import pyarrow as pa

from sojourn_ingest.lake import DataFile, Lake, open_storage
from sojourn_ingest.lake.pack import Part
from sojourn_transforms.maintenance import Group, write_group

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _group(text: str) -> Group:
    told = json.loads(text)
    hidden = {name: tuple(Part(**part) for part in parts) for name, parts in told["hidden"].items()}
    return Group(told["table"], tuple(told["names"]), hidden, told["rows"], told["size_bytes"])


def write_groups_on_spark(session: SparkSession, lake: Lake, groups: list[Group]) -> list[DataFile]:
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
    return [DataFile(**json.loads(told)) for _, told in sorted(tuple(row) for row in written)]
