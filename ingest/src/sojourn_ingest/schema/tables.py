"""Every table of the lake.

The decoders, the Parquet writer, the dbt source file and the documentation are all held to these
declarations by tests, so a column that changes here changes everywhere or fails loudly.
"""

from __future__ import annotations

import pyarrow as pa

from sojourn_ingest.schema.column import Column, Table

STRING = pa.string()
INT8 = pa.int8()
INT16 = pa.int16()
INT32 = pa.int32()
INT64 = pa.int64()
FLOAT = pa.float64()
BOOL = pa.bool_()

PROVENANCE = (
    Column(
        "source_hash",
        STRING,
        "SHA-256 of the plain (decompressed) content the row was decoded from",
        nullable=False,
    ),
    Column("decoder_version", STRING, "version of the reader that wrote the row", nullable=False),
)


def _endpoint(prefix: str, who: str) -> tuple[Column, ...]:
    return (
        Column(
            f"{prefix}_host_key",
            STRING,
            f"{who}: the address where it may be kept (private, loopback, documentation, or --addresses keep), "
            "else hk- and the HMAC-SHA256 of the address",
        ),
        Column(
            f"{prefix}_prefix_key",
            STRING,
            f"{who}: the /24 (IPv4) or /48 (IPv6) prefix where it may be kept, else pk- and its HMAC-SHA256",
        ),
        Column(f"{prefix}_port", INT32, f"{who}: transport port; null where the protocol has none"),
    )


def _direction(prefix: str, who: str) -> tuple[Column, ...]:
    return (
        Column(f"{prefix}_packets", INT64, f"packets {who}", nullable=False),
        Column(
            f"{prefix}_bytes",
            INT64,
            f"frame bytes {who}, original length with the link header",
            "bytes",
            nullable=False,
        ),
        Column(
            f"{prefix}_payload_bytes",
            INT64,
            f"transport payload bytes {who}, original length",
            "bytes",
            nullable=False,
        ),
        Column(
            f"{prefix}_tcp_flags",
            INT16,
            f"bitwise or of the TCP flags {who}; null if not TCP",
            source="RFC 9293",
        ),
        Column(
            f"{prefix}_retransmitted_packets",
            INT64,
            f"data segments {who} that repeat sequence space; null if not TCP",
        ),
        Column(
            f"{prefix}_out_of_order_packets",
            INT64,
            f"data segments {who} that fill a hole within the reordering time; null if not TCP",
        ),
        Column(f"{prefix}_zero_windows", INT64, f"segments {who} that advertise a zero window; null if not TCP"),
        Column(
            f"{prefix}_ecn_ce_packets",
            INT64,
            f"packets {who} marked congestion experienced",
            nullable=False,
            source="RFC 3168",
        ),
        Column(
            f"{prefix}_rtt_samples",
            INT64,
            f"raw RTT samples of data {who}, sequence to acknowledgement, Karn's rule; null if not TCP",
            source="RFC 6298",
        ),
        Column(
            f"{prefix}_rtt_min_us",
            INT64,
            f"smallest raw RTT sample of data {who}, capture point to peer and back",
            "us",
        ),
        Column(f"{prefix}_rtt_avg_us", FLOAT, f"mean raw RTT sample of data {who}", "us"),
        Column(f"{prefix}_rtt_max_us", INT64, f"largest raw RTT sample of data {who}", "us"),
        Column(f"{prefix}_srtt_min_us", FLOAT, f"smallest smoothed RTT of data {who}", "us", source="RFC 6298"),
        Column(
            f"{prefix}_srtt_avg_us",
            FLOAT,
            f"mean smoothed RTT of data {who}, over samples",
            "us",
            source="RFC 6298",
        ),
        Column(f"{prefix}_srtt_max_us", FLOAT, f"largest smoothed RTT of data {who}", "us", source="RFC 6298"),
    )


FLOW = Table(
    "flow",
    "capture decoder",
    "one bidirectional flow of one capture; forward is from the sender of its first packet",
    ("source_hash", "flow_id"),
    (
        *PROVENANCE,
        Column("flow_id", INT64, "number of the flow in its capture, by first packet, from 0", nullable=False),
        Column("ip_version", INT8, "4 or 6", nullable=False),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N for IP protocol number N", nullable=False),
        *_endpoint("initiator", "sender of the first packet"),
        *_endpoint("responder", "receiver of the first packet"),
        Column("first_packet_ns", INT64, "time of the first packet, UTC epoch", "ns", nullable=False),
        Column("last_packet_ns", INT64, "time of the last packet, UTC epoch", "ns", nullable=False),
        Column(
            "handshake_rtt_us",
            INT64,
            "SYN to the acknowledgement of SYN-ACK, both legs through the capture point; null unless seen once each",
            "us",
        ),
        *_direction("fwd", "from initiator to responder"),
        *_direction("rev", "from responder to initiator"),
    ),
)

