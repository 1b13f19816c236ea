"""Tables of packet captures: link types, flows, intervals, packets, RTP streams."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import (
    BOOL,
    FLOAT,
    FLOW_DIRECTION,
    INT8,
    INT16,
    INT32,
    INT64,
    INTERVAL_MS,
    INTERVAL_START_NS,
    PROVENANCE,
    STRING,
    endpoint_columns,
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
            f"{prefix}_payload_bytes", INT64, f"transport payload bytes {who}, original length", "bytes", nullable=False
        ),
        Column(
            f"{prefix}_active_intervals",
            INT64,
            f"intervals of flow_interval in which a packet passed {who}",
            nullable=False,
        ),
        Column(
            f"{prefix}_unique_payload_bytes",
            INT64,
            f"TCP payload bytes {who}, counting each sequence number once; null if not TCP",
            "bytes",
        ),
        Column(
            f"{prefix}_duplicate_packets",
            INT64,
            f"segments {who} that the capture contains twice, as happens if several ports or VLANs are mirrored: "
            "same numbers, window, checksum and IP identification within 100 ms, or within 1 ms if there is no "
            "identification; they count as packets and bytes, but in no other TCP figure; null if not TCP",
        ),
        Column(f"{prefix}_tcp_flags", INT16, f"bitwise OR of the TCP flags {who}; null if not TCP", source="RFC 9293"),
        Column(
            f"{prefix}_retransmitted_packets", INT64, f"data segments {who} that repeat sequence space; null if not TCP"
        ),
        Column(
            f"{prefix}_spurious_retransmitted_packets",
            INT64,
            f"retransmitted segments {who} that had already been acknowledged completely; null if not TCP",
        ),
        Column(
            f"{prefix}_out_of_order_packets",
            INT64,
            f"data segments {who} that fill a hole within the reordering time; null if not TCP",
        ),
        Column(
            f"{prefix}_duplicate_acknowledgements",
            INT64,
            f"segments {who} that acknowledge nothing new while data is outstanding; null if not TCP",
            source="RFC 5681",
        ),
        Column(
            f"{prefix}_sack_packets",
            INT64,
            f"segments {who} with a selective acknowledgement; null if not TCP",
            source="RFC 2018",
        ),
        Column(
            f"{prefix}_dsack_packets",
            INT64,
            f"segments {who} that report data received twice (DSACK); null if not TCP",
            source="RFC 2883",
        ),
        Column(f"{prefix}_zero_windows", INT64, f"segments {who} that advertise a zero window; null if not TCP"),
        Column(
            f"{prefix}_ecn_ce_packets",
            INT64,
            f"packets {who} marked Congestion Experienced",
            nullable=False,
            source="RFC 3168",
        ),
        Column(
            f"{prefix}_ecn_ece_packets",
            INT64,
            f"segments {who} that echo congestion (ECE), except SYN; null if not TCP, or with Accurate ECN, where "
            "the flag is a bit of a counter (flow_ecn)",
            source="RFC 3168",
        ),
        Column(
            f"{prefix}_ecn_cwr_packets",
            INT64,
            f"segments {who} that report a reduced congestion window (CWR), except SYN; null if not TCP, or with "
            "Accurate ECN, where the flag is a bit of a counter (flow_ecn)",
            source="RFC 3168",
        ),
        Column(
            f"{prefix}_rtt_samples",
            INT64,
            f"number of raw RTT samples of data {who}, from sequence number to acknowledgement by Karn's rule; "
            "null if not TCP",
            source="RFC 6298",
        ),
        Column(
            f"{prefix}_rtt_min_us",
            INT64,
            f"minimum raw RTT sample of data {who}, from the capture point to the peer and back",
            "us",
        ),
        Column(f"{prefix}_rtt_avg_us", FLOAT, f"mean raw RTT sample of data {who}", "us"),
        Column(f"{prefix}_rtt_max_us", INT64, f"maximum raw RTT sample of data {who}", "us"),
        Column(f"{prefix}_srtt_min_us", FLOAT, f"minimum smoothed RTT of data {who}", "us", source="RFC 6298"),
        Column(
            f"{prefix}_srtt_avg_us",
            FLOAT,
            f"mean smoothed RTT of data {who}, over the samples",
            "us",
            source="RFC 6298",
        ),
        Column(f"{prefix}_srtt_max_us", FLOAT, f"maximum smoothed RTT of data {who}", "us", source="RFC 6298"),
        Column(
            f"{prefix}_timestamp_rtt_samples",
            INT64,
            f"number of RTT samples of data {who} from TCP timestamps and their first echo; null if not TCP",
            source="RFC 7323",
        ),
        Column(
            f"{prefix}_timestamp_rtt_min_us",
            INT64,
            f"minimum RTT of data {who} from TCP timestamps",
            "us",
            source="RFC 7323",
        ),
        Column(
            f"{prefix}_timestamp_rtt_avg_us",
            FLOAT,
            f"mean RTT of data {who} from TCP timestamps",
            "us",
            source="RFC 7323",
        ),
        Column(
            f"{prefix}_timestamp_rtt_max_us",
            INT64,
            f"maximum RTT of data {who} from TCP timestamps",
            "us",
            source="RFC 7323",
        ),
    )


FLOW = Table(
    "flow",
    "capture decoder",
    "one bidirectional flow of one recording; forward is from the sender of its first packet, or to the sender of a "
    "SYN-ACK that comes first",
    ("source_hash", "flow_id"),
    (
        *PROVENANCE,
        Column(
            "flow_id", INT64, "number of the flow in its capture, in the order of first packets, from 0", nullable=False
        ),
        Column("ip_version", INT8, "4 or 6", nullable=False),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N for IP protocol number N", nullable=False),
        *endpoint_columns("initiator", "sender of the first packet, or receiver of a SYN-ACK that comes first"),
        *endpoint_columns("responder", "receiver of the first packet, or sender of a SYN-ACK that comes first"),
        Column("first_packet_ns", INT64, "time of the first packet, UTC, in ns since the epoch", "ns", nullable=False),
        Column("last_packet_ns", INT64, "time of the last packet, UTC, in ns since the epoch", "ns", nullable=False),
        Column(
            "tunnel",
            STRING,
            "encapsulation of the flow: ip-in-ip, gre, gre-in-udp, vxlan, geneve, gtp-u or teredo, or two of them "
            "as outer/inner; null if there is none",
        ),
        Column(
            "end_reason",
            STRING,
            "why the record ends: capture_end, idle, ports_reused, or evicted (too many open flows, or too large ones)",
            nullable=False,
        ),
        Column(
            "starts_in_mid_flow",
            BOOL,
            "true if no SYN was seen, because the connection is older than the record; null if not TCP",
        ),
        Column(
            "handshake_rtt_us",
            INT64,
            "time from the SYN to the acknowledgement of the SYN-ACK, which spans both legs; null unless each was "
            "seen exactly once",
            "us",
        ),
        Column(
            "server_name",
            STRING,
            "name of the server: its registrable domain, or the full name with --server-names full if no address "
            "is part of it; never an address or the name of a device in a local network; null if none was seen, or "
            "with --server-names none",
        ),
        Column(
            "server_name_source",
            STRING,
            "source of the server name: tls (ClientHello over TCP), quic (ClientHello over QUIC), or dns (the "
            "last name before the flow for which DNS in the same recording returned the responder's address to "
            "the initiator); null without a name",
            source="RFC 6066, RFC 9001, RFC 1035",
        ),
        Column(
            "client_hello_outcome",
            STRING,
            "result for the ClientHello: named, damaged_after_name, no_name, address, local_name or invalid_name "
            "(names that may not be kept), cut (the ClientHello ends before its name), or not_decrypted (the "
            "first QUIC packet is missing); null if no ClientHello was seen",
        ),
        Column(
            "is_client_hello_encrypted",
            BOOL,
            "true if the ClientHello contains an encrypted one (ECH or ESNI), or pretends to (GREASE); "
            "server_name may then be only the public name; null without a complete ClientHello",
            source="RFC 9849",
        ),
        Column(
            "tls_version_offered",
            STRING,
            "highest TLS version that the ClientHello offers: 1.3, 1.2, 1.1, 1.0 or ssl-3.0; null also if the "
            "part of the message that lists versions is missing",
            source="RFC 8446",
        ),
        Column(
            "quic_version",
            STRING,
            "QUIC version of the client's Initial packets: 1, 2, draft-34 (33 and 34), draft-29 (29 to 32), draft-28 "
            "(23 to 28) or mvfst; null if not read",
            source="RFC 9000, RFC 9369",
        ),
        Column(
            "application_protocols_offered",
            STRING,
            "application protocols that the ClientHello offers (ALPN), in its order, separated by commas, such as "
            "h2,http/1.1",
            source="RFC 7301",
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
        *FLOW_DIRECTION,
        INTERVAL_START_NS,
        INTERVAL_MS,
        Column("packets", INT64, "packets in the interval", nullable=False),
        Column("bytes", INT64, "frame bytes in the interval, original length", "bytes", nullable=False),
    ),
)

PACKET = Table(
    "packet",
    "capture decoder, on request (--packets)",
    "one packet of one recording",
    ("source_hash", "packet_index"),
    (
        *PROVENANCE,
        Column(
            "packet_index",
            INT64,
            "number of the record in its recording, including refused records, from 0",
            nullable=False,
        ),
        Column("flow_id", INT64, "flow of the same recording", nullable=False),
        Column("direction", STRING, "direction in the flow: fwd or rev", nullable=False),
        Column("packet_ns", INT64, "capture time, UTC, in ns since the epoch", "ns", nullable=False),
        Column("packet_bytes", INT32, "original frame length", "bytes", nullable=False),
        Column("payload_bytes", INT64, "original length of the transport payload", "bytes", nullable=False),
        Column(
            "hop_limit", INT16, "time to live (IPv4) or hop limit (IPv6)", nullable=False, source="RFC 791, RFC 8200"
        ),
        Column(
            "ip_identification",
            INT64,
            "IPv4 identification, or that of an IPv6 fragment header; 0 if there is none",
            nullable=False,
            source="RFC 791, RFC 8200",
        ),
        Column("congestion_experienced", BOOL, "true if marked Congestion Experienced", source="RFC 3168"),
        Column("tcp_sequence", INT64, "TCP sequence number; null if not TCP", source="RFC 9293"),
        Column("tcp_acknowledgement", INT64, "TCP acknowledgement number; null if not TCP", source="RFC 9293"),
        Column("tcp_flags", INT16, "TCP flags; null if not TCP", source="RFC 9293"),
        Column("tcp_window", INT32, "TCP window field, not scaled; null if not TCP", source="RFC 9293"),
    ),
)

RTP_STREAM = Table(
    "rtp_stream",
    "capture decoder",
    "one RTP stream: one SSRC in one direction of one flow",
    ("source_hash", "flow_id", "direction", "ssrc"),
    (
        *PROVENANCE,
        Column("flow_id", INT64, "flow of the same capture", nullable=False),
        Column("direction", STRING, "direction in the flow: fwd or rev", nullable=False, codes=("fwd", "rev")),
        Column("ssrc", INT64, "synchronisation source of the stream", nullable=False, source="RFC 3550"),
        Column("payload_type", INT16, "payload type of the first packet", nullable=False, source="RFC 3550"),
        Column(
            "encapsulation",
            STRING,
            "encapsulation of RTP: turn-channel, turn-indication, zoom-server or zoom-peer; null if the flow "
            "carries RTP directly",
            codes=("turn-channel", "turn-indication", "zoom-server", "zoom-peer"),
            source="RFC 8656, Michel et al. 2022",
        ),
        Column(
            "media_type",
            STRING,
            "kind of media, from Zoom's encapsulation: audio, video or screen-share; null without it",
            codes=("audio", "video", "screen-share"),
            source="Michel et al. 2022",
        ),
        Column(
            "clock_rate_hz",
            INT32,
            "clock rate of the RTP timestamps: the static assignment, or estimated from the stream",
            "Hz",
        ),
        Column(
            "clock_basis",
            STRING,
            "source of the clock rate: static (payload type of RFC 3551) or estimated (timestamps against capture "
            "time)",
        ),
        Column("first_packet_ns", INT64, "time of the first packet, UTC, in ns since the epoch", "ns", nullable=False),
        Column("last_packet_ns", INT64, "time of the last packet, UTC, in ns since the epoch", "ns", nullable=False),
        Column("packets", INT64, "packets received, including duplicates", nullable=False),
        Column("payload_bytes", INT64, "bytes from the start of the RTP header", "bytes", nullable=False),
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
            "reordered_packets", INT64, "packets that arrived after one with a higher sequence number", nullable=False
        ),
        Column("duplicate_packets", INT64, "packets whose sequence number was already received", nullable=False),
        Column(
            "jitter_ms",
            FLOAT,
            "interarrival jitter at the end of the stream; null without a clock rate",
            "ms",
            source="RFC 3550 6.4.1",
        ),
        Column("jitter_mean_ms", FLOAT, "mean of the interarrival jitter over packets", "ms", source="RFC 3550 6.4.1"),
        Column("jitter_max_ms", FLOAT, "maximum interarrival jitter", "ms", source="RFC 3550 6.4.1"),
        Column("frames", INT64, "number of frames: distinct RTP timestamps", nullable=False),
        Column(
            "frame_rate_fps",
            FLOAT,
            "frames after the first, divided by the time from the first to the last packet; null if no time passed",
            "Hz",
        ),
        Column(
            "rate_bps",
            FLOAT,
            "payload_bytes times 8, divided by the time from the first to the last packet; null if no time passed",
            "bit/s",
        ),
        Column(
            "recognised_by",
            STRING,
            "how the stream was recognised: heuristics (five packets with consecutive sequence numbers), or "
            "declared (by the run's manifest)",
            nullable=False,
            codes=("heuristics", "declared"),
        ),
    ),
)

CAPTURE_LINK = Table(
    "capture_link",
    "capture decoder",
    "one link type of the packets of one recording",
    ("source_hash", "link_type"),
    (
        *PROVENANCE,
        Column(
            "link_type",
            INT32,
            "number of the link type in the file",
            nullable=False,
            source="tcpdump.org/linktypes.html",
        ),
        Column(
            "link_type_name",
            STRING,
            "name of the link type in that registry, in lower case; null if Sojourn does not know it",
        ),
        Column("records", INT64, "complete records of that link type, including refused ones", nullable=False),
    ),
)

TABLES = (CAPTURE_LINK, FLOW, FLOW_INTERVAL, PACKET, RTP_STREAM)
