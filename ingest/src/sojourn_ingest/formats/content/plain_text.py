"""Text sources, decompressed as they are read."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import pyarrow as pa

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
        with source.open_stored() as stored:
            if source.compression == "none":
                yield stored
            elif source.compression == "gzip":
                with gzip.open(stored, "rb") as unzipped:
                    yield cast(BinaryIO, unzipped)
            elif source.compression == "xz":
                with lzma.open(stored, "rb") as unzipped_xz:
                    yield cast(BinaryIO, unzipped_xz)
            elif source.compression == "zstd":
                with pa.CompressedInputStream(stored, "zstd") as unzipped_zstd:
                    yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, _Readable(unzipped_zstd))))
            else:
                raise InputError(
                    "unsupported_compression",
                    f"{source.compression} is not read for this format; decompress the file first",
                )
    except DAMAGED_STREAM as error:
        message = f"{source.compression} stream is damaged: {error}; copy the file again"
        raise InputError("compression", message) from error


class _DamagedStreamError(Exception):
    """A zstd stream that cannot be decompressed; OSError would be taken for a fault of the disk."""


#: What reading a damaged compressed stream raises.
DAMAGED_STREAM = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, _DamagedStreamError)


class _Readable(io.RawIOBase):
    """A stream of Arrow as a raw stream of Python, which can be read by lines once it is buffered."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            content = self._stream.read(len(buffer))
        except OSError as error:
            raise _DamagedStreamError(str(error)) from error
        buffer[: len(content)] = content
        return len(content)


def head_lines(source: Source, limit: int = 50) -> list[bytes]:
    """Return the first whole lines of the content, at most ``limit``."""
    lines = source.head.split(b"\n")
    if len(source.head) < source.plain_bytes:
        lines = lines[:-1]  # the last one is cut by the head's end
    return [line.rstrip(b"\r") for line in lines[:limit]]
