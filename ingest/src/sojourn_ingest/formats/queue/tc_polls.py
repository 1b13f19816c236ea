"""Polls of ``tc -s -j qdisc show`` and ``tc -s -j class show``: queue_counter and queue_counter_part.

Two forms. JSON Lines, one object a poll: ``ts_ns`` and ``ts_end_ns`` (UTC epoch, before and after the call; the second
may be missing) and ``qdiscs``, the unchanged output. Or the outputs one after the other, each after a line with its
time as ``date`` prints it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.content.plain_text import open_json_lines, open_plain
from sojourn_ingest.formats.content.time_lines import time_line_ns
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.queue.tc_counters import is_whole, read_counters
from sojourn_ingest.formats.queue.tc_poll_stream import Begin, Damaged, Discipline, End, poll_events
from sojourn_ingest.formats.series.bounds import CLOCK_NOT_SET, date_of
from sojourn_ingest.schema import table

#: Rows as objects of Python take fifty times the memory of columns.
BATCH_ROWS = 2_048
#: Disciplines and classes of a poll, each of which takes some hundred bytes.
MOST_DISCIPLINES = 1_000_000
#: Keys of all disciplines of a poll that are counted by their names. A discipline has some dozen.
MOST_REASONS = 1_000
#: A discipline and its key, as tc names them.
KEY = re.compile(r"(?:cake\.tins|[a-z0-9_]{1,16})\.[A-Za-z0-9_-]{1,64}")
TABLES = ("queue_counter", "queue_counter_part")


def counter_row(qdisc: dict[str, Any]) -> dict[str, Any]:
    """Return one discipline of tc's JSON as columns of queue_counter, without those of the poll.

    Raises
    ------
    ValueError
        If it has no kind or handle, or a counter is not a whole number.
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
    without_facts = "no complete poll of tc in the file; record polls with tc -s -j qdisc show"
    holds_addresses = False
    version = "tc-polls-10"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a poll, or a time with tc's output after it."""
        return _begins_with_time(source) or ("ts_ns" in source.object and "qdiscs" in source.object)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per discipline and poll, and one per part; a poll that cannot be read is refused and counted.

        A key of tc that no column takes is counted once among what was refused, by its name; a counter beyond 63 bits
        each time, and so is a poll whose clock was not set.
        """
        poll: _Poll | None = None
        # Most polls have a few rows.
        kept: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        poll_index = 0
        offset = 0
        try:
            with open_plain(source) if _begins_with_time(source) else open_json_lines(source, reading) as handle:
                for event in poll_events(handle):
                    if isinstance(event, Begin):
                        offset, poll = event.offset, _Poll(poll_index)
                    elif poll is None:
                        continue
                    elif isinstance(event, Discipline):
                        poll.add(event.values)
                    else:
                        if isinstance(event, End):
                            poll.end(event, reading)
                        else:
                            poll.fault = event.message
                        if poll.fault is None and not poll.is_dated:
                            reading.refuse(CLOCK_NOT_SET)
                        elif poll.fault is None:
                            yield from poll.facts(kept)
                            poll_index += 1
                            reading.records_read += 1
                        else:
                            is_text = isinstance(event, Damaged) and event.is_text
                            reading.refuse("text_without_json" if is_text else "malformed_poll")
                            message = f"not a poll of tc at byte {offset}: {poll.fault}; skipped it"
                            reading.fault = reading.fault or InputError("corrupt_record", message, offset)
                        poll = None
        except InputError as error:
            # Damage to the compressed stream: the polls before it are kept.
            error.offset = offset
            reading.fault = error
        for name, rows in kept.items():
            if rows:
                yield name, _batch(name, rows)


def _reason(reason: str, key: str) -> str:
    """Return a reason with the key; what tc does not call a key, such as a host, is not quoted."""
    return f"{reason} {key}" if KEY.fullmatch(key) else reason


def _begins_with_time(source: Source) -> bool:
    """Return whether the first line is a time, and tc's output follows it or, where tc complained, a later one."""
    lines = [line for line in source.head.split(b"\n") if line.strip()]
    return time_line_ns(lines[0] if lines else b"") is not None and any(
        line.lstrip().startswith(b"[") and time_line_ns(before) is not None for before, line in pairwise(lines)
    )


