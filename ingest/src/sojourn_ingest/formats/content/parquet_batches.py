"""Rows of a Parquet file, a batch at a time, whose texts are bounded before they are written out for each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn_ingest.input_error import InputError

LONGEST_TEXT_BYTES = 4096
"""Longest text of a column. A file has a text once that thousands of rows have."""
LARGEST_BATCH_BYTES = 64 * 2**20
"""Bytes of the texts of a batch, if each were as long as the longest of its column."""


def parquet_batches(
    opened: Any, rows: int, groups: list[int] | None = None, columns: list[str] | None = None, **options: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some row groups and columns, or of all, in batches of at most so many rows; checked in full.

    Raises
    ------
    InputError
        If a text is longer than ``LONGEST_TEXT_BYTES``, or a column has lists or structures.
    pa.ArrowException, OSError
        If the file is damaged.
    """
    with pq.ParquetFile(opened) as file:
        texts = _text_columns(file, columns)
        _refuse_large_chunks(file.metadata, texts)
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
    kinds = {field.name: field.type for field in file.schema_arrow if columns is None or field.name in columns}
    stored = [file.schema.column(place) for place in range(len(file.schema.names))]
    physical = {column.path: column.physical_type for column in stored}
    for name, kind in kinds.items():
        if name not in physical:
            raise InputError("corrupt_record", f"the column {name} has lists or structures; give it plain values")
        if pa.types.is_fixed_size_binary(kind) and kind.byte_width > LONGEST_TEXT_BYTES:
            raise _too_long(name)
    return {name for name, kind in kinds.items() if physical[name] == "BYTE_ARRAY" and not pa.types.is_decimal(kind)}


def _refuse_large_chunks(metadata: pq.FileMetaData, texts: set[str]) -> None:
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            # With a dictionary, and the least and largest value in the heads of pages.
            most = LONGEST_TEXT_BYTES * (chunk.num_values + 8)
            if chunk.path_in_schema in texts and chunk.total_uncompressed_size > most:
                raise _too_long(chunk.path_in_schema)


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
