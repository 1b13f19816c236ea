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
            f"TCP payload bytes {who}, each sequence number once; null if not TCP",
            "bytes",
        ),
        Column(
            f"{prefix}_duplicate_packets",
            INT64,
            f"segments {who} that the capture holds again, as a mirror of several ports or VLANs makes them: same "
            "numbers, window, checksum and IP identification within 100 ms, without an identification within 1 ms; "
            "they count as packets and bytes and for nothing else of TCP; null if not TCP",
        ),
        Column(f"{prefix}_tcp_flags", INT16, f"bitwise or of the TCP flags {who}; null if not TCP", source="RFC 9293"),
        Column(
            f"{prefix}_retransmitted_packets", INT64, f"data segments {who} that repeat sequence space; null if not TCP"
        ),
        Column(
            f"{prefix}_spurious_retransmitted_packets",
            INT64,
            f"retransmitted segments {who} of which all had been acknowledged; null if not TCP",
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
            f"segments {who} that report data received twice; null if not TCP",
            source="RFC 2883",
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
            f"{prefix}_ecn_ece_packets",
            INT64,
            f"segments {who} that echo congestion, SYN left out; null if not TCP, and with Accurate ECN, where the "
            "flag is a bit of a counter (flow_ecn)",
            source="RFC 3168",
        ),
        Column(
            f"{prefix}_ecn_cwr_packets",
            INT64,
            f"segments {who} that say the congestion window was reduced, SYN left out; null if not TCP, and with "
            "Accurate ECN, where the flag is a bit of a counter (flow_ecn)",
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
            f"{prefix}_srtt_avg_us", FLOAT, f"mean smoothed RTT of data {who}, over samples", "us", source="RFC 6298"
        ),
        Column(f"{prefix}_srtt_max_us", FLOAT, f"largest smoothed RTT of data {who}", "us", source="RFC 6298"),
        Column(
            f"{prefix}_timestamp_rtt_samples",
            INT64,
            f"RTT samples of data {who} by TCP timestamps and their first echo; null if not TCP",
            source="RFC 7323",
        ),
        Column(
            f"{prefix}_timestamp_rtt_min_us",
            INT64,
            f"smallest RTT of data {who} by TCP timestamps",
            "us",
            source="RFC 7323",
        ),
        Column(
            f"{prefix}_timestamp_rtt_avg_us",
            FLOAT,
            f"mean RTT of data {who} by TCP timestamps",
            "us",
            source="RFC 7323",
        ),
        Column(
            f"{prefix}_timestamp_rtt_max_us",
            INT64,
            f"largest RTT of data {who} by TCP timestamps",
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
        Column("flow_id", INT64, "number of the flow in its capture, by first packet, from 0", nullable=False),
        Column("ip_version", INT8, "4 or 6", nullable=False),
        Column("protocol", STRING, "tcp, udp, icmp, icmp6, or ip-N for IP protocol number N", nullable=False),
        *endpoint_columns("initiator", "sender of the first packet, or receiver of a SYN-ACK that comes first"),
        *endpoint_columns("responder", "receiver of the first packet, or sender of a SYN-ACK that comes first"),
        Column("first_packet_ns", INT64, "time of the first packet, UTC epoch", "ns", nullable=False),
        Column("last_packet_ns", INT64, "time of the last packet, UTC epoch", "ns", nullable=False),
        Column(
            "tunnel",
            STRING,
            "encapsulation the flow was in: ip-in-ip, gre, gre-in-udp, vxlan, geneve, gtp-u or teredo, two as "
            "outer/inner; null: none",
        ),
        Column(
            "end_reason",
            STRING,
            "why the record ends: capture_end, idle, ports_reused, or evicted (too many open flows)",
            nullable=False,
        ),
        Column(
            "starts_in_mid_flow", BOOL, "no SYN passed, so the connection is older than the record; null if not TCP"
        ),
        Column(
            "handshake_rtt_us",
            INT64,
            "SYN to the acknowledgement of SYN-ACK, both legs through the capture point; null unless seen once each",
            "us",
        ),
        Column(
            "server_name",
            STRING,
            "name of the server: its registrable domain, or the whole name with --server-names full; never an "
            "address or "
            "the name of a device in a local network; null: none was seen, or --server-names none",
        ),
        Column(
            "server_name_source",
            STRING,
            "tls (ClientHello over TCP), quic (ClientHello over QUIC), or dns (the name for which DNS in the "
            "same recording "
            "last told the initiator the responder's address before the flow began); null without a name",
            source="RFC 6066, RFC 9001, RFC 1035",
        ),
        Column(
            "client_hello_outcome",
            STRING,
            "named, damaged_after_name (it has one, and what follows is damaged), no_name (it has none), address, "
            "local_name or invalid_name (its name may not be kept), cut (it ends before a name), or not_decrypted "
            "(QUIC whose first packet is missing); null: no ClientHello was seen",
        ),
        Column(
            "is_client_hello_encrypted",
            BOOL,
            "the ClientHello has an encrypted one inside (ECH or ESNI), or pretends to (GREASE): server_name "
            "may be the "
            "public name only; null without a whole ClientHello",
            source="RFC 9849",
        ),
        Column(
            "tls_version_offered",
            STRING,
            "highest version that the ClientHello offers: 1.3, 1.2, 1.1, 1.0 or ssl-3.0; null also where the "
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
            "application protocols that the ClientHello offers, in its order, with commas between them, such "
            "as h2,http/1.1",
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
        Column("packet_index", INT64, "number of the record in its recording, refused counted, from 0", nullable=False),
        Column("flow_id", INT64, "flow of the same recording", nullable=False),
        Column("direction", STRING, "fwd or rev, of the flow", nullable=False),
        Column("packet_ns", INT64, "capture time, UTC epoch", "ns", nullable=False),
        Column("packet_bytes", INT32, "frame length, original", "bytes", nullable=False),
        Column("payload_bytes", INT64, "transport payload, original length", "bytes", nullable=False),
        Column("hop_limit", INT16, "time to live, or hop limit", nullable=False, source="RFC 791, RFC 8200"),
        Column(
            "ip_identification",
            INT64,
            "IPv4 identification, or that of an IPv6 fragment header; 0 if there is none",
            nullable=False,
            source="RFC 791, RFC 8200",
        ),
        Column("congestion_experienced", BOOL, "marked congestion experienced", source="RFC 3168"),
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
        Column("direction", STRING, "fwd or rev, of the flow", nullable=False, codes=("fwd", "rev")),
        Column("ssrc", INT64, "synchronisation source", nullable=False, source="RFC 3550"),
        Column("payload_type", INT16, "payload type of the first packet", nullable=False, source="RFC 3550"),
        Column(
            "encapsulation",
            STRING,
            "what carries the RTP: turn-channel, turn-indication, zoom-server or zoom-peer; null: the flow itself",
            codes=("turn-channel", "turn-indication", "zoom-server", "zoom-peer"),
            source="RFC 8656, Michel et al. 2022",
        ),
        Column(
            "media_type",
            STRING,
            "audio, video or screen-share, as Zoom's encapsulation says; null without it",
            codes=("audio", "video", "screen-share"),
            source="Michel et al. 2022",
        ),
        Column(
            "clock_rate_hz", INT32, "RTP timestamp clock: the static assignment, or estimated from the stream", "Hz"
        ),
        Column("clock_basis", STRING, "static (RFC 3551 payload type) or estimated (timestamps against capture time)"),
        Column("first_packet_ns", INT64, "time of the first packet, UTC epoch", "ns", nullable=False),
        Column("last_packet_ns", INT64, "time of the last packet, UTC epoch", "ns", nullable=False),
        Column("packets", INT64, "packets received, duplicates included", nullable=False),
        Column("payload_bytes", INT64, "bytes from the RTP header on", "bytes", nullable=False),
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
        Column("duplicate_packets", INT64, "packets whose sequence number had been received", nullable=False),
        Column(
            "jitter_ms",
            FLOAT,
            "interarrival jitter at the end of the stream; null without a clock rate",
            "ms",
            source="RFC 3550 6.4.1",
        ),
        Column("jitter_mean_ms", FLOAT, "mean of the interarrival jitter over packets", "ms", source="RFC 3550 6.4.1"),
        Column("jitter_max_ms", FLOAT, "largest interarrival jitter", "ms", source="RFC 3550 6.4.1"),
        Column("frames", INT64, "distinct RTP timestamps", nullable=False),
        Column(
            "frame_rate_fps",
            FLOAT,
            "frames after the first over the time from first to last packet; null if no time passed",
            "Hz",
        ),
        Column(
            "rate_bps",
            FLOAT,
            "payload_bytes * 8 over the time from first to last packet; null if no time passed",
            "bit/s",
        ),
        Column(
            "recognised_by",
            STRING,
            "heuristics (five packets whose sequence numbers follow on), or declared (by the run's manifest)",
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
            "name of the number in that registry, in small letters; null if Sojourn has none for it",
        ),
        Column("records", INT64, "whole records of that link type, refused ones too", nullable=False),
    ),
)

TABLES = (CAPTURE_LINK, FLOW, FLOW_INTERVAL, PACKET, RTP_STREAM)
