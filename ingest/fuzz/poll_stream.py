"""What polls of tc keep, whatever their bytes: the same events in any pieces, and the disciplines that JSON has."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from sojourn_ingest.formats.queue.tc_poll_stream import Begin, Discipline, End, Event, poll_events

PIECE_BYTES = 7
#: No tool writes a name with escapes of its letters, UTF-16 or a hundred spaces: such a poll may be refused.
_UNUSUAL = re.compile(rb"\\u|\0|\s{100}")


def check(content: bytes) -> None:
    """Hold the events of a content against those of its pieces and against Python's reader of JSON.

    Raises
    ------
    AssertionError
        If they differ.
    """
    events = list(poll_events(io.BytesIO(content)))
    in_pieces = list(poll_events(cast(BinaryIO, _Pieces(content))))
    assert _texts(events) == _texts(in_pieces), "the events depend on how much is read at a time"
    assert len(_without_content(events)) % 2 == 0
    assert all(isinstance(event, Begin) == (place % 2 == 0) for place, event in enumerate(_without_content(events))), (
        "a poll has no beginning or no end"
    )
    lines = content.split(b"\n")
    if len(lines) == 1 or (len(lines) == 2 and not lines[1]):
        _compare_with_json(lines[0], events)


def _without_content(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, Discipline)]


def _texts(events: list[Event]) -> list[str]:
    # Texts, because NaN does not equal itself.
    return [repr(event) for event in events]


def _compare_with_json(line: bytes, events: list[Event]) -> None:
    """Hold a poll that is one object in one line to be read if it is one, and then as JSON reads it."""
    disciplines = [event.values for event in events if isinstance(event, Discipline)]
    is_whole = bool(events) and isinstance(events[-1], End)
    try:
        document = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return
    if not isinstance(document, dict) or not line.startswith(b"{") or _UNUSUAL.search(line) is not None:
        return
    listed = document.get("qdiscs")
    if is_whole:
        assert repr(disciplines) == repr(listed), "other disciplines than those of the JSON"
    elif isinstance(listed, list) and "ts_ns" in document:
        assert not all(isinstance(one, dict) for one in listed), "a whole poll was refused"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice, which readers of JSON take differently")
    return dict(pairs)


class _Pieces:
    """A stream that gives a few bytes of a line of JSON at a time, as a poll of a gigabyte comes in pieces."""

    def __init__(self, content: bytes) -> None:
        self._pieces = self._cut(content)

    def readline(self, _: int) -> bytes:
        return next(self._pieces, b"")

    @staticmethod
    def _cut(content: bytes) -> Iterator[bytes]:
        for line in io.BytesIO(content):
            # A time of day is a line in one piece, which no writer makes longer than one.
            size = PIECE_BYTES if line[:1] in (b"{", b"[") else len(line)
            yield from (line[start : start + size] for start in range(0, len(line), size))
