"""Writes a synthetic data set as one Parquet file per day, with its true distribution next to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from sojourn_ingest.synthetic.connection_rows import connection_schema, day_batches, rows_of_day
from sojourn_ingest.synthetic.connection_world import ConnectionWorld

FORMAT_KEY = b"sojourn.synthetic_connections"
FORMAT_VERSION = b"1"
FIRST_DAY = date(2026, 1, 1)


@dataclass(frozen=True)
class GeneratedFile:
    """One day's file."""

    path: Path
    rows: int


def dataset_of(world: ConnectionWorld) -> str:
    """Return the name of the data set, which shows that it is synthetic."""
    return f"synthetic-imc14-{world.rows}-{world.seed}"


def truth_path(folder: Path) -> Path:
    """Return where the true distribution of a folder's data set is: outside it, because it is not ingested."""
    return folder.with_name(f"{folder.name}.truth.json")


def write_world(
    world: ConnectionWorld, days: int, folder: Path, workers: int, on_day: Callable[[GeneratedFile], None]
) -> list[GeneratedFile]:
    """Write the connections below ``folder``, one file per day, and their true distribution next to it.

    The bytes depend only on rows, seed and days, not on ``workers`` or on what else was written. Memory: one
    block of connections for each worker.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def write(day: int) -> GeneratedFile:
        rows = rows_of_day(world.rows, days, day)
        path = folder / f"connections-{FIRST_DAY + timedelta(days=day)}.parquet"
        schema = connection_schema().with_metadata({FORMAT_KEY: FORMAT_VERSION, b"synthetic": b"true"})
        with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=_REPEATED) as writer:
            for batch in day_batches(world, dataset_of(world), FIRST_DAY, day, rows):
                writer.write_batch(batch)
        return GeneratedFile(path, rows)

    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="generate") as pool:
        written = []
        for file in pool.map(write, range(days)):
            on_day(file)
            written.append(file)
    truth = {"dataset": dataset_of(world), "days": days, "first_day": str(FIRST_DAY), **world.truth()}
    truth_path(folder).write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    return written


_REPEATED = [
    "dataset", "ip_version", "asn", "country", "access_technology", "access_technology_rule", "rtt_basis",
    "sample_basis", "congestion_control", "received_bytes",
]  # fmt: skip
