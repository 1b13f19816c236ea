"""JSON that is read as a stream, up to a depth that no genuine document has.

A parser keeps the path to where it is: a million brackets in one megabyte would take its memory by the square of them.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from sojourn_ingest.input_error import InputError

#: Brackets that may be open at one time. Those within texts count too, which genuine texts close again.
MOST_OPEN = 1000

_STEP = np.zeros(256, dtype=np.int8)
_STEP[[ord("["), ord("{")]] = 1
_STEP[[ord("]"), ord("}")]] = -1


class BoundedNesting:
    """A stream of JSON that fails once too many brackets are open."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._open = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises
        ------
        InputError
            ``corrupt_record`` where more than `MOST_OPEN` brackets are open.
        """
        content = self._stream.read(size)
        if content:
            opened = self._open + np.cumsum(_STEP[np.frombuffer(content, dtype=np.uint8)], dtype=np.int64)
            if int(opened.max()) > MOST_OPEN:
                raise InputError("corrupt_record", f"JSON is nested more than {MOST_OPEN:,} deep; no such document is")
            # A text may close more than it opens; that does not make room for more.
            self._open = max(int(opened[-1]), 0)
        return content
