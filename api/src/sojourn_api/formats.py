"""Results as JSON, NDJSON, CSV, an Arrow IPC stream or Parquet, as agreed on by ``format`` or Accept."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from pydantic_core import to_json

from sojourn_api.problems import ProblemError, quoted

MEDIA_TYPES = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class OutputColumn:
    """A column of a result."""

    name: str
    type: str
    unit: str | None

    def as_json(self) -> dict[str, str | None]:
        """Return the column as responses describe it."""
        return {"name": self.name, "type": self.type, "unit": self.unit}


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0


def _accepted(header: str, media_type: str) -> float:
    """Return the quality that an Accept header gives a media type, by its most specific range (RFC 9110)."""
    best: tuple[int, float] = (-1, 0.0)
    for part in header.split(","):
        media_range, *parameters = part.split(";")
        wanted = media_range.strip().lower()
        major = media_type.partition("/")[0]
        specificity = {media_type: 2, f"{major}/*": 1, "*/*": 0}.get(wanted, -1)
        if specificity > best[0]:
            best = (specificity, _quality(parameters))
    return best[1] if best[0] >= 0 else 0.0


def negotiate(chosen: str | None, accept: str | None) -> str:
    """Return the name of the format to answer in: the one `chosen` wins, then Accept, then JSON."""
    if chosen:
        return chosen
    if not accept:
        return "json"
    qualities = {name: _accepted(accept, media_type) for name, media_type in MEDIA_TYPES.items()}
    best = max(qualities, key=lambda name: qualities[name])
    if qualities[best] == 0:
        raise ProblemError("not-acceptable", f"Accept: {quoted(accept)} names none", allowed=list(MEDIA_TYPES.values()))
    return best


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

    Each distinct value of a column is encoded once. Groups repeat theirs in every point, and points lie in few bins:
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


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON: integers exact at any size, NaN and infinities null, binary as base64."""
    return to_json(value, inf_nan_mode="null", bytes_mode="base64")


def _for_csv(table: pa.Table) -> pa.Table:
    columns = []
    for column in table.columns:
        if pa.types.is_floating(column.type):
            columns.append(pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type)))
        elif pa.types.is_timestamp(column.type):
            zone = "Z" if column.type.tz else ""
            columns.append(pc.strftime(column.cast(pa.timestamp("us")), "%Y-%m-%dT%H:%M:%S" + zone))
        elif pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            values = column.to_pylist(maps_as_pydicts="strict")
            texts = [None if value is None else json_bytes(value).decode() for value in values]
            columns.append(pa.array(texts, pa.string()))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)


def _with_metadata(table: pa.Table, columns: tuple[OutputColumn, ...], envelope: Mapping[str, Any]) -> pa.Table:
    fields = [
        field.with_metadata({"unit": column.unit} if column.unit else None)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    metadata = {f"sojourn.{name}": str(value) for name, value in envelope.items()}
    return table.cast(pa.schema(fields, metadata=metadata))


def encode(
    name: str,
    table: pa.Table,
    columns: tuple[OutputColumn, ...],
    envelope: Mapping[str, Any],
    next_cursor: str | None,
) -> bytes:
    """Return a result in a format.

    Parameters
    ----------
    name : str
        A key of `MEDIA_TYPES`.
    table : pyarrow.Table
    columns : tuple of OutputColumn
        One for each column of the table.
    envelope : mapping
        What the result is of (build, dataset, ...): members of the JSON body, metadata of Arrow and Parquet.
    next_cursor : str or None
        Goes into the JSON body; other formats have it in the response headers only.
    """
    if name == "json":
        head = json_bytes({**envelope, "columns": [column.as_json() for column in columns]})
        tail = json_bytes({"row_count": table.num_rows, "next_cursor": next_cursor})
        return b'%b,"rows":[%b],%b' % (head[:-1], b",".join(json_rows(table)), tail[1:])
    if name == "ndjson":
        return b"".join(row + b"\n" for row in json_rows(table))
    buffer = io.BytesIO()
    if name == "csv":
        pyarrow.csv.write_csv(_for_csv(table), buffer)
    elif name == "arrow":
        described = _with_metadata(table, columns, envelope)
        with pa.ipc.new_stream(buffer, described.schema) as writer:
            writer.write_table(described)
    elif name == "parquet":
        pyarrow.parquet.write_table(_with_metadata(table, columns, envelope), buffer, compression="zstd")
    else:
        raise ValueError(f"no format {name!r}")
    return buffer.getvalue()