class _Poll:
    """One poll while its disciplines come: columns of Arrow, so that a poll of a million circuits fits in memory."""

    def __init__(self, index: int) -> None:
        self.fault: str | None = None
        self.is_dated = False
        self._index = index
        self._keys: set[tuple[str, str]] = set()
        self._duplicates = 0
        self._unknown: set[str] = set()
        self._out_of_range: Counter[str] = Counter()
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self._batches: list[tuple[str, pa.RecordBatch]] = []
        self._times: tuple[int, int | None] = (0, None)

    def add(self, qdisc: dict[str, Any]) -> None:
        """Take a discipline; the first that cannot be read is the fault of the poll."""
        if self.fault is not None or qdisc.get("stats") == {}:
            # Without counters: a class of a discipline that counts nothing by class, such as DualPI2.
            return
        try:
            counters = read_counters(qdisc)
        except (ValueError, TypeError) as error:
            self.fault = str(error)
            return
        key = (counters.row["device"], counters.row["handle"])
        if key in self._keys:
            self._duplicates += 1
            return
        if len(self._keys) == MOST_DISCIPLINES:
            self.fault = f"it has more than {MOST_DISCIPLINES:,} disciplines and classes"
            return
        self._keys.add(key)
        # Times stand at the end of some polls.
        self._rows["queue_counter"].append({"poll_index": self._index, "poll_start_ns": 0} | counters.row)
        place = {"poll_index": self._index, "device": key[0], "handle": key[1]}
        self._rows["queue_counter_part"] += [place | part for part in counters.parts]
        self._unknown.update(_reason("key_without_column", name) for name in counters.unknown)
        for name, count in counters.out_of_range.items():
            self._out_of_range[_reason("counter_out_of_range", name)] += count
        if len(self._unknown) + len(self._out_of_range) > MOST_REASONS:
            self.fault = f"more than {MOST_REASONS:,} keys of its disciplines have no column, or a value beyond 63 bits"
            return
        for name, rows in self._rows.items():
            if len(rows) >= BATCH_ROWS:
                self._flush(name)

    def end(self, end: End, reading: Reading) -> None:
        """Take the times, and count what was left out."""
        for time_ns in (end.start_ns, end.end_ns):
            if time_ns is not None and not (is_whole(time_ns) and 0 <= time_ns < 2**63):
                self.fault = self.fault or "a time is not in nanoseconds"
        if end.start_ns is None:
            self.fault = self.fault or "it has no time"
        if self.fault is not None:
            return
        self._times = (end.start_ns, end.end_ns)
        self.is_dated = date_of(end.start_ns) is not None
        if not self.is_dated:
            return
        reading.refuse("duplicate_qdisc", self._duplicates)
        for reason, count in sorted(self._out_of_range.items()):
            reading.refuse(reason, count)
        for reason in sorted(self._unknown):
            # Once for each content: it is the key that has no column, and no record is refused for it.
            reading.refuse(reason, 0 if reason in reading.refused else 1)

    def facts(self, kept: dict[str, list[dict[str, Any]]]) -> Facts:
        """Yield the poll's rows by table; where they are few, add them to those kept of other polls instead."""
        start_ns, end_ns = self._times
        for row in self._rows["queue_counter"]:
            row |= {"poll_start_ns": start_ns, "poll_end_ns": end_ns}
        for name, batch in self._batches:
            yield name, self._timed(batch) if name == "queue_counter" else batch
        for name, rows in self._rows.items():
            kept[name] += rows
            if len(kept[name]) >= BATCH_ROWS:
                yield name, _batch(name, kept[name])
                kept[name] = []

    def _flush(self, name: str) -> None:
        self._batches.append((name, _batch(name, self._rows[name])))
        self._rows[name] = []

    def _timed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, time_ns in zip(("poll_start_ns", "poll_end_ns"), self._times, strict=True):
            column = batch.schema.field(name)
            values = pa.repeat(pa.scalar(time_ns, column.type), batch.num_rows)
            batch = batch.set_column(batch.schema.get_field_index(name), column, values)
        return batch
