"""Tables of connections (CSV, JSON Lines, Parquet), read through their description into connection.

Whole columns are converted, batch by batch: memory does not grow with the table, and a value that does not fit refuses
its row with the reason instead of stopping the file.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from sojourn_ingest.formats.connection.connection_format import (
    TABLE,
    Basis,
    ConnectionRows,
    MemberFormat,
    RawConnections,
    RawFacts,
    connection_numbers,
)
from sojourn_ingest.formats.connection.connection_mapping import ConnectionTableMapping, KnownConnections
from sojourn_ingest.formats.connection.connection_values import convert
from sojourn_ingest.formats.content.csv_rows import csv_batches
from sojourn_ingest.formats.content.delimiters import delimiter_of, fields_of
from sojourn_ingest.formats.content.file_parts import open_part, parquet_parts, parquet_schema, text_parts
from sojourn_ingest.formats.content.parquet_batches import parquet_batches
from sojourn_ingest.formats.content.plain_text import (
    first_line,
    head_lines,
    is_plain_json_lines,
    open_json_lines,
    open_plain,
)
from sojourn_ingest.formats.interface import Context, Facts, FilePart, InputError, Reading, Source, SplittableFormat
from sojourn_ingest.remote import seekable
from sojourn_ingest.validation_message import one_line

PARQUET_MAGIC = b"PAR1"
BLOCK_BYTES = 4 * 2**20
BATCH_ROWS = 65_536
LARGEST_WHOLE = 2**53
#: Lines of JSON that tell the types of columns, and the type of each kind of value; lists and objects have none.
SAMPLE_LINES = 50
TYPES = {type(None): pa.null(), str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


class ConnectionTable(MemberFormat, SplittableFormat):
    """One kind of table of one described data set."""

    def __init__(self, data_set: KnownConnections, mapping: ConnectionTableMapping) -> None:
        self.data_set = data_set
        self.mapping = mapping
        self.description = f"connections:{data_set.description.dataset}"
        self.columns = mapping.columns_used
        self.name = f"connection_table:{data_set.description.dataset}/{mapping.name}"

    @property
    def version(self) -> str:
        """Version of the reader; the description is part of it, for another mapping gives other facts."""
        return f"connection-table-6+{self.data_set.content_hash[:12]}"

    def recognises(self, source: Source) -> bool:
        """Return whether the content has the table's columns."""
        used = self.mapping.columns_used
        if source.head.startswith(PARQUET_MAGIC):
            return used <= set(_parquet_columns(source))
        if self._delimiter(source) is not None:
            return True
        return bool(source.object) and used <= _json_keys(head_lines(source)) | set(source.object)

    def _delimiter(self, source: Source) -> str | None:
        """Return what separates the columns of a table of text; None if the content is none of this kind."""
        used, header = self.mapping.columns_used, self.mapping.header
        return delimiter_of(
            first_line(source),
            lambda names: names == header if header is not None else set(names) == used,
            self.mapping.delimiter,
        )

    def raw_facts(self, source: Source, reading: Reading) -> Iterator[RawFacts]:
        """Yield one row for each connection; a row whose values do not convert is refused with its reason."""
        return self._connections(source, None, reading)

    def parts(self, source: Source, part_bytes: int) -> list[FilePart]:
        """Return the parts of a plain file in order; none of a compressed one, or of a text that is rewritten."""
        is_json = not self._is_parquet(source) and self._delimiter(source) is None
        if source.compression != "none" or source.stream is not None or source.encoding is not None:
            return []
        if is_json and not is_plain_json_lines(source):
            return []
        try:
            return (parquet_parts if self._is_parquet(source) else text_parts)(source.path, part_bytes)
        except (pa.ArrowInvalid, OSError):
            return []  # reading it as a whole says what is wrong

    def rows_in(self, source: Source, part: FilePart) -> int:
        """Return how many rows a part of text has before any damage."""
        rows = 0
        with suppress(pa.ArrowInvalid, InputError):
            for batch in self._batches(source, part, Reading(), sorted(self.mapping.columns_used)[:1]):
                rows += batch.num_rows
        return rows

    def read_part(self, source: Source, part: FilePart, context: Context, reading: Reading) -> Facts:
        """Yield the rows of one part."""
        rows = ConnectionRows(context, reading)
        for connections in self._connections(source, part, reading):
            yield TABLE, rows.complete(connections)

    def _connections(self, source: Source, part: FilePart | None, reading: Reading) -> Iterator[RawConnections]:
        description = self.data_set.description
        basis = Basis(
            description.dataset, self.mapping.rtt_basis, self.mapping.sample_basis, synthetic=description.synthetic
        )
        # Lines that are not rows have no number: Arrow meets them some blocks before it gives the rows above them.
        number = 0 if part is None else part.first_row or 0
        try:
            for batch in self._batches(source, part, reading, sorted(self.mapping.columns_used)):
                numbers = connection_numbers(number, batch.num_rows)
                number += batch.num_rows
                reading.records_read += batch.num_rows
                columns, keep = self._columns(batch, reading)
                columns["connection_number"] = numbers
                kept = {name: column.filter(keep) for name, column in columns.items()}
                yield RawConnections(basis, kept, pc.sum(keep).as_py() or 0)
        except pa.ArrowInvalid as error:
            advice = "; convert the table to UTF-8" if "UTF8" in str(error) else ""
            # Arrow quotes the line at fault, which may contain an address: the message ends before it.
            what = one_line(error).partition(": ")[0]
            fault = InputError("corrupt_record", f"table is damaged after row {number}: {what}{advice}")
            if number == 0:
                raise fault from None
            reading.fault = fault
        except InputError as error:
            if number == 0:
                raise
            reading.fault = error

    @staticmethod
    def _is_parquet(source: Source) -> bool:
        return source.head.startswith(PARQUET_MAGIC)

    def _batches(
        self, source: Source, part: FilePart | None, reading: Reading, used: list[str]
    ) -> Iterator[pa.RecordBatch]:
        if self._is_parquet(source):
            yield from self._parquet_batches(source, part, used)
            return
        delimiter = self._delimiter(source)
        whole = open_json_lines(source, reading) if delimiter is None else open_plain(source)
        with whole if part is None else open_part(source.path, part) as handle:
            if delimiter is None:
                yield from _json_batches(handle, reading, used)
            else:
                # Only the first part begins with the header.
                header = None if part is None or part.start == 0 else _header(source, delimiter)
                yield from self._csv_batches(handle, reading, used, header, delimiter)

    def _csv_batches(
        self, handle: BinaryIO, reading: Reading, used: list[str], header: list[str] | None, delimiter: str
    ) -> Iterator[pa.RecordBatch]:
        def refuse(reason: str, count: int) -> None:
            reading.records_read += count
            reading.refuse(reason, count)

        try:
            yield from csv_batches(
                handle,
                refuse,
                read_options=pa_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=header),
                convert_options=pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(used, pa.string()), include_columns=used, strings_can_be_null=False
                ),
                delimiter=delimiter,
            )
        except pa.ArrowInvalid as error:
            # A table that ends after its header is one without connections.
            if "Empty CSV file" not in str(error):
                raise

    def _parquet_batches(self, source: Source, part: FilePart | None, used: list[str]) -> Iterator[pa.RecordBatch]:
        groups = None if part is None else list(range(part.start, part.end))
        try:
            with seekable(source.path) as opened:
                yield from parquet_batches(opened, BATCH_ROWS, groups, used, buffer_size=BLOCK_BYTES, pre_buffer=False)
        except OSError as error:
            raise InputError("corrupt_record", f"Parquet file is damaged: {one_line(error)}; copy it again") from error

    def _columns(self, batch: pa.RecordBatch, reading: Reading) -> tuple[dict[str, pa.Array], pa.Array]:
        columns: dict[str, pa.Array] = {}
        keep = pa.repeat(pa.scalar(True), batch.num_rows)
        for name, mapping in self.mapping.fields.items():
            place = batch.schema.get_field_index(mapping.source)
            values = batch.column(place) if place >= 0 else pa.nulls(batch.num_rows)
            columns[name], failed = convert(name, mapping, values)
            reading.refuse(f"{name}: not convertible", pc.sum(pc.and_(keep, failed)).as_py() or 0)
            keep = pc.and_(keep, pc.invert(failed))
        return columns, keep


