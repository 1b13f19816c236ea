"""Texts that are not plain UTF-8: a byte order mark before it, UTF-16 and UTF-32, as Windows and PowerShell write them.

Every reader is given UTF-8 without a mark; what a file was written in is found once, from its first bytes.
"""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from typing import BinaryIO

from sojourn_ingest.formats.content.before_damage import BufferedContent
from sojourn_ingest.input_error import InputError

PIECE_BYTES = 2**18
#: Longer marks first: that of UTF-32 begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Characters that tell UTF-16 without a mark: so many of ASCII, each with a zero byte.
TELLING_CHARACTERS = 8
#: The separator of records begins JSON-SEQ (RFC 7464).
PRINTABLE = frozenset((*b"\t\n\r\x1e", *range(32, 127)))


@dataclass(frozen=True)
class TextEncoding:
    """What a text is written in, and the byte order mark before it."""

    codec: str
    mark_bytes: int

    def text_of(self, head: bytes) -> bytes | None:
        """Return the beginning of a content as UTF-8 without the mark; None if it is not such a text."""
        begun = head[self.mark_bytes :]
        if self.codec == "utf-8":
            return begun
        try:
            text = codecs.getincrementaldecoder(self.codec)().decode(begun)
        except UnicodeDecodeError:
            return None
        return None if "\0" in text else text.encode()

    def decoded(self, stored: BinaryIO) -> BinaryIO:
        """Return a stream of the text as UTF-8 without the mark."""
        stored.read(self.mark_bytes)
        if self.codec == "utf-8":
            return stored
        return BufferedContent(_Decoded(stored, self.codec), PIECE_BYTES)


def encoding_of(head: bytes) -> TextEncoding | None:
    """Return what a content is written in by its mark or its zero bytes; None for plain UTF-8, and for no text."""
    for mark, codec in MARKS:
        if head.startswith(mark):
            return TextEncoding(codec, len(mark))
    start = head[: 2 * TELLING_CHARACTERS]
    for codec, characters, zeros in (("utf-16-le", start[::2], start[1::2]), ("utf-16-be", start[1::2], start[::2])):
        if len(zeros) == TELLING_CHARACTERS and not any(zeros) and PRINTABLE.issuperset(characters):
            return TextEncoding(codec, 0)
    return None


def utf8_of(content: bytes) -> bytes:
    """Return a whole text as UTF-8 without a mark; other content as it is."""
    encoding = encoding_of(content)
    text = None if encoding is None else encoding.text_of(content)
    return content if text is None else text


class _Decoded(io.RawIOBase):
    def __init__(self, stored: BinaryIO, codec: str) -> None:
        self._stored = stored
        self._codec = codec
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._ready = b""
        self._has_ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready and not self._has_ended:
            piece = self._stored.read(PIECE_BYTES)
            self._has_ended = not piece
            try:
                self._ready = self._decoder.decode(piece, final=self._has_ended).encode()
            except UnicodeDecodeError:
                message = f"text in {self._codec.upper()} that is damaged or cut; save it as UTF-8, or copy it again"
                raise InputError("corrupt_record", message) from None
        content = self._ready[: len(buffer)]
        self._ready = self._ready[len(content) :]
        buffer[: len(content)] = content
        return len(content)
