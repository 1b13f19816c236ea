"""Tables of queue logs."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, FLOAT, INT32, INT64, PROVENANCE, STRING, endpoint_columns

QUEUE_NUMBER = Column(
    "queue_number", INT32, "number of the queue in its log, in the order of first events, from 0", nullable=False
)

QUEUE_EVENT = Table(
    "queue_packet",
    "queue log decoder",
    "one packet at the bottleneck queue: its enqueue, and its dequeue or drop",
    ("source_hash", "packet_index"),
    (
        *PROVENANCE,
        Column(
            "packet_index",
            INT64,
            "number of the packet in its log, in the order of first events, from 0",
            nullable=False,
        ),
        QUEUE_NUMBER,
        Column(
            "fate",
            STRING,
            "fate of the packet: dequeued, dropped_at_enqueue, dropped_in_queue, or queued_at_end (censored: its "
            "departure was not seen)",
            nullable=False,
            codes=("dequeued", "dropped_at_enqueue", "dropped_in_queue", "queued_at_end"),
        ),
        Column("enqueue_ns", INT64, "enqueue time in the log's clock; null if the enqueue was not seen", "ns"),
        Column("dequeue_ns", INT64, "dequeue time in the log's clock", "ns"),
        Column(
            "drop_ns",
            INT64,
            "drop time in the log's clock; in a log without drop events, the time of the event that reveals the "
            "drop, which is the latest possible",
            "ns",
        ),
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
            "sojourn time: dequeue minus enqueue time, or the probe's own measurement if its log has it; null, "
            "never 0, if either was not seen",
            "ns",
            source="RFC 8289",
        ),
        Column(
            "drop_kind",
            STRING,
            "overlimit (no room) or aqm (dropped by the discipline's control law); null if not dropped, or not known",
            codes=("overlimit", "aqm"),
        ),
        Column("drop_reason", INT32, "kernel number of the drop reason", source="enum skb_drop_reason"),
        Column("drop_location", STRING, "kernel symbol that freed the packet", has_public_names=True),
        Column(
            "packet_bytes",
            INT32,
            "length of the frame, including the Ethernet header; null if the log does not give it",
            "bytes",
        ),
        Column("enqueue_queue_packets", INT32, "queue length after the enqueue, including the new packet"),
        Column("enqueue_queue_bytes", INT64, "queue length after the enqueue, including the new packet", "bytes"),
        Column("dequeue_queue_packets", INT32, "queue length after the dequeue"),
        Column("dequeue_queue_bytes", INT64, "queue length after the dequeue", "bytes"),
        Column(
            "drop_queue_packets", INT32, "queue length at the drop, as logged; the dropped packet may still be counted"
        ),
        Column("drop_queue_bytes", INT64, "queue length at the drop, as logged", "bytes"),
        Column(
            "ecn_ce",
            BOOL,
            "true if the packet left with CE, or arrived with CE if its departure shows no codepoint; null if the "
            "log does not show it",
            source="RFC 3168",
        ),
        Column(
            "ecn_ce_at_enqueue",
            BOOL,
            "true if the packet arrived with CE; packets with ecn_ce but without this were marked by this queue",
            source="RFC 3168",
        ),
        Column(
            "ecn_codepoint_at_enqueue",
            STRING,
            "ECN codepoint after the enqueue, which includes the mark of a discipline that marks at enqueue (PIE, "
            "RED); null if the log does not show it or the enqueue was not seen",
            source="RFC 3168",
            codes=("not-ect", "ect0", "ect1", "ce"),
        ),
        Column("interface_index", INT32, "kernel interface index", source="net_device.ifindex"),
        Column("network_namespace", INT64, "inode of the network namespace"),
        Column("ethertype", INT32, "Ethernet type; null if the log does not give it"),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N; null if not IP"),
        *endpoint_columns("source", "sender of the packet"),
        *endpoint_columns("destination", "receiver of the packet"),
        Column("flow_label", STRING, "name of the packet's flow, if the log names flows"),
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
        Column("lost_events", INT64, "events that the probe reported as lost", nullable=False),
        Column(
            "lost_events_is_minimum",
            BOOL,
            "true if a loss report had the largest value it can have, so at least lost_events were lost",
            nullable=False,
        ),
        Column("probe_failed", BOOL, "true if the probe reported a failure; later events are not read", nullable=False),
        Column("first_event_ns", INT64, "time of the first event in the log's clock", "ns"),
        Column("last_event_ns", INT64, "time of the last event in the log's clock", "ns"),
        Column("clock", STRING, "monotonic or utc", nullable=False, codes=("monotonic", "utc")),
        Column(
            "clock_offset_ns",
            INT64,
            "the log's own offset to UTC, already added to its times; null if there is none",
            "ns",
        ),
        Column(
            "open_enqueues",
            INT64,
            "enqueued packets whose departure was not seen; null if there were too many to count",
        ),
        Column(
            "open_dequeues", INT64, "dequeued packets whose enqueue was not seen; null if there were too many to count"
        ),
        Column("stated_open_enqueues", INT64, "the same as the probe states it at the end"),
        Column("stated_open_dequeues", INT64, "the same as the probe states it at the end"),
    ),
)

QUEUE = Table(
    "queue",
    "queue log decoder",
    "one queue of one queue log",
    ("source_hash", "queue_number"),
    (
        *PROVENANCE,
        QUEUE_NUMBER,
        Column("interface_index", INT32, "kernel interface index", source="net_device.ifindex"),
        Column("interface_name", STRING, "name of the interface", source="net_device.name"),
        Column("network_namespace", INT64, "inode of the network namespace"),
        Column("handle", STRING, "handle of the queue discipline, as tc prints it", source="Qdisc.handle"),
        Column("enqueue_events", INT64, "enqueue events in the log", nullable=False),
        Column("dequeue_events", INT64, "dequeue events in the log", nullable=False),
        Column("drop_events", INT64, "drop events in the log", nullable=False),
        Column(
            "counted_drops",
            INT64,
            "increase in the queue discipline's own drop counter from the first to the last event; null if not logged",
            source="gnet_stats_queue.drops",
        ),
        Column("first_event_ns", INT64, "time of the first event in the log's clock", "ns"),
        Column("last_event_ns", INT64, "time of the last event in the log's clock", "ns"),
    ),
)

QUEUE_INTERVAL = Table(
    "queue_interval",
    "queue log decoder",
    "one interval of one queue between the log's first and last event, even if nothing happened in it",
    ("source_hash", "queue_number", "interval_start_ns"),
    (
        *PROVENANCE,
        QUEUE_NUMBER,
        Column(
            "interval_start_ns",
            INT64,
            "start of the interval in the log's clock, a multiple of its length",
            "ns",
            nullable=False,
        ),
        Column(
            "clock",
            STRING,
            "monotonic (add the run's offset for UTC) or utc",
            nullable=False,
            codes=("monotonic", "utc"),
        ),
        Column("interval_ms", INT32, "length of the interval", "ms", nullable=False),
        Column(
            "observed_ns",
            INT64,
            "part of the interval between the queue's first and the log's last event, over which means and shares "
            "are computed",
            "ns",
            nullable=False,
        ),
        Column("arrived_packets", INT64, "packets enqueued, or dropped at enqueue", nullable=False),
        Column("arrived_bytes", INT64, "bytes of these packets; null if the log gives no length", "bytes"),
        Column("departed_packets", INT64, "packets dequeued", nullable=False),
        Column("departed_bytes", INT64, "bytes of these packets; null if the log gives no length", "bytes"),
        Column("dropped_packets", INT64, "packets dropped at enqueue or from the queue", nullable=False),
        Column("dropped_bytes", INT64, "bytes of these packets; null if the log gives no length", "bytes"),
        Column("dropped_at_enqueue_packets", INT64, "packets dropped at enqueue", nullable=False),
        Column("dropped_in_queue_packets", INT64, "packets dropped after they had been enqueued", nullable=False),
        Column(
            "occupancy_mean_packets",
            FLOAT,
            "mean queue length, weighted by time; null if no time of the interval was observed",
        ),
        Column(
            "occupancy_mean_bytes",
            FLOAT,
            "mean queue length in bytes, weighted by time; null if no time of the interval was observed or the "
            "log has no length in bytes",
            "bytes",
        ),
        Column("occupancy_max_packets", INT64, "maximum queue length", nullable=False),
        Column(
            "occupancy_max_bytes",
            INT64,
            "maximum queue length in bytes; null if the log has no length in bytes",
            "bytes",
        ),
        Column("busy_ratio", FLOAT, "share of the time during which the queue was not empty", "ratio"),
        Column(
            "sojourn_min_us",
            INT64,
            "minimum sojourn time of the packets dequeued in the interval, in whole microseconds; null if there "
            "is none",
            "us",
            source="RFC 8289",
        ),
        Column(
            "lost_events",
            INT64,
            "events that the probe reported as lost in this interval: they were lost in it or before it, from any "
            "queue in the log (the reports of a log are in the rows of its queue 0)",
            nullable=False,
        ),
    ),
)

QUEUE_COUNTER = Table(
    "queue_counter",
    "tc reader, flent reader",
    "one queue discipline in one poll of its counters, which start when it is installed",
    ("source_hash", "poll_index", "device", "handle"),
    (
        *PROVENANCE,
        Column("poll_index", INT32, "number of the poll in its file, from 0", nullable=False),
        Column("poll_start_ns", INT64, "time before the poll, UTC, in ns since the epoch", "ns", nullable=False),
        Column(
            "poll_end_ns",
            INT64,
            "time after the poll, UTC, in ns since the epoch; null if the file does not state it",
            "ns",
        ),
        Column(
            "device",
            STRING,
            "network device as tc names it; - if the file does not state it (tc was run for one device)",
            nullable=False,
        ),
        Column("kind", STRING, "kernel name of the queue discipline (tbf, codel, fq_codel, …)", nullable=False),
        Column(
            "handle",
            STRING,
            "handle of the queue discipline, as tc prints it; 0:@ and the parent if the kernel gave none; - if "
            "the file has none",
            nullable=False,
        ),
        Column("parent", STRING, "parent class as tc prints it; null for a root discipline"),
        Column(
            "root", BOOL, "true if the queue discipline is the root of its device; null if the file does not state it"
        ),
        Column("sent_bytes", INT64, "bytes sent", "bytes", source="gnet_stats_basic.bytes"),
        Column("sent_packets", INT64, "packets sent", source="gnet_stats_basic.packets"),
        Column("dropped_packets", INT64, "packets dropped", source="gnet_stats_queue.drops"),
        Column(
            "overlimits", INT64, "number of times that a packet exceeded a limit", source="gnet_stats_queue.overlimits"
        ),
        Column(
            "requeues",
            INT64,
            "number of times that a packet was put back into the queue",
            source="gnet_stats_queue.requeues",
        ),
        Column("backlog_bytes", INT64, "queue length at the poll", "bytes", source="gnet_stats_queue.backlog"),
        Column("backlog_packets", INT64, "queue length at the poll", source="gnet_stats_queue.qlen"),
        Column("ecn_marked_packets", INT64, "packets marked Congestion Experienced", source="tc_codel_xstats.ecn_mark"),
        Column("codel_count", INT64, "drops or marks since CoDel began to drop", source="tc_codel_xstats.count"),
        Column("codel_last_count", INT64, "count when CoDel last left its dropping state", source="lastcount"),
        Column(
            "codel_delay_us",
            INT64,
            "sojourn time of the packet that CoDel dequeued last",
            "us",
            source="tc_codel_xstats.ldelay",
        ),
        Column("codel_dropping", BOOL, "true if CoDel is in its dropping state", source="tc_codel_xstats.dropping"),
        Column(
            "codel_drop_next_us",
            INT64,
            "time until CoDel's next drop, negative if it has passed; null outside its dropping state",
            "us",
            source="tc_codel_xstats.drop_next",
        ),
        Column("max_packet_bytes", INT64, "largest packet seen", "bytes", source="tc_codel_xstats.maxpacket"),
        Column(
            "dropped_overlimit_packets",
            INT64,
            "packets dropped because the queue was full; the control law dropped the others",
            source="tc_codel_xstats.drop_overlimit",
        ),
        Column(
            "new_flows", INT64, "flows in FQ-CoDel's list of new flows", source="tc_fq_codel_qd_stats.new_flows_len"
        ),
        Column(
            "old_flows", INT64, "flows in FQ-CoDel's list of old flows", source="tc_fq_codel_qd_stats.old_flows_len"
        ),
        Column(
            "new_flow_count",
            INT64,
            "number of flows that have been new so far",
            source="tc_fq_codel_qd_stats.new_flow_count",
        ),
        Column("options", STRING, "options of the queue discipline or class as tc prints them, as JSON"),
        Column(
            "is_class",
            BOOL,
            "true if the row is a class (tc class show), not a queue discipline; null if the file does not state it",
        ),
        Column(
            "marking_probability_ratio",
            FLOAT,
            "probability with which PIE or DualPI2 drops or marks at the poll; for DualPI2, that of its base "
            "controller",
            "ratio",
            source="tc_pie_xstats.prob, tc_dualpi2_xstats.prob",
        ),
        Column(
            "queue_delay_us", INT64, "queuing delay that PIE estimates at the poll", "us", source="tc_pie_xstats.delay"
        ),
        Column("enqueued_packets", INT64, "packets that arrived in the queue", source="pkts_in"),
        Column(
            "dropped_aqm_packets",
            INT64,
            "packets dropped by the control law: the counter dropped of PIE and FQ-PIE, early of RED",
            source="tc_pie_xstats.dropped, tc_red_xstats.early",
        ),
        Column("dropped_overmemory_packets", INT64, "packets dropped because memory was full", source="overmemory"),
        Column("dropped_otherwise_packets", INT64, "packets that RED dropped for another reason", source="other"),
        Column(
            "step_marked_packets",
            INT64,
            "packets that DualPI2's step marked in its L4S queue; ecn_marked_packets includes them",
            source="step-mark",
        ),
        Column("backlog_max_packets", INT64, "maximum queue length so far", source="maxq"),
        Column("memory_used_bytes", INT64, "memory of the queued packets at the poll", "bytes", source="memory_used"),
        Column("memory_limit_bytes", INT64, "memory limit for queued packets", "bytes", source="memory_limit"),
        Column("lent_packets", INT64, "packets that an HTB class sent from its own rate", source="tc_htb_xstats.lends"),
        Column(
            "borrowed_packets",
            INT64,
            "packets that an HTB class sent from its parent's rate",
            source="tc_htb_xstats.borrows",
        ),
        Column(
            "credit_bytes",
            INT64,
            "DualPI2's credit between its queues; negative if the classic queue has it",
            "bytes",
            source="tc_dualpi2_xstats.credit",
        ),
        Column(
            "capacity_estimate_bps", INT64, "rate that CAKE's autorate estimates", "bit/s", source="capacity_estimate"
        ),
        Column(
            "shaper_rate_bps",
            INT64,
            "rate of the shaper: CAKE's bandwidth, TBF's rate, the rate of an HTB class; null if unlimited",
            "bit/s",
        ),
        Column("diffserv_mode", STRING, "how CAKE sorts packets into tins: besteffort, diffserv3, diffserv4, …"),
        Column("network_min_bytes", INT64, "smallest IP packet that CAKE has seen", "bytes", source="min_network_size"),
        Column("network_max_bytes", INT64, "largest IP packet that CAKE has seen", "bytes", source="max_network_size"),
        Column(
            "adjusted_min_bytes",
            INT64,
            "smallest packet with the overhead that CAKE's shaper counts",
            "bytes",
            source="min_adj_size",
        ),
        Column(
            "adjusted_max_bytes",
            INT64,
            "largest packet with the overhead that CAKE's shaper counts",
            "bytes",
            source="max_adj_size",
        ),
        Column(
            "header_offset_mean_bytes",
            INT64,
            "mean offset of the IP header in the frames that CAKE has seen",
            "bytes",
            source="avg_hdr_offset",
        ),
    ),
)

QUEUE_COUNTER_PART = Table(
    "queue_counter_part",
    "tc reader",
    "one part of a queue discipline in one poll of its counters: a tin of CAKE, or a queue of DualPI2",
    ("source_hash", "poll_index", "device", "handle", "part_number"),
    (
        *PROVENANCE,
        Column("poll_index", INT32, "number of the poll in queue_counter, which has its time", nullable=False),
        Column("device", STRING, "network device as in queue_counter", nullable=False),
        Column("handle", STRING, "handle as in queue_counter", nullable=False),
        Column(
            "part_number", INT32, "number of the part as tc lists it, from 0; DualPI2: 0 L4S, 1 classic", nullable=False
        ),
        Column(
            "part_name",
            STRING,
            "CAKE's name of the tin (bulk, best_effort, video, voice), or tin_ and its number if it has none; for "
            "DualPI2, l4s or classic",
            nullable=False,
        ),
        Column("sent_bytes", INT64, "bytes sent; null for DualPI2, as are all counters except the last two", "bytes"),
        Column("sent_packets", INT64, "packets sent"),
        Column("dropped_packets", INT64, "packets dropped"),
        Column("ecn_marked_packets", INT64, "packets marked Congestion Experienced"),
        Column("dropped_acknowledgements", INT64, "acknowledgements that the filter dropped", source="ack_drops"),
        Column("backlog_bytes", INT64, "queue length at the poll", "bytes"),
        Column("peak_delay_us", INT64, "peak of the sojourn time, which decays", "us", source="peak_delay_us"),
        Column("mean_delay_us", INT64, "moving mean of the sojourn time", "us", source="avg_delay_us"),
        Column("base_delay_us", INT64, "moving minimum of the sojourn time", "us", source="base_delay_us"),
        Column("target_us", INT64, "target of the control law", "us", source="target_us"),
        Column("interval_us", INT64, "interval of the control law", "us", source="interval_us"),
        Column("sparse_flows", INT64, "flows without a backlog", source="sparse_flows"),
        Column("bulk_flows", INT64, "flows with a backlog", source="bulk_flows"),
        Column("unresponsive_flows", INT64, "unresponsive flows, which do not slow down", source="unresponsive_flows"),
        Column("max_packet_bytes", INT64, "largest packet seen", "bytes", source="max_pkt_len"),
        Column("flow_quantum_bytes", INT64, "quantum of each flow", "bytes", source="flow_quantum"),
        Column("way_indirect_hits", INT64, "flows found in another way of their hash set", source="way_indirect_hits"),
        Column("way_misses", INT64, "flows that were new in their hash set", source="way_misses"),
        Column("way_collisions", INT64, "flows that share a queue", source="way_collisions"),
        Column(
            "threshold_rate_bps", INT64, "rate up to which the tin has its priority", "bit/s", source="threshold_rate"
        ),
        Column("queue_delay_us", INT64, "delay of the DualPI2 queue at the poll", "us", source="delay-l, delay-c"),
        Column("enqueued_packets", INT64, "packets that arrived in the queue", source="pkts-in-l, pkts-in-c"),
    ),
)

TABLES = (QUEUE_EVENT, QUEUE, QUEUE_LOG, QUEUE_INTERVAL, QUEUE_COUNTER, QUEUE_COUNTER_PART)
