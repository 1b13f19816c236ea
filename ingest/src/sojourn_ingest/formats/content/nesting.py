"""JSON that is read as a stream, up to a depth that no genuine document has.

A parser keeps the path to where it is: a million brackets in one megabyte would take its memory by the square of them.
And it fails at a whole number beyond 64 bits, such as 2^64 - 1, which tools write for a value that is not set: such a
number is made a fraction, which is no measurement to any reader.
"""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np

from sojourn_ingest.input_error import InputError

#: Brackets that may be open at one time. Those within texts count too, which genuine texts close again.
MOST_OPEN = 1000

_STEP = np.zeros(256, dtype=np.int8)
_STEP[[ord("["), ord("{")]] = 1
_STEP[[ord("]"), ord("}")]] = -1
#: Bytes of an element that is kept as a whole: memory has some twenty times as many.
LARGEST_ELEMENT_BYTES = 16 * 2**20
#: Whole numbers of more than 63 bits, and a few below. In a text, where they stand alone, a fraction does not matter.
_BEYOND = re.compile(rb"[\s:,\[-](?:\d{20,}|9[2-9]\d{17})(?=[\s,\]}])")
#: Whether there may be one is seen ten times as fast.
_IS_DIGIT = bytes(byte in b"0123456789" for byte in range(256))
_NINETEEN = b"\1" * 19
#: Digits of a number that is put together from two reads.
_MOST_DIGITS = 1000


class BoundedNesting:
    """A stream of JSON that fails once too many brackets are open, and not at numbers beyond 64 bits.

    Parameters
    ----------
    stream : binary file
    is_in_elements : bool
        Whether it fails, too, if more than `LARGEST_ELEMENT_BYTES` are read between two calls of `begin_element`.
    """

    def __init__(self, stream: BinaryIO, *, is_in_elements: bool = False) -> None:
        self._stream = stream
        self._element_bytes = 0 if is_in_elements else None
        self._open = 0
        self._begun = b""

    def begin_element(self) -> None:
        """Take note that the parser has come to another element."""
        if self._element_bytes is not None:
            self._element_bytes = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises
        ------
        InputError
            ``corrupt_record`` where more than `MOST_OPEN` brackets are open; ``too_large`` where an element is.
        """
        content = self._whole_numbers(size)
        if self._element_bytes is not None:
            self._element_bytes += len(content)
            if self._element_bytes > LARGEST_ELEMENT_BYTES:
                most = LARGEST_ELEMENT_BYTES // 2**20
                raise InputError("too_large", f"an element of a list has more than {most} MiB of JSON")
        if content:
            opened = self._open + np.cumsum(_STEP[np.frombuffer(content, dtype=np.uint8)], dtype=np.int64)
            if int(opened.max()) > MOST_OPEN:
                message = f"JSON is nested more than {MOST_OPEN:,} levels deep, the limit for such documents"
                raise InputError("corrupt_record", message)
            # A text may close more than it opens; that does not make room for more.
            self._open = max(int(opened[-1]), 0)
        return content

    def _whole_numbers(self, size: int) -> bytes:
        """Return what comes next, up to a number that may go on; nothing at the end."""
        content = b""
        while not content and (piece := self._stream.read(size)):
            content = self._begun + piece
            if _NINETEEN in content.translate(_IS_DIGIT):
                content = _BEYOND.sub(lambda number: number[0] + b".0", content)
            # With the sign before it, which tells a whole number from the digits of a fraction or of a text.
            before = content.rstrip(b"0123456789")
            kept = max(len(before) - 1, 0) if len(content) - len(before) < _MOST_DIGITS else len(content)
            content, self._begun = content[:kept], content[kept:]
        if not content:
            content, self._begun = self._begun, b""
        return content