FLOW_INTERVAL = Table(
    "flow_interval",
    "capture decoder",
    "one direction of one flow in one interval in which it sent a packet",
    ("source_hash", "flow_id", "direction", "interval_start_ns"),
    (
        *PROVENANCE,
        Column("flow_id", INT64, "flow of the same capture", nullable=False),
        Column("direction", STRING, "fwd (initiator to responder) or rev", nullable=False, codes=("fwd", "rev")),
        Column(
            "interval_start_ns",
            INT64,
            "start of the interval, UTC epoch, a multiple of its length",
            "ns",
            nullable=False,
        ),
        Column("interval_ms", INT32, "length of the interval", "ms", nullable=False),
        Column("packets", INT64, "packets in the interval", nullable=False),
        Column("bytes", INT64, "frame bytes in the interval, original length", "bytes", nullable=False),
    ),
)

RTP_STREAM = Table(
    "rtp_stream",
    "capture decoder",
    "one RTP stream: one SSRC in one direction of one UDP flow",
    ("source_hash", "flow_id", "direction", "ssrc"),
    (
        *PROVENANCE,
        Column("flow_id", INT64, "flow of the same capture", nullable=False),
        Column("direction", STRING, "fwd or rev, of the flow", nullable=False, codes=("fwd", "rev")),
        Column("ssrc", INT64, "synchronisation source", nullable=False, source="RFC 3550"),
        Column("payload_type", INT16, "payload type of the first packet", nullable=False, source="RFC 3550"),
        Column(
            "clock_rate_hz",
            INT32,
            "RTP timestamp clock: the static assignment, or estimated from the stream",
            "Hz",
        ),
        Column(
            "clock_basis",
            STRING,
            "static (RFC 3551 payload type) or estimated (timestamps against capture time)",
        ),
        Column("first_packet_ns", INT64, "time of the first packet, UTC epoch", "ns", nullable=False),
        Column("last_packet_ns", INT64, "time of the last packet, UTC epoch", "ns", nullable=False),
        Column("packets", INT64, "packets received, duplicates included", nullable=False),
        Column("payload_bytes", INT64, "UDP payload bytes, RTP header included", "bytes", nullable=False),
        Column(
            "expected_packets",
            INT64,
            "extended highest minus first sequence number plus 1, summed over restarts of the sequence",
            nullable=False,
            source="RFC 3550 A.3",
        ),
        Column(
            "lost_packets",
            INT64,
            "expected minus distinct sequence numbers received",
            nullable=False,
            source="RFC 3550 A.3",
        ),
        Column(
            "reordered_packets",
            INT64,
            "packets that arrived after one with a higher sequence number",
            nullable=False,
        ),
        Column("duplicate_packets", INT64, "packets whose sequence number had been received", nullable=False),
        Column(
            "jitter_ms",
            FLOAT,
            "interarrival jitter at the end of the stream; null without a clock rate",
            "ms",
            source="RFC 3550 6.4.1",
        ),
        Column(
            "jitter_mean_ms",
            FLOAT,
            "mean of the interarrival jitter over packets",
            "ms",
            source="RFC 3550 6.4.1",
        ),
        Column("jitter_max_ms", FLOAT, "largest interarrival jitter", "ms", source="RFC 3550 6.4.1"),
        Column("frames", INT64, "distinct RTP timestamps", nullable=False),
    ),
)

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
        *_endpoint("source", "sender of the packet"),
        *_endpoint("destination", "receiver of the packet"),
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
        *_endpoint("local", "local end"),
        *_endpoint("peer", "peer"),
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

STUDY = Table(
    "study",
    "study description",
    "one study",
    ("study_id",),
    (
        *PROVENANCE,
        Column("study_id", STRING, "short name of the study", nullable=False),
        Column("title", STRING, "title", nullable=False),
        Column("description", STRING, "what was measured, and what the data can and cannot say", nullable=False),
        Column("citation", STRING, "how to cite it"),
        Column("licence", STRING, "SPDX identifier of the data's licence", nullable=False),
        Column("url", STRING, "where the data come from"),
        Column("synthetic", BOOL, "the data are generated, not measured", nullable=False),
    ),
)

