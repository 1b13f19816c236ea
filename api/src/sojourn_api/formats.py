"""Results as JSON, NDJSON, CSV, an Arrow IPC stream or Parquet, as agreed on by ``format`` or Accept."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
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


#: A number of a result in text, with a sign and all its digits; other values are about as long.
_NUMBER_BYTES = 20
_TABLE_VALUE_BYTES = 16
_PYTHON_VALUE_BYTES = 100


@dataclass(frozen=True)
class OutputColumn:
    """A column of a result."""

    name: str
    type: str
    unit: str | None

    def as_json(self) -> dict[str, str | None]:
        """Return the column as responses describe it."""
        return {"name": self.name, "type": self.type, "unit": self.unit}


#: How a text begins that a spreadsheet takes for a formula (OWASP, CSV Injection), in the wide characters too that
#: some convert.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
#: Types whose Python values are those of Arrow, one for one.
_PLAIN = {
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "INTEGER": pa.int32(),
    "UBIGINT": pa.uint64(),
    "VARCHAR": pa.string(),
}


def are_plain(types: Iterable[str]) -> bool:
    """Return whether columns of these DuckDB types may be fetched row by row, as `FewRows`."""
    return all(type_ in _PLAIN for type_ in types)


@dataclass(frozen=True)
class FewRows:
    """A small result, row by row: for JSON that is quicker than a table.

    Parameters
    ----------
    columns : tuple of (name, type)
        The columns with their DuckDB types, for which `are_plain` holds.
    rows : list of tuple
        A value for each column.
    """

    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[Any, ...]]

    @property
    def num_rows(self) -> int:
        """The number of rows, under the name that a table has for it."""
        return len(self.rows)

    def table(self) -> pa.Table:
        """Return the rows as a table."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        arrays = [pa.array(values, _PLAIN[type_]) for values, (_, type_) in zip(columns, self.columns, strict=True)]
        return pa.table(arrays, names=[name for name, _ in self.columns])

    def json_rows(self) -> list[bytes]:
        """Return each row as a JSON object, as `json_rows.json_rows` does of a table."""
        names = [name for name, _ in self.columns]
        return [json_bytes(dict(zip(names, row, strict=True))) for row in self.rows]


def as_table(rows: pa.Table | FewRows) -> pa.Table:
    """Return a result as a table."""
    return rows.table() if isinstance(rows, FewRows) else rows


def _joined(rows: pa.Table | FewRows, separator: bytes) -> list[bytes | memoryview]:
    if not isinstance(rows, FewRows):
        return joined_rows(rows, separator)
    return [separator.join(rows.json_rows())] if rows.rows else []


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
    """Return the name of the format of the response: the one `chosen` wins, then Accept, then JSON."""
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


def _without_formulas(table: pa.Table) -> pa.Table:
    for place, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            texts = pc.if_else(
                pc.match_substring_regex(column, _FORMULA), pc.binary_join_element_wise("'", column, ""), column
            )
            table = table.set_column(place, table.field(place), texts)
    return table


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


def expected_bytes(name: str, rows: int, columns: Sequence[OutputColumn]) -> int:
    """Return about what it takes to write a result of which only the number of rows is known, its table included."""
    return rows * sum(_TABLE_VALUE_BYTES + 2 * _written_bytes(name, column.name) for column in columns)


def needed_bytes(name: str, rows: pa.Table | FewRows) -> int:
    """Return about what it takes to write rows: themselves, the text in pieces, and the whole text."""
    if isinstance(rows, FewRows):
        return rows.num_rows * sum(_PYTHON_VALUE_BYTES + 2 * _written_bytes(name, column) for column, _ in rows.columns)
    texts = sum(int(column.nbytes) for column in rows.columns if not _is_number(column.type))
    values = sum(_written_bytes(name, field.name) for field in rows.schema)
    return int(rows.nbytes) + 2 * (int(rows.num_rows) * values + texts)


def _written_bytes(name: str, column: str) -> int:
    # JSON repeats the names, with quotes, a colon and a comma.
    return _NUMBER_BYTES + (len(column.encode()) + 4 if name in ("json", "ndjson") else 1)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_floating(type_) or pa.types.is_integer(type_))


def encode(
    name: str,
    rows: pa.Table | FewRows,
    columns: tuple[OutputColumn, ...],
    envelope: Mapping[str, Any],
    next_cursor: str | None,
    *,
    escapes_formulas: bool = False,
) -> bytes:
    """Return a result in a format.

    Parameters
    ----------
    name : str
        A key of `MEDIA_TYPES`.
    rows : pyarrow.Table or FewRows
    columns : tuple of OutputColumn
        One for each column of the table.
    envelope : mapping
        What the result is of (build, dataset, ...): members of the JSON body, metadata of Arrow and Parquet.
    next_cursor : str or None
        Goes into the JSON body; other formats have it in the response headers only.
    escapes_formulas : bool
        Whether texts that a spreadsheet would compute begin with an apostrophe instead.
    """
    if escapes_formulas:
        rows = _without_formulas(as_table(rows))
    if name == "json":
        head = json_bytes({**envelope, "columns": [column.as_json() for column in columns]})
        tail = json_bytes({"row_count": rows.num_rows, "next_cursor": next_cursor})
        return b"".join([head[:-1], b',"rows":[', *_joined(rows, b","), b"],", tail[1:]])
    if name == "ndjson":
        lines = _joined(rows, b"\n")
        return b"".join([*lines, b"\n"] if lines else lines)
    table = as_table(rows)
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
