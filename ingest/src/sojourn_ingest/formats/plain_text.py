"""Text sources, decompressed as they are read."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from sojourn_ingest.formats.interface import InputError, Source


@contextmanager
def open_plain(source: Source) -> Iterator[BinaryIO]:
    """Open the plain content of a source.

    Raises
    ------
    InputError
        If the compression is not one that this reader handles, or the compressed stream is damaged.
    """
    try:
        if source.compression == "none":
            with source.path.open("rb") as handle:
                yield handle
        elif source.compression == "gzip":
            with gzip.open(source.path, "rb") as unzipped:
                yield cast(BinaryIO, unzipped)
        else:
            raise InputError(
                "unsupported_compression",
                f"{source.compression} is not read for this format; decompress the file first",
            )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError("compression", f"gzip stream is damaged: {error}; copy the file again") from error


def head_lines(source: Source, limit: int = 50) -> list[bytes]:
    """Return the first whole lines of the content, at most ``limit``."""
    lines = source.head.split(b"\n")
    if len(source.head) < source.plain_bytes:
        lines = lines[:-1]  # the last one is cut by the head's end
    return [line.rstrip(b"\r") for line in lines[:limit]]