DEMAND_RULE = Table(
    "demand_rule",
    "study description",
    "one rule that selects the solo runs whose median rate is a subject's demand",
    ("study_id", "role", "application"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("role", STRING, "app or tcp", nullable=False, codes=("app", "tcp")),
        Column(
            "application",
            STRING,
            "application the rule is for; * for every one, and for role tcp",
            nullable=False,
        ),
        Column("selects", BOOL, "false: no solo run is a demand, for the reason given", nullable=False),
        Column("reason", STRING, "why no run is selected"),
        Column("bandwidth_rule", STRING, "any, same (as the judged run), or a rate in bit/s", nullable=False),
        Column("rtt_rule", STRING, "any, same, or an RTT in ms", nullable=False),
        Column("queue_size_bdp_rule", STRING, "any, same, or a queue size in BDP", nullable=False),
        Column("aqm_rule", STRING, "any, same, or a queue discipline", nullable=False),
        Column("congestion_control_rule", STRING, "any, same, or a congestion control", nullable=False),
        Column("workload_rule", STRING, "any, same, or a workload", nullable=False),
    ),
)

RUN = Table(
    "run",
    "manifest reader, study tables",
    "one run of an experiment",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study the run belongs to", nullable=False),
        Column("run_id", STRING, "the study's own name of the run", nullable=False),
        Column(
            "start_order",
            STRING,
            "solo, app_first or tcp_first",
            nullable=False,
            codes=("solo", "app_first", "tcp_first"),
        ),
        Column(
            "workload",
            STRING,
            "what ran, where a study has several (call, screen_capture, bandwidth_steps, …)",
            nullable=False,
        ),
        Column("direction", STRING, "downlink or uplink", codes=("downlink", "uplink")),
        Column("bandwidth_bps", INT64, "bottleneck rate; null when it changes within the run", "bit/s"),
        Column("rtt_ms", FLOAT, "round-trip time without queuing", "ms", nullable=False),
        Column("aqm", STRING, "tail-drop, codel, fq_codel, or the discipline's kernel name", nullable=False),
        Column("queue_discipline", STRING, "kernel name of the discipline", nullable=False),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes"),
        Column("queue_size_packets", INT64, "packet limit of the queue"),
        Column(
            "queue_size_bdp",
            FLOAT,
            "queue size in bandwidth-delay products; null where the study leaves it at the discipline's default",
            "BDP",
        ),
        Column("aqm_parameters", STRING, "parameters of the discipline as set, JSON"),
        Column("congestion_control", STRING, "congestion control of the TCP flow; null when none ran"),
        Column("application", STRING, "application; null when only TCP ran"),
        Column("repetition", INT32, "number of the repetition; null where the study does not number them"),
        Column("start_ns", INT64, "start of the run, UTC epoch", "ns"),
        Column("window_start_ns", INT64, "start of the measurement window, UTC epoch", "ns"),
        Column("window_end_ns", INT64, "end of the measurement window, UTC epoch", "ns"),
        Column("monotonic_offset_ns", INT64, "to add to the run's monotonic clock for UTC epoch", "ns"),
    ),
)

RUN_EXCLUSION = Table(
    "run_exclusion",
    "manifest reader, study tables",
    "one run that is left out of aggregates",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("exclusion_reason", STRING, "why the run is left out of aggregates, in one word", nullable=False),
    ),
)

RUN_FLOW = Table(
    "run_flow",
    "manifest reader",
    "one flow that a run's manifest declares",
    ("study_id", "run_id", "flow_number"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("flow_number", INT32, "place in the manifest, from 0", nullable=False),
        Column("role", STRING, "app, tcp, or tcp_control", nullable=False, codes=("app", "tcp", "tcp_control")),
        Column("protocol", STRING, "tcp or udp", nullable=False, codes=("tcp", "udp")),
        *_endpoint("source", "sender of the data"),
        *_endpoint("destination", "receiver of the data"),
        Column("congestion_control", STRING, "congestion control, TCP only"),
        Column("application", STRING, "application"),
        Column("ssrc", INT64, "RTP synchronisation source, where known", source="RFC 3550"),
        Column("rtp_payload_type", INT16, "RTP payload type, where known", source="RFC 3551"),
        Column("planned_start_ms", FLOAT, "planned start after the start of the run", "ms"),
    ),
)

RUN_SOURCE = Table(
    "run_source",
    "manifest reader",
    "one measurement file of a run",
    ("study_id", "run_id", "measurement"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column(
            "measurement",
            STRING,
            "capture_before, capture_after, queue_log, or tcp_polls",
            nullable=False,
            codes=("capture_before", "capture_after", "queue_log", "tcp_polls"),
        ),
        Column("file_name", STRING, "name in the run's folder, without a compression suffix", nullable=False),
        Column(
            "measurement_hash",
            STRING,
            "SHA-256 of the file's plain content, which is source_hash of its facts",
            nullable=False,
        ),
    ),
)

