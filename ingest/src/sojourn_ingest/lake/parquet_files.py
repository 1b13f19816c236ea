"""Parquet files that are written to their end, or given up without another word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def give_up(writer: pq.ParquetWriter) -> None:
    """Close a writer whose file is not wanted: its error is not the first one, which its caller reports."""
    with suppress(OSError, pa.ArrowException):
        writer.close()
    # Otherwise the writer's destructor tries once more, and prints a traceback below the one line of the error.
    writer.is_open = False


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema, **settings: Any) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing; it is whole at the end, or the error of its writer is raised once."""
    writer = pq.ParquetWriter(path, schema, **settings)
    try:
        yield writer
        writer.close()
    finally:
        if writer.is_open:
            give_up(writer)
