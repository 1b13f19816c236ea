"""Tables of calls in captures: how they were set up, RTP over time, and what RTCP reports."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT16, INT32, INT64, INTERVAL_START_NS, PROVENANCE, STRING

_FLOW = Column("flow_id", INT64, "flow of the same recording", nullable=False)
_DIRECTION = Column("direction", STRING, "fwd or rev, of the flow", nullable=False, codes=("fwd", "rev"))


def _count(name: str, description: str, source: str = "") -> Column:
    return Column(name, INT64, description, nullable=False, source=source)


CALL_FLOW = Table(
    "call_flow",
    "capture decoder",
    "one flow with messages of a call beside RTP: STUN, TURN, DTLS, RTCP or Zoom",
    ("source_hash", "flow_id"),
    (
        *PROVENANCE,
        _FLOW,
        Column(
            "media_path",
            STRING,
            "relayed (TURN or Zoom's server carries the media of this flow), direct, or both; null if no media was "
            "seen. A relay of the other end is not seen here",
            codes=("relayed", "direct", "both"),
        ),
        _count("stun_requests", "STUN requests to either end, repeated ones included", "RFC 8489"),
        _count("stun_successes", "STUN success responses", "RFC 8489"),
        _count("stun_errors", "STUN error responses, such as the demand to authenticate", "RFC 8489"),
        _count("stun_indications", "STUN indications, those that carry data included", "RFC 8489"),
        _count("classic_stun_messages", "of the STUN messages, those without a magic cookie", "RFC 3489"),
        Column(
            "stun_setup_us",
            INT64,
            "first STUN request to the first success of a binding or an allocation, repetition and authentication "
            "included; null without both",
            "us",
        ),
        _count("stun_rtt_samples", "STUN answers to requests that were sent once"),
        Column("stun_rtt_min_us", INT64, "smallest time from such a request to its answer", "us"),
        Column("stun_rtt_avg_us", FLOAT, "mean time from such a request to its answer", "us"),
        Column(
            "media_setup_us",
            INT64,
            "first STUN request to the first packet of an RTP stream of the flow; null without both",
            "us",
        ),
        _count("turn_allocations", "allocations that TURN granted or refreshed", "RFC 8656"),
        _count("turn_channel_packets", "packets in ChannelData", "RFC 8656 12"),
        _count("turn_indication_packets", "packets in Send and Data indications", "RFC 8656 11"),
        _count("zoom_server_packets", "packets in Zoom's encapsulation to or from a server", "Michel et al. 2022"),
        _count("zoom_peer_packets", "packets in Zoom's encapsulation between two clients", "Michel et al. 2022"),
        _count(
            "zoom_repair_packets",
            "of Zoom's packets, forward error correction (payload type 110), which is in no RTP stream",
            "Michel et al. 2022",
        ),
        _count("dtls_packets", "datagrams with DTLS records", "RFC 6347, RFC 9147"),
        Column(
            "dtls_outcome",
            STRING,
            "completed (both ends sent encrypted records), failed (a fatal alert came first), started (neither), or "
            "not_seen (records without the client's hello); null without DTLS",
            codes=("completed", "failed", "started", "not_seen"),
        ),
        Column("dtls_alert", INT16, "description of the fatal alert; null without one", source="RFC 8446 6"),
        Column(
            "dtls_handshake_us",
            INT64,
            "the client's first hello until both ends had sent encrypted records; null unless completed",
            "us",
        ),
        _count("rtcp_packets", "compound packets of RTCP in the clear", "RFC 3550 6.1"),
        _count(
            "rtcp_cut_packets",
            "RTCP packets too short in the capture to tell whether they are encrypted; what they say counts only if "
            "whole packets of the flow are in the clear",
        ),
        _count("srtcp_packets", "encrypted RTCP packets of sources that sent two or more", "RFC 3711 3.4"),
        _count(
            "rtcp_unplaced_reports",
            "report blocks that are not in rtcp_report, beyond 256 pairs of reporter and source; of cut packets, also "
            "blocks and times of sender reports beyond the 64 that are held until a whole packet has come",
        ),
        _count(
            "rtcp_refused_reports",
            "report blocks that say what none can, not in rtcp_report: more lost than the highest sequence number "
            "leaves room for, jitter of 2^31 units or more, or beyond the end of their packet",
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
        Column("ssrc", INT64, "synchronisation source", nullable=False, source="RFC 3550"),
        Column("first_report_ns", INT64, "time of the first report, UTC epoch", "ns", nullable=False),
        Column("last_report_ns", INT64, "time of the last report, UTC epoch", "ns", nullable=False),
        _count("reports", "report blocks", "RFC 3550 6.4.1"),
        Column(
            "loss_mean_ratio",
            FLOAT,
            "mean over reports of the share of packets lost since the report before",
            "ratio",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column("loss_max_ratio", FLOAT, "largest such share", "ratio", nullable=False, source="RFC 3550 6.4.1"),
        Column(
            "lost_packets",
            INT64,
            "cumulative number of packets lost in the last report, negative where duplicates outnumber losses",
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
            "largest reported interarrival jitter, in units of the RTP timestamp",
            nullable=False,
            source="RFC 3550 6.4.1",
        ),
        Column(
            "rtt_samples",
            INT64,
            "reports that answer to a sender report that passed the capture point in the other direction",
            source="RFC 3550 6.4.1",
        ),
        Column(
            "rtt_min_us",
            INT64,
            "smallest round trip from the capture point to the receiver and back: sender report to answer, less the "
            "time for which the receiver held it (DLSR)",
            "us",
        ),
        Column("rtt_avg_us", FLOAT, "mean of them", "us"),
        Column("rtt_max_us", INT64, "largest of them", "us"),
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
        Column("ssrc", INT64, "synchronisation source", nullable=False, source="RFC 3550"),
        INTERVAL_START_NS,
        Column(
            "interval_ms",
            INT32,
            "length of the interval: a second, doubled until a stream has at most 3,600",
            "ms",
            nullable=False,
        ),
        Column("packets", INT64, "packets received, duplicates included", nullable=False),
        Column("payload_bytes", INT64, "bytes from the RTP header on", "bytes", nullable=False),
        Column("frames", INT64, "RTP timestamps that came for the first time", nullable=False),
        Column(
            "expected_packets",
            INT64,
            "growth of the expected packets of the stream",
            nullable=False,
            source="RFC 3550 A.3",
        ),
        Column(
            "lost_packets",
            INT64,
            "growth of the lost packets of the stream; negative where packets of an earlier interval came late",
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
