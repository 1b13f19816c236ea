"""The DuckDB warehouse: the lake's live files as views, which the models read as their source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from sojourn_ingest.lake import DataFile, Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql, rows_sql
from sojourn_ingest.schema import TABLES, Table
from sojourn_transforms.mart_files import Parts

LAKE_SCHEMA = "lake"
COPIES = "runner.lake_copy"
FORGOTTEN = "runner.forgotten_hosts"
"""The table that says with which list of forgotten hosts the warehouse was built."""
#: Parquet of at most so many bytes is little: a DuckDB table of some 100 MB.
LITTLE_BYTES = 16 * 2**20


def lake_view_sql(table: Table, lake: Lake) -> str:
    """Return the statement that makes one lake table a view over its live rows."""
    return f'create or replace view {LAKE_SCHEMA}."{table.name}" as {live_rows_sql(table, lake)}'


def register_lake(connection: duckdb.DuckDBPyConnection, lake: Lake, contents: Mapping[str, str]) -> None:
    """Make every lake table readable in the warehouse: a view over the files that are live now, or a copy.

    Little data in several files is copied, once for each of its ``contents``: many models read it, and to open a file
    takes longer than to read a few rows. Of files that came since, only these are read.
    """
    connection.execute(f"create schema if not exists {LAKE_SCHEMA}; create schema if not exists runner")
    connection.execute(
        f"create table if not exists {COPIES} (name varchar, content varchar, columns varchar, files varchar[])"
    )
    copies = {name: row for name, *row in connection.execute(f"from {COPIES}").fetchall()}
    kinds = dict(
        connection.execute(
            "select table_name, table_type from information_schema.tables"
            f" where table_catalog = current_database() and table_schema = '{LAKE_SCHEMA}'"
        ).fetchall()
    )
    stored = _stored_files(lake)
    for table in TABLES.values():
        relation = f'{LAKE_SCHEMA}."{table.name}"'
        files = stored[table.name]
        is_copy = len(files) > 1 and sum(file.size_bytes for file in files.values()) <= LITTLE_BYTES
        columns = " ".join(f"{column.name}:{column.type}" for column in table.columns)
        content, columns_before, files_before = copies.get(table.name, ("", "", []))
        if is_copy and (content, columns_before) == (contents[table.name], columns):
            continue
        # The record of a copy does not say which rows were hidden, so a table with hidden rows is copied in full.
        names = {} if lake.hidden(table.name) else {f"{path} {files[path].sha256}": path for path in sorted(files)}
        continues = columns_before == columns and bool(files_before) and set(files_before) <= set(names)
        connection.execute("begin")
        connection.execute(f"delete from {COPIES} where name = ?", [table.name])
        if is_copy and continues:
            added = [lake.storage.local(path) for name, path in names.items() if name not in set(files_before)]
            connection.execute(f"insert into {relation} by name {rows_sql(table, added, {})}")
        else:
            if table.name in kinds:
                connection.execute(f"drop {'view' if kinds[table.name] == 'VIEW' else 'table'} {relation}")
            connection.execute(
                f"create table {relation} as {live_rows_sql(table, lake)}" if is_copy else lake_view_sql(table, lake)
            )
        if is_copy:
            connection.execute(
                f"insert into {COPIES} values (?, ?, ?, ?)", [table.name, contents[table.name], columns, list(names)]
            )
        connection.execute("commit")


def view_lake(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Make every lake table a view over the files that are live now."""
    connection.execute(f"create schema if not exists {LAKE_SCHEMA}")
    for table in TABLES.values():
        connection.execute(lake_view_sql(table, lake))


def _stored_files(lake: Lake) -> defaultdict[str, dict[str, DataFile]]:
    """Return, by table, the live files where they are now, by path: of one source, or shared by many."""
    shared = {each.file.path: each.file for pack in lake.packs() for each in pack.shared}
    stored: defaultdict[str, dict[str, DataFile]] = defaultdict(dict)
    for commit in lake.live():
        for file in commit.files:
            path = lake.place_of(file)
            stored[file.table][path] = shared.get(path, file)
    return stored


def _create(warehouse: Path) -> None:
    # DuckDB cannot open a file that it was not able to finish, on a full disk or when it was killed.
    draft = warehouse.with_name(f"{warehouse.name}.new")
    draft.unlink(missing_ok=True)
    try:
        duckdb.connect(str(draft)).close()
        draft.replace(warehouse)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def open_warehouse(warehouse: Path, memory: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to the warehouse that takes at most ``memory``, such as 8GB; without it DuckDB's own bound.

    Raises
    ------
    duckdb.IOException
        If another process has the warehouse open.
    """
    warehouse.parent.mkdir(parents=True, exist_ok=True)
    if not warehouse.exists():
        _create(warehouse)
    with duckdb.connect(str(warehouse), config={} if memory is None else {"memory_limit": memory}) as connection:
        yield connection


def note_forgotten(connection: duckdb.DuckDBPyConnection, forgotten: str) -> None:
    """Note the fingerprint of the list of forgotten hosts with which the warehouse is built."""
    connection.execute("create schema if not exists runner")
    connection.execute(f"create or replace table {FORGOTTEN} as select cast(? as varchar) as list", [forgotten])


def remove_if_of_another_list(warehouse: Path, forgotten: str) -> None:
    """Remove the warehouse if it was built with another list of forgotten hosts, or does not say with which.

    Blocks of tables that were replaced stay in the file, with rows of a host that was forgotten since.
    """
    if not warehouse.exists():
        return
    with open_warehouse(warehouse, None) as connection:
        is_noted = connection.execute(
            "select 1 from duckdb_tables() where database_name = current_database()"
            " and schema_name || '.' || table_name = ?",
            [FORGOTTEN],
        ).fetchall()
        noted = connection.execute(f"select list from {FORGOTTEN}").fetchall() if is_noted else [("",)]
    if noted != [(forgotten,)]:
        for file in (warehouse, warehouse.with_name(f"{warehouse.name}.wal")):
            file.unlink(missing_ok=True)


def parts_by_day(warehouse: Path) -> Parts:
    """Return the parts of each day of connections, whose fingerprints follow from their sources."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        days = connection.execute(
            "select start_date, string_agg(cast(part_fingerprint as varchar), ' ' order by part_fingerprint)"
            " from intermediate.int_connection_part group by start_date"
        ).fetchall()
    return dict(days)
