"""Polls of tc as a stream: each discipline as soon as its text is whole, however many a poll has.

A router with a queue for each customer prints hundreds of megabytes in one poll, mostly on one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from sojourn_ingest.formats.content.time_lines import time_line_ns

#: Bytes that are read at a time; lines may be longer.
PIECE_BYTES: Final = 2**20
#: Largest text of one discipline, ten times that of CAKE with eight tins, and of what a poll has beside disciplines.
MAX_DISCIPLINE_BYTES: Final = 2**17
MAX_FRAME_BYTES: Final = 2**23
TOO_LARGE: Final = f"a discipline has more than {MAX_DISCIPLINE_BYTES:,} bytes, or the rest {MAX_FRAME_BYTES:,}"

_TOKEN: Final = re.compile(rb'["\[\]{}]|\\', re.DOTALL)
#: A quote that is escaped is part of a longer name.
_BEFORE_LIST: Final = re.compile(rb'(?<!\\)"qdiscs"\s*:\s*$')
#: Where that is looked for, before a list: no writer of JSON puts more space there. Looking at all that came before,
#: for each of a million lists, takes hours.
_BEFORE_BYTES: Final = 256


@dataclass(frozen=True)
class Begin:
    """A poll begins at this byte of the plain content."""

    offset: int


@dataclass(frozen=True)
class Discipline:
    """One object of the poll's list, unchanged."""

    values: dict[str, Any]


@dataclass(frozen=True)
class End:
    """The poll is whole; times are as they are in the file, and the second may be null."""

    start_ns: Any
    end_ns: Any


@dataclass(frozen=True)
class Damaged:
    """The poll is not whole or not one: nothing of it may be kept."""

    message: str
    is_text: bool = False


Event = Begin | Discipline | End | Damaged


def poll_events(stream: BinaryIO) -> Iterator[Event]:
    """Yield a beginning, its disciplines, and an end or a damage, for each poll.

    Raises
    ------
    InputError
        If the compressed stream is damaged.
    """
    offset = 0
    time: tuple[int, int] | None = None
    document: _Document | None = None
    is_text = False
    at_line_start = True
    while piece := stream.readline(PIECE_BYTES):
        here, offset = offset, offset + len(piece)
        starts, at_line_start = at_line_start, piece.endswith(b"\n")
        text = piece.strip()
        time_ns = time_line_ns(text) if starts else None
        if time_ns is not None:
            if document is not None:
                yield Damaged("the output of tc is not a list of objects")
            time, document, is_text = (here, time_ns), None, False
            continue
        if is_text or (document is None and not text):
            continue
        if document is None:
            yield Begin(here if time is None else time[0])
            if time is not None and not text.startswith(b"["):
                # One output, however many lines it has: those up to the next time are not each a poll.
                yield Damaged("tc printed text here, as iproute2 6.1 does for classes even with -j", is_text=True)
                time, is_text = None, True
                continue
            document = _Document(is_list=time is not None)
        yield from document.take(piece)
        if at_line_start and (document.is_closed or time is None):
            yield document.end(None if time is None else time[1])
            time, document = None, None
    if document is not None:
        yield document.end(None if time is None else time[1])


@dataclass
class _Document:
    """The JSON of one poll as its bytes come; each byte is looked at once, and kept only until its object is whole."""

    is_list: bool
    _depth: int = 0
    _in_string: bool = False
    _escaped: bool = False
    #: Everything but the disciplines, each of which leaves a zero behind.
    _frame: bytearray = field(default_factory=bytearray)
    _open: bytearray | None = None
    _in_list: bool = False
    _disciplines: int = 0
    _fault: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether every bracket is closed again."""
        return self._depth <= 0

    def take(self, piece: bytes) -> Iterator[Discipline]:
        """Yield the disciplines that this piece completes."""
        if self._fault is not None:
            return
        kept = 0
        after_escape = -1
        if self._escaped:
            after_escape, self._escaped = 0, False
        level = 1 if self.is_list else 2
        for match in _TOKEN.finditer(piece):
            here, token = match.start(), match[0]
            if here == after_escape:
                continue
            if self._in_string:
                if token == b"\\":
                    after_escape = here + 1
                    self._escaped = after_escape == len(piece)
                elif token == b'"':
                    self._in_string = False
            elif token == b'"':
                self._in_string = True
            elif token in b"[{":
                if self._open is None and self._depth == level - 1 and token == b"[":
                    self._in_list = self.is_list or self._is_named(piece, kept, here)
                elif self._open is None and self._in_list and self._depth == level and token == b"{":
                    self._frame += piece[kept:here] + b"0"
                    self._open, kept = bytearray(), here
                self._depth += 1
            elif token in b"]}":
                self._depth -= 1
                if self._open is not None and self._depth == level:
                    discipline = self._read(self._open + piece[kept : here + 1])
                    self._open, kept = None, here + 1
                    if discipline is None:
                        return
                    yield discipline
                elif self._depth < level:
                    self._in_list = False
        if self._open is None:
            self._frame += piece[kept:]
        else:
            self._open += piece[kept:]
        if len(self._open or b"") > MAX_DISCIPLINE_BYTES or len(self._frame) > MAX_FRAME_BYTES:
            self._fault = TOO_LARGE

    def end(self, time_ns: int | None) -> End | Damaged:
        """Return how the poll ended, with the time before it where it has one."""
        if self._fault is None:
            try:
                frame = json.loads(self._frame)
                listed = frame if self.is_list else frame["qdiscs"]
                times = (time_ns, None) if self.is_list else (frame["ts_ns"], frame.get("ts_end_ns"))
            except (ValueError, KeyError, TypeError, RecursionError):
                listed = None
            if listed == [0] * self._disciplines and isinstance(listed, list):
                return End(*times)
        return Damaged(self._fault or "the output of tc is not a list of objects")

    def _is_named(self, piece: bytes, kept: int, here: int) -> bool:
        """Return whether the list that begins here is the one of disciplines."""
        before = piece[max(kept, here - _BEFORE_BYTES) : here]
        if len(before) < _BEFORE_BYTES:
            before = bytes(self._frame[-_BEFORE_BYTES:]) + before
        return _BEFORE_LIST.search(before) is not None

    def _read(self, text: bytearray) -> Discipline | None:
        try:
            self._disciplines += 1
            if len(text) > MAX_DISCIPLINE_BYTES:
                self._fault = TOO_LARGE
                return None
            values = json.loads(text)
            if b"\\u" in text:
                # Escapes may be halves of characters, which no column takes.
                json.dumps(values, ensure_ascii=False).encode()
            return Discipline(values)
        except (ValueError, RecursionError) as error:
            self._fault = f"a discipline is not JSON: {error}"
            return None
