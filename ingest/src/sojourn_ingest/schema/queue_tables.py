"""Tables of queue logs."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import INT32, INT64, PROVENANCE, STRING, endpoint_columns

QUEUE_EVENT = Table(
    "queue_event",
    "queue log decoder",
    "one packet at the bottleneck queue: its enqueue, and its dequeue or drop",
    ("source_hash", "packet_index"),
    (
        *PROVENANCE,
        Column(
            "packet_index",
            INT64,
            "number of the packet in its log, by its first event, from 0",
            nullable=False,
        ),
        Column(
            "fate",
            STRING,
            "dequeued, dropped_at_enqueue, dropped_in_queue, or queued_at_end (censored: its end was not seen)",
            nullable=False,
            codes=("dequeued", "dropped_at_enqueue", "dropped_in_queue", "queued_at_end"),
        ),
        Column("enqueue_ns", INT64, "enqueue time in the log's clock; null: the enqueue was not seen", "ns"),
        Column("dequeue_ns", INT64, "dequeue time in the log's clock", "ns"),
        Column("drop_ns", INT64, "drop time in the log's clock", "ns"),
        Column(
            "clock",
            STRING,
            "monotonic (add the run's offset for UTC) or utc",
            nullable=False,
            codes=("monotonic", "utc"),
        ),
        Column(
            "sojourn_ns",
            INT64,
            "enqueue to dequeue, as the probe measured it where it says so; null, never 0, if either was not seen",
            "ns",
            source="RFC 8289",
        ),
        Column(
            "drop_kind",
            STRING,
            "overlimit (no room) or aqm (dropped by the discipline's control law); null if not dropped",
            codes=("overlimit", "aqm"),
        ),
        Column("drop_reason", INT32, "kernel number of the drop reason", source="enum skb_drop_reason"),
        Column("drop_location", STRING, "kernel symbol that freed the packet"),
        Column("packet_bytes", INT32, "length with the Ethernet header", "bytes", nullable=False),
        Column("enqueue_queue_packets", INT32, "queue length after the enqueue, the new packet counted"),
        Column("enqueue_queue_bytes", INT64, "queue length after the enqueue, the new packet counted", "bytes"),
        Column("dequeue_queue_packets", INT32, "queue length after the dequeue"),
        Column("dequeue_queue_bytes", INT64, "queue length after the dequeue", "bytes"),
        Column("interface_index", INT32, "kernel interface index", source="net_device.ifindex"),
        Column("network_namespace", INT64, "inode of the network namespace"),
        Column("ethertype", INT32, "Ethernet type", nullable=False),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N; null if not IP"),
        *endpoint_columns("source", "sender of the packet"),
        *endpoint_columns("destination", "receiver of the packet"),
        Column("ip_id", INT32, "IPv4 identification", source="RFC 791"),
        Column(
            "transport_word",
            INT64,
            "TCP sequence number, or the first 4 bytes of the UDP payload, as a big-endian number",
        ),
    ),
)

QUEUE_LOG = Table(
    "queue_log",
    "queue log decoder",
    "one queue log",
    ("source_hash",),
    (
        *PROVENANCE,
        Column("enqueue_events", INT64, "enqueue events in the log", nullable=False),
        Column("dequeue_events", INT64, "dequeue events in the log", nullable=False),
        Column("drop_events", INT64, "drop events in the log", nullable=False),
        Column("lost_events", INT64, "events the probe says it lost", nullable=False),
        Column("first_event_ns", INT64, "first event in the log's clock", "ns"),
        Column("last_event_ns", INT64, "last event in the log's clock", "ns"),
        Column("clock", STRING, "monotonic or utc", nullable=False, codes=("monotonic", "utc")),
    ),
)

TABLES = (
    QUEUE_EVENT,
    QUEUE_LOG,
)
