"""Compressed content of which nothing is lost at damage: what can be read before it comes first, then the error.

Decompressors drop what they made in the call that meets damage, and Python's buffers what they gathered in the call
that fails.
"""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, Protocol, cast

import pyarrow as pa

from sojourn_ingest.formats.content.streams_in_a_row import StrayBytesError

PIECE_BYTES = 2**17
#: Read at a time of what can be read only once: as much is lost with damage.
SMALL_PIECE_BYTES = 2**13
#: Most that is read again: far more than any decompressor holds back.
MOST_BYTES = 2**24


class ZstdError(Exception):
    """A zstd stream that cannot be decompressed; OSError would be taken for a fault of the disk."""


#: What reading a damaged compressed stream raises.
DAMAGED_STREAM = (EOFError, zlib.error, lzma.LZMAError, StrayBytesError, ZstdError)


class Readable(Protocol):
    """What content is read from: a file of Python, or a stream of Arrow."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end."""


class ZstdFrames:
    """The content of zstd frames."""

    def __init__(self, stored: BinaryIO) -> None:
        self._frames = pa.CompressedInputStream(stored, "zstd")

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end; raise ZstdError at damage."""
        try:
            content: bytes = self._frames.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            raise ZstdError(str(error)) from error
        return content


class BufferedContent(io.BufferedReader):
    """Content that can be read by lines.

    `read` gives what there is before an error, which the next call raises, and so gives less than asked for at the end
    or before damage: :func:`read_whole` tells them apart. A line that damage cuts is not given, nor all that is left.
    """

    _error: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most so many bytes; all that is left for -1."""
        if self._error is not None:
            raise self._error
        if size is None or size < 0:
            return super().read()
        parts, left = [], size
        try:
            while left and (part := self.read1(left)):
                parts.append(part)
                left -= len(part)
        except Exception as error:
            if not parts:
                raise
            self._error = error
        return b"".join(parts)


def read_whole(handle: BinaryIO, most: int) -> bytes:
    """Return a content up to ``most`` bytes; raise the damage if that ends it before."""
    content = handle.read(most)
    if len(content) < most:
        handle.read(1)
    return content


def read_to_damage(handle: BinaryIO) -> tuple[bytes, Exception | None]:
    """Return a text; if damage ends it, the whole lines before it, and the damage."""
    text = b""
    try:
        while piece := handle.read(PIECE_BYTES):
            text += piece
    except Exception as error:  # noqa: BLE001 - the caller raises it
        return text[: text.rfind(b"\n") + 1], error
    return text, None


class BeforeDamage(io.RawIOBase):
    """What a decompressor makes of what is stored, and then the damage, whenever more is read.

    Parameters
    ----------
    stored : binary file
    decompressed : callable
        Returns the content of what is stored; it may raise `DAMAGED_STREAM`.
    can_be_read_again : bool
        Whether ``stored`` is a file, which is read a second time up to the damage. Of a stream, some content before
        the damage is lost with it.
    """

    def __init__(
        self, stored: BinaryIO, decompressed: Callable[[BinaryIO], Readable], *, can_be_read_again: bool
    ) -> None:
        self._stored = _Pieces(stored)
        self._decompressed = decompressed
        self._can_be_read_again = can_be_read_again
        self._content = decompressed(cast(BinaryIO, self._stored))
        self._read_bytes = 0
        self._rest = b""
        self._error: Exception | None = None

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer from its beginning; return the number of bytes, 0 at the end."""
        if self._error is None:
            try:
                most = PIECE_BYTES if self._can_be_read_again else SMALL_PIECE_BYTES
                content = self._content.read(min(len(buffer), most))
                self._read_bytes += len(content)
            except DAMAGED_STREAM as error:
                self._error = error
                if self._can_be_read_again:
                    self._rest = self._read_again()
        if self._error is not None:
            content, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
            if not content:
                raise self._error
        buffer[: len(content)] = content
        return len(content)

    def _read_again(self) -> bytes:
        """Return what stands between what was read and the damage.

        The piece with the damage is given byte by byte, so that a decompressor has handed out all when it meets it.
        """
        content = self._decompressed(self._stored.again())
        rest = bytearray()
        with suppress(*DAMAGED_STREAM):
            left = self._read_bytes
            while left and (part := content.read(min(left, PIECE_BYTES))):
                left -= len(part)
            while not left and len(rest) < MOST_BYTES and (byte := content.read(1)):
                rest += byte
        return bytes(rest)


class _Pieces(io.RawIOBase):
    """What is stored, of which it is known where the last piece begins that was read; from there, byte by byte."""

    def __init__(self, stored: BinaryIO, bytes_from: int | None = None) -> None:
        self._stored = stored
        self._bytes_from = bytes_from
        self._last = self._end = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if self._bytes_from is not None:
            size = min(size, max(self._bytes_from - self._end, 1))
        content = self._stored.read(size)
        self._last, self._end = self._end, self._end + len(content)
        return content

    def again(self) -> BinaryIO:
        self._stored.seek(0)
        return cast(BinaryIO, _Pieces(self._stored, self._last))