RUN_MEASUREMENT = Table(
    "run_measurement",
    "study tables",
    "one role of one run, as a study published it",
    ("study_id", "run_id", "role"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("role", STRING, "app or tcp", nullable=False, codes=("app", "tcp")),
        Column("bytes", INT64, "bytes received", "bytes"),
        Column("window_ms", FLOAT, "time over which the bytes were received", "ms"),
        Column("queuing_delay_mean_ms", FLOAT, "mean queuing delay over dequeued packets", "ms"),
        Column("queue_mean_packets", FLOAT, "mean queue length over dequeued packets"),
        Column("drop_ratio", FLOAT, "packets dropped over packets enqueued", "ratio"),
    ),
)

QOE_SCORE = Table(
    "qoe_score",
    "study tables",
    "one quality score of one run",
    ("study_id", "run_id", "metric"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("metric", STRING, "brisque, ssim, psnr_db, vmaf, pesq, mos, page_load_time_ms", nullable=False),
        Column("score", FLOAT, "score on the metric's own scale", nullable=False),
    ),
)

RATE_PROFILE = Table(
    "rate_profile",
    "study tables",
    "one second of one run's rate, where the study gives no run id",
    ("source_hash", "profile_number", "second"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("profile_number", INT32, "number of the run in its file, from 0", nullable=False),
        Column("second", INT32, "second of the run, from 0", "s", nullable=False),
        Column("rate_bps", FLOAT, "rate in that second", "bit/s", nullable=False),
        Column("workload", STRING, "workload", nullable=False),
        Column("rtt_ms", FLOAT, "round-trip time without queuing", "ms", nullable=False),
        Column("bandwidth_bps", INT64, "bottleneck rate; null when it changes within the run", "bit/s"),
        Column("aqm", STRING, "queue discipline", nullable=False),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes"),
        Column("congestion_control", STRING, "congestion control of the TCP flow; null when none ran"),
        Column("application", STRING, "application"),
    ),
)

INGEST_OUTCOME = Table(
    "ingest_outcome",
    "every attempt to ingest",
    "one path with one content, as one decoder version saw it",
    ("source_path", "content_hash", "decoder_version"),
    (
        Column("source_path", STRING, "path as given, made absolute", nullable=False),
        Column("content_hash", STRING, "SHA-256 of the plain content, as far as it could be read", nullable=False),
        Column("decoder_version", STRING, "version of the decoder", nullable=False),
        Column("size_bytes", INT64, "size of the file", "bytes", nullable=False),
        Column("modified_ns", INT64, "modification time of the file, UTC epoch", "ns", nullable=False),
        Column("compression", STRING, "none, gzip, zstd or xz", nullable=False),
        Column("format", STRING, "recognised format; null when none was recognised"),
        Column(
            "status",
            STRING,
            "ok, partial (damaged: what came before the fault was kept), or rejected",
            nullable=False,
            codes=("ok", "partial", "rejected"),
        ),
        Column(
            "duplicate_of",
            STRING,
            "path whose identical content is already in the lake; null: this is the first",
        ),
        Column("records_read", INT64, "packets, events, polls or rows decoded", nullable=False),
        Column("records_refused", INT64, "records seen but not decoded", nullable=False),
        Column("refused_by_reason", STRING, "count of refused records by reason, JSON object", nullable=False),
        Column("reason", STRING, "kind of the fault, in one word; null when ok"),
        Column("message", STRING, "what is wrong and what would mend it; null when ok"),
        Column("fault_offset_bytes", INT64, "offset of the first fault in the plain content", "bytes"),
        Column("started_ns", INT64, "start of the attempt, UTC epoch", "ns", nullable=False),
        Column("duration_ms", FLOAT, "duration of the attempt", "ms", nullable=False),
    ),
)

TABLES: dict[str, Table] = {
    t.name: t
    for t in (
        STUDY,
        DEMAND_RULE,
        RUN,
        RUN_EXCLUSION,
        RUN_FLOW,
        RUN_SOURCE,
        RUN_MEASUREMENT,
        QOE_SCORE,
        RATE_PROFILE,
        FLOW,
        FLOW_INTERVAL,
        RTP_STREAM,
        QUEUE_EVENT,
        QUEUE_LOG,
        TCP_POLL,
        INGEST_OUTCOME,
    )
}


def table(name: str) -> Table:
    """Return the declaration of one table.

    Raises
    ------
    KeyError
        If the lake has no table of that name.
    """
    return TABLES[name]
