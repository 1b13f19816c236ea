"""Parts of one large file that can be read apart, so that several tasks share it.

A row's number in its file is part of its key, so a part must know how many rows come before it. Parquet says so in its
footer; of text the rows of each part are counted first.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.formats.interface import Context, Facts, FilePart, Format, Reading, Source, SplittableFormat
from sojourn_ingest.remote import seekable

#: The end of a line is searched in pieces of this size, because content that is not text may have none.
PIECE_BYTES = 64 * 2**20


class PartOfFile(Format):
    """One part of a file as a format of its own, to be read as any other."""

    may_give_none = True

    def __init__(self, whole: SplittableFormat, part: FilePart) -> None:
        self._whole = whole
        self._part = part
        self.name = whole.name
        self.holds_addresses = whole.holds_addresses

    @property
    def version(self) -> str:
        """Version of the whole, as which the facts count."""
        return self._whole.version

    def recognises(self, source: Source) -> bool:
        """Return that it does: the whole was recognised."""
        return True

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the facts of the part."""
        return self._whole.read_part(source, self._part, context, reading)


def parquet_schema(path: Path) -> pa.Schema | None:
    """Return the columns of a Parquet file; None if it has no footer, or one that names columns in other than UTF-8."""
    try:
        with seekable(path) as opened:
            schema = pq.read_schema(opened)
        _ = schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None
    return schema


def parquet_parts(path: Path, part_bytes: int) -> list[FilePart]:
    """Return runs of row groups of about so many bytes each."""
    with seekable(path) as opened, pq.ParquetFile(opened) as file:
        parts: list[FilePart] = []
        start, first_row, rows, size = 0, 0, 0, 0
        for group in range(file.num_row_groups):
            described = file.metadata.row_group(group)
            rows += described.num_rows
            size += sum(described.column(c).total_compressed_size for c in range(described.num_columns))
            if size >= part_bytes or group == file.num_row_groups - 1:
                parts.append(FilePart(start, group + 1, first_row))
                start, first_row, rows, size = group + 1, first_row + rows, 0, 0
    return parts


def text_parts(path: Path, part_bytes: int) -> list[FilePart]:
    """Return runs of whole lines of about so many bytes each; their rows are not counted yet."""
    size = path.stat().st_size
    starts = [0]
    with path.open("rb") as handle:
        while starts[-1] + part_bytes < size:
            handle.seek(starts[-1] + part_bytes - 1)
            # A file is never parted within a line, however long the line.
            piece = handle.readline(PIECE_BYTES)
            while piece and not piece.endswith(b"\n"):
                piece = handle.readline(PIECE_BYTES)
            if handle.tell() >= size:
                break
            starts.append(handle.tell())
    return [FilePart(start, end) for start, end in zip(starts, [*starts[1:], size], strict=True)]


@contextmanager
def open_part(path: Path, part: FilePart) -> Iterator[BinaryIO]:
    """Open some bytes of a file as if they were all of it."""
    with path.open("rb") as handle:
        handle.seek(part.start)
        yield cast(BinaryIO, io.BufferedReader(_Bounded(handle, part.end - part.start), 2**20))


class _Bounded(io.RawIOBase):
    def __init__(self, handle: BinaryIO, remaining: int) -> None:
        self._handle = handle
        self._remaining = remaining

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._handle.read(min(len(buffer), self._remaining))
        buffer[: len(content)] = content
        self._remaining -= len(content)
        return len(content)
