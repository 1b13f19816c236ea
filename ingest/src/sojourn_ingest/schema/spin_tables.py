"""Tables of the latency spin bit of QUIC in captures (RFC 9000, 17.4)."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, FLOW_DIRECTION, INT64, PROVENANCE

FLOW_SPIN = Table(
    "flow_spin",
    "capture decoder",
    "one direction of one flow that begins with a long QUIC header of a version in which the position of "
    "the spin bit is known",
    ("source_hash", "flow_id", "direction"),
    (
        *PROVENANCE,
        *FLOW_DIRECTION,
        Column(
            "quic_version_number", INT64, "version in the first long header: 1, 2 or that of a draft", nullable=False
        ),
        Column(
            "short_header_packets",
            INT64,
            "datagrams that begin with a short header, which has the spin bit",
            nullable=False,
            source="RFC 9000, 17.3.1",
        ),
        Column("spin_packets", INT64, "datagrams with a short header and the spin bit set", nullable=False),
        Column(
            "edges",
            INT64,
            "changes of the spin bit from one such datagram to the next; flow_spin_edge has the first 16,384 of them",
            nullable=False,
        ),
    ),
)

FLOW_SPIN_EDGE = Table(
    "flow_spin_edge",
    "capture decoder",
    "one change of the spin bit in one direction of one flow",
    ("source_hash", "flow_id", "direction", "edge_number"),
    (
        *PROVENANCE,
        *FLOW_DIRECTION,
        Column("edge_number", INT64, "number of the edge in its direction, from 0", nullable=False),
        Column(
            "edge_ns",
            INT64,
            "time of the first datagram with the new value, UTC, in ns since the epoch",
            "ns",
            nullable=False,
        ),
        Column("spin", BOOL, "value of the spin bit from this datagram", nullable=False),
        Column(
            "since_edge_ns",
            INT64,
            "time since the previous edge in the same direction: one RTT, if both ends kept sending and the path "
            "kept the order; null for the first edge",
            "ns",
            source="RFC 9000, 17.4",
        ),
        Column(
            "since_other_edge_ns",
            INT64,
            "time since the last edge in the other direction: for the forward direction the round trip to the "
            "initiator, for the reverse direction that to the responder; null without such an edge",
            "ns",
            source="RFC 9312, 3.8.2",
        ),
        Column("packets_before", INT64, "datagrams in this direction with the previous value", nullable=False),
        Column(
            "longest_silence_ns",
            INT64,
            "longest time without a datagram in either direction since the previous edge, or since the first datagram",
            "ns",
            nullable=False,
        ),
    ),
)

TABLES = (FLOW_SPIN, FLOW_SPIN_EDGE)
