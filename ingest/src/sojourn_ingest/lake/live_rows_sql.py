"""Statements that select the live rows of lake tables: DuckDB reads the files, whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.pack import Part
from sojourn_ingest.schema import Table
from sojourn_process.parquet_sql import parquet_rows

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
        # By name: files of an older decoder, be it all of them, may lack a column that was added since.
        bodies.append(f"select * from {parquet_rows(whole, 'union_by_name = true')}")
    for path, parts in partly.items():
        gone = hidden_rows_sql(table.name, parts)
        bodies.append(f"select * from {parquet_rows([path])} where not ({gone})")
    if len(bodies) == 1:
        return bodies[0]
    return f"select {columns} from ({' union all by name '.join(bodies)})"


def live_rows_sql(table: Table, lake: Lake) -> str:
    """Return the statement that selects one lake table: its live rows, or none of the declared types."""
    partly = {lake.storage.local(name): parts for name, parts in lake.hidden(table.name).items()}
    return rows_sql(table, [path for path in lake.files(table.name) if path not in partly], partly)
