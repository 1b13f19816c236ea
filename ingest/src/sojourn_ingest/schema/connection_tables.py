"""Tables of TCP state as the kernel reports it, poll by poll or as one row of a whole connection."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import (
    BOOL,
    DESCRIBED,
    FLOAT,
    INT8,
    INT32,
    INT64,
    PROVENANCE,
    STRING,
    endpoint_columns,
)

TCP_POLL = Table(
    "tcp_poll",
    "ss readers",
    "one socket in one poll of ss",
    ("source_hash", "poll_index", "socket_index"),
    (
        *PROVENANCE,
        Column("poll_index", INT32, "number of the poll in its file, from 0", nullable=False),
        Column("socket_index", INT32, "number of the socket in its poll, from 0", nullable=False),
        Column("poll_start_ns", INT64, "time before the poll, UTC, in ns since the epoch", "ns", nullable=False),
        Column("poll_end_ns", INT64, "time after the poll, UTC, in ns since the epoch", "ns"),
        Column("state", STRING, "TCP state as ss names it", nullable=False),
        *endpoint_columns("local", "local end"),
        *endpoint_columns("peer", "peer"),
        Column("congestion_control", STRING, "congestion control", source="tcp_sock.icsk_ca_ops"),
        Column("srtt_us", INT64, "smoothed RTT", "us", source="tcpi_rtt"),
        Column("rttvar_us", INT64, "RTT variation", "us", source="tcpi_rttvar"),
        Column("min_rtt_us", INT64, "kernel's windowed minimum RTT", "us", source="tcpi_min_rtt"),
        Column("rto_us", INT64, "retransmission timeout", "us", source="tcpi_rto"),
        Column("mss_bytes", INT32, "maximum segment size", "bytes", source="tcpi_snd_mss"),
        Column("cwnd_packets", INT32, "congestion window", source="tcpi_snd_cwnd"),
        Column("ssthresh_packets", INT64, "slow start threshold; null if unset", source="tcpi_snd_ssthresh"),
        Column("sent_bytes", INT64, "payload bytes sent, including retransmissions", "bytes", source="tcpi_bytes_sent"),
        Column("retransmitted_bytes", INT64, "payload bytes retransmitted", "bytes", source="tcpi_bytes_retrans"),
        Column("acked_bytes", INT64, "payload bytes acknowledged", "bytes", source="tcpi_bytes_acked"),
        Column("received_bytes", INT64, "payload bytes received", "bytes", source="tcpi_bytes_received"),
        Column("unacked_packets", INT32, "segments in flight", source="tcpi_unacked"),
        Column("retransmitted_packets", INT64, "segments retransmitted so far", source="tcpi_total_retrans"),
        Column("lost_packets", INT64, "segments that the sender considers lost", source="tcpi_lost"),
        Column("pacing_rate_bps", INT64, "pacing rate", "bit/s", source="tcpi_pacing_rate"),
        Column("delivery_rate_bps", INT64, "delivery rate", "bit/s", source="tcpi_delivery_rate"),
        Column(
            "app_limited",
            BOOL,
            "true if the application limited the delivery rate",
            nullable=False,
            source="tcpi_delivery_rate_app_limited",
        ),
    ),
)

# Rows of different bases are never pooled: the spread of a smoothed RTT is smaller than that of the samples it smooths,
# and the minimum and maximum of polls miss samples between two polls.
RTT_BASES = ("smoothed", "raw", "kernel_minimum", "unknown")
SAMPLE_BASES = ("rtt_samples", "polls", "unknown")

CONNECTION = Table(
    "connection",
    "connection readers",
    "one connection with its RTT statistics",
    ("source_hash", "connection_number"),
    (
        *PROVENANCE,
        Column("connection_number", INT64, "number of the connection in its source, from 0", nullable=False),
        Column("dataset", STRING, "data set that the connection belongs to", nullable=False),
        Column(
            "start_ns",
            INT64,
            "start of the connection, else its first poll, UTC, in ns since the epoch",
            "ns",
            nullable=False,
        ),
        Column("duration_ms", FLOAT, "duration of the connection, else from its first to its last poll", "ms"),
        *endpoint_columns("client", "client")[:2],
        Column("ip_version", INT8, "4 or 6"),
        Column("asn", INT64, "number of the client's autonomous system"),
        Column("country", STRING, "country of the client, ISO 3166-1 alpha-2"),
        Column(
            "access_technology",
            STRING,
            "access technology of the client: adsl, cable, ftth, mobile, … or unknown",
            nullable=False,
        ),
        Column(
            "access_technology_rule",
            STRING,
            "id@version of the rule that decided on access_technology; null if the source gave it or no rule matched",
        ),
        Column(
            "rtt_basis",
            STRING,
            "kind of RTT of minimum, mean and maximum; with kernel_minimum, only rtt_min_us is known, from the kernel",
            nullable=False,
            codes=RTT_BASES,
        ),
        Column(
            "sample_basis",
            STRING,
            "unit of rtt_samples: RTT samples of the connection, or polls, which are not samples",
            nullable=False,
            codes=SAMPLE_BASES,
        ),
        Column(
            "rtt_samples",
            INT64,
            "number of samples, in the unit of sample_basis; a filter by number of samples applies only if "
            "sample_basis is rtt_samples",
        ),
        Column("rtt_min_us", INT64, "minimum RTT, in the RTT basis", "us"),
        Column("rtt_avg_us", FLOAT, "mean RTT, in the RTT basis", "us"),
        Column("rtt_max_us", INT64, "maximum RTT, in the RTT basis", "us"),
        Column("kernel_min_rtt_us", INT64, "kernel's windowed minimum RTT; null if unset", "us", source="tcpi_min_rtt"),
        Column("sent_bytes", INT64, "payload bytes sent, including retransmissions", "bytes", source="tcpi_bytes_sent"),
        Column("acked_bytes", INT64, "payload bytes acknowledged", "bytes", source="tcpi_bytes_acked"),
        Column("received_bytes", INT64, "payload bytes received", "bytes", source="tcpi_bytes_received"),
        Column("retransmitted_packets", INT64, "segments retransmitted so far", source="tcpi_total_retrans"),
        Column("congestion_control", STRING, "congestion control", source="tcp_sock.icsk_ca_ops"),
        Column("synthetic", BOOL, "true if the data is generated, not measured", nullable=False),
    ),
)

CONNECTION_DATASET = Table(
    "connection_dataset",
    "connection description",
    "one data set of connections that a description declares",
    ("dataset",),
    (*PROVENANCE, Column("dataset", STRING, "short name of the data set", nullable=False), *DESCRIBED),
)

PASSIVE_RTT = Table(
    "passive_rtt",
    "pping reader",
    "RTT samples of one host in one hour, as seen by an observer on the path; rows of the same host and hour add up",
    ("source_hash", "row_number"),
    (
        *PROVENANCE,
        Column("row_number", INT64, "number of the row in its source, from 0", nullable=False),
        Column("dataset", STRING, "data set, which shows on which side of the observer the host is", nullable=False),
        Column(
            "hour_start_ns",
            INT64,
            "start of the hour in which the samples were taken, UTC, in ns since the epoch",
            "ns",
            nullable=False,
        ),
        *endpoint_columns("client", "host whose round trip was measured")[:2],
        Column("ip_version", INT8, "4 or 6"),
        Column("asn", INT64, "number of the host's autonomous system"),
        Column("country", STRING, "country of the host, ISO 3166-1 alpha-2"),
        Column("access_technology", STRING, "access technology of the host: adsl, cable, … or unknown", nullable=False),
        Column(
            "circuit_key",
            STRING,
            "keyed hash of the circuit's identifier, or the identifier itself if addresses are kept; null if the "
            "host has no circuit",
            source="Circuit ID",
        ),
        Column(
            "site_key",
            STRING,
            "name of the site, or its keyed hash with --site-names hashed; null if the host has no site",
            source="Parent Node, network.json",
        ),
        Column("plan_down_bps", INT64, "rate of the plan towards the customer", "bit/s", source="Download Max Mbps"),
        Column("plan_up_bps", INT64, "rate of the plan from the customer", "bit/s", source="Upload Max Mbps"),
        Column("rtt_samples", INT64, "RTT samples in the hour", nullable=False),
        Column("rtt_sum_us", INT64, "sum of the samples, from which the mean follows", "us", nullable=False),
        Column("rtt_min_us", INT64, "minimum RTT sample", "us", nullable=False),
        Column("rtt_max_us", INT64, "maximum RTT sample", "us", nullable=False),
        Column("synthetic", BOOL, "true if the data is generated, not measured", nullable=False),
    ),
)

TABLES = (TCP_POLL, CONNECTION, CONNECTION_DATASET, PASSIVE_RTT)
