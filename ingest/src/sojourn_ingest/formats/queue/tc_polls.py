"""Polls of ``tc -s -j qdisc show``: queue_counter.

Two forms. JSON Lines, one object a poll: ``ts_ns`` and ``ts_end_ns`` (UTC epoch, before and after the call; the second
may be missing) and ``qdiscs``, the unchanged output. Or the outputs one after the other, each after a line with its
time as ``date +%s.%N`` prints it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.schema import table

BATCH_ROWS = 16_384
LARGEST = 2**63 - 1
MAX_OUTPUT_BYTES = 2**20

TIME_LINE = re.compile(rb"^(?:Time: )?(\d{9,10})(?:\.(\d{1,9}))?$")
POLL_LINE = re.compile(rb'^\{\s*"ts_ns"\s*:')

# Column: key in tc's JSON (iproute2: tc/tc_util.c, q_codel.c, q_fq_codel.c). CoDel's times are in microseconds.
COUNTERS = {
    "sent_bytes": "bytes",
    "sent_packets": "packets",
    "dropped_packets": "drops",
    "overlimits": "overlimits",
    "requeues": "requeues",
    "backlog_bytes": "backlog",
    "backlog_packets": "qlen",
    "ecn_marked_packets": "ecn_mark",
    "codel_count": "count",
    "codel_last_count": "lastcount",
    "codel_delay_us": "ldelay",
    "max_packet_bytes": "maxpacket",
    "dropped_overlimit_packets": "drop_overlimit",
    "new_flows": "new_flows_len",
    "old_flows": "old_flows_len",
    "new_flow_count": "new_flow_count",
}


# Start, end, and output, as they stand in the file.
_Poll = tuple[Any, Any, Any]


def counter_row(qdisc: dict[str, Any]) -> dict[str, Any]:
    """Return one discipline of tc's JSON as columns of queue_counter, without those of the poll.

    Raises
    ------
    ValueError
        If it has no kind or handle, or a counter is not a whole number of 63 bits.
    """
    kind, handle, parent = qdisc.get("kind"), qdisc.get("handle"), qdisc.get("parent")
    if not (isinstance(kind, str) and isinstance(handle, str)):
        raise ValueError("a discipline has no kind or no handle")  # noqa: TRY004 - of the input, not of a caller
    row: dict[str, Any] = {
        "device": str(qdisc.get("dev", "-")),
        "kind": kind,
        # Disciplines that the kernel made itself all have the handle 0: and differ in their parent.
        "handle": f"{handle}@{parent}" if handle == "0:" and parent is not None else handle,
        "parent": None if parent is None else str(parent),
        "root": bool(qdisc.get("root", False)),
        "codel_dropping": None,
        "codel_drop_next_us": None,
        "options": json.dumps(qdisc["options"], sort_keys=True) if "options" in qdisc else None,
    }
    for column, key in COUNTERS.items():
        value = qdisc.get(key)
        if value is not None and not (_is_whole(value) and 0 <= value <= LARGEST):
            raise ValueError(f"{key} {value!r} is not a count")
        row[column] = value
    if "lastcount" in qdisc:
        row["codel_dropping"] = bool(qdisc.get("dropping", False))
        drop_next = qdisc.get("drop_next")
        if row["codel_dropping"] and drop_next is not None:
            if not (_is_whole(drop_next) and abs(drop_next) <= LARGEST):
                raise ValueError(f"drop_next {drop_next!r} is not a time")
            row["codel_drop_next_us"] = drop_next
    return row


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def queue_counter_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows of queue_counter as a batch without provenance."""
    provenance = ("source_hash", "decoder_version")
    schema = pa.schema([field for field in table("queue_counter").arrow_schema() if field.name not in provenance])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


