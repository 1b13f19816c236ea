"""Results of iperf3 as JSON (``-J``) and as lines of JSON (``--json-stream``), of a client and of a server.

Times are the start that the result states, in whole seconds before iperf3 3.18, and what passed since the data began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.content.json_document import parse_object, read_object
from sojourn_ingest.formats.content.json_outline import json_start
from sojourn_ingest.formats.content.plain_text import open_json_lines
from sojourn_ingest.formats.interface import Context, Facts, Format, InputError, Reading, Source
from sojourn_ingest.formats.series.bounds import MORE_LOST, is_more_than_sent
from sojourn_ingest.formats.series.run_rows import ToolRun, run_rows
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, epoch_ns, number, scaled
from sojourn_ingest.formats.series.setting import setting_of
from sojourn_ingest.host_names import HostNames

FILE = "iperf3 result"
MAX_LINE_BYTES = 16 * 2**20

#: Key of a stream in an interval: metric, basis, and factor (or a divisor, where negative) to the metric's unit.
INTERVAL_METRICS: dict[str, tuple[str, str, float]] = {
    "bits_per_second": ("rate_bps", "intervals", 1),
    "retransmits": ("retransmitted_packets", "intervals", 1),
    "packets": ("sent_packets", "intervals", 1),
    "lost_packets": ("lost_packets", "intervals", 1),
    "snd_cwnd": ("cwnd_bytes", "polls", 1),
    # The kernel's smoothed RTT (tcpi_rtt), in microseconds.
    "rtt": ("srtt_ms", "polls", -1000),
    "rttvar": ("rttvar_ms", "polls", -1000),
    # RFC 3550's running estimate.
    "jitter_ms": ("jitter_ms", "polls", 1),
}
END_METRICS: dict[str, tuple[str, float]] = {
    "bits_per_second": ("rate_bps", 1),
    "retransmits": ("retransmitted_packets", 1),
    "packets": ("sent_packets", 1),
    "lost_packets": ("lost_packets", 1),
    "min_rtt": ("srtt_ms", -1000),
    "mean_rtt": ("srtt_ms", -1000),
    "max_rtt": ("srtt_ms", -1000),
    "jitter_ms": ("jitter_ms", 1),
}
RECEIVER_METRICS = ("jitter_ms", "lost_packets")
SIDES = ("sender", "receiver", "udp")
REVERSE = "_bidir_reverse"
SUMS = tuple(f"{name}{way}" for name in ("sum_sent", "sum_received", "sum") for way in ("", REVERSE))
ALGORITHM = re.compile(r"^[A-Za-z][A-Za-z0-9_]{0,15}$")


class Iperf3(Format):
    """One result of iperf3."""

    name = "iperf3"
    without_facts = "iperf3 measured nothing: the test failed before its first interval"
    holds_addresses = True
    version = "iperf3-8"

    def recognises(self, source: Source) -> bool:
        """Return whether the document has a start of iperf3, or is the first of a stream of events."""
        if _is_stream(source):
            # A client that found no server writes an error with --json-stream, and no start.
            return source.object["event"] == "error" or _is_start(source.object["data"])
        return _is_start(source.object.get("start"))

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run and its series; of a stream of events that was cut, what came before."""
        result = _Result(context, reading)
        events = _events(source, reading) if _is_stream(source) else _events_of_document(source, reading)
        for event, data in events:
            if event == "error":
                # What was measured before stands; the text may name hosts.
                reading.refuse("test_ended_with_an_error")
            elif event not in ("start", "interval", "end"):
                continue
            elif not isinstance(data, dict):
                reading.refuse(f"{event}: not an object")
            elif event == "start":
                result.start(data)
            elif event == "interval":
                yield from result.interval(data)
            elif event == "end":
                yield from result.end(data)
        yield from result.rows.finish()
        yield from run_rows(result.run(source), source, context)


