"""The DuckDB warehouse: the lake's live files as views, for dbt to read as its source."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.schema import TABLES, Table
from sojourn_transforms.mart_files import WRITER, DateFingerprints

LAKE_SCHEMA = "lake"
"""The setting of the most memory that DuckDB takes in a build."""


def lake_view_sql(table: Table, lake: Lake) -> str:
    """Return the statement that makes one lake table a view over its live rows."""
    return f'create or replace view {LAKE_SCHEMA}."{table.name}" as {live_rows_sql(table, lake)}'


def register_lake(warehouse: Path, lake: Lake) -> None:
    """Make every lake table a view in the warehouse, over the files that are live now.

    Raises
    ------
    duckdb.IOException
        If another process has the warehouse open.
    """
    warehouse.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute(f"create schema if not exists {LAKE_SCHEMA}")
        for table in TABLES.values():
            connection.execute(lake_view_sql(table, lake))


def open_marts(warehouse: Path, memory: str | None) -> duckdb.DuckDBPyConnection:
    """Return a connection to the warehouse that takes at most ``memory``, such as 8GB; without it DuckDB's own bound.

    Raises
    ------
    duckdb.IOException
        If another process has the warehouse open.
    """
    return duckdb.connect(str(warehouse), config={} if memory is None else {"memory_limit": memory})


def models_fingerprint_of(warehouse: Path) -> str | None:
    """Return the fingerprint of the models that the warehouse was last built with as a whole; None if it never was."""
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute(_FINGERPRINT_TABLE)
        found = connection.execute(f"select fingerprint from {LAKE_SCHEMA}.models_fingerprint").fetchone()
    return None if found is None else str(found[0])


def note_models_fingerprint(warehouse: Path, fingerprint: str) -> None:
    """Note the fingerprint of the models that the warehouse has just been built with."""
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute(_FINGERPRINT_TABLE)
        connection.execute(f"delete from {LAKE_SCHEMA}.models_fingerprint")
        connection.execute(f"insert into {LAKE_SCHEMA}.models_fingerprint values (?)", [fingerprint])


def date_fingerprints(warehouse: Path, models: str) -> DateFingerprints:
    """Return what the rows of each day of connections follow from: its parts, and the fingerprint of the ``models``.

    It includes the writer of Parquet, because another writer gives other bytes for the same rows.
    """
    made_with = f"{models} {WRITER} duckdb {duckdb.__version__} pyarrow {pa.__version__}"
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        found = connection.execute(
            "select start_date, string_agg(cast(part_fingerprint as varchar), ' ' order by part_fingerprint)"
            " from intermediate.int_connection_part group by start_date"
        ).fetchall()
    return {day: f"{parts} {made_with}" for day, parts in found}


_FINGERPRINT_TABLE = f"create table if not exists {LAKE_SCHEMA}.models_fingerprint (fingerprint varchar)"
