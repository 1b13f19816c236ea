"""Rows of a Parquet file, a batch at a time, whose texts are bounded before they are written out for each row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest.formats.content.expansion import ALWAYS_READ_BYTES, MOST_EXPANSION
from sojourn_ingest.input_error import InputError

LONGEST_TEXT_BYTES = 4096
"""Longest text of a column. A file has a text once that thousands of rows have."""
LARGEST_BATCH_BYTES = 64 * 2**20
"""Bytes of the texts of a batch, if each were as long as the longest of its column; and of those of a dictionary."""
ROW_BYTES = 16
"""What a row has at least, if it is written out: equal rows may take no bytes of a file."""
READ_ENCODINGS = frozenset(("PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"))
"""Of texts. In others, a text may share parts of those before it, so that its length is known only afterwards."""


def parquet_batches(
    opened: Any, rows: int, groups: list[int] | None = None, columns: list[str] | None = None, **options: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some row groups and columns, or of all, in batches of at most so many rows; checked in full.

    Raises
    ------
    InputError
        If a text is longer than ``LONGEST_TEXT_BYTES``, a column has lists or structures or an encoding that is not
        read, two columns have the same name, or the file has more rows than its size allows.
    pa.ArrowException, OSError
        If the file is damaged.
    """
    with pq.ParquetFile(opened) as file:
        texts = _text_columns(file, columns)
        _refuse_rows(file.metadata, _size_of(opened))
        _refuse_chunks(file.metadata, texts)
    with pq.ParquetFile(opened, read_dictionary=sorted(texts), **options) as file:
        for batch in file.iter_batches(rows, groups, columns=columns, use_threads=False):
            # Parquet's text is whatever bytes stand there.
            batch.validate(full=True)
            row_bytes = sum(_longest(name, batch.column(name)) for name in batch.schema.names)
            step = max(1, LARGEST_BATCH_BYTES // max(1, row_bytes))
            for first in range(0, batch.num_rows, step):
                plain = [_plain(column) for column in batch.slice(first, step).columns]
                yield pa.RecordBatch.from_arrays(plain, names=batch.schema.names)


def _text_columns(file: pq.ParquetFile, columns: list[str] | None) -> set[str]:
    """Return which of the columns are texts as Parquet keeps them, whatever type the schema of Arrow gives them."""
    used = [field for field in file.schema_arrow if columns is None or field.name in columns]
    kinds = {field.name: field.type for field in used}
    if len(kinds) < len(used):
        twice = next(name for name in kinds if sum(field.name == name for field in used) > 1)
        raise InputError("corrupt_record", f"two columns have the name {twice}; rename one")
    stored = [file.schema.column(place) for place in range(len(file.schema.names))]
    physical = {column.path: column.physical_type for column in stored}
    for name, kind in kinds.items():
        if name not in physical:
            raise InputError("corrupt_record", f"the column {name} has lists or structures; give it plain values")
        if pa.types.is_fixed_size_binary(kind) and kind.byte_width > LONGEST_TEXT_BYTES:
            raise _too_long(name)
    return {name for name, kind in kinds.items() if physical[name] == "BYTE_ARRAY" and not pa.types.is_decimal(kind)}


def _size_of(opened: Any) -> int:
    """Return the bytes of a file: what its footer says of its columns may be wrong."""
    if isinstance(opened, str | Path):
        return Path(opened).stat().st_size
    place = opened.tell()
    size = int(opened.seek(0, io.SEEK_END))
    opened.seek(place)
    return size


def _refuse_rows(metadata: pq.FileMetaData, stored: int) -> None:
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows * ROW_BYTES > max(ALWAYS_READ_BYTES, MOST_EXPANSION * stored):
        text = f"{stored:,} bytes expand to {rows:,} rows; give them as CSV if they are genuine"
        raise InputError("expands_too_far", text)


def _refuse_chunks(metadata: pq.FileMetaData, texts: set[str]) -> None:
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            name = chunk.path_in_schema
            if name not in texts:
                continue
            # With the least and largest value in the heads of pages, and a dictionary that may be that of all rows.
            if chunk.total_uncompressed_size > LONGEST_TEXT_BYTES * (chunk.num_values + 8) + LARGEST_BATCH_BYTES:
                raise _too_long(name)
            if other := sorted(set(chunk.encodings) - READ_ENCODINGS):
                text = f"the texts of the column {name} have the encoding {other[0]}; write them as plain texts"
                raise InputError("unsupported_encoding", f"{text} or with a dictionary (version 1 of Parquet)")


def _longest(name: str, column: pa.Array) -> int:
    """Return the bytes of the longest text of a column; 0 if it has none."""
    if pa.types.is_fixed_size_binary(column.type):
        return int(column.type.byte_width)
    if not pa.types.is_dictionary(column.type):
        return 0
    longest = int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
    if longest > LONGEST_TEXT_BYTES:
        raise _too_long(name)
    return longest


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _too_long(name: str) -> InputError:
    return InputError("corrupt_record", f"a text of the column {name} has more than {LONGEST_TEXT_BYTES:,} bytes")