class TcPolls(Format):
    """Polls of tc's counters over time."""

    name = "tc_polls"
    holds_addresses = False
    version = "tc-polls-1"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line is a poll, or a time with tc's output after it."""
        lines = head_lines(source, limit=2)
        if lines and POLL_LINE.match(lines[0]) is not None:
            return b'"qdiscs"' in lines[0]
        return len(lines) == 2 and TIME_LINE.match(lines[0]) is not None and lines[1].lstrip().startswith(b"[")

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield one row per discipline and poll; a poll that cannot be read is refused and counted."""
        rows: list[dict[str, Any]] = []
        poll_index = 0
        offset = 0
        try:
            with open_plain(source) as handle:
                for offset, poll in _polls(handle):
                    try:
                        found = self._rows(poll, poll_index, reading)
                    except (ValueError, KeyError, TypeError, RecursionError) as error:
                        _refuse(reading, offset, error)
                        continue
                    rows += found
                    poll_index += 1
                    reading.records_read += 1
                    if len(rows) >= BATCH_ROWS:
                        yield "queue_counter", queue_counter_batch(rows)
                        rows = []
        except InputError as error:
            # Damage to the compressed stream: the polls before it stand.
            if poll_index == 0:
                raise
            error.offset = offset
            reading.fault = error
        if poll_index == 0:
            raise reading.fault or InputError("truncated", "no whole poll of tc in the file", 0)
        if rows:
            yield "queue_counter", queue_counter_batch(rows)

    @staticmethod
    def _rows(poll: _Poll, poll_index: int, reading: Reading) -> list[dict[str, Any]]:
        start_ns, end_ns, qdiscs = poll
        if not isinstance(qdiscs, list) or not all(isinstance(qdisc, dict) for qdisc in qdiscs):
            raise ValueError("the output of tc is not a list of objects")
        for time_ns in (start_ns, end_ns):
            if time_ns is not None and not (_is_whole(time_ns) and 0 <= time_ns <= LARGEST):
                raise ValueError("a time is not in nanoseconds")
        times = {"poll_index": poll_index, "poll_start_ns": start_ns, "poll_end_ns": end_ns}
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for qdisc in qdiscs:
            row = counter_row(qdisc)
            key = (row["device"], row["handle"])
            if key in found:
                reading.refuse("duplicate_qdisc")
                continue
            found[key] = times | row
        return list(found.values())


def _polls(lines: Iterator[bytes]) -> Iterator[tuple[int, _Poll]]:
    """Yield each poll with the offset where it begins; what is damaged comes as a poll that is refused."""
    offset = 0
    start: tuple[int, int] | None = None
    output = b""
    for line in lines:
        here, offset = offset, offset + len(line)
        text = line.strip()
        time = TIME_LINE.match(text)
        if time is not None or (start is None and text.startswith(b"{")):
            if start is not None and output:
                yield start[0], (start[1], None, None)
            start, output = None, b""
        if not text:
            continue
        if time is not None:
            start = (here, int(time[1]) * 10**9 + int((time[2] or b"0").ljust(9, b"0")))
        elif start is None:
            yield here, _json_poll(text)
        else:
            output += text
            whole = _whole_output(output)
            if whole is not None:
                yield start[0], (start[1], None, whole)
                start, output = None, b""
            elif len(output) > MAX_OUTPUT_BYTES:
                yield start[0], (start[1], None, None)
                start, output = None, b""
    if start is not None and output:
        yield start[0], (start[1], None, None)


def _whole_output(output: bytes) -> list[Any] | None:
    if not output.endswith(b"]"):
        return None
    try:
        content = json.loads(output)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, list) else None


def _json_poll(text: bytes) -> _Poll:
    try:
        poll = json.loads(text)
        return poll["ts_ns"], poll.get("ts_end_ns"), poll["qdiscs"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, None, None


def _refuse(reading: Reading, offset: int, error: Exception) -> None:
    reading.refuse("malformed_poll")
    message = f"no poll of tc at byte {offset}: {error}; it was left out"
    reading.fault = reading.fault or InputError("corrupt_record", message, offset)
