"""Publish small builds of one mart."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sojourn_transforms.mart import Mart, MartColumn
from sojourn_transforms.publishing import FORGOTTEN, publish_snapshot

MART = Mart(
    name="delay",
    description="Delays.",
    grain="one run",
    key=("run_id",),
    columns=(
        MartColumn("run_id", None, "Run.", False),
        MartColumn("mean_ms", "ms", "Mean.", True),
    ),
)


def warehouse(folder: Path, *values: tuple[str, float | None]) -> Path:
    path = folder / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema if not exists marts")
        connection.execute("create or replace table marts.delay (run_id varchar, mean_ms double, internal integer)")
        # One transaction: each row alone would wait for the disk.
        connection.begin()
        connection.executemany("insert into marts.delay values (?, ?, 1)", values)
        connection.commit()
    return path


def put(folder: Path, *values: tuple[str, float | None], forgotten: str = "") -> tuple[str, bool]:
    return publish_snapshot(
        warehouse(folder, *values), "marts", [MART],
        {"engine": "duckdb", **({FORGOTTEN: forgotten} if forgotten else {})}, folder / "snapshots",
    )  # fmt: skip
