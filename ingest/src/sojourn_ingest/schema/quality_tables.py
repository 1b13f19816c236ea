"""Tables of what quality tools wrote beside a run, and of what people said of quality."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import BOOL, FLOAT, INT32, INT64, PROVENANCE, SCORE, STRING

TOOL_SCORE = Table(
    "tool_score",
    "quality readers",
    "one score that a tool gave one frame or one page load",
    ("source_hash", "score_number"),
    (
        *PROVENANCE,
        Column("score_number", INT64, "number of the score in its file, from 0", nullable=False),
        Column(
            "metric",
            STRING,
            "ssim, psnr_db, vmaf or page_load_time_ms",
            nullable=False,
            codes=("ssim", "psnr_db", "vmaf", "page_load_time_ms"),
        ),
        Column("item", STRING, "clip/ or load/ and its number in the file, from 0", nullable=False),
        Column("frame_number", INT64, "number of the frame in the tool's count; null for a page load"),
        Column(
            "score",
            FLOAT,
            "score on the metric's own scale; the infinite PSNR of identical frames is 60 dB, the maximum that "
            "libvmaf gives for 8 bits",
            nullable=False,
        ),
    ),
)

NETWORK_PERCENTILE = Table(
    "network_percentile",
    "reader of percentiles",
    "one percentile of one quantity of the tests of a network, region or period",
    ("source_hash", "network_metric", "percentile"),
    (
        *PROVENANCE,
        Column(
            "network_metric",
            STRING,
            "quantity with its unit; packet_loss is a ratio",
            nullable=False,
            codes=("download_throughput_mbps", "upload_throughput_mbps", "latency_ms", "packet_loss"),
        ),
        Column(
            "percentile",
            FLOAT,
            "percentile, 0 to 100, as the source counts; a high percentile is the good end of every quantity, "
            "including latency and loss",
            nullable=False,
        ),
        Column("metric_value", FLOAT, "value of the quantity in its unit", nullable=False),
        Column("tests", INT64, "number of tests behind the percentile; null if the source does not state it"),
    ),
)

_SUBJECT = Column(
    "subject_key",
    STRING,
    "key of the person in the study, such as a number; never a name or an address",
    nullable=False,
)
_CONDITION = Column("condition", STRING, "condition shown to the person, as the study names it", nullable=False)
_RUN = Column("run_id", STRING, "run that was shown; null if the study does not state it")
_TRAINING = Column(
    "is_training", BOOL, "true if the rating was given to learn the scale; null if not stated, which counts as false"
)
_ORDER = Column(
    "presentation_order", INT32, "position in the order in which the person saw the items, from 1; null if not stated"
)

RATING = Table(
    "rating",
    "study tables",
    "one rating that one person gave one item under one condition",
    ("source_hash", "rating_number"),
    (
        *PROVENANCE,
        Column("rating_number", INT64, "number of the rating in its file, from 0", nullable=False),
        Column("study_id", STRING, "study", nullable=False),
        _SUBJECT,
        _CONDITION,
        _RUN,
        Column("item", STRING, "aspect that was rated: overall, audio, video, interactivity, …", nullable=False),
        Column("scale_lowest", FLOAT, "lowest value of the scale", nullable=False, bounds=SCORE),
        Column("scale_highest", FLOAT, "highest value of the scale", nullable=False, bounds=SCORE),
        Column("rating", FLOAT, "rating on the scale", nullable=False, bounds=SCORE),
        _TRAINING,
        _ORDER,
    ),
)

RATING_ANSWER = Table(
    "rating_answer",
    "study tables",
    "one yes-or-no answer of one person to one question under one condition",
    ("source_hash", "answer_number"),
    (
        *PROVENANCE,
        Column("answer_number", INT64, "number of the answer in its file, from 0", nullable=False),
        Column("study_id", STRING, "study", nullable=False),
        _SUBJECT,
        _CONDITION,
        _RUN,
        Column("question", STRING, "question that was asked", nullable=False, has_public_names=True),
        Column("is_yes", BOOL, "true if the answer was yes", nullable=False),
        _TRAINING,
        _ORDER,
    ),
)

TABLES = (TOOL_SCORE, NETWORK_PERCENTILE, RATING, RATING_ANSWER)
