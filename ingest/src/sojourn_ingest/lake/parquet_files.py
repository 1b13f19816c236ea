"""Parquet files that are written to their end, or given up without another word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

PIECE_BYTES = 2**20


def give_up(writer: pq.ParquetWriter) -> None:
    """Close a writer whose file is not wanted: its error is not the first one, which its caller reports."""
    with suppress(OSError, pa.ArrowException):
        writer.close()
    # Otherwise the writer's destructor tries once more, and prints a traceback below the one line of the error.
    writer.is_open = False


def put_in_place_of(path: Path, provisional: str, text: str) -> None:
    """Write a text wherever a provisional one of the same length stands: a value of uncompressed columns.

    It stands in dictionaries and in statistics, of which no file has a checksum. The provisional text is long and
    random, so that nothing else in the file is it.

    Raises
    ------
    ValueError
        If the lengths differ.
    OSError
        If the file cannot be read or written to.
    """
    old, new = provisional.encode(), text.encode()
    if len(old) != len(new):
        raise ValueError(f"{text} is not as long as the text whose place it takes")
    # Not in a shared mapping: not every file system has them, and a full disk would kill the process.
    with path.open("r+b") as handle:
        start = 0
        while len(piece := _read_at(handle, start)) >= len(old):
            place = piece.find(old)
            while place >= 0:
                handle.seek(start + place)
                handle.write(new)
                place = piece.find(old, place + len(old))
            # The text may begin in one piece and end in the next.
            start += len(piece) - len(old) + 1


def _read_at(handle: BinaryIO, place: int) -> bytes:
    handle.seek(place)
    return handle.read(PIECE_BYTES)


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
