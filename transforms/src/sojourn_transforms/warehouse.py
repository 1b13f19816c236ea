"""The DuckDB warehouse: the lake's live files as views, for dbt to read as its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.pack import Part
from sojourn_ingest.schema import TABLES, Table
from sojourn_transforms.mart_files import WRITER, DateFingerprints

LAKE_SCHEMA = "lake"
MEMORY_VARIABLE = "SOJOURN_MEMORY"
"""The setting of the most memory that DuckDB takes in a build."""

DUCKDB_TYPES: dict[pa.DataType, str] = {
    pa.string(): "varchar",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def hidden_rows_sql(table: str, parts: Iterable[Part]) -> str:
    """Return the condition on rows of a shared file whose commits are no longer live; plain SQL, for any engine."""
    by_path = table == "ingest_outcome"
    hash_column = "content_hash" if by_path else "source_hash"
    conditions = []
    for part in parts:
        terms = {hash_column: part.content_hash, "decoder_version": part.decoder_version}
        if by_path:
            terms["source_path"] = part.source_path
        conditions.append(" and ".join(f"{column} = {_quoted(value)}" for column, value in terms.items()))
    return " or ".join(f"({condition})" for condition in conditions)


def rows_sql(table: Table, whole: list[Path], partly: Mapping[Path, Iterable[Part]]) -> str:
    """Return the statement that selects the declared columns of some files of a lake table.

    ``whole`` are read as they are; of those in ``partly`` the rows of some parts are left out. Without a file the
    statement gives no rows, of the declared types.
    """
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    nulls = ", ".join(f'null::{DUCKDB_TYPES[column.type]} as "{column.name}"' for column in table.columns)
    bodies = [f"select {nulls} where false"]
    if whole:
        listing = ", ".join(_quoted(str(path)) for path in whole)
        # By name: files of an older decoder, be it all of them, may lack a column that was added since.
        bodies.append(f"select * from read_parquet([{listing}], union_by_name = true)")
    for path, parts in partly.items():
        gone = hidden_rows_sql(table.name, parts)
        bodies.append(f"select * from read_parquet({_quoted(str(path))}) where not ({gone})")
    if len(bodies) == 1:
        return bodies[0]
    return f"select {columns} from ({' union all by name '.join(bodies)})"


def lake_view_body(table: Table, lake: Lake) -> str:
    """Return the statement that selects one lake table: its live rows, or none of the declared types."""
    partly = {lake.storage.local(name): parts for name, parts in lake.hidden(table.name).items()}
    return rows_sql(table, [path for path in lake.files(table.name) if path not in partly], partly)


def lake_view_sql(table: Table, lake: Lake) -> str:
    """Return the statement that makes one lake table a view over its live rows."""
    return f'create or replace view {LAKE_SCHEMA}."{table.name}" as {lake_view_body(table, lake)}'


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

    What writes Parquet belongs to it, since the same rows have other bytes with another writer.
    """
    made_with = f"{models} {WRITER} duckdb {duckdb.__version__} pyarrow {pa.__version__}"
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        found = connection.execute(
            "select start_date, string_agg(cast(part_fingerprint as varchar), ' ' order by part_fingerprint)"
            " from intermediate.int_connection_part group by start_date"
        ).fetchall()
    return {day: f"{parts} {made_with}" for day, parts in found}


_FINGERPRINT_TABLE = f"create table if not exists {LAKE_SCHEMA}.models_fingerprint (fingerprint varchar)"
