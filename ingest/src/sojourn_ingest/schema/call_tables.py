"""Tables of calls in captures: how they were set up, RTP over time, and what RTCP reports."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT16, INT32, INT64, INTERVAL_START_NS, PROVENANCE, STRING

_FLOW = Column("flow_id", INT64, "flow of the same recording", nullable=False)
_DIRECTION = Column("direction", STRING, "direction in the flow: fwd or rev", nullable=False, codes=("fwd", "rev"))


def _count(name: str, description: str, source: str = "") -> Column:
    return Column(name, INT64, description, nullable=False, source=source)


CALL_FLOW = Table(
    "call_flow",
    "capture decoder",
    "one flow with messages of a call other than RTP: STUN, TURN, DTLS, RTCP or Zoom",
    ("source_hash", "flow_id"),
    (
        *PROVENANCE,
        _FLOW,
        Column(
            "media_path",
            STRING,
            "path of the media: relayed (TURN or Zoom's server carries the media of this flow), direct, or both; "
            "null if no media was seen. A relay of the other end cannot be seen here",
            codes=("relayed", "direct", "both"),
        ),
        _count("stun_requests", "STUN requests to either end, including repeated ones", "RFC 8489"),
        _count("stun_successes", "STUN success responses", "RFC 8489"),
        _count("stun_errors", "STUN error responses, such as a request to authenticate", "RFC 8489"),
        _count("stun_indications", "STUN indications, including those that carry data", "RFC 8489"),
        _count("classic_stun_messages", "STUN messages without a magic cookie", "RFC 3489"),
        Column(
            "stun_setup_us",
            INT64,
            "time from the first STUN request to the first success of a binding or an allocation, including "
            "repetitions and authentication; null without both",
            "us",
        ),
        _count("stun_rtt_samples", "STUN answers to requests sent once"),
        Column("stun_rtt_min_us", INT64, "minimum time from a STUN request sent once to its answer", "us"),
        Column("stun_rtt_avg_us", FLOAT, "mean time from a STUN request sent once to its answer", "us"),
        Column(
            "media_setup_us",
            INT64,
            "time from the first STUN request to the first packet of an RTP stream in the flow; null without both",
            "us",
        ),
        _count("turn_allocations", "allocations that TURN granted or refreshed", "RFC 8656"),
        _count("turn_channel_packets", "packets in ChannelData", "RFC 8656 12"),
        _count("turn_indication_packets", "packets in Send and Data indications", "RFC 8656 11"),
        _count("zoom_server_packets", "packets in Zoom's encapsulation to or from a server", "Michel et al. 2022"),
        _count("zoom_peer_packets", "packets in Zoom's encapsulation between two clients", "Michel et al. 2022"),
        _count(
            "zoom_repair_packets",
            "Zoom's packets with forward error correction (payload type 110), which belong to no RTP stream",
            "Michel et al. 2022",
        ),
        _count("dtls_packets", "datagrams with DTLS records", "RFC 6347, RFC 9147"),
        Column(
            "dtls_outcome",
            STRING,
            "outcome of the DTLS handshake: completed (both ends sent encrypted records), failed (a fatal alert "
            "came first), started (neither), or not_seen (records without the ClientHello); null without DTLS",
            codes=("completed", "failed", "started", "not_seen"),
        ),
        Column("dtls_alert", INT16, "description of the fatal alert; null without one", source="RFC 8446 6"),
        Column(
            "dtls_handshake_us",
            INT64,
            "time from the first ClientHello until both ends had sent encrypted records; null unless completed",
            "us",
        ),
        _count("rtcp_packets", "unencrypted compound RTCP packets", "RFC 3550 6.1"),
        _count(
            "rtcp_cut_packets",
            "RTCP packets cut too short in the capture to tell whether they are encrypted; their content counts only "
            "if complete packets of the flow are unencrypted",
        ),
        _count("srtcp_packets", "encrypted RTCP packets from sources that sent two or more", "RFC 3711 3.4"),
        _count(
            "rtcp_unplaced_reports",
            "report blocks missing from rtcp_report, which has at most 256 pairs of reporter and source; for cut "
            "packets, also blocks and times of sender reports beyond the 64 kept until a complete packet arrives",
        ),
        _count(
            "rtcp_refused_reports",
            "report blocks with impossible content, missing from rtcp_report: more losses than the highest sequence "
            "number allows, jitter of 2^31 units or more, or a block beyond the end of its packet",
            "RFC 3550 6.4.1",
        ),
    ),
)

RTCP_REPORT = Table(
    "rtcp_report",
    "capture decoder",
    "the RTCP reports of one receiver on one source in one direction of one flow",
    ("source_hash", "flow_id", "direction", "reporter_ssrc", "ssrc"),
    (
        *PROVENANCE,
        _FLOW,
        _DIRECTION,
        Column("reporter_ssrc", INT64, "synchronisation source of the receiver", nullable=False, source="RFC 3550"),
        Column("ssrc", INT64, "synchronisation source of the stream", nullable=False, source="RFC 3550"),
        Column("first_report_ns", INT64, "time of the first report, UTC, in ns since the epoch", "ns", nullable=False),
        Column("last_report_ns", INT64, "time of the last report, UTC, in ns since the epoch", "ns", nullable=False),
        _count("reports", "report blocks", "RFC 3550 6.4.1"),
        Column(
            "loss_mean_ratio",
            FLOAT,
            "mean over reports of the share of packets lost since the previous report",
            "ratio",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column(
            "loss_max_ratio",
            FLOAT,
            "maximum share of packets lost since the previous report",
            "ratio",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column(
            "lost_packets",
            INT64,
            "cumulative number of packets lost in the last report; negative if duplicates outnumber losses",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column(
            "jitter_mean_units",
            FLOAT,
            "mean over reports of the interarrival jitter, in units of the RTP timestamp",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column(
            "jitter_max_units",
            INT64,
            "maximum reported interarrival jitter, in units of the RTP timestamp",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column(
            "rtt_samples",
            INT64,
            "reports that answer a sender report seen at the capture point in the other direction",
            source="RFC 3550 6.4.1",
        ),
        Column(
            "rtt_min_us",
            INT64,
            "minimum RTT from the capture point to the receiver: time from a sender report to its answer, minus "
            "the time that the receiver held it (DLSR)",
            "us",
        ),
        Column("rtt_avg_us", FLOAT, "mean RTT from the capture point to the receiver", "us"),
        Column("rtt_max_us", INT64, "maximum RTT from the capture point to the receiver", "us"),
    ),
)

RTP_INTERVAL = Table(
    "rtp_interval",
    "capture decoder",
    "one interval in which one RTP stream sent",
    ("source_hash", "flow_id", "direction", "ssrc", "interval_start_ns"),
    (
        *PROVENANCE,
        _FLOW,
        _DIRECTION,
        Column("ssrc", INT64, "synchronisation source of the stream", nullable=False, source="RFC 3550"),
        INTERVAL_START_NS,
        Column(
            "interval_ms",
            INT32,
            "length of the interval: one second, doubled until a stream has at most 3,600 intervals",
            "ms",
            nullable=False,
        ),
        Column("packets", INT64, "packets received, including duplicates", nullable=False),
        Column("payload_bytes", INT64, "bytes from the start of the RTP header", "bytes", nullable=False),
        Column("frames", INT64, "RTP timestamps that arrived for the first time", nullable=False),
        Column(
            "expected_packets",
            INT64,
            "increase in the expected packets of the stream",
            nullable=False,
            source="RFC 3550 A.3",
        ),
        Column(
            "lost_packets",
            INT64,
            "increase in the lost packets of the stream; negative if packets of an earlier interval arrived late",
            nullable=False,
            source="RFC 3550 A.3",
        ),
        Column(
            "jitter_ms",
            FLOAT,
            "interarrival jitter at the end of the interval; null without a clock rate",
            "ms",
            source="RFC 3550 6.4.1",
        ),
    ),
)

TABLES = (CALL_FLOW, RTCP_REPORT, RTP_INTERVAL)
