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
            "name of the series as the tool has it; names and public addresses of hosts in it are replaced by keys",
            nullable=False,
        ),
        Column("flow_name", STRING, "flow or probe that the series is of; null where it is of none, such as a queue"),
        Column(
            "role",
            STRING,
            "app, tcp (bulk TCP), or probe (small packets sent to measure delay); null where the series is of no flow",
            codes=("app", "tcp", "probe"),
        ),
        Column(
            "direction",
            STRING,
            "way of the data, the side that ran the tool's client being the customer's: downlink or uplink; "
            "null for both ways and for none",
            codes=("downlink", "uplink"),
        ),
        Column(
            "metric",
            STRING,
            "what is measured: " + ", ".join(SERIES_METRICS) + " (what the tool measures beside)",
            nullable=False,
            codes=tuple(SERIES_METRICS),
        ),
        Column(
            "unit", STRING, "unit of the values: the metric's own; of other, as the tool names it, null if it does not"
        ),
        Column(
            "sample_basis",
            STRING,
            "what a value is: samples (one measurement), polls (a state that was looked at), intervals (mean or sum "
            "over duration_s), interpolated (set by the tool on a grid of its own), total (one value of a whole test, "
            "as the tool summed it up)",
            nullable=False,
            codes=SAMPLE_BASES,
        ),
        Column(
            "time_ns", INT64, "time of the value, or end of its interval, UTC epoch; null where it is not known", "ns"
        ),
        Column("time_s", FLOAT, "the same, after the start of the test; null where no time is known", "s"),
        Column("duration_s", FLOAT, "length of the interval; null of a value that has none", "s"),
        Column("value", FLOAT, "value, in unit; null: a probe without an answer"),
    ),
)

SERIES_FLOW = Table(
    "series_flow",
    "readers of measurement tools",
    "one flow of one source whose congestion control the tool states",
    ("source_hash", "flow_name"),
    (
        *PROVENANCE,
        Column("flow_name", STRING, "flow, as series names it", nullable=False),
        Column("congestion_control", STRING, "congestion control of its sender", nullable=False),
    ),
)

TABLES = (SERIES, SERIES_FLOW)
