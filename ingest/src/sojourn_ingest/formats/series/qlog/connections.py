"""Connections of a qlog file: their series as events come, and at the end one row of ``connection`` each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.interface import Reading
from sojourn_ingest.formats.series.bounds import refusal_of
from sojourn_ingest.formats.series.qlog.clock import Clock, number_in
from sojourn_ingest.formats.series.qlog.records import Trace
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, SeriesRows, number, scaled

MOST_CONNECTIONS = 65_536
#: mvfst states its congestion window in an event of its own (quic/logging/QLoggerTypes.cpp).
METRICS_UPDATED = ("recovery_metrics_updated", "metrics_updated", "metric_update", "congestion_metric_update")
#: mvfst's says how many packets; others are of one.
LOST = ("packet_lost", "packets_lost")
SPIN = ("spin_bit_updated", "spin_bit_update")
STARTED = ("connection_started", "connection_new")
VANTAGES = ("client", "server", "network")
SENDS = {"client": "uplink", "server": "downlink"}

#: By the names of all drafts: name of the series, metric, basis, and whether the value is of what this end sends.
METRICS = {
    "latest_rtt": ("latest_rtt", "rtt_ms", "samples", False),
    "smoothed_rtt": ("smoothed_rtt", "srtt_ms", "polls", False),
    "min_rtt": ("min_rtt", "rtt_ms", "polls", False),
    "rtt_variance": ("rtt_variance", "rttvar_ms", "polls", False),
    "congestion_window": ("congestion_window", "cwnd_bytes", "polls", True),
    "cwnd": ("congestion_window", "cwnd_bytes", "polls", True),
    "current_cwnd": ("congestion_window", "cwnd_bytes", "polls", True),
    "bytes_in_flight": ("bytes_in_flight", "in_flight_bytes", "polls", True),
}
TIMES = ("rtt_ms", "srtt_ms", "rttvar_ms")


class Connection:
    """One connection, as one vantage point saw it."""

    def __init__(self, place: int, vantage: str | None, clock: Clock) -> None:
        self.name = " ".join(("connection", str(place + 1), *([vantage] if vantage else ())))
        self.vantage = vantage
        self.clock = clock
        self.client: str | None = None
        self.first_ms: float | None = None
        self.last_ms: float | None = None
        self.samples = 0
        self.sum_us = 0.0
        self.min_us: float | None = None
        self.max_us: float | None = None
        self._series: dict[str, int] = {}
        self._last_sample: tuple[Any, ...] | None = None
        self._spin: tuple[bool, float | None] | None = None

    def series(self, rows: SeriesRows, name: str, metric: str, basis: str, sends: bool = False) -> int:
        """Return the number of a series of this connection, which begins with its first value."""
        if name not in self._series:
            direction = SENDS.get(self.vantage or "") if sends else None
            unit = "state" if metric == "other" else None
            kind = SeriesKind(f"{self.name} {name}", metric, basis, self.name, "app", direction, unit)
            self._series[name] = rows.begin(kind)
        return self._series[name]

    def is_new_sample(self, data: dict[str, Any]) -> bool:
        """Return whether an update is of another RTT sample than the last: some log all metrics at every change."""
        sample = tuple(data.get(name) for name in ("latest_rtt", "smoothed_rtt", "rtt_variance"))
        is_new = sample != self._last_sample
        self._last_sample = sample
        return is_new

    def take_rtt(self, rtt_ms: float) -> None:
        """Count one RTT sample."""
        us = rtt_ms * 1000
        self.samples += 1
        self.sum_us += us
        self.min_us = us if self.min_us is None else min(self.min_us, us)
        self.max_us = us if self.max_us is None else max(self.max_us, us)

    def spin_edge(self, state: bool, ms: float) -> tuple[bool, float | None]:
        """Return whether the spin bit changed, and the time since its last change, where that was seen."""
        if self._spin is None:
            self._spin = (state, None)
            return False, None
        last, last_ms = self._spin
        if state == last:
            return False, None
        self._spin = (state, ms)
        return True, None if last_ms is None or ms <= last_ms else ms - last_ms

    def row(self, place: int) -> dict[str, object]:
        """Return the row of ``connection``; without a start in UTC, which the file may not state, it is refused."""
        return {
            "connection_number": place,
            "dataset": f"qlog-{self.vantage or 'unknown'}",
            "start_ns": None if self.first_ms is None else self.clock.utc_ns(self.first_ms),
            "duration_ms": None if self.first_ms is None or self.last_ms is None else self.last_ms - self.first_ms,
            "client_address": self.client,
            "rtt_samples": self.samples,
            "rtt_min_us": None if self.min_us is None else round(self.min_us),
            "rtt_avg_us": self.sum_us / self.samples if self.samples else None,
            "rtt_max_us": None if self.max_us is None else round(self.max_us),
        }


class Connections:
    """All connections of a file, told apart by their trace and group."""

    def __init__(self, rows: SeriesRows, reading: Reading) -> None:
        self.by_trace_and_group: dict[tuple[int, str], Connection] = {}
        #: Of parts of a trace's header, which may be long, and which all its events have.
        self._group, self._columns, self._vantage = _Remembered(_group), _Remembered(_columns), _Remembered(_vantage)
        self._rows = rows
        self._reading = reading
        self._clocks: dict[int, Clock] = {}

    def take(self, place: int, trace: Trace, event: Any) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Take one event, and yield the batches that it fills."""
        self._reading.records_read += 1
        clock = self._clocks.get(place)
        if clock is None:
            clock = self._clocks[place] = Clock(trace.header)
        if not clock.has_known_unit:
            self._reading.refuse("event_of_a_trace_with_unknown_time_units")
            return
        fields = self._fields(event, trace.header)
        ms = None if fields is None else clock.time_ms(fields)
        if fields is None or ms is None:
            self._reading.refuse("malformed_event" if fields is None else "event_without_time")
            return
        name, data = _name(fields), fields.get("data")
        if not isinstance(data, dict) or name not in KNOWN:
            return
        connection = self._of(place, trace, fields, clock)
        if connection is None:
            self._reading.refuse("more_connections_than_are_told_apart")
            return
        connection.first_ms = ms if connection.first_ms is None else connection.first_ms
        connection.last_ms = ms
        if name in METRICS_UPDATED:
            yield from self._metrics(connection, data, ms)
        elif name in LOST:
            yield from self._lost(connection, data, ms)
        elif name in SPIN:
            yield from self._spin(connection, data.get("state"), ms)
        else:
            connection.client = connection.client or _client(data, connection.vantage)

    def _of(self, place: int, trace: Trace, fields: dict[str, Any], clock: Clock) -> Connection | None:
        group = fields.get("group_id")
        key = (place, self._group.of(trace.header.get("common_fields")) if group is None else _digest(group))
        if key not in self.by_trace_and_group:
            if len(self.by_trace_and_group) >= MOST_CONNECTIONS:
                return None
            self.by_trace_and_group[key] = Connection(
                len(self.by_trace_and_group), self._vantage.of(trace.header.get("vantage_point")), clock
            )
        return self.by_trace_and_group[key]

    def _fields(self, event: Any, header: dict[str, Any]) -> dict[str, Any] | None:
        """Return an event as an object; None for what is neither one nor a row of the declared columns."""
        if isinstance(event, dict):
            return event
        columns = self._columns.of(header.get("event_fields"))
        if not isinstance(event, list) or columns is None or len(event) > len(columns):
            return None
        return dict(zip(columns, event, strict=False))

    def _metrics(self, connection: Connection, data: dict[str, Any], ms: float) -> Iterator[tuple[str, pa.RecordBatch]]:
        for name, stated in data.items():
            named = METRICS.get(name)
            if named is None or stated is None:
                continue
            series, metric, basis, sends = named
            value = number_in(stated)
            if value is not None and metric in TIMES:
                value = number(value / connection.clock.per_ms)
            if value is None:
                self._reading.refuse(f"{name}: not a number")
                continue
            reason = refusal_of(metric, value)
            if reason is not None:
                # Before it is counted as a sample of the connection.
                self._reading.refuse(reason)
                continue
            if name == "latest_rtt":
                # 0 means that there is no sample yet.
                if value == 0 or not connection.is_new_sample(data):
                    continue
                connection.take_rtt(value)
            yield from self._add(connection, connection.series(self._rows, series, metric, basis, sends), value, ms)

    def _lost(self, connection: Connection, data: dict[str, Any], ms: float) -> Iterator[tuple[str, pa.RecordBatch]]:
        packets = number_in(data.get("lost_packets", 1))
        if packets is None:
            self._reading.refuse("lost_packets: not a number")
            return
        place = connection.series(self._rows, "packet_lost", "lost_packets", "samples", True)
        yield from self._add(connection, place, packets, ms)

    def _spin(self, connection: Connection, state: Any, ms: float) -> Iterator[tuple[str, pa.RecordBatch]]:
        if not isinstance(state, bool):
            self._reading.refuse("spin_bit: not a state")
            return
        changed, period_ms = connection.spin_edge(state, ms)
        if not changed:
            return
        yield from self._add(connection, connection.series(self._rows, "spin_bit", "other", "samples"), state, ms)
        # Between both ends a change is seen in the packets of both ways, so that its distance is no round trip.
        if period_ms is not None and connection.vantage in SENDS:
            # A series of its own: it may hold the application's pauses (RFC 9312, section 3.8.2).
            place = connection.series(self._rows, "spin_bit rtt", "rtt_ms", "intervals")
            yield from self._add(connection, place, period_ms, ms, period_ms / 1000)

    def _add(
        self, connection: Connection, place: int, value: float, ms: float, duration_s: float | None = None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        clock = connection.clock
        sample = Sample(scaled(float(value), 1), clock.utc_ns(ms), clock.since_s(ms), duration_s)
        yield from self._rows.add(place, [sample])


KNOWN = frozenset((*METRICS_UPDATED, *LOST, *SPIN, *STARTED))


class _Remembered:
    """What follows from a part of a header, computed again only for another part."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute
        self._part: Any = self
        self._value: Any = None

    def of(self, part: Any) -> Any:
        """Return what follows from this part."""
        if part is not self._part:
            self._part, self._value = part, self._compute(part)
        return self._value


def _columns(stated: Any) -> list[str] | None:
    return [str(column).lower() for column in stated] if isinstance(stated, list) else None


def _group(common: Any) -> str:
    return _digest(common.get("group_id") if isinstance(common, dict) else None)


def _name(fields: dict[str, Any]) -> str:
    """Return the name of an event without its category, which changed between drafts."""
    stated = fields.get("name") or fields.get("event_type") or fields.get("event") or fields.get("type")
    return str(stated).rpartition(":")[2].lower() if isinstance(stated, str) else ""


def _digest(group: Any) -> str:
    """Return what stands for a group: as a whole, its name would be kept as long as its connection."""
    return hashlib.sha256(str(group).encode(errors="surrogatepass")).hexdigest()


def _vantage(stated: Any) -> str | None:
    named = stated.get("type") if isinstance(stated, dict) else None
    return named.lower() if isinstance(named, str) and named.lower() in VANTAGES else None


def _client(data: dict[str, Any], vantage: str | None) -> str | None:
    """Return the client's address: the one that began the connection."""
    address = data.get("src_ip")
    if address is None:
        end = data.get("remote" if vantage == "server" else "local")
        address = (end.get("ip_v4") or end.get("ip_v6")) if isinstance(end, dict) else None
    return address if isinstance(address, str) and len(address) <= 64 else None
