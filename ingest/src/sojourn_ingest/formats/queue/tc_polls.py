"""Polls of ``tc -s -j qdisc show`` and ``tc -s -j class show``: queue_counter and queue_counter_part.

Two forms. JSON Lines, one object a poll: ``ts_ns`` and ``ts_end_ns`` (UTC epoch, before and after the call; the second
may be missing) and ``qdiscs``, the unchanged output. Or the outputs one after the other, each after a line with its
time as ``date +%s.%N`` prints it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from sojourn_ingest.formats.content.plain_text import open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.queue.tc_counters import LARGEST, is_whole, read_counters
from sojourn_ingest.schema import table

BATCH_ROWS = 16_384
#: One poll is in memory as a whole; this is 500,000 disciplines of tc's widest output.
MAX_OUTPUT_BYTES = 2**30

TIME_LINE = re.compile(rb"^(?:Time: )?(\d{9,10})(?:\.(\d{1,9}))?$")
BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')
POLL_LINE = re.compile(rb'^\{\s*"ts_ns"\s*:')

#: Stands for an output that is not JSON.
AS_TEXT: Final = "text"

# Start, end, and output, as they are in the file.
_Poll = tuple[Any, Any, Any]


def counter_row(qdisc: dict[str, Any]) -> dict[str, Any]:
    """Return one discipline of tc's JSON as columns of queue_counter, without those of the poll.

    Raises
    ------
    ValueError
        If it has no kind or handle, or a counter is not a whole number of 63 bits.
    """
    return read_counters(qdisc).row


def queue_counter_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows of queue_counter as a batch without provenance."""
    return _batch("queue_counter", rows)


