"""Tables of pairs of captures, one before and one after the bottleneck."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT32, INT64, PROVENANCE, STRING, endpoint_columns

_PAIR_COUNTS = (
    Column("sent_packets", INT64, "packets seen towards the bottleneck at the first capture point", nullable=False),
    Column("delivered_packets", INT64, "packets also seen at the second capture point", nullable=False),
    Column(
        "dropped_packets",
        INT64,
        "packets that the second capture point did not see although it was still capturing",
        nullable=False,
    ),
    Column(
        "in_flight_at_end_packets",
        INT64,
        "packets sent after the second capture had ended: counted as censored, not as dropped",
        nullable=False,
    ),
    Column(
        "not_seen_before_packets",
        INT64,
        "packets seen at the second capture point that the first capture missed",
        nullable=False,
    ),
    Column("queuing_delay_min_us", INT64, "minimum one-way queuing delay of a delivered packet", "us"),
    Column("queuing_delay_avg_us", FLOAT, "mean one-way queuing delay over the delivered packets", "us"),
    Column("queuing_delay_max_us", INT64, "maximum one-way queuing delay of a delivered packet", "us"),
)

CAPTURE_PAIR = Table(
    "capture_pair",
    "capture pair decoder",
    "two captures of one run, before and after the bottleneck",
    ("source_hash",),
    (
        Column(
            "source_hash",
            STRING,
            "SHA-256 of the hashes of the two captures, the rate and the burst, from which the facts were computed",
            nullable=False,
        ),
        PROVENANCE[1],
        Column("study_id", STRING, "study of the run", nullable=False),
        Column("run_id", STRING, "run whose manifest names the captures", nullable=False),
        Column("before_hash", STRING, "source_hash of the capture before the bottleneck", nullable=False),
        Column("after_hash", STRING, "source_hash of the capture after the bottleneck", nullable=False),
        Column(
            "bandwidth_bps", INT64, "bottleneck rate from which serialisation was computed", "bit/s", nullable=False
        ),
        Column(
            "shaper_burst_bytes",
            INT64,
            "burst that the bottleneck (token bucket) lets pass at once, according to the manifest: this much of "
            "a packet takes no serialisation time; null if not stated, and then the whole packet takes it",
            "bytes",
        ),
        Column("before_packets", INT64, "packets decoded in the first capture, in both directions", nullable=False),
        Column("after_packets", INT64, "packets decoded in the second capture, in both directions", nullable=False),
        *_PAIR_COUNTS,
        Column(
            "reverse_matched_packets", INT64, "packets in the reverse direction that both captures have", nullable=False
        ),
        Column(
            "delay_floor_ns",
            INT64,
            "minimum time between the capture points without serialisation, including the clock offset; queuing "
            "delay is the excess over it",
            "ns",
        ),
        Column(
            "delay_floor_low_by_at_most_ns",
            INT64,
            "serialisation time of the packet at the floor: the floor is too low, and queuing delays are too "
            "high, by this much if the bottleneck let that packet pass at once, as a full token bucket does",
            "ns",
        ),
        Column(
            "clock_offset_ns",
            INT64,
            "clock of the second capture point minus that of the first, assuming that the path without queue "
            "takes as long in both directions; null if packets went only one way",
            "ns",
        ),
        Column(
            "clock_drift_ppm",
            FLOAT,
            "how much faster the clock of the second capture point runs, in parts per million; reported, but not "
            "removed from the delays",
            "ppm",
        ),
        Column("clock_residual_ns", FLOAT, "half the spread of the minimum times around the fitted drift line", "ns"),
    ),
)

FLOW_PAIR = Table(
    "flow_pair",
    "capture pair decoder",
    "one direction of one flow towards the bottleneck in a capture pair",
    ("source_hash", "flow_number"),
    (
        *PROVENANCE,
        Column("flow_number", INT32, "number of the flow in the pair, from 0", nullable=False),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N", nullable=False),
        *endpoint_columns("source", "sender of the packets"),
        *endpoint_columns("destination", "receiver of the packets"),
        *_PAIR_COUNTS,
    ),
)

PACKET_PAIR = Table(
    "packet_pair",
    "capture pair decoder",
    "one packet towards the bottleneck in a capture pair",
    ("source_hash", "packet_index"),
    (
        *PROVENANCE,
        Column(
            "packet_index",
            INT64,
            "number of the packet in the pair, in the order of the first capture, from 0",
            nullable=False,
        ),
        Column("fate", STRING, "delivered, dropped, in_flight_at_end, or not_seen_before", nullable=False),
        Column("before_ns", INT64, "time at the first capture point in its clock, UTC, in ns since the epoch", "ns"),
        Column("after_ns", INT64, "time at the second capture point in its clock, UTC, in ns since the epoch", "ns"),
        Column(
            "queuing_delay_ns",
            INT64,
            "time between the capture points, minus the serialisation time at the bottleneck rate of the bytes "
            "beyond the burst, minus the minimum of that difference over the recording; null unless delivered",
            "ns",
        ),
        Column("packet_bytes", INT32, "original frame length", "bytes", nullable=False),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N", nullable=False),
        *endpoint_columns("source", "sender of the packet"),
        *endpoint_columns("destination", "receiver of the packet"),
        Column(
            "ip_identification",
            INT64,
            "IPv4 identification, or that of an IPv6 fragment header; 0 if there is none",
            nullable=False,
            source="RFC 791, RFC 8200",
        ),
        Column(
            "transport_word",
            INT64,
            "TCP sequence number, or the first 4 bytes of the UDP payload, as a big-endian number",
        ),
    ),
)

TABLES = (CAPTURE_PAIR, FLOW_PAIR, PACKET_PAIR)
