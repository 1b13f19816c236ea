"""Results as JSON, NDJSON, CSV, an Arrow IPC stream or Parquet, as agreed on by ``format`` or Accept."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from sojourn_api.json_rows import joined_rows, json_bytes
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
        raise ProblemError(
            "not-acceptable",
            f"Accept: {quoted(accept)} names no supported media type",
            allowed=list(MEDIA_TYPES.values()),
        )
    return best


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
        return b'%b,"rows":[%b],%b' % (head[:-1], joined_rows(table, b","), tail[1:])
    if name == "ndjson":
        rows = joined_rows(table, b"\n")
        return rows + b"\n" if rows else rows
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
