"""The JSON value that a content begins with, by which formats are recognised: by keys and types, never by spelling.

A document may be in any order, with any blanks. Its head mostly holds enough of it; if no format recognises that, the
whole of it is gone through once, of which a few elements of each array are kept.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import ijson
from ijson.common import ObjectBuilder

from sojourn_ingest.formats.content.nesting import BoundedNesting
from sojourn_ingest.input_error import InputError

#: Kept of each array and of each object, and how deep. An object may be a map from names, of which there may be many.
MOST_ELEMENTS = 4
MOST_KEYS = 1024
MOST_DEPTH = 8
#: Kept of a document; behind them, arrays and objects are empty.
MOST_KEPT = 2**16
#: What a tool, or the shell, may write before a document: warnings.
MOST_LINES_BEFORE = 20
MOST_BYTES_BEFORE = 4096
#: Gone through of a document that is not recognised by its head.
LARGEST_BYTES = 64 * 2**20
BLOCK_BYTES = 2**18
STARTS = ("start_map", "start_array")
ENDS = ("end_map", "end_array")
DAMAGE = (ijson.JSONError, UnicodeDecodeError, OverflowError, RecursionError, InputError)
#: What may follow a list: nothing, the end of a line, another value.
AFTER_LIST = ("", "\r", "\n", "\x1e", "[", "{")
BLANKS = b" \t\r\n\x1e"
#: How the second line of a value begins that is written over several lines.
CONTINUED = re.compile(rb'[ \t"\]}]')


@dataclass(frozen=True)
class JsonStart:
    """The first JSON value of a content, as much of it as was looked at, and the text before it.

    ``is_cut``: the value goes on behind what was looked at. ``is_folded``: it is written over several lines.
    """

    value: Any
    bytes_before: int = 0
    lines_before: int = 0
    is_cut: bool = False
    is_folded: bool = False


def json_start(head: bytes, *, is_whole: bool) -> JsonStart | None:
    """Return the first object or array of a content from its first bytes; None if it begins with none."""
    place = 0
    for lines in range(MOST_LINES_BEFORE + 1):
        end = head.find(b"\n", place) + 1 or len(head)
        begun = head[place:].lstrip(BLANKS)
        if begun[:1] in (b"{", b"["):
            value, rest = _begun_value(begun)
            is_complete = rest is not None
            # "[1] Done" is what a shell writes, and "[10.0.0.2] connected" a tool.
            is_text = isinstance(value, list) and (
                rest not in AFTER_LIST if is_complete else value[:1] != [] and isinstance(value[0], int | float)
            )
            if value and not is_text:
                # Blanks are part of the value, as is the sign that separates the records of a sequence.
                return JsonStart(value, place, lines, not (is_complete or is_whole), _is_folded(begun))
        place = end
        if place >= min(len(head), MOST_BYTES_BEFORE):
            break
    return None


def whole_value(stream: BinaryIO) -> Any:
    """Return the outline of the JSON value of a stream, however long; None if it is larger than is gone through."""
    return _outline(_Limited(stream, LARGEST_BYTES))


def _begun_value(begun: bytes) -> tuple[Any, str | None]:
    """Return a value, and the sign after it; None if the value is cut or damaged."""
    text = begun.decode(errors="replace")
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return _outline(io.BytesIO(begun)), None
    return value, text[end:].lstrip(" \t")[:1]


def _is_folded(begun: bytes) -> bool:
    first, newline, rest = begun.partition(b"\n")
    return bool(newline) and CONTINUED.match(rest) is not None and _opened(first) > 0


def _outline(stream: Any) -> Any:
    builder = ObjectBuilder()
    tokens = ijson.basic_parse(BoundedNesting(stream), buf_size=BLOCK_BYTES, use_float=True)
    try:
        for kind, value in _few(tokens):
            builder.event(kind, value)
    except DAMAGE:
        # What came before it tells the format, whose reader says where the damage is.
        return getattr(builder, "value", None)
    return getattr(builder, "value", None)


def _few(tokens: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the tokens of a value without the later parts of arrays and objects, and without what is deep in it."""
    #: Of each array or object that is open: how many parts it may have, and how many have begun.
    opened: list[tuple[int, int]] = []
    skipped = kept = 0
    is_left_out = False
    for kind, value in tokens:
        if skipped:
            skipped += (kind in STARTS) - (kind in ENDS)
            continue
        if kind in ENDS:
            opened.pop()
        elif is_left_out:
            # The value of a key that was left out.
            is_left_out, skipped = False, int(kind in STARTS)
            continue
        else:
            if opened and (kind == "map_key" or opened[-1][0] == MOST_ELEMENTS):
                most, parts = opened[-1]
                opened[-1] = (most, parts + 1)
                if parts >= most or (kept >= MOST_KEPT and len(opened) > 1):
                    is_left_out = kind == "map_key"
                    skipped = int(kind in STARTS)
                    continue
            if kind in STARTS:
                if len(opened) >= MOST_DEPTH:
                    skipped = 1
                    yield "null", None
                    continue
                opened.append((MOST_ELEMENTS if kind == "start_array" else MOST_KEYS, 0))
        kept += 1
        yield kind, value


class _Limited:
    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(content)
        return content


# ---------------------------------------------------------------- values over several lines

#: A text, to its end or to that of the line: texts of JSON have no end of a line in them.
TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?$)')
LONGEST_LINE = 2**24


def _opened(line: bytes) -> int:
    """Return how many brackets a line opens, less those it closes."""
    bare = TEXT.sub(b"", line)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")


class UnfoldedLines(io.RawIOBase):
    """A stream of JSON values over several lines as one line each; ends of lines within a value become blanks.

    Where the lines of a value are indented, one that begins with a bracket begins the next value, even if the one
    before was cut.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._open = 0
        self._is_indented: bool | None = None
        self._at_start = True
        self._ready = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into a buffer; return how many bytes."""
        if not self._ready:
            line = self._stream.readline(LONGEST_LINE)
            is_cut = self._begins_next(line)
            self._open = max((0 if is_cut else self._open) + _opened(line), 0)
            self._at_start = line.endswith(b"\n")
            ended = line.rstrip(b"\r\n") + b" " if self._open and self._at_start else line
            self._ready = b"\n" * is_cut + ended
        content = self._ready[: len(buffer)]
        self._ready = self._ready[len(content) :]
        buffer[: len(content)] = content
        return len(content)

    def _begins_next(self, line: bytes) -> bool:
        """Return whether a line begins another value although the one before is open."""
        if not (self._open and self._at_start):
            return False
        if self._is_indented is None:
            self._is_indented = line[:1] in (b" ", b"\t")
        return self._is_indented and line[:1] in (b"{", b"[")
