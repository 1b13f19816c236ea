"""Content that gzip or xz compressed, as several streams in a row and with padding behind them."""

from __future__ import annotations

import io
import lzma
import zlib
from abc import abstractmethod
from typing import BinaryIO, Protocol

#: As the decoder in Rust; `xz -9` needs 65 MiB.
MEMORY_BYTES = 160 << 20
BLOCK_BYTES = 2**17
#: The largest window of deflate, with the header and the checksum of gzip.
GZIP_WINDOW = 31


class StrayBytesError(Exception):
    """Bytes behind a stream that belong to none."""


class _Stream(Protocol):
    """One stream as it is decompressed, as lzma does."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class StreamsInARow(io.RawIOBase):
    """A raw stream of what was compressed. `lzma.open` takes padding, and damage of a later stream, for the end.

    Parameters
    ----------
    stored : binary file
        It is read to its end, and not closed.

    Raises
    ------
    lzma.LZMAError, zlib.error, StrayBytesError
        While it is read, if a stream or the padding is damaged.
    EOFError
        While it is read, if the last stream is cut.
    """

    name: str
    magic: bytes
    #: Padding is a multiple of so many zeros.
    padding_unit_bytes: int

    def __init__(self, stored: BinaryIO) -> None:
        self._stored = stored
        self._input = b""
        self._is_over = False
        self._stream = self._new_stream()

    @staticmethod
    @abstractmethod
    def _new_stream() -> _Stream: ...

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer from its beginning; return the number of bytes, 0 at the end."""
        content = b""
        while not content and not self._is_over:
            if self._stream.eof:
                self._go_on()
                continue
            if self._stream.needs_input and not self._input:
                self._input = self._stored.read(BLOCK_BYTES)
                if not self._input:
                    raise EOFError("it ends before the end of a stream")
            content = self._stream.decompress(self._input, len(buffer))
            self._input = b""
        buffer[: len(content)] = content
        return len(content)

    def _go_on(self) -> None:
        """Pass the padding behind a stream, and begin the next one if there is one."""
        behind, padding_bytes = self._stream.unused_data, 0
        while True:
            content = behind.lstrip(b"\0")
            padding_bytes += len(behind) - len(content)
            if content:
                break
            behind = self._stored.read(BLOCK_BYTES)
            if not behind:
                self._is_over = True
                break
        if padding_bytes % self.padding_unit_bytes:
            raise StrayBytesError(f"the padding behind a stream is not a multiple of {self.padding_unit_bytes} bytes")
        if not self.magic.startswith(content[: len(self.magic)]):
            raise StrayBytesError(f"what follows a stream is not {self.name}")
        self._input, self._stream = content, self._new_stream()


class XzStreams(StreamsInARow):
    """The content of xz streams."""

    name = "xz"
    magic = b"\xfd7zXZ\0"
    padding_unit_bytes = 4

    @staticmethod
    def _new_stream() -> _Stream:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY_BYTES)


class GzipMembers(StreamsInARow):
    """The content of gzip members."""

    name = "gzip"
    magic = b"\x1f\x8b"
    padding_unit_bytes = 1

    @staticmethod
    def _new_stream() -> _Stream:
        return _GzipMember()


class _GzipMember:
    def __init__(self) -> None:
        self._inflating = zlib.decompressobj(GZIP_WINDOW)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inflating.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflating.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        content = self._inflating.decompress(self._inflating.unconsumed_tail + data, max_length)
        # Where the room is filled, zlib may hold back content although it has taken all input.
        self.needs_input = len(content) < max_length
        return content
