"""Tables of studies and their runs, and of what studies published as tables."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, DESCRIBED, FLOAT, INT32, INT64, PROVENANCE, STRING

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
        Column("application", STRING, "application the rule is for; * for every one, and for role tcp", nullable=False),
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
        Column("bandwidth_bps", INT64, "rate from then on", "bit/s", nullable=False),
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
        Column("rtt_ms", FLOAT, "round-trip time without queuing from then on", "ms", nullable=False),
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
        Column("sessions", INT32, "sessions side by side; each starts one flow after the other", nullable=False),
        Column(
            "flow_length", STRING, "short (of a size) or long (without end)", nullable=False, codes=("short", "long")
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
        Column("study_id", STRING, "study the run belongs to", nullable=False),
        Column("run_id", STRING, "the study's own name of the run", nullable=False),
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
            "what ran, where a study has several (call, screen_capture, bandwidth_steps, …)",
            nullable=False,
        ),
        Column("direction", STRING, "downlink or uplink", codes=("downlink", "uplink")),
        Column(
            "bandwidth_bps",
            INT64,
            "bottleneck rate; where a programme changes it within the run, what the source states beside the programme",
            "bit/s",
        ),
        Column("rtt_ms", FLOAT, "round-trip time without queuing; null where the source does not say", "ms"),
        Column(
            "aqm",
            STRING,
            "tail-drop, codel, fq_codel, or the discipline's kernel name; unknown where the source does not say",
            nullable=False,
        ),
        Column("queue_discipline", STRING, "kernel name of the discipline, or unknown", nullable=False),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes"),
        Column("queue_size_packets", INT64, "packet limit of the queue"),
        Column(
            "queue_size_bdp",
            FLOAT,
            "queue size in bandwidth-delay products; null if the study leaves it at the discipline's default",
            "BDP",
        ),
        Column("aqm_parameters", STRING, "parameters of the discipline as set, JSON"),
        Column("congestion_control", STRING, "congestion control of the TCP flow; null when none ran"),
        Column("application", STRING, "application; null when only TCP ran"),
        Column("testbed", STRING, "set-up that the run was made on, where a study has several; null: not said"),
        Column(
            "queue_scheme", STRING, "what the study calls the size of the queue (tiny, BDP, largest); null: not said"
        ),
        Column(
            "congested_direction",
            STRING,
            "direction that the background traffic fills: none, upstream, downstream or both; null: not said",
            codes=("none", "upstream", "downstream", "both"),
        ),
        Column("participants", INT32, "people or senders in the call; null: not said"),
        Column(
            "call_view",
            STRING,
            "how the call shows its participants: gallery, speaker or pinned; null: not said",
            codes=("gallery", "speaker", "pinned"),
        ),
        Column(
            "ecn",
            STRING,
            "what the hosts ask for when TCP connects: none, classic or accurate; null: not said",
            source="RFC 3168, RFC 9768",
            codes=("none", "classic", "accurate"),
        ),
        Column(
            "l4s",
            STRING,
            "which roles send as L4S: neither, app, tcp or both; null: not said",
            source="RFC 9331",
            codes=("neither", "app", "tcp", "both"),
        ),
        Column("repetition", INT32, "number of the repetition; null if the study does not number them"),
        Column(
            "bandwidth_programme",
            STRING,
            "name of the study's programme by which the rate changes within the run; null if it does not",
        ),
        Column(
            "bottleneck_interface",
            STRING,
            "interface of the bottleneck's queue, where the queue log holds several; null: not said",
        ),
        Column("bottleneck_handle", STRING, "handle of that queue's discipline as tc prints it; null: not said"),
        Column("session_id", STRING, "call or session that the run belongs to, where scores are given by it"),
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

RUN_SHAPER = Table(
    "run_shaper",
    "manifest reader",
    "the shaper that sets the rate of one run's bottleneck",
    ("study_id", "run_id"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("run_id", STRING, "run", nullable=False),
        Column("shaper", STRING, "kernel name of the shaper (tbf, htb, cake); null: not said"),
        Column("shaper_burst_bytes", INT64, "what its full token bucket lets pass at once; null: not said", "bytes"),
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
            "set of runs that were made together and share what drifts between sets, such as a day",
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
        Column("rival_application", STRING, "application that competes, of role rival", nullable=False),
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
        Column("aqm", STRING, "tail-drop, codel, fq_codel, or the discipline's kernel name"),
        Column("queue_discipline", STRING, "kernel name of the discipline"),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes"),
        Column("queue_size_packets", INT64, "packet limit of the queue"),
        Column("queue_size_bdp", FLOAT, "queue size in bandwidth-delay products", "BDP"),
        Column("queue_scheme", STRING, "what the study calls the size of the queue"),
        Column("queue_interface", STRING, "interface of the queue in the queue log"),
        Column("queue_handle", STRING, "handle of the queue's discipline in the queue log, as tc prints it"),
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
            "capture_before, capture_after, queue_log, queue_log_decoded (the events of queue_log in another form, "
            "used only where queue_log is not usable), queue_counters, tcp_polls, the tool whose series it holds, "
            "frame_vmaf, frame_ssim or frame_psnr (what a tool gave the frames that arrived), page_loads, or "
            "call_statistics (what WebRTC reported of the call)",
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
            "name in the run's folder, without a compression suffix",
            nullable=False,
            has_public_names=True,
        ),
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
        Column("role", STRING, "app, tcp or rival", nullable=False, codes=("app", "tcp", "rival")),
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
    "one quality score of one item of a run, session or span of time",
    ("source_hash", "score_number"),
    (
        *PROVENANCE,
        Column("score_number", INT64, "number of the score in its file, from 0", nullable=False),
        Column("study_id", STRING, "study", nullable=False),
        Column(
            "scored",
            STRING,
            "what was scored, as one text: run/, session/ or time/ and its name, or start and end in ns",
            nullable=False,
        ),
        Column("run_id", STRING, "run; null if the score names a session or a time instead"),
        Column("session_id", STRING, "call or session; null if the score names a run or a time instead"),
        Column("start_ns", INT64, "start of the time that was scored, UTC epoch", "ns"),
        Column("end_ns", INT64, "end of the time that was scored, UTC epoch", "ns"),
        Column("item", STRING, "clip, sample or page load that was scored; null where it was the whole"),
        Column("frame_number", INT64, "frame of the item; null where the score is of all of it"),
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
        Column("bandwidth_programme", STRING, "name of the study's programme by which the rate changes"),
        Column("aqm", STRING, "queue discipline", nullable=False),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes"),
        Column("congestion_control", STRING, "congestion control of the TCP flow; null when none ran"),
        Column("application", STRING, "application"),
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
    RUN_MEASUREMENT,
    QOE_SCORE,
    RATE_PROFILE,
)
