"""Flows that runs declare, and which of them have which role."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, FLOAT, INT16, INT32, INT64, PROVENANCE, STRING, endpoint_columns

FLOW_ROLES = ("app", "tcp", "rival", "tcp_control", "background")

RUN_FLOW = Table(
    "run_flow",
    "manifest reader",
    "one flow that a run's manifest declares, or one rule for flows",
    ("study_id", "run_id", "flow_number"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("flow_number", INT32, "position in the manifest, from 0", nullable=False),
        Column("role", STRING, "app, tcp, rival, tcp_control, or background", nullable=False, codes=FLOW_ROLES),
        Column("protocol", STRING, "tcp or udp; null for a rule that applies to either", codes=("tcp", "udp")),
        *endpoint_columns("source", "sender of the data, null in a rule"),
        *endpoint_columns("destination", "receiver of the data, null in a rule"),
        Column(
            "rule_host_key",
            STRING,
            "host, or first address of the prefix, at one end of the rule's flows, in the form of "
            "source_host_key; null if any",
        ),
        Column("rule_host_bits", INT16, "length of that prefix in bits: 32 or 128 for one host"),
        Column("rule_first_port", INT32, "first port of that end; null if any"),
        Column("rule_last_port", INT32, "last port of that end; null if any"),
        Column(
            "rule_server_names",
            STRING,
            "server names, separated by spaces; the server must have one of them, or a name below one",
        ),
        Column(
            "rule_more_than_bytes",
            INT64,
            "payload in both directions that a flow of the rule must exceed; null if any",
            "bytes",
        ),
        Column("rule_is_first", BOOL, "true if the rule matches only the flow that began first; null for a 5-tuple"),
        Column("congestion_control", STRING, "congestion control, TCP only"),
        Column("application", STRING, "application"),
        Column("ssrc", INT64, "RTP synchronisation source, if known", source="RFC 3550"),
        Column("rtp_payload_type", INT16, "RTP payload type, if known", source="RFC 3551"),
        Column("planned_start_ms", FLOAT, "planned start after the start of the run", "ms"),
    ),
)

FLOW_ROLE = Table(
    "flow_role",
    "capture decoder",
    "one flow of a run's capture that a rule of its manifest matches, if not all of its rules are 5-tuples",
    ("source_hash", "flow_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study of the manifest", nullable=False),
        Column("run_id", STRING, "run of the manifest", nullable=False),
        Column("flow_id", INT64, "flow in the capture", nullable=False),
        Column(
            "flow_number",
            INT32,
            "position in the manifest of the rule that the flow is assigned to, from 0",
            nullable=False,
        ),
        Column("role", STRING, "role that the rule gives the flow", nullable=False, codes=FLOW_ROLES),
        Column(
            "fitting_rules",
            INT32,
            "number of rules in the manifest that the flow matches; the first of them decides. The rule rest, and "
            "a rule that matches only its first flow if that is another one, do not count",
            nullable=False,
        ),
    ),
)

TABLES = (RUN_FLOW, FLOW_ROLE)
