"""Rows of a table as JSON objects: value by value where they are few, by DuckDB's own writer where they are many."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import to_json

# From here on DuckDB's writer is faster: its start costs about as much as this many rows.
_MANY_ROWS = 2000
_ROWS_AT_A_TIME = 50_000


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON: integers exact at any size, NaN and infinities null, binary as base64."""
    return to_json(value, inf_nan_mode="null", bytes_mode="base64")


def joined_rows(table: pa.Table, separator: bytes) -> list[bytes | memoryview]:
    """Return the rows of a table as JSON objects with a separator between them, in pieces for one join.

    A piece is of some rows, so that what a row takes while it is written does not add up.

    Parameters
    ----------
    table : pyarrow.Table
    separator : bytes
        A comma or a line feed.
    """
    if table.num_rows < _MANY_ROWS or not _duckdb_writes(table):
        pieces: list[bytes | memoryview] = []
        for start in range(0, table.num_rows, _ROWS_AT_A_TIME):
            pieces += (separator.join(json_rows(table.slice(start, _ROWS_AT_A_TIME))), separator)
        return pieces[:-1]
    texts: list[bytes | memoryview] = []
    for start in range(0, table.num_rows, _ROWS_AT_A_TIME):
        texts += _written(table.slice(start, _ROWS_AT_A_TIME), separator)
    texts[-1] = texts[-1][: -len(separator)]
    return texts


def _written(table: pa.Table, separator: bytes) -> list[memoryview]:
    """Return rows as DuckDB writes them, each with a separator behind it."""
    written = [_for_duckdb(column) for column in table.columns]
    cursor = _writer().cursor()
    try:
        cursor.register("answer", pa.table(written, names=table.column_names))
        sql = f"select cast(to_json(answer) as varchar) || chr({separator[0]}) as row from answer"
        rows = cursor.sql(sql).to_arrow_table().column("row")
    finally:
        cursor.close()
    # The texts of an Arrow array lie one behind the other.
    return [_texts(chunk) for chunk in rows.chunks if len(chunk)]


@cache
def _writer() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})


def _duckdb_writes(table: pa.Table) -> bool:
    # DuckDB's names of columns do not differ by case.
    names = {name.casefold() for name in table.column_names}
    return len(names) == table.num_columns and all(_is_plain(column.type) for column in table.columns)


def _for_duckdb(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of which DuckDB writes what `json_bytes` does: NaN and infinities null, times in ISO 8601."""
    if pa.types.is_floating(column.type):
        reals = column.cast(pa.float64())
        return pc.if_else(pc.is_finite(reals), reals, pa.scalar(None, pa.float64()))
    if pa.types.is_timestamp(column.type):
        coded = pa.chunked_array([pa.concat_arrays(column.chunks)]).dictionary_encode().chunk(0)
        texts = [json_bytes(value)[1:-1].decode() for value in coded.dictionary.to_pylist()]
        return pa.chunked_array([pa.DictionaryArray.from_arrays(coded.indices, pa.array(texts, pa.string()))])
    return column


def _texts(array: pa.Array) -> memoryview:
    """Return the bytes of all texts of an array, one behind the other."""
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries of plain Python values."""
    columns = []
    for column in table.columns:
        values = column.to_pylist(maps_as_pydicts="strict")
        if pa.types.is_decimal(column.type):
            values = [_plain(value) for value in values]
        columns.append(values)
    names = table.column_names
    if not columns:
        return []
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def json_rows(table: pa.Table) -> list[bytes]:
    """Return each row of a table as a JSON object: the bytes that `json_bytes` gives of the rows of `rows_of`.

    Each distinct value of a column is encoded once. Groups repeat theirs in every point, and points are in few bins:
    that takes a fifth of the time then, and half of it where all values differ.
    """
    if not table.num_columns or not all(_is_plain(column.type) for column in table.columns):
        return [json_bytes(row) for row in rows_of(table)]
    members = [_json_members(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]
    return [b"{%b}" % b",".join(row) for row in zip(*members, strict=True)]


def _is_plain(type_: pa.DataType) -> bool:
    """Return whether a type has no parts and its values are written as they are."""
    return any(
        test(type_)
        for test in (
            pa.types.is_integer,
            pa.types.is_float32,
            pa.types.is_float64,
            pa.types.is_boolean,
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_date,
            pa.types.is_timestamp,
        )
    )


def _json_members(name: str, column: pa.ChunkedArray) -> list[bytes]:
    """Return `"name":value` of each row of a column."""
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    # By bits, so that 0.0 and -0.0 are two values.
    bits = {32: pa.int32(), 64: pa.int64()}[array.type.bit_width] if pa.types.is_floating(array.type) else array.type
    coded = array.view(bits).dictionary_encode()
    values = coded.dictionary.view(array.type).to_pylist()
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type) or pa.types.is_boolean(array.type):
        encoded = json_bytes(values)[1:-1].split(b",") if values else []
    else:
        encoded = [json_bytes(value) for value in values]
    key = json_bytes(name)
    members = np.array([*(key + b":" + value for value in encoded), key + b":null"], dtype=object)
    of_rows: list[bytes] = members[coded.indices.fill_null(len(encoded)).to_numpy()].tolist()
    return of_rows
