"""Table of what WebRTC's statistics said of the streams of a call."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT32, INT64, PROVENANCE, STRING

STATISTICS = "W3C Identifiers for WebRTC's Statistics API"

CALL_POLL = Table(
    "call_poll",
    "readers of WebRTC statistics",
    "one RTP stream at one poll of WebRTC statistics; counters count from the start of the stream",
    ("source_hash", "poll_index", "peer_connection", "ssrc", "direction"),
    (
        *PROVENANCE,
        Column("poll_index", INT32, "number of the poll in its file, from 0", nullable=False),
        Column("peer_connection", INT32, "number of the peer connection in its file, from 0", nullable=False),
        Column("ssrc", INT64, "synchronisation source of the stream", nullable=False, source="RFC 3550"),
        Column("direction", STRING, "direction as seen by the reporting end: inbound or outbound", nullable=False),
        Column(
            "stream_number",
            INT32,
            "number of the stream among those with its SSRC and direction, from 0; a counter that decreases or grows "
            "by more than it can, or a clock that is set, starts the next stream",
            nullable=False,
        ),
        Column(
            "media_kind",
            STRING,
            "kind of media: audio or video; null if the report does not state it",
            codes=("audio", "video"),
        ),
        Column(
            "stats_format",
            STRING,
            "naming scheme of the reports: standard, or legacy for Chrome's names that begin with goog",
            nullable=False,
            codes=("standard", "legacy"),
        ),
        Column("poll_ns", INT64, "time of the poll by the clock of the reporting end", "ns", False),
        Column(
            "clock",
            STRING,
            "clock of the polls: utc, or unset for a clock without a date, such as one that counts from the start "
            "of a page",
            nullable=False,
            codes=("utc", "unset"),
        ),
        Column("packets", INT64, "packets received or sent", source=STATISTICS),
        Column("payload_bytes", INT64, "bytes of payload received or sent", "bytes", source=STATISTICS),
        Column(
            "lost_packets",
            INT64,
            "packets lost: for inbound streams at this end, for outbound streams as the far end reports; may "
            "decrease when late packets arrive",
            source="RFC 3550 section 6.4.1",
        ),
        Column("frames", INT64, "video frames decoded or encoded", source=STATISTICS),
        Column("frame_width", INT32, "width of the last frame in pixels", source=STATISTICS),
        Column("frame_height", INT32, "height of the last frame in pixels", source=STATISTICS),
        Column("qp_sum", INT64, "sum of the quantisation parameters of the frames", source=STATISTICS),
        Column("nack_count", INT64, "negative acknowledgements sent (inbound) or received", source="RFC 4585"),
        Column("pli_count", INT64, "picture loss indications sent (inbound) or received", source="RFC 4585"),
        Column("fir_count", INT64, "full intra requests sent (inbound) or received", source="RFC 5104"),
        Column("jitter_ms", FLOAT, "interarrival jitter at the receiver", "ms", source="RFC 3550 section 6.4.1"),
        Column(
            "jitter_buffer_delay_ms",
            FLOAT,
            "sum of the times that samples or frames spent in the jitter buffer",
            "ms",
            source=STATISTICS,
        ),
        Column("jitter_buffer_emitted", INT64, "samples or frames that left the jitter buffer", source=STATISTICS),
        Column("rtt_ms", FLOAT, "round-trip time of the last RTCP report", "ms", source="RFC 3550 section 6.4.1"),
        Column("freeze_count", INT64, "freezes of the video", source=STATISTICS),
        Column("freezes_duration_ms", FLOAT, "total time during which the video was frozen", "ms", source=STATISTICS),
        Column("concealed_samples", INT64, "concealed audio samples", source=STATISTICS),
        Column("received_samples", INT64, "played audio samples, including concealed ones", source=STATISTICS),
        Column(
            "limited_by",
            STRING,
            "what limited the sent resolution or frame rate at the poll: none, bandwidth, cpu or other",
            source=STATISTICS,
            codes=("none", "bandwidth", "cpu", "other"),
        ),
        Column(
            "bandwidth_limited_ms", FLOAT, "total time during which bandwidth limited sending", "ms", source=STATISTICS
        ),
        Column("cpu_limited_ms", FLOAT, "total time during which the CPU limited sending", "ms", source=STATISTICS),
    ),
)

TABLES = (CALL_POLL,)
