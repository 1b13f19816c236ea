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


def parquet_batches(
    opened: Any, rows: int, groups: list[int] | None = None, columns: list[str] | None = None, **options: Any
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some row groups and columns, or of all, in batches of at most so many rows; checked in full.

    Raises
    ------
    InputError
        If a text is longer than ``LONGEST_TEXT_BYTES``.
    pa.ArrowException, OSError
        If the file is damaged.
    """
    with pq.ParquetFile(opened) as file:
        schema = file.schema_arrow
    names = schema.names if columns is None else columns
    texts = [name for name in names if name in schema.names and _is_text(schema.field(name).type)]
    with pq.ParquetFile(opened, read_dictionary=texts, **options) as file:
        _refuse_large_chunks(file.metadata, set(texts))
        for batch in file.iter_batches(rows, groups, columns=columns, use_threads=False):
            # Parquet's text is whatever bytes stand there.
            batch.validate(full=True)
            plain = [_plain(name, batch.column(name)) for name in batch.schema.names]
            yield pa.RecordBatch.from_arrays(plain, names=batch.schema.names)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _refuse_large_chunks(metadata: pq.FileMetaData, texts: set[str]) -> None:
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            most = LONGEST_TEXT_BYTES * (chunk.num_values + 1)
            if chunk.path_in_schema in texts and chunk.total_uncompressed_size > most:
                raise _too_long(chunk.path_in_schema)


def _plain(name: str, column: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(column.type):
        return column
    if (pc.max(pc.binary_length(column.dictionary)).as_py() or 0) > LONGEST_TEXT_BYTES:
        raise _too_long(name)
    return column.dictionary_decode()


def _too_long(name: str) -> InputError:
    return InputError("corrupt_record", f"a text of the column {name} has more than {LONGEST_TEXT_BYTES:,} bytes")
