"""Tables of TCP state as the kernel reports it."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, INT32, INT64, PROVENANCE, STRING, endpoint_columns

TCP_POLL = Table(
    "tcp_poll",
    "ss reader",
    "one socket in one poll of ss",
    ("source_hash", "poll_index", "socket_index"),
    (
        *PROVENANCE,
        Column("poll_index", INT32, "number of the poll in its file, from 0", nullable=False),
        Column("socket_index", INT32, "number of the socket in its poll, from 0", nullable=False),
        Column("poll_start_ns", INT64, "time before the poll, UTC epoch", "ns", nullable=False),
        Column("poll_end_ns", INT64, "time after the poll, UTC epoch", "ns"),
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
        Column("ssthresh_packets", INT64, "slow start threshold; null when unset", source="tcpi_snd_ssthresh"),
        Column(
            "sent_bytes",
            INT64,
            "payload bytes sent, retransmissions included",
            "bytes",
            source="tcpi_bytes_sent",
        ),
        Column("retransmitted_bytes", INT64, "payload bytes retransmitted", "bytes", source="tcpi_bytes_retrans"),
        Column("acked_bytes", INT64, "payload bytes acknowledged", "bytes", source="tcpi_bytes_acked"),
        Column("unacked_packets", INT32, "segments in flight", source="tcpi_unacked"),
        Column("retransmitted_packets", INT64, "segments retransmitted so far", source="tcpi_total_retrans"),
        Column("lost_packets", INT64, "segments the sender takes for lost", source="tcpi_lost"),
        Column("pacing_rate_bps", INT64, "pacing rate", "bit/s", source="tcpi_pacing_rate"),
        Column("delivery_rate_bps", INT64, "delivery rate", "bit/s", source="tcpi_delivery_rate"),
        Column(
            "app_limited",
            BOOL,
            "the delivery rate was limited by the application",
            nullable=False,
            source="tcpi_delivery_rate_app_limited",
        ),
    ),
)

TABLES = (TCP_POLL,)
