"""The content of xz streams in a row, with padding between them."""

from __future__ import annotations

import io
import lzma
from typing import BinaryIO

#: As the decoder in Rust; `xz -9` needs 65 MiB.
MEMORY_BYTES = 160 << 20
BLOCK_BYTES = 2**17


class XzStreams(io.RawIOBase):
    """A raw stream of what xz has compressed. `lzma.open` takes padding, and damage of a later stream, for the end.

    Parameters
    ----------
    stored : binary file
        It is read to its end, and not closed.

    Raises
    ------
    lzma.LZMAError
        While it is read, if a stream or the padding is damaged.
    EOFError
        While it is read, if the last stream is cut.
    """

    def __init__(self, stored: BinaryIO) -> None:
        self._stored = stored
        self._input = b""
        self._is_over = False
        self._stream = self._new_stream()

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
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
        if padding_bytes % 4:
            raise lzma.LZMAError("the padding behind a stream is not a multiple of four bytes")
        self._input, self._stream = content, self._new_stream()

    @staticmethod
    def _new_stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY_BYTES)
