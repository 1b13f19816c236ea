"""The DuckDB warehouse: the lake's live files as views, which the models read as their source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.schema import TABLES, Table
from sojourn_transforms.mart_files import Parts

LAKE_SCHEMA = "lake"


def lake_view_sql(table: Table, lake: Lake) -> str:
    """Return the statement that makes one lake table a view over its live rows."""
    return f'create or replace view {LAKE_SCHEMA}."{table.name}" as {live_rows_sql(table, lake)}'


def register_lake(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Make every lake table a view in the warehouse, over the files that are live now."""
    connection.execute(f"create schema if not exists {LAKE_SCHEMA}")
    for table in TABLES.values():
        connection.execute(lake_view_sql(table, lake))


@contextmanager
def open_warehouse(warehouse: Path, memory: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to the warehouse that takes at most ``memory``, such as 8GB; without it DuckDB's own bound.

    Raises
    ------
    duckdb.IOException
        If another process has the warehouse open.
    """
    warehouse.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(warehouse), config={} if memory is None else {"memory_limit": memory}) as connection:
        yield connection


def parts_by_day(warehouse: Path) -> Parts:
    """Return the parts of each day of connections, whose fingerprints follow from their sources."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        found = connection.execute(
            "select start_date, string_agg(cast(part_fingerprint as varchar), ' ' order by part_fingerprint)"
            " from intermediate.int_connection_part group by start_date"
        ).fetchall()
    return dict(found)
