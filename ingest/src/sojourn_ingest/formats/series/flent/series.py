"""The series of a flent data file: what each measures, of which flow, in which unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn_ingest.formats.content.json_document import label
from sojourn_ingest.formats.series.flent.document import FlentDocument
from sojourn_ingest.formats.series.series_rows import Sample, SeriesKind, epoch_ns, number, scaled
from sojourn_ingest.host_names import HostNames

COMPUTED = re.compile(r"(?:^| )(?:avg|sum|totals?|fairness|diff|min|max)$", re.IGNORECASE)
#: A name that says so is of a pure number, whatever unit flent gives the series.
PURE_NUMBER = re.compile(r"\b(?:fairness|index|ratio)\b", re.IGNORECASE)
#: flent's unit: metric and factor.
RATES = {"Mbits/s": 1e6, "Mbit/s": 1e6, "Kbits/s": 1e3, "Kbit/s": 1e3, "Kbps": 1e3, "bits/s": 1.0, "bit/s": 1.0}

TCP_METRICS = {"tcp_rtt": "srtt_ms", "tcp_rtt_var": "rttvar_ms", "tcp_cwnd": "cwnd_packets"}
VOIP_METRICS = {
    "delay": "one_way_delay_ms",
    # Delay beyond the smallest: packet delay variation (RFC 5481, section 4.2).
    "induced_delay": "delay_variation_ms",
    "jitter": "jitter_ms",
    "loss": "lost_packets",
    "bitrate": "rate_bps",
    "mos": "mos",
}
QUEUE_METRICS = {
    "backlog_bytes": "backlog_bytes",
    "backlog_pkts": "backlog_packets",
    "dropped": "dropped_packets",
    "ecn_mark": "ecn_marked_packets",
    "sent_bytes": "sent_bytes",
    "sent_pkts": "sent_packets",
    "delay": "codel_delay_ms",
}


@dataclass(frozen=True)
class FlentSeries:
    """One series: its kind, and the factor from flent's unit to the metric's."""

    name: str
    kind: SeriesKind
    factor: float
    is_measured: bool


def series_of(document: FlentDocument, hosts: HostNames) -> list[FlentSeries]:
    """Return the series of a document, in the order of their names.

    What flent interpolated is a series of its own where flent itself sums that up although there are raw values.
    """
    all_series = []
    for name in sorted(document.results):
        bases = [True] if document.is_measured(name) else []
        bases += [False] if document.is_summed_up_on_grid(name) else []
        all_series += [_series(document, hosts, name, measured=measured) for measured in bases]
    return all_series


def samples_of(document: FlentDocument, series: FlentSeries) -> Iterator[Sample | None]:
    """Yield the values of a series on its own times, or where it was computed on flent's grid; None for no number."""
    start_s = document.start_s
    if series.is_measured:
        for raw in document.raw_values(series.name):
            value = None if raw is None else scaled(raw.value, series.factor)
            if raw is None or value is None:
                yield None
                continue
            since = None if start_s is None else raw.time_s - start_s
            yield Sample(value, epoch_ns(raw.time_s), since, raw.duration_s)
        return
    for place, stored in enumerate(document.results[series.name]):
        if stored is None:
            continue
        value = scaled(number(stored), series.factor)
        time_s = document.grid_s[place] if place < len(document.grid_s) else None
        if value is None or time_s is None:
            yield None
            continue
        yield Sample(value, None if start_s is None else epoch_ns(start_s + time_s), time_s)


def mean_of(document: FlentDocument, series: FlentSeries) -> float | None:
    """Return the mean that the tool itself stated of a whole series, in the metric's unit."""
    value = number(document.meta_of(series.name).get("MEAN_VALUE"))
    return scaled(value, series.factor)


def _series(document: FlentDocument, hosts: HostNames, name: str, *, measured: bool) -> FlentSeries:
    base, path = document.raw_key(name)
    if base is None or path == ["val"]:
        # Without raw values the last part tells what it is, where it is a word that is known.
        head, _, tail = name.rpartition("::")
        is_of_flow = bool(head) and (tail in TCP_METRICS or tail in VOIP_METRICS)
        flow, key = (head, tail) if is_of_flow else (name, "val")
    else:
        flow, key = base, "::".join(path)
    is_computed = COMPUTED.search(flow) is not None or (not measured and key == "val" and bool(document.raw))
    units = label(document.meta_of(name).get("UNITS") or document.meta_of(flow).get("UNITS"))
    if units in RATES and PURE_NUMBER.search(flow):
        units = ""
    metric, factor = _metric(flow, key, units)
    role = _role(flow, metric)
    is_flow = role is not None and not is_computed
    lower = flow.lower()
    direction = "uplink" if "upload" in lower else "downlink" if "download" in lower else None
    kind = SeriesKind(
        name=hosts.replaced(name),
        metric=metric,
        sample_basis=_basis(document, name, key, measured),
        flow=hosts.replaced(flow) if is_flow else None,
        role=role,
        direction=direction,
        tool_unit=units or None,
    )
    return FlentSeries(name, kind, factor, measured)


def _basis(document: FlentDocument, name: str, key: str, measured: bool) -> str:
    if not measured:
        return "interpolated"
    if key == "val":
        first = next((raw for raw in document.raw_values(name) if raw is not None), None)
        return "intervals" if first is not None and first.duration_s is not None else "samples"
    return "intervals" if key in ("dropped", "ecn_mark", *VOIP_METRICS) else "polls"


def _metric(flow: str, key: str, units: str) -> tuple[str, float]:
    """Return the metric of a series and the factor from flent's unit to its own."""
    if flow.startswith("qdisc_stats_"):
        return QUEUE_METRICS.get(key, "other"), 1.0
    if flow.startswith("cpu_stats_") and key == "load":
        return "cpu_load_ratio", 1.0
    if key in TCP_METRICS:
        return TCP_METRICS[key], 1.0
    if flow.startswith("VoIP") and key in VOIP_METRICS:
        return VOIP_METRICS[key], 1e3 if key == "bitrate" else 1.0
    if key != "val":
        return "other", 1.0
    if units in RATES:
        return "rate_bps", RATES[units]
    if flow == "HTTP latency":
        return "http_latency_ms", 1.0
    if units == "ms":
        return "rtt_ms", 1.0
    return "other", 1.0


def _role(flow: str, metric: str) -> str | None:
    if metric in ("rtt_ms", "srtt_ms", "rttvar_ms", "cwnd_packets") and ("ping" in flow.lower() or metric == "rtt_ms"):
        return "probe"
    if flow.startswith(("qdisc_stats_", "cpu_stats_", "wifi_stats_", "netstat_")):
        return None
    if re.match(r"(?:\w+ )?TCP\b", flow, re.IGNORECASE):
        return "tcp"
    return "app" if metric in ("rate_bps", "http_latency_ms", "mos") or flow.startswith("VoIP") else None
