"""Passive RTT of ePPing (``pping --format json`` of xdp-project/bpf-examples) and of pping (``-m``), as connections.

Both tools name the flow of the reply: its source is the host whose round trip was measured, from the observer to that
host and back. So one TCP connection is up to two rows, one for each part of the path, with that host as the client.
ePPing also says on which side of the observer the host is, which is part of the data set's name. Samples are also added
up by host and hour, whatever flow they are of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import ijson

from sojourn_ingest.formats.connection.connection_format import (
    TABLE,
    ConnectionFormat,
    ConnectionRows,
    RawConnections,
    columns_of,
)
from sojourn_ingest.formats.connection.host_hours import HOUR_NS, MOST_SAMPLES, HostHours
from sojourn_ingest.formats.content.nesting import BoundedNesting
from sojourn_ingest.formats.content.plain_text import head_lines, open_json, open_json_lines
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.series.bounds import CLOCK_NOT_SET, LONGEST_DELAY_NS, date_of

BATCH_ROWS = 16_384
#: Flows that wait for more samples; of more, the half that is silent for longest is given.
OPEN_FLOWS = 65_536
MAX_LINE_BYTES = 2**20
BLOCK_BYTES = 2**18
LARGEST_NS = 2**62
#: What damage makes the parser raise; its texts quote the content, which holds addresses.
DAMAGE = (ijson.JSONError, UnicodeDecodeError, OverflowError, RecursionError)
#: Why a round trip that no network can have is refused.
TOO_LONG = "rtt_longer_than_an_hour"
EVENT_KEYS = frozenset(("rtt", "flow_event"))
AGGREGATE_KEYS = frozenset(("ip_prefix", "bin_width_ns", "protocol_counters"))
MACHINE = re.compile(
    rb"^(?P<time>\d{9,10}\.\d{1,9}) (?P<rtt>\d{1,5}\.\d{1,9}) \d{1,5}\.\d{1,9} \d{1,18} \d{1,18} \d{1,18} "
    rb"(?P<source>[0-9A-Fa-f:.]{2,46}):(?P<port>\d{1,5})\+(?P<other>[0-9A-Fa-f:.]{2,46}:\d{1,5})$"
)
#: Lines with the time of day only: of pping without -m, and of ePPing's standard format.
WITHOUT_DATE = re.compile(rb"^\d\d:\d\d:\d\d(?:\.\d{9})? +[\d.]+ ?[mu]?s +[\d.]+ ?[mu]?s ")


class Seen(NamedTuple):
    """One RTT sample: when (ns, UTC), of which flow, how long, and what was sent to the host so far."""

    time_ns: int
    flow: tuple[str, int, str, int]
    dataset: str
    synthetic: bool
    rtt_ns: int
    sent_bytes: int | None


#: Data set by whether the host is behind the interface (match_on_egress).
DATASETS: dict[object, str] = {True: "pping-inside", False: "pping-outside", None: "pping"}


class _Flow:
    """What was seen of one flow so far."""

    __slots__ = ("first_ns", "last_ns", "maximum_ns", "minimum_ns", "samples", "sent_bytes", "sum_ns")

    def __init__(self, time_ns: int) -> None:
        self.first_ns = self.last_ns = time_ns
        self.samples = self.sum_ns = self.maximum_ns = 0
        self.minimum_ns = LARGEST_NS
        self.sent_bytes: int | None = None


class PassiveRtt(ConnectionFormat):
    """Output of ePPing as JSON (array or lines; samples, or sums over prefixes), and of pping for machines."""

    name = "pping"
    without_facts = "output of pping without an RTT"
    version = "pping-7"

    def recognises(self, source: Source) -> bool:
        """Return whether the first object has ePPing's keys, or the first line is one of pping."""
        if source.json is not None:
            listed = source.json.value
            first = listed[0] if isinstance(listed, list) and listed else listed
            if isinstance(first, dict) and "timestamp" in first:
                is_event = "src_ip" in first and not EVENT_KEYS.isdisjoint(first)
                return is_event or not AGGREGATE_KEYS.isdisjoint(first)
        line = next((line for line in head_lines(source, limit=10) if line.strip()), b"")
        return MACHINE.match(line) is not None or WITHOUT_DATE.match(line) is not None

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield connections as their flows end or fall silent; of a damaged file, what came before the damage.

        Raises
        ------
        InputError
            ``no_date`` for lines that have the time of day only.
        """
        rows = _Rows(context, reading)
        try:
            for record in _records(source, reading):
                reading.records_read += 1
                yield from rows.take(record)
        except InputError as error:
            reading.fault = reading.fault or error
        yield from rows.finish()


class _Rows:
    """Collects samples by flow, and gives connections in batches."""

    def __init__(self, context: Context, reading: Reading) -> None:
        self._next_number = 0
        self._reading = reading
        self._connections = ConnectionRows(context, reading)
        self._hours = HostHours(context, reading)
        self._open: dict[tuple[Any, ...], _Flow] = {}
        self._ready: list[dict[str, object]] = []

    def take(self, record: Any) -> Facts:
        """Take one record, and yield the batches that are complete."""
        if isinstance(record, Seen):
            self._sample(record)
        elif not isinstance(record, dict):
            self._reading.refuse("malformed_record")
        elif "rtt" in record:
            sample = _sample_of(record)
            if sample is None:
                self._reading.refuse("malformed_record")
            else:
                self._sample(sample)
        elif record.get("flow_event") == "closing":
            # Either way of the connection ends.
            ends = (record.get("src_ip"), record.get("src_port"), record.get("dest_ip"), record.get("dest_port"))
            for flow in (ends, ends[2:] + ends[:2]):
                for dataset in DATASETS.values():
                    self._end(flow, dataset, synthetic=record.get("synthetic") is True)
        elif "ip_prefix" in record:
            self._prefix(record)
        elif not record.keys() & {"flow_event", "protocol_counters", "bin_width_ns"}:
            self._reading.refuse("malformed_record")
        if len(self._open) > OPEN_FLOWS:
            self._end_silent()
        if len(self._ready) >= BATCH_ROWS:
            yield from self._batches()
        if self._hours.is_full:
            yield from self._hours.batches()

    def finish(self) -> Facts:
        """Yield what remains."""
        for flow, dataset, synthetic in list(self._open):
            self._end(flow, dataset, synthetic=synthetic)
        yield from self._batches()
        yield from self._hours.batches()

    def _sample(self, seen: Seen) -> None:
        if seen.rtt_ns > LONGEST_DELAY_NS:
            self._reading.refuse(TOO_LONG)
            return
        if date_of(seen.time_ns) is None:
            self._reading.refuse(CLOCK_NOT_SET)
            return
        hour = (seen.dataset, seen.synthetic, seen.flow[0], seen.time_ns // HOUR_NS)
        if not self._hours.add(hour, 1, seen.rtt_ns, seen.rtt_ns, seen.rtt_ns):
            return
        key = (seen.flow, seen.dataset, seen.synthetic)
        flow = self._open.get(key)
        if flow is None:
            flow = self._open[key] = _Flow(seen.time_ns)
        flow.first_ns = min(flow.first_ns, seen.time_ns)
        flow.last_ns = max(flow.last_ns, seen.time_ns)
        flow.samples += 1
        flow.sum_ns += seen.rtt_ns
        flow.minimum_ns = min(flow.minimum_ns, seen.rtt_ns)
        flow.maximum_ns = max(flow.maximum_ns, seen.rtt_ns)
        if seen.sent_bytes is not None:
            flow.sent_bytes = max(flow.sent_bytes or 0, seen.sent_bytes)

    def _end(self, ends: tuple[Any, ...], dataset: str, *, synthetic: bool) -> None:
        try:
            flow = self._open.pop((ends, dataset, synthetic), None)
        except TypeError:  # a damaged event, whose ends cannot be a key
            return
        if flow is None:
            return
        row = _row(flow.first_ns, flow.last_ns, flow.samples, flow.minimum_ns, flow.maximum_ns)
        row |= {"rtt_avg_us": flow.sum_ns / flow.samples / 1000, "sent_bytes": flow.sent_bytes}
        self._ready.append(row | {"client_address": ends[0], "dataset": dataset, "synthetic": synthetic})

    def _end_silent(self) -> None:
        times = sorted(flow.last_ns for flow in self._open.values())
        middle = times[len(times) // 2]
        for (ends, dataset, synthetic), flow in list(self._open.items()):
            if flow.last_ns <= middle:
                self._end(ends, dataset, synthetic=synthetic)

    def _prefix(self, record: dict[str, Any]) -> None:
        if "count_rtt" not in record:
            self._reading.refuse("prefix_without_rtt")
            return
        samples, prefix = _count(record["count_rtt"]) or 0, record.get("ip_prefix")
        numbers = [_count(record.get(name)) for name in ("timestamp", "min_rtt", "max_rtt")]
        mean_ns = float(record["mean_rtt"]) if _is_rtt(record.get("mean_rtt")) else 0.0
        address, _, length = prefix.partition("/") if isinstance(prefix, str) and len(prefix) <= 64 else ("", "", "")
        is_sum = 0 < samples < MOST_SAMPLES and 0 < samples * mean_ns < LARGEST_NS
        if not is_sum or None in numbers or not length.isdigit():
            self._reading.refuse("malformed_record")
            return
        if length == "0":
            self._reading.refuse("prefix_of_all_others")
            return
        time_ns, minimum_ns, maximum_ns = (value or 0 for value in numbers)
        # The mean is rounded.
        if not minimum_ns <= round(mean_ns) + 1 <= maximum_ns + 2:
            self._reading.refuse("malformed_record")
            return
        if max(minimum_ns, maximum_ns, mean_ns) > LONGEST_DELAY_NS:
            self._reading.refuse(TOO_LONG)
            return
        if date_of(time_ns) is None:
            self._reading.refuse(CLOCK_NOT_SET)
            return
        dataset, synthetic = f"pping-prefix-{length}", record.get("synthetic") is True
        # A prefix of one address is a host, which has a circuit.
        named = "pping-of-hosts" if length == ("128" if ":" in address else "32") else dataset
        hour = (named, synthetic, address, time_ns // HOUR_NS)
        if not self._hours.add(hour, samples, round(mean_ns * samples), minimum_ns, maximum_ns):
            return
        row = _row(time_ns, None, samples, minimum_ns, maximum_ns)
        row |= {"rtt_avg_us": mean_ns / 1000, "sent_bytes": None, "client_address": address}
        self._ready.append(row | {"dataset": dataset, "synthetic": synthetic})

    def _batches(self) -> Facts:
        ready, self._ready = self._ready, []
        for place in range(0, len(ready), BATCH_ROWS):
            rows = ready[place : place + BATCH_ROWS]
            constants = {"rtt_basis": "raw", "sample_basis": "rtt_samples"}
            numbered = [row | constants | {"connection_number": self._next_number + n} for n, row in enumerate(rows)]
            self._next_number += len(rows)
            raw = RawConnections(None, columns_of(numbered), len(numbered))
            yield TABLE, self._connections.complete(raw)


def _row(first_ns: int, last_ns: int | None, samples: int, minimum_ns: int, maximum_ns: int) -> dict[str, object]:
    return {
        "start_ns": first_ns,
        "duration_ms": None if last_ns is None else (last_ns - first_ns) / 1e6,
        "rtt_samples": samples,
        # Below half a microsecond a minimum would read as none.
        "rtt_min_us": max(1, round(minimum_ns / 1000)),
        "rtt_max_us": max(1, round(maximum_ns / 1000)),
    }


def _sample_of(record: dict[str, Any]) -> Seen | None:
    time_ns, rtt_ns = _count(record.get("timestamp")), _count(record.get("rtt"))
    source, other = record.get("src_ip"), record.get("dest_ip")
    port, other_port = _count(record.get("src_port")), _count(record.get("dest_port"))
    if not time_ns or not rtt_ns or port is None or other_port is None:
        return None
    if not isinstance(source, str) or not isinstance(other, str) or len(source) > 64 or len(other) > 64:
        return None
    egress = record.get("match_on_egress")
    dataset = DATASETS[egress if isinstance(egress, bool) else None]
    flow, synthetic = (source, port, other, other_port), record.get("synthetic") is True
    return Seen(time_ns, flow, dataset, synthetic, rtt_ns, _count(record.get("sent_bytes")))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_NS else None


def _is_rtt(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < LARGEST_NS


def _records(source: Source, reading: Reading) -> Iterator[Any]:
    if source.json is not None and isinstance(source.json.value, list):
        with open_json(source, reading) as handle:
            try:
                nested = BoundedNesting(handle, is_in_elements=True)
                for record in ijson.items(nested, "item", buf_size=BLOCK_BYTES, use_float=True):
                    nested.begin_element()
                    yield record
            except InputError as error:
                reading.fault = error
            except DAMAGE:
                message = "output of pping: JSON is damaged or cut; stop pping before you copy its output"
                reading.fault = InputError("corrupt_record", message)
        return
    yield from _of_lines(source, reading, is_json=source.json is not None)


def _of_lines(source: Source, reading: Reading, *, is_json: bool) -> Iterator[Any]:
    offset = 0
    try:
        with open_json_lines(source, reading) as handle:
            while line := handle.readline(MAX_LINE_BYTES):
                text = line.strip()
                record = _object(text) if is_json else _machine(text)
                if record is not None:
                    yield record
                elif text:
                    _refuse_without_date(text)
                    reading.records_read += 1
                    reading.refuse("malformed_record")
                    message = f"output of pping: line at byte {offset} is damaged; copy the file again"
                    reading.fault = reading.fault or InputError("corrupt_record", message, offset)
                offset += len(line)
    except InputError as error:
        error.offset = offset
        raise


def _refuse_without_date(text: bytes) -> None:
    if WITHOUT_DATE.match(text):
        message = "output of pping without dates; run pping with -m, or ePPing with --format json"
        raise InputError("no_date", message)


def _object(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _machine(text: bytes) -> Seen | None:
    match = MACHINE.match(text)
    if match is None:
        return None
    seconds, _, fraction = match["time"].decode().partition(".")
    other, _, other_port = match["other"].decode().rpartition(":")
    flow = (match["source"].decode(), int(match["port"]), other, int(other_port))
    rtt_ns = round(float(match["rtt"]) * 1e9)
    time_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
    return Seen(time_ns, flow, DATASETS[None], False, rtt_ns, None) if rtt_ns and time_ns < LARGEST_NS else None
