"""Tables of Explicit Congestion Notification in captures: codepoints, negotiation, and what receivers echo."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, FLOW_DIRECTION, INT8, INT64, INTERVAL_MS, PROVENANCE, STRING

_CODEPOINTS = (("ect0", "ECT(0)"), ("ect1", "ECT(1)"), ("ce", "CE, Congestion Experienced"))
_CODEPOINT_NAMES = ("not-ect", "ect0", "ect1", "ce")

_MARKED = tuple(
    Column(
        f"{name}_{unit}", INT64, f"{what} with {codepoint}", column_unit, nullable=False, source="RFC 3168, RFC 9331"
    )
    for name, codepoint in _CODEPOINTS
    for unit, what, column_unit in (
        ("packets", "packets", ""),
        ("bytes", "frame bytes, original length, of packets", "bytes"),
    )
)

FLOW_ECN = Table(
    "flow_ecn",
    "capture decoder",
    "one direction of one flow that shows ECN: a codepoint other than Not-ECT, or a TCP flag of ECN; a "
    "flow without rows shows none",
    ("source_hash", "flow_id", "direction"),
    (
        *PROVENANCE,
        *FLOW_DIRECTION,
        Column("not_ect_packets", INT64, "packets with Not-ECT", nullable=False, source="RFC 3168"),
        Column(
            "not_ect_bytes", INT64, "frame bytes, original length, of packets with Not-ECT", "bytes", nullable=False
        ),
        *_MARKED,
        Column(
            "ecn_mode",
            STRING,
            "ECN mode of the connection: none, classic (RFC 3168), accurate (RFC 9768), or unknown (no handshake "
            "in the capture, and no flag that only Accurate ECN uses); null if not TCP",
            codes=("none", "classic", "accurate", "unknown"),
        ),
        Column(
            "negotiation",
            STRING,
            "answer of the SYN-ACK: accurate_not_ect, accurate_ect0, accurate_ect1, accurate_ce (the codepoint "
            "with which the SYN arrived), classic, classic_nonce, refused, broken (an answer that no host gives), "
            "not_requested, unanswered, or not_seen; null if not TCP",
            source="RFC 9768, Table 2",
            codes=(
                "accurate_not_ect",
                "accurate_ect0",
                "accurate_ect1",
                "accurate_ce",
                "classic",
                "classic_nonce",
                "refused",
                "broken",
                "not_requested",
                "unanswered",
                "not_seen",
            ),
        ),
        Column("fell_back", BOOL, "true if a repeated SYN had different ECN flags from the first; null if not TCP"),
        Column("syn_flags", INT8, "AE (4), CWR (2) and ECE (1) of the SYN; null if not seen", source="RFC 9768"),
        Column(
            "syn_ack_flags", INT8, "AE (4), CWR (2) and ECE (1) of the SYN-ACK; null if not seen", source="RFC 9768"
        ),
        Column(
            "handshake_codepoint",
            STRING,
            "codepoint of this direction's SYN or SYN-ACK at the capture point; null if not seen",
            codes=_CODEPOINT_NAMES,
        ),
        Column(
            "handshake_codepoint_reported",
            STRING,
            "codepoint with which it arrived, as the other end reports; if it differs from the one at the capture "
            "point, it was changed on the way; null without Accurate ECN",
            source="RFC 9768, 3.1.1 and 3.2.2.1",
            codes=_CODEPOINT_NAMES,
        ),
        Column("data_packets", INT64, "segments with payload; null if not TCP"),
        Column("ecn_data_packets", INT64, "segments with payload and a codepoint other than Not-ECT; null if not TCP"),
        Column(
            "echoed_ce_packets_min",
            INT64,
            "lower bound on the number of CE packets that the other end reported: increments of its ACE field modulo "
            "8; null without Accurate ECN, or if the field is always 0",
            source="RFC 9768, 3.2.2",
        ),
        Column(
            "echoed_ce_packets_max",
            INT64,
            "upper bound on the number of these packets, from the packets that each acknowledgement can cover and "
            "the bytes in its option",
            source="RFC 9768, A.1 and A.2",
        ),
        *(
            Column(
                f"echoed_{name}_bytes",
                INT64,
                f"payload bytes that the other end reported with {codepoint}, by options; null without the option",
                "bytes",
                source="RFC 9768, 3.2.3",
            )
            for name, codepoint in _CODEPOINTS
        ),
        Column("ace_reports", INT64, "segments from the other end whose ACE field was read; null without Accurate ECN"),
        Column(
            "ace_is_zeroed",
            BOOL,
            "true if the other end's ACE field is 0 in every segment although it begins at 5; null without "
            "Accurate ECN",
            source="RFC 9768, 3.2.2.4",
        ),
        Column(
            "ect0_first_options",
            INT64,
            "options from the other end with the order ECT(0), CE, ECT(1): kind 172, or 254 with 0xACC0; null if "
            "not TCP",
        ),
        Column(
            "ect1_first_options",
            INT64,
            "options from the other end with the order ECT(1), CE, ECT(0): kind 174, or 254 with 0xACC1; null if "
            "not TCP",
        ),
        Column(
            "option_disagreements",
            INT64,
            "options from the other end that contradict its ACE field: CE bytes without a CE packet, or a CE "
            "packet without CE bytes; null without options",
        ),
        Column(
            "option_counters_backwards", INT64, "option counters that are below their previous value; null if not TCP"
        ),
        Column(
            "stale_reports",
            INT64,
            "segments from the other end that arrived after a newer one, and so report nothing; null if not TCP",
        ),
        Column(
            "echo_segments",
            INT64,
            "segments from the other end with ECE, except SYN; null if not TCP, or with Accurate ECN",
            source="RFC 3168, 6.1.3",
        ),
        Column(
            "echo_runs",
            INT64,
            "runs of such segments, a lower bound on the number of marked packets; null if not TCP, or with "
            "Accurate ECN",
            source="RFC 3168, 6.1.3",
        ),
        Column(
            "reduced_segments",
            INT64,
            "segments with CWR, except SYN; null if not TCP, or with Accurate ECN",
            source="RFC 3168, 6.1.2",
        ),
    ),
)

FLOW_ECN_INTERVAL = Table(
    "flow_ecn_interval",
    "capture decoder",
    "one direction of one flow in one interval in which it sent a packet with a codepoint other than Not-ECT",
    ("source_hash", "flow_id", "direction", "interval_start_ns"),
    (
        *PROVENANCE,
        *FLOW_DIRECTION,
        Column(
            "interval_start_ns",
            INT64,
            "start of the interval, UTC, in ns since the epoch; flow_interval has a row for it with all packets",
            "ns",
            nullable=False,
        ),
        INTERVAL_MS,
        *_MARKED,
    ),
)

TABLES = (FLOW_ECN, FLOW_ECN_INTERVAL)
