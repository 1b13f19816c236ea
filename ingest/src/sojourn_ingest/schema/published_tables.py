"""Tables of what studies published as tables: rates, scores and delays of their runs."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import (
    COUNT,
    DELAY_MS,
    FLOAT,
    INT32,
    INT64,
    LONGEST_RUN_S,
    PROVENANCE,
    QUEUE_SIZE,
    RATE_BPS,
    SCORE,
    STRING,
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
        Column("bytes", INT64, "bytes received", "bytes", bounds=COUNT),
        Column(
            "window_ms",
            FLOAT,
            "time over which the bytes were received",
            "ms",
            bounds=(1, 1000 * LONGEST_RUN_S),
        ),
        Column("queuing_delay_mean_ms", FLOAT, "mean queuing delay over dequeued packets", "ms", bounds=DELAY_MS),
        Column("queue_mean_packets", FLOAT, "mean queue length over dequeued packets", bounds=COUNT),
        Column("drop_ratio", FLOAT, "packets dropped divided by packets enqueued", "ratio", bounds=(0, 1)),
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
            "scored object as one string: run/, session/ or time/, followed by its name, or by start and end in ns",
            nullable=False,
        ),
        Column("run_id", STRING, "run; null if the score names a session or a time instead"),
        Column("session_id", STRING, "call or session; null if the score names a run or a time instead"),
        Column("start_ns", INT64, "start of the time that was scored, UTC, in ns since the epoch", "ns"),
        Column("end_ns", INT64, "end of the time that was scored, UTC, in ns since the epoch", "ns"),
        Column("item", STRING, "clip, sample or page load that was scored; null if the whole object was scored"),
        Column("frame_number", INT64, "frame of the item; null if the whole item was scored"),
        Column("metric", STRING, "brisque, ssim, psnr_db, vmaf, pesq, mos, page_load_time_ms", nullable=False),
        Column("score", FLOAT, "score on the metric's own scale", nullable=False, bounds=SCORE),
    ),
)

RATE_PROFILE = Table(
    "rate_profile",
    "study tables",
    "one second of one run's rate, for studies that give no run identifier",
    ("source_hash", "profile_number", "second"),
    (
        *PROVENANCE,
        Column("study_id", STRING, "study", nullable=False),
        Column("profile_number", INT32, "number of the run in its file, from 0", nullable=False, bounds=(0, 2**31 - 1)),
        Column("second", INT32, "second of the run, from 0", "s", nullable=False, bounds=(0, LONGEST_RUN_S)),
        Column("rate_bps", FLOAT, "rate in that second", "bit/s", nullable=False, bounds=(0, RATE_BPS[1])),
        Column("workload", STRING, "workload", nullable=False),
        Column("rtt_ms", FLOAT, "round-trip time without queuing", "ms", nullable=False, bounds=DELAY_MS),
        Column("bandwidth_bps", INT64, "bottleneck rate; null if it changes within the run", "bit/s", bounds=RATE_BPS),
        Column("bandwidth_programme", STRING, "name of the study's programme that changes the rate within the run"),
        Column("aqm", STRING, "queue discipline", nullable=False),
        Column("queue_size_bytes", INT64, "byte limit of the queue", "bytes", bounds=QUEUE_SIZE),
        Column("congestion_control", STRING, "congestion control of the TCP flow; null if no TCP flow ran"),
        Column("application", STRING, "application"),
    ),
)

TABLES = (RUN_MEASUREMENT, QOE_SCORE, RATE_PROFILE)