def _batch(name: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    provenance = ("source_hash", "decoder_version")
    schema = pa.schema([field for field in table(name).arrow_schema() if field.name not in provenance])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


class TcPolls(Format):
    """Polls of tc's counters over time."""

    name = "tc_polls"
    holds_addresses = False
    version = "tc-polls-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a poll, or a time with tc's output after it."""
        # One poll of many disciplines may be a line that is longer than the head.
        first, _, rest = source.head.lstrip().partition(b"\n")
        if POLL_LINE.match(first) is not None:
            return b'"qdiscs"' in first
        return TIME_LINE.match(first.strip()) is not None and rest.lstrip().startswith(b"[")

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per discipline and poll, and one per part; a poll that cannot be read is refused and counted.

        A key of tc that no column takes is counted once among what was refused, by its name.
        """
        rows: list[dict[str, Any]] = []
        parts: list[dict[str, Any]] = []
        poll_index = 0
        offset = 0
        try:
            with open_plain(source) as handle:
                for offset, poll in _polls(handle):
                    try:
                        found, found_parts = self._rows(poll, poll_index, reading)
                    except (ValueError, KeyError, TypeError, RecursionError) as error:
                        _refuse(reading, offset, poll, error)
                        continue
                    rows += found
                    parts += found_parts
                    poll_index += 1
                    reading.records_read += 1
                    if len(rows) >= BATCH_ROWS:
                        yield "queue_counter", queue_counter_batch(rows)
                        rows = []
                    if len(parts) >= BATCH_ROWS:
                        yield "queue_counter_part", _batch("queue_counter_part", parts)
                        parts = []
        except InputError as error:
            # Damage to the compressed stream: the polls before it are kept.
            if poll_index == 0:
                raise
            error.offset = offset
            reading.fault = error
        if poll_index == 0:
            raise reading.fault or InputError("truncated", "no whole poll of tc in the file", 0)
        if rows:
            yield "queue_counter", queue_counter_batch(rows)
        if parts:
            yield "queue_counter_part", _batch("queue_counter_part", parts)

    @staticmethod
    def _rows(poll: _Poll, poll_index: int, reading: Reading) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        start_ns, end_ns, qdiscs = poll
        if qdiscs is AS_TEXT:
            raise ValueError("tc printed text here, as iproute2 6.1 does of classes even with -j")
        if not isinstance(qdiscs, list) or not all(isinstance(qdisc, dict) for qdisc in qdiscs):
            raise ValueError("the output of tc is not a list of objects")
        for time_ns in (start_ns, end_ns):
            if time_ns is not None and not (is_whole(time_ns) and 0 <= time_ns <= LARGEST):
                raise ValueError("a time is not in nanoseconds")
        times = {"poll_index": poll_index, "poll_start_ns": start_ns, "poll_end_ns": end_ns}
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        parts: list[dict[str, Any]] = []
        unknown: Counter[str] = Counter()
        duplicates = 0
        for qdisc in qdiscs:
            if qdisc.get("stats") == {}:
                # A class of a discipline that counts nothing by class, such as DualPI2; it has the discipline's handle.
                continue
            found = read_counters(qdisc)
            key = (found.row["device"], found.row["handle"])
            if key in rows:
                duplicates += 1
                continue
            rows[key] = times | found.row
            place = {"poll_index": poll_index, "device": key[0], "handle": key[1]}
            parts += [place | part for part in found.parts]
            unknown += found.unknown
        reading.refuse("duplicate_qdisc", duplicates)
        for name in sorted(unknown):
            # Once for each content: it is the key that has no column, and no record is refused for it.
            reason = f"key_without_column {name}"
            reading.refuse(reason, 0 if reason in reading.refused else 1)
        return list(rows.values()), parts


def _polls(lines: Iterator[bytes]) -> Iterator[tuple[int, _Poll]]:
    """Yield each poll with the offset where it begins; what is damaged comes as a poll that is refused."""
    offset = 0
    start: tuple[int, int] | None = None
    output = _Output()
    in_text = False
    for line in lines:
        here, offset = offset, offset + len(line)
        text = line.strip()
        time = TIME_LINE.match(text)
        if time is not None or (start is None and text.startswith(b"{")):
            if start is not None and output.size:
                yield start[0], (start[1], None, None)
            start, output, in_text = None, _Output(), False
        if not text or in_text:
            continue
        if time is not None:
            start = (here, int(time[1]) * 10**9 + int((time[2] or b"0").ljust(9, b"0")))
        elif start is None:
            yield here, _json_poll(text)
        elif output.size == 0 and not text.startswith(b"["):
            # One output, however many lines it has: those up to the next time are not each a poll.
            yield start[0], (start[1], None, AS_TEXT)
            start, in_text = None, True
        elif output.takes_last(text):
            yield start[0], (start[1], None, output.content())
            start, output = None, _Output()
        elif output.size > MAX_OUTPUT_BYTES:
            yield start[0], (start[1], None, None)
            start, output = None, _Output()
    if start is not None and output.size:
        yield start[0], (start[1], None, None)


class _Output:
    """One output of tc as its lines come; each byte is looked at once, however large the output is."""

    def __init__(self) -> None:
        self.size = 0
        self._lines: list[bytes] = []
        self._depth = 0

    def takes_last(self, line: bytes) -> bool:
        """Add a line, and return whether it closes the list that the output is."""
        self._lines.append(line)
        self.size += len(line)
        # No line of JSON ends within a string.
        for token in BRACKET.finditer(line):
            if token[0] in b"[{":
                self._depth += 1
            elif token[0] in b"]}":
                self._depth -= 1
        return self._depth <= 0

    def content(self) -> list[Any] | None:
        """Return the list; null if the text is none."""
        try:
            content = json.loads(b"".join(self._lines))
        except (ValueError, RecursionError):
            return None
        return content if isinstance(content, list) else None


def _json_poll(text: bytes) -> _Poll:
    try:
        poll = json.loads(text)
        return poll["ts_ns"], poll.get("ts_end_ns"), poll["qdiscs"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, None, None


def _refuse(reading: Reading, offset: int, poll: _Poll, error: Exception) -> None:
    reading.refuse("text_without_json" if poll[2] is AS_TEXT else "malformed_poll")
    message = f"no poll of tc at byte {offset}: {error}; it was left out"
    reading.fault = reading.fault or InputError("corrupt_record", message, offset)
