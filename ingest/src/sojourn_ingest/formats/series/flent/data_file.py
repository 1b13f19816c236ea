"""Flent data files: every series, the run that they are of, smoothed RTT of TCP flows, counters of queue disciplines.

flent polls the smoothed RTT from ss (series ``…::tcp_rtt``), the counters from tc (series ``qdisc_stats_…``).

A data file names hosts, not the ends of its flows, so its connections have no client.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sojourn_ingest.formats.connection.connection_format import (
    TABLE as CONNECTION,
)
from sojourn_ingest.formats.connection.connection_format import (
    Basis,
    ConnectionRows,
    MemberFormat,
    RawFacts,
    RawRows,
)
from sojourn_ingest.formats.content.json_document import count, read_object
from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.queue.tc_polls import queue_counter_batch
from sojourn_ingest.formats.series.bounds import LONGEST_DELAY_US, date_of
from sojourn_ingest.formats.series.flent.configuration import flent_run
from sojourn_ingest.formats.series.flent.document import FlentDocument
from sojourn_ingest.formats.series.flent.queue_counters import counter_rows
from sojourn_ingest.formats.series.flent.series import mean_of, samples_of, series_of
from sojourn_ingest.formats.series.run_rows import run_rows
from sojourn_ingest.formats.series.series_rows import PROVENANCE, Sample, SeriesRows, total
from sojourn_ingest.host_names import HostNames
from sojourn_ingest.schema import table

MARKS = frozenset(("DATA_FILENAME", "FLENT_VERSION", "NETPERF_WRAPPER_VERSION", "SERIES_META"))
#: Metadata that name the machine that ran flent.
CLIENT = ("LOCAL_HOST", "LOCAL_BIND")
SERIES = "::tcp_rtt"
FILE = "flent data file"


class Flent(MemberFormat):
    """One flent data file."""

    name = "flent"
    without_facts = "flent data file without a value; the test ended before it measured anything"
    version = "flent-12"
    basis = Basis("flent", rtt_basis="smoothed", sample_basis="polls")

    def recognises(self, source: Source) -> bool:
        """Return whether the document has metadata of flent."""
        metadata = source.object.get("metadata")
        return isinstance(metadata, dict) and not MARKS.isdisjoint(metadata)

    def raw_facts(self, source: Source, reading: Reading) -> Iterator[RawFacts]:
        """Yield what a member of an archive holds of connections and queues.

        A member is no run, since an archive is one source: its series are left out.
        """
        document = FlentDocument(read_object(source, FILE, reading))
        counters, rows = self._counters(document, reading), self._connections(document, reading)
        if not rows and not counters:
            raise InputError(
                "no_measurement",
                "flent data file without polls of tcp_rtt or of queue disciplines; flent records them when it runs "
                "with --socket-stats, or with the test parameter qdisc_stats_interfaces",
            )
        if counters:
            yield "queue_counter", queue_counter_batch(counters)
        if rows:
            yield RawRows(self.basis, rows)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the run, its series, the connections with polls of their smoothed RTT, and the queues' counters."""
        document = FlentDocument(read_object(source, FILE, reading))
        hosts = HostNames(context.pseudonymiser, [document.text(name) for name in CLIENT])
        counters, rows = self._counters(document, reading), self._connections(document, reading)
        for row in counters:
            row["device"] = hosts.replaced(row["device"])
        series_rows = SeriesRows(reading)
        controls: dict[str, str] = {}
        reading.records_read += len(document.results)
        for series in series_of(document, hosts):
            added = series_rows.samples
            samples = _numbers(samples_of(document, series), reading)
            first = next(samples, None)
            if first is not None:
                yield from series_rows.add(series_rows.begin(series.kind), itertools.chain([first], samples))
            if series_rows.samples == added:
                reading.refuse("series_without_values")
            control = document.congestion_control_of(series.name)
            if series.kind.flow is not None and series.kind.role == "tcp" and control is not None:
                controls[series.kind.flow] = control
            mean = total(mean_of(document, series))
            if mean:
                yield from series_rows.add(series_rows.begin(replace(series.kind, sample_basis="total")), mean)
        yield from series_rows.finish()
        if controls:
            yield "series_flow", _flows(controls)
        kinds = {str(row["kind"]) for row in counters}
        yield from run_rows(flent_run(document, hosts, kinds, source.plain_name), source, context)
        if counters:
            yield "queue_counter", queue_counter_batch(counters)
        if rows:
            yield CONNECTION, ConnectionRows(context, reading).complete(RawRows(self.basis, rows))

    def _counters(self, document: FlentDocument, reading: Reading) -> list[dict[str, Any]]:
        counters, refused = counter_rows(document)
        dated = [row for row in counters if date_of(row["poll_start_ns"]) is not None]
        reading.records_read += len(dated)
        reading.refuse("malformed_queue_poll", refused)
        reading.refuse("queue_poll_without_date", len(counters) - len(dated))
        return dated

    def _connections(self, document: FlentDocument, reading: Reading) -> list[dict[str, object]]:
        """Return one row for each flow with polls of its smoothed RTT; a flow without any is refused."""
        ip_version = count(document.metadata.get("IP_VERSION"))
        rows: list[dict[str, object]] = []
        flows = [name.removesuffix(SERIES) for name in document.results if name.endswith(SERIES)]
        for flow in flows:
            stated = [poll for poll in map(_poll, document.raw.get(flow, ())) if poll is not None]
            polls = [poll for poll in stated if poll[1] <= LONGEST_DELAY_US]
            reading.refuse("poll_of_tcp_rtt: longer than an hour", len(stated) - len(polls))
            reading.records_read += 1
            if not polls:
                # A flow that ended before the first poll, or a file without raw values, whose results are interpolated.
                reading.refuse("no_raw_polls")
                continue
            times = [time for time, _ in polls]
            rtts = [rtt_us for _, rtt_us in polls if rtt_us > 0]
            rows.append(
                {
                    "connection_number": len(rows),
                    "start_ns": round(min(times) * 1e9),
                    "duration_ms": (max(times) - min(times)) * 1e3,
                    "ip_version": ip_version if ip_version in (4, 6) else None,
                    "rtt_samples": len(rtts),
                    "rtt_min_us": min(rtts, default=None),
                    "rtt_avg_us": sum(rtts) / len(rtts) if rtts else None,
                    "rtt_max_us": max(rtts, default=None),
                }
            )
        return rows


def _numbers(samples: Iterable[Sample | None], reading: Reading) -> Iterator[Sample]:
    for sample in samples:
        if sample is not None:
            yield sample
        else:
            reading.refuse("series_value: not a number")


def _flows(controls: dict[str, str]) -> pa.RecordBatch:
    """Return rows of ``series_flow`` from the congestion control of each flow."""
    schema = pa.schema([field for field in table("series_flow").arrow_schema() if field.name not in PROVENANCE])
    return pa.RecordBatch.from_pydict(
        {"flow_name": list(controls), "congestion_control": list(controls.values())}, schema=schema
    )


def _poll(value: Any) -> tuple[float, int] | None:
    """Return time (s, UTC epoch) and smoothed RTT (us) of one raw value; None where it is of another series."""
    if not isinstance(value, dict):
        return None
    time, rtt_ms = value.get("t"), value.get("tcp_rtt")
    if not isinstance(time, (int, float)) or not isinstance(rtt_ms, (int, float)):
        return None
    # Comparisons first: a whole number may be larger than any double. NaN fails them.
    if not (0 <= time < 2**33 and 0 <= rtt_ms < 2**33):
        return None
    return float(time), round(rtt_ms * 1000)
