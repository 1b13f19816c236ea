"""What measurement tools recorded over time: flent, iperf3, ping, irtt and their like."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT32, INT64, PROVENANCE, STRING

#: What a series measures, and the unit of its values.
SERIES_METRICS = {
    "rtt_ms": "ms",
    "srtt_ms": "ms",
    "rttvar_ms": "ms",
    "one_way_delay_ms": "ms",
    "delay_variation_ms": "ms",
    "jitter_ms": "ms",
    "rate_bps": "bit/s",
    "cwnd_packets": "packets",
    "cwnd_bytes": "bytes",
    "in_flight_bytes": "bytes",
    "retransmitted_packets": "packets",
    "lost_packets": "packets",
    "sent_packets": "packets",
    "sent_bytes": "bytes",
    "dropped_packets": "packets",
    "ecn_marked_packets": "packets",
    "backlog_packets": "packets",
    "backlog_bytes": "bytes",
    "codel_delay_ms": "ms",
    "http_latency_ms": "ms",
    "cpu_load_ratio": "ratio",
    "media_rate_bps": "bit/s",
    "media_buffer_ms": "ms",
    "startup_ms": "ms",
    "stalled_ms": "ms",
    "stalls": "",
    "mos": "",
    "other": "",
}

SAMPLE_BASES = ("samples", "polls", "intervals", "interpolated", "total")

SERIES = Table(
    "series",
    "readers of measurement tools",
    "one value of one series of one source",
    ("source_hash", "series_number", "sample_number"),
    (
        *PROVENANCE,
        Column("series_number", INT32, "number of the series in its source, from 0", nullable=False),
        Column(
            "sample_number", INT64, "number of the value in its series, from 0, in the source's order", nullable=False
        ),
        Column(
            "series_name",
            STRING,
            "name of the series in the tool's output; host names and public addresses in it are replaced by keys",
            nullable=False,
        ),
        Column("flow_name", STRING, "flow or probe of the series; null if it has none, such as for a queue"),
        Column(
            "role",
            STRING,
            "role of the flow: app, tcp (bulk TCP), or probe (small packets sent to measure delay); null if the "
            "series is not of a flow",
            codes=("app", "tcp", "probe"),
        ),
        Column(
            "direction",
            STRING,
            "direction of the flow's data: downlink or uplink, taking the side that ran the tool's client as the "
            "customer's; null if the data goes both ways or has no direction",
            codes=("downlink", "uplink"),
        ),
        Column(
            "metric",
            STRING,
            "measured quantity: " + ", ".join(SERIES_METRICS) + " (any other quantity that the tool reports)",
            nullable=False,
            codes=tuple(SERIES_METRICS),
        ),
        Column(
            "unit",
            STRING,
            "unit of the values: that of the metric; for other, as the tool names it, or null if it names none",
        ),
        Column(
            "sample_basis",
            STRING,
            "kind of value: samples (single measurements), polls (a state that was read), intervals (mean or sum "
            "over duration_s), interpolated (placed by the tool on its own time grid), total (one value for a "
            "whole test, as the tool summarised it)",
            nullable=False,
            codes=SAMPLE_BASES,
        ),
        Column(
            "time_ns",
            INT64,
            "time of the value, or end of its interval, UTC, in ns since the epoch; null if unknown",
            "ns",
        ),
        Column(
            "time_s",
            FLOAT,
            "time of the value, or end of its interval, after the start of the test; null if no time is known",
            "s",
        ),
        Column("duration_s", FLOAT, "length of the interval; null for a value without one", "s"),
        Column("value", FLOAT, "value, in unit; null for an unanswered probe"),
    ),
)

SERIES_FLOW = Table(
    "series_flow",
    "readers of measurement tools",
    "one flow of one source whose congestion control the tool states",
    ("source_hash", "flow_name"),
    (
        *PROVENANCE,
        Column("flow_name", STRING, "name of the flow, as in series", nullable=False),
        Column("congestion_control", STRING, "congestion control of its sender", nullable=False),
    ),
)

TABLES = (SERIES, SERIES_FLOW)
