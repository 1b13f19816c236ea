"""Tables of studies and their runs."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import (
    BOOL,
    COUNT,
    DELAY_MS,
    DESCRIBED,
    FLOAT,
    INT32,
    INT64,
    PROVENANCE,
    QUEUE_SIZE,
    RATE_BPS,
    STRING,
    UTC_NS,
)

STUDY = Table(
    "study",
    "study description",
    "one study",
    ("study_id",),
    (*PROVENANCE, Column("study_id", STRING, "short name of the study", nullable=False), *DESCRIBED),
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
            "application that the rule applies to; * for every application, and for role tcp",
            nullable=False,
        ),
        Column(
            "selects",
            BOOL,
            "true if the rule selects solo runs; false if there is no demand, for the reason given",
            nullable=False,
        ),
        Column("reason", STRING, "why no run is selected"),
        Column("bandwidth_rule", STRING, "any, same (as the judged run), or a rate in bit/s", nullable=False),
        Column("rtt_rule", STRING, "any, same, or an RTT in ms", nullable=False),
        Column("queue_size_bdp_rule", STRING, "any, same, or a queue size in BDP", nullable=False),
        Column("aqm_rule", STRING, "any, same, or a queue discipline", nullable=False),
        Column("congestion_control_rule", STRING, "any, same, or a congestion control", nullable=False),
        Column("workload_rule", STRING, "any, same, or a workload", nullable=False),
    ),
)

BANDWIDTH_STEP = Table(
    "bandwidth_step",
    "study description",
    "one rate of one programme by which a study changes the bottleneck's rate within a run",
    ("study_id", "bandwidth_programme", "step_number"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("bandwidth_programme", STRING, "name of the programme", nullable=False),
        Column("step_number", INT32, "number of the step, from 0", nullable=False),
        Column("second", INT32, "second of the run at which the rate is set", "s", nullable=False),
        Column("bandwidth_bps", INT64, "rate from that second", "bit/s", nullable=False),
    ),
)

RTT_STEP = Table(
    "rtt_step",
    "study description",
    "one round-trip time of one programme by which a study changes the path within a run",
    ("study_id", "bandwidth_programme", "step_number"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("bandwidth_programme", STRING, "name of the programme", nullable=False),
        Column("step_number", INT32, "number of the step, from 0, as in bandwidth_step", nullable=False),
        Column("second", INT32, "second of the run at which the round-trip time is set", "s", nullable=False),
        Column("rtt_ms", FLOAT, "round-trip time without queuing from that second", "ms", nullable=False),
    ),
)

WORKLOAD_PART = Table(
    "workload_part",
    "study description",
    "one part of one workload of a study: sessions of one kind in one direction",
    ("study_id", "workload", "part_number"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("workload", STRING, "name of the workload, as runs state it", nullable=False),
        Column("part_number", INT32, "number of the part, from 0", nullable=False),
        Column(
            "direction",
            STRING,
            "direction of the sessions' data: downlink or uplink",
            nullable=False,
            codes=("downlink", "uplink"),
        ),
        Column(
            "sessions",
            INT32,
            "number of concurrent sessions; each session starts one flow after another",
            nullable=False,
        ),
        Column(
            "flow_length",
            STRING,
            "length of the flows: short (of a certain size) or long (without end)",
            nullable=False,
            codes=("short", "long"),
        ),
        Column("interarrival_distribution", STRING, "distribution of the time between flows of a session"),
        Column("interarrival_mean_s", FLOAT, "mean of that time", "s"),
        Column("size_distribution", STRING, "distribution of the sizes of flows"),
        Column("size_shape", FLOAT, "shape of that distribution, such as Weibull's"),
        Column("size_scale_bytes", FLOAT, "scale of that distribution", "bytes"),
        Column("size_mean_bytes", FLOAT, "mean size of a flow", "bytes"),
        Column("stated_mean_flows", FLOAT, "mean number of flows at a time, as the study states it"),
    ),
)

RUN = Table(
    "run",
    "manifest reader, study tables, readers of measurement tools",
    "one run of an experiment",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study that the run belongs to", nullable=False),
        Column("run_id", STRING, "name of the run in its study", nullable=False),
        Column(
            "start_order",
            STRING,
            "solo, app_first, tcp_first or rival_first",
            nullable=False,
            codes=("solo", "app_first", "tcp_first", "rival_first"),
        ),
        Column(
            "workload",
            STRING,
            "workload of the run, if a study has several (call, screen_capture, bandwidth_steps, …)",
            nullable=False,
        ),
        Column("direction", STRING, "downlink or uplink", codes=("downlink", "uplink")),
        Column(
            "bandwidth_bps",
            INT64,
            "bottleneck rate; if a programme changes it within the run, the rate that the source states in "
            "addition to the programme",
            "bit/s",
            bounds=RATE_BPS,
        ),
        Column(
            "rtt_ms", FLOAT, "round-trip time without queuing; null if the source does not say", "ms", bounds=DELAY_MS
        ),
        Column(
            "aqm",
            STRING,
            "queue discipline: tail-drop, or the kernel's name (such as codel or fq_codel); unknown if the source "
            "does not state it",
            nullable=False,
        ),
        Column("queue_discipline", STRING, "kernel name of the queue discipline, or unknown", nullable=False),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes", bounds=QUEUE_SIZE),
        Column("queue_size_packets", INT64, "packet limit of the queue", bounds=QUEUE_SIZE),
        Column(
            "queue_size_bdp",
            FLOAT,
            "queue size in bandwidth-delay products; null if the study leaves it at the discipline's default",
            "BDP",
            bounds=COUNT,
        ),
        Column("aqm_parameters", STRING, "parameters set for the queue discipline, as JSON"),
        Column("congestion_control", STRING, "congestion control of the TCP flow; null if no TCP flow ran"),
        Column("application", STRING, "application under test; null if only TCP ran"),
        Column("testbed", STRING, "testbed of the run, if the study has several; null if not stated"),
        Column(
            "queue_scheme",
            STRING,
            "name that the study gives the queue size (tiny, BDP, largest); null if it gives none",
        ),
        Column(
            "congested_direction",
            STRING,
            "direction filled by the background traffic: none, upstream, downstream or both; null if not stated",
            codes=("none", "upstream", "downstream", "both"),
        ),
        Column("participants", INT32, "people or senders in the call; null if not stated", bounds=(1, 2**31 - 1)),
        Column(
            "call_view",
            STRING,
            "layout in which the call shows its participants: gallery, speaker or pinned; null if not stated",
            codes=("gallery", "speaker", "pinned"),
        ),
        Column(
            "ecn",
            STRING,
            "ECN mode that the hosts request for TCP: none, classic or accurate; null if not stated",
            source="RFC 3168, RFC 9768",
            codes=("none", "classic", "accurate"),
        ),
        Column(
            "l4s",
            STRING,
            "roles that send as L4S: neither, app, tcp or both; null if not stated",
            source="RFC 9331",
            codes=("neither", "app", "tcp", "both"),
        ),
        Column(
            "repetition",
            INT32,
            "number of the repetition; null if the study does not number them",
            bounds=(0, 2**31 - 1),
        ),
        Column(
            "bandwidth_programme",
            STRING,
            "name of the study's programme that changes the rate within the run; null if the rate is fixed",
        ),
        Column(
            "bottleneck_interface",
            STRING,
            "interface of the bottleneck queue, if the queue log contains several queues; null if not stated",
        ),
        Column("bottleneck_handle", STRING, "handle of that queue's discipline, as tc prints it; null if not stated"),
        Column("session_id", STRING, "call or session that the run belongs to, if scores are given for it"),
        Column("start_ns", INT64, "start of the run, UTC, in ns since the epoch", "ns", bounds=UTC_NS),
        Column(
            "window_start_ns", INT64, "start of the measurement window, UTC, in ns since the epoch", "ns", bounds=UTC_NS
        ),
        Column(
            "window_end_ns", INT64, "end of the measurement window, UTC, in ns since the epoch", "ns", bounds=UTC_NS
        ),
        Column(
            "monotonic_offset_ns",
            INT64,
            "offset to add to the run's monotonic clock to get UTC in ns since the epoch",
            "ns",
        ),
    ),
)

RUN_EXCLUSION = Table(
    "run_exclusion",
    "manifest reader, study tables",
    "one run that aggregates exclude",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("exclusion_reason", STRING, "reason why aggregates exclude the run, in one word", nullable=False),
    ),
)

RUN_SHAPER = Table(
    "run_shaper",
    "manifest reader",
    "the shaper that sets the rate of one run's bottleneck",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("shaper", STRING, "kernel name of the shaper (tbf, htb, cake); null if not stated"),
        Column(
            "shaper_burst_bytes", INT64, "bytes that a full token bucket lets pass at once; null if not stated", "bytes"
        ),
    ),
)

RUN_BLOCK = Table(
    "run_block",
    "manifest reader",
    "the block that one run was made in",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column(
            "block",
            STRING,
            "set of runs that were made together and share everything that drifts between sets, such as a day",
            nullable=False,
        ),
    ),
)
RUN_RIVAL = Table(
    "run_rival",
    "manifest reader, study tables",
    "the application that competes with that of one run",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("rival_application", STRING, "competing application (role rival)", nullable=False),
    ),
)

RUN_LINK = Table(
    "run_link",
    "manifest reader",
    "one direction of the link of one run",
    ("study_id", "run_id", "direction"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("direction", STRING, "downlink or uplink", nullable=False, codes=("downlink", "uplink")),
        Column("bandwidth_bps", INT64, "rate of this direction", "bit/s"),
        Column("delay_ms", FLOAT, "one-way delay of this direction without queuing", "ms"),
        Column("aqm", STRING, "queue discipline: tail-drop, or the kernel's name (such as codel or fq_codel)"),
        Column("queue_discipline", STRING, "kernel name of the queue discipline"),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes"),
        Column("queue_size_packets", INT64, "packet limit of the queue"),
        Column("queue_size_bdp", FLOAT, "queue size in bandwidth-delay products", "BDP"),
        Column("queue_scheme", STRING, "name that the study gives the queue size"),
        Column("queue_interface", STRING, "interface of the queue in the queue log"),
        Column("queue_handle", STRING, "handle of the queue discipline in the queue log, as tc prints it"),
    ),
)

RUN_PHASE = Table(
    "run_phase",
    "manifest reader",
    "one phase of one run that its manifest gives",
    ("study_id", "run_id", "phase"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column(
            "phase", STRING, "solo, competing, or recovery", nullable=False, codes=("solo", "competing", "recovery")
        ),
        Column("start_ms", FLOAT, "start of the phase after the start of the run", "ms", nullable=False),
        Column("end_ms", FLOAT, "end of the phase after the start of the run", "ms", nullable=False),
    ),
)

RUN_SOURCE = Table(
    "run_source",
    "manifest reader, readers of measurement tools",
    "one measurement file of a run",
    ("study_id", "run_id", "measurement"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column(
            "measurement",
            STRING,
            "kind of file: capture_before, capture_after, queue_log, queue_log_decoded (the events of queue_log "
            "in another form, used only if queue_log is not usable), queue_counters, tcp_polls, the tool whose "
            "series it contains, frame_vmaf, frame_ssim or frame_psnr (scores that a tool gave the received "
            "frames), page_loads, or call_statistics (WebRTC statistics of the call)",
            nullable=False,
            codes=(
                "capture_before",
                "capture_after",
                "queue_log",
                "queue_log_decoded",
                "queue_counters",
                "tcp_polls",
                "flent",
                "iperf3",
                "iperf3_server",
                "iperf2",
                "irtt",
                "ping",
                "fping",
                "qlog",
                "qlog_client",
                "qlog_server",
                "crusader",
                "network_quality",
                "speed_test",
                "streaming",
                "frame_vmaf",
                "frame_ssim",
                "frame_psnr",
                "page_loads",
                "call_statistics",
            ),
        ),
        Column(
            "file_name",
            STRING,
            "name of the file in the run's folder, without a compression suffix",
            nullable=False,
            has_public_names=True,
        ),
        Column(
            "measurement_hash",
            STRING,
            "SHA-256 of the file's plain content, the source_hash of its facts",
            nullable=False,
        ),
    ),
)

TABLES = (
    STUDY,
    DEMAND_RULE,
    BANDWIDTH_STEP,
    RTT_STEP,
    WORKLOAD_PART,
    RUN,
    RUN_EXCLUSION,
    RUN_SHAPER,
    RUN_BLOCK,
    RUN_RIVAL,
    RUN_LINK,
    RUN_PHASE,
    RUN_SOURCE,
)