def _header(source: Source, delimiter: str) -> list[str]:
    return fields_of(first_line(source), delimiter)


def _parquet_columns(source: Source) -> list[str]:
    if source.compression != "none" or source.stream is not None:
        return []
    schema = parquet_schema(source.path)
    return [] if schema is None else list(schema.names)


def _json_keys(lines: list[bytes]) -> set[str]:
    keys: set[str] = set()
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        keys |= set(row) if isinstance(row, dict) else set()
    return keys


def _json_batches(handle: BinaryIO, reading: Reading, used: list[str]) -> Iterator[pa.RecordBatch]:
    rest = b""
    while block := handle.read(BLOCK_BYTES):
        whole, newline, rest_of_block = (rest + block).rpartition(b"\n")
        rest = rest_of_block
        if newline:
            yield from _json_lines(whole + newline, reading, used)
        elif len(rest) > BLOCK_BYTES:
            # Python takes forty times the memory of a line.
            raise InputError("corrupt_record", "JSON Lines: a line is too long; write one row per line")
    if rest.strip():
        yield from _json_lines(rest, reading, used)


def _json_lines(block: bytes, reading: Reading, used: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some lines, and refuse those that are malformed, or nest what a column takes.

    Arrow refuses a block for one malformed line, or for a member that has numbers in some lines and texts in others.
    To have it read the lines one by one takes milliseconds for each.
    """
    batches = _parsed(block, used)
    if batches is None:
        lines = [line for line in block.splitlines(keepends=True) if line.strip()]
        objects = [line for line in lines if _json_object(line) is not None]
        batches = _parsed(b"".join(objects), used)
        rows = None if batches is not None else [row for line in objects if (row := _texts(line, used)) is not None]
        _refuse_lines(reading, len(lines) - len(objects if rows is None else rows))
        if rows:
            schema = pa.schema([(name, pa.string()) for name in used])
            batches = pa.Table.from_pylist(rows, schema).to_batches()
    yield from batches or []


def _parsed(block: bytes, used: list[str]) -> list[pa.RecordBatch] | None:
    """Return the columns of some lines, or None if one is malformed, or a value does not have its column's type."""
    if not block.strip():
        return []
    schema = _schema(block, used)
    if schema is None:
        return None
    try:
        options = pa_json.ReadOptions(block_size=len(block) + 1)
        # Without a schema, Arrow makes a column of each member that a line has.
        parsing = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        table = pa_json.read_json(pa.BufferReader(block), read_options=options, parse_options=parsing)
    except (pa.ArrowInvalid, UnicodeDecodeError):  # the second for a member whose name is not UTF-8
        return None
    return list(table.combine_chunks().to_batches())


def _schema(block: bytes, used: list[str]) -> pa.Schema | None:
    """Return the types that the columns have in the first lines, or None if one of the lines is malformed.

    A column that has another type further below is read as text: all that is lost is time.
    """
    types: dict[str, pa.DataType] = dict.fromkeys(used, pa.null())
    for line in itertools.islice(io.BytesIO(block), SAMPLE_LINES):
        try:
            row = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            return None
        for name in used if isinstance(row, dict) else ():
            kind = TYPES.get(type(row.get(name)))
            if kind is None:
                return None
            if (types[name], kind) == (pa.int64(), pa.float64()) or types[name] == pa.null():
                types[name] = kind
    return pa.schema(list(types.items()))


def _json_object(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line, with numbers as texts; None if the line is malformed."""
    try:
        row = LINE.decode(line.decode())
        # Half a surrogate pair is no text.
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _texts(line: bytes, used: list[str]) -> dict[str, str | None] | None:
    """Return the values of a line as texts, or None if one of them is a list or an object."""
    row = _json_object(line) or {}
    texts = {name: row.get(name) for name in used}
    if any(isinstance(value, list | dict) for value in texts.values()):
        return None
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in texts.items()}


def _real_text(text: str) -> str:
    """Return a number as a table of text would have it: a time in 1.7e9 or 5.0 has no digits behind a point."""
    number = float(text)
    if number.is_integer() and abs(number) < LARGEST_WHOLE:
        return str(int(number))
    return repr(number) if "e" in text.lower() else text


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(members)
    if len(row) < len(members):
        raise ValueError("a member stands twice")
    return row


def _no_number(text: str) -> str:
    raise ValueError(f"{text} is not a number in JSON")


LINE = json.JSONDecoder(parse_int=str, parse_float=_real_text, parse_constant=_no_number, object_pairs_hook=_each_once)


def _refuse_lines(reading: Reading, lines: int) -> None:
    if lines:
        reading.records_read += lines
        reading.refuse("malformed_line", lines)


def connection_tables_of(data_sets: list[KnownConnections]) -> list[ConnectionTable]:
    """Return a format for each table of each described data set."""
    return [ConnectionTable(one, mapping) for one in data_sets for mapping in one.description.tables]
