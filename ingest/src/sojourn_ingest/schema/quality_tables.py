"""Tables of what quality tools wrote beside a run."""

from __future__ import annotations

from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.schema.shared_columns import FLOAT, INT64, PROVENANCE, STRING

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
        Column("frame_number", INT64, "number of the frame as the tool counts; null for a page load"),
        Column(
            "score",
            FLOAT,
            "score on the metric's own scale; an infinite PSNR, of equal frames, is 60 dB, the most that libvmaf gives "
            "8 bits",
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
            "percentile, 0 to 100, as the source counts: high ones are the good end, also of latency and loss",
            nullable=False,
        ),
        Column("metric_value", FLOAT, "value of the quantity in its unit", nullable=False),
        Column("tests", INT64, "tests that the percentile is of; null if the source does not say"),
    ),
)

TABLES = (TOOL_SCORE, NETWORK_PERCENTILE)