class _Result:
    def __init__(self, context: Context, reading: Reading) -> None:
        self.rows = SeriesRows(reading)
        self._reading = reading
        self._hosts = HostNames(context.pseudonymiser)
        self._numbers: dict[tuple[str, str], int] = {}
        self._title = ""
        self._is_udp = False
        self._is_server = False
        self._is_reverse = False
        self._is_bidirectional = False
        self._streams = 1
        self._start_s: float | None = None
        self._algorithm: str | None = None
        #: Whether this side sends what the sums of a name add up, as those of intervals say.
        self._sends: dict[str, Any] = {}

    def start(self, data: dict[str, Any]) -> None:
        """Take note of what the test is."""
        titles = (data.get("title"), data.get("extra_data"))
        self._title = self._hosts.replaced_in_title(" ".join(title for title in titles if isinstance(title, str)))
        test = data.get("test_start")
        test = test if isinstance(test, dict) else {}
        self._is_udp = test.get("protocol") == "UDP"
        self._is_server = "accepted_connection" in data and "connecting_to" not in data
        self._is_reverse = bool(test.get("reverse"))
        self._is_bidirectional = bool(test.get("bidir"))
        streams = number(test.get("num_streams"))
        self._streams = int(streams) if streams is not None and 1 <= streams <= 1024 else 1
        stamp = data.get("timestamp")
        stamp = stamp if isinstance(stamp, dict) else {}
        millis = number(stamp.get("timemillisecs"))
        self._start_s = number(stamp.get("timesecs")) if millis is None else millis / 1000

    def interval(self, data: dict[str, Any]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the values of one interval."""
        # 3.12 does not name the option, and sums up both ways.
        self._is_bidirectional = self._is_bidirectional or "sum_bidir_reverse" in data
        for way in ("", REVERSE):
            total = data.get(f"sum{way}")
            if isinstance(total, dict):
                self._sends.setdefault(way, total.get("sender"))
        streams = data.get("streams")
        if not isinstance(streams, list):
            self._reading.refuse("interval without streams")
            return
        for stream in streams:
            if not isinstance(stream, dict):
                self._reading.refuse("interval: not an object")
                continue
            self._reading.records_read += 1
            if stream.get("omitted") is True:
                # Of the seconds that the test was told to leave out (-O).
                self._reading.refuse("omitted_interval")
                continue
            end_s, seconds = number(stream.get("end")), number(stream.get("seconds"))
            if end_s is None or seconds is None or end_s < 0 or seconds <= 0:
                self._reading.refuse("interval without its times")
                continue
            time_ns = None if self._start_s is None else epoch_ns(self._start_s + end_s)
            for key, (metric, basis, factor) in INTERVAL_METRICS.items():
                if key not in stream:
                    continue
                value = _value(stream[key], factor)
                if value is None:
                    self._reading.refuse(f"{key}: not a number")
                    continue
                if key == "lost_packets" and is_more_than_sent(value, number(stream.get("packets"))):
                    self._reading.refuse(MORE_LOST)
                    continue
                duration = seconds if basis == "intervals" else None
                sample = Sample(value, time_ns, end_s, duration)
                yield from self._add(_name(stream), key, metric, basis, self._direction(stream), [sample])

    def end(self, data: dict[str, Any]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield what the tool summed up of each stream and of all."""
        algorithm = data.get("sender_tcp_congestion")
        if isinstance(algorithm, str) and ALGORITHM.match(algorithm):
            self._algorithm = algorithm.lower()
        streams = data.get("streams")
        for stream in streams if isinstance(streams, list) else ():
            for side, totals in stream.items() if isinstance(stream, dict) else ():
                if side not in SIDES:
                    self._reading.refuse("end: totals of neither the sender nor the receiver")
                elif isinstance(totals, dict):
                    flow = _name(totals)
                    yield from self._totals(f"end {flow} {side}", flow, totals, self._direction(totals))
        for name in SUMS:
            totals = data.get(name)
            if isinstance(totals, dict):
                yield from self._totals(f"end {name}", None, totals, self._direction_of_sum(name))

    def run(self, source: Source) -> ToolRun:
        """Return the run that the result is of."""
        setting = setting_of(self._title, source.plain_name)
        setting.congestion_control = setting.congestion_control or self._algorithm
        way = None if self._is_bidirectional else self._direction({})
        parts = ["iperf3_udp" if self._is_udp else "iperf3_tcp"]
        parts += [f"streams={self._streams}"] if self._streams > 1 else []
        parts += ["bidir"] if self._is_bidirectional else []
        return ToolRun(
            measurement="iperf3_server" if self._is_server else "iperf3",
            workload=" ".join(parts),
            setting=setting,
            direction=way,
            application="udp" if self._is_udp else None,
            start_ns=epoch_ns(self._start_s),
        )

    def _direction(self, stream: dict[str, Any]) -> str | None:
        """Return the way of the data: from 3.7 on a stream says whether this side sends, before the options do."""
        sends = stream.get("sender")
        if not isinstance(sends, bool):
            if self._is_bidirectional:
                return None
            sends = self._is_reverse if self._is_server else not self._is_reverse
        return "uplink" if sends != self._is_server else "downlink"

    def _direction_of_sum(self, name: str) -> str | None:
        """Return the way of what a sum at the end adds up.

        Of UDP, ``sender`` there says which side counted: ``sum_received`` of an upload has false.
        """
        way = REVERSE if name.endswith(REVERSE) else ""
        sends = self._sends.get(way)
        if isinstance(sends, bool) or not self._is_bidirectional:
            return self._direction({"sender": sends})
        # The client's own data come first.
        return "downlink" if way else "uplink"

    def _totals(
        self, name: str, flow: str | None, totals: dict[str, Any], direction: str | None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        seconds = number(totals.get("seconds"))
        for key, (metric, factor) in END_METRICS.items():
            # A sender knows neither of the receiver's, and writes 0.
            is_unknown = name.startswith("end sum_sent") and key in RECEIVER_METRICS and not totals.get(key)
            if key not in totals or is_unknown:
                continue
            value = _value(totals[key], factor)
            if value is None:
                self._reading.refuse(f"{key}: not a number")
            elif key == "lost_packets" and is_more_than_sent(value, number(totals.get("packets"))):
                self._reading.refuse(MORE_LOST)
            else:
                yield from self._add(name, key, metric, "total", direction, [Sample(value, duration_s=seconds)], flow)

    def _add(
        self, name: str, key: str, metric: str, basis: str, direction: str | None, samples: list[Sample],
        flow: str | None = "",
    ) -> Iterator[tuple[str, pa.RecordBatch]]:  # fmt: skip
        numbers = self._numbers.get((name, key))
        if numbers is None:
            role = "app" if self._is_udp else "tcp"
            kind = SeriesKind(
                f"{name} {key}", metric, basis, flow=name if flow == "" else flow, role=role, direction=direction
            )
            numbers = self._numbers[(name, key)] = self.rows.begin(kind)
        yield from self.rows.add(numbers, samples)


def _name(stream: dict[str, Any]) -> str:
    socket = stream.get("socket")
    is_socket = isinstance(socket, int) and not isinstance(socket, bool) and 0 <= socket < 2**31
    return f"stream {socket}" if is_socket else "stream"


def _value(stored: Any, factor: float) -> float | None:
    value = number(stored)
    if value is None:
        return None
    return value / -factor if factor < 0 else scaled(value, factor)


def _is_start(start: Any) -> bool:
    return isinstance(start, dict) and str(start.get("version")).startswith("iperf 3")


def _is_stream(source: Source) -> bool:
    return source.object.get("event") in ("start", "error") and "data" in source.object


def _events_of_document(source: Source, reading: Reading) -> Iterator[tuple[str, Any]]:
    document = read_object(source, FILE, reading)
    start = document.get("start")
    if isinstance(start, dict):
        yield "start", {name: document[name] for name in ("title", "extra_data") if name in document} | start
    intervals = document.get("intervals")
    for interval in intervals if isinstance(intervals, list) else ():
        yield "interval", interval
    if "error" in document:
        yield "error", document["error"]
    yield "end", document.get("end")


def _events(source: Source, reading: Reading) -> Iterator[tuple[str, Any]]:
    """Yield the events of a stream, line by line; the first damaged line ends it, and is the reading's fault.

    Behind the end, ``--json-stream-full-output`` repeats the same test as a document. Further tests, as a server logs
    them, are counted as refused, because a source is one run.
    """
    offset, has_ended = 0, False
    try:
        with open_json_lines(source, reading) as handle:
            while line := handle.readline(MAX_LINE_BYTES):
                if has_ended:
                    reading.refuse("further_test", int(_is_first_event(line)))
                    continue
                event = parse_object(line, f"{FILE}: line at byte {offset}") if line.strip() else {}
                if isinstance(event.get("event"), str):
                    yield event["event"], event.get("data")
                    has_ended = event["event"] == "end"
                offset += len(line)
    except InputError as error:
        reading.fault = InputError(error.reason, error.message, offset)


def _is_first_event(line: bytes) -> bool:
    start = json_start(line, is_whole=True)
    return start is not None and isinstance(start.value, dict) and start.value.get("event") == "start"
