"""Scores of quality of outcome that each run has, by the dataset that holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sojourn_statistics.quality.delay import bufferbloat_grade
from sojourn_statistics.quality.outcome import VIDEO_CALL_LATENCY, VIDEO_CALL_LOSS, OutcomeBounds, aim_class

PERCENTILES: Final = {50: "loaded_rtt_median_ms", 95: "loaded_rtt_p95_ms", 99: "loaded_rtt_p99_ms"}
"""Percentiles of the delay of a run under load, which the datasets of runs have."""


@dataclass(frozen=True)
class Point:
    """The score of a run at one percentile of its delay under load; None if it is of no percentile.

    `value` is SQL of the score, `upper` of its upper end where a score has two ends, `binding` of the quantity that
    binds. `of` is a condition on rows.
    """

    percentile: int | None
    value: str
    upper: str | None = None
    of: str = "true"
    binding: str = "null::varchar"


@dataclass(frozen=True)
class RunScore:
    """A score of runs. Rows that differ in one of `always` are never pooled; with them, a run has one row.

    `columns` are the names of the median over runs and of the bounds of its interval, and, if the score has two ends,
    of the median of the upper one. `label` gives the class of a median, from the row of its group.
    """

    name: str
    description: str
    dataset: str
    always: tuple[str, ...]
    points: tuple[Point, ...]
    columns: tuple[str, str, str]
    unit: str | None = None
    upper_column: str | None = None
    is_higher_better: bool = True
    label_column: str | None = None
    label: Callable[[float, dict[str, object]], str] | None = None
    has_binding: bool = False


def _share_sql(value: str, bounds: OutcomeBounds) -> str:
    width = bounds.useless - bounds.perfect
    return f"100 * least(greatest(({bounds.useless} - {value}) / {width}, 0.0::double), 1.0::double)"


def _qoo_point(percentile: int, latency: str) -> Point:
    by_latency, by_loss = _share_sql(latency, VIDEO_CALL_LATENCY), _share_sql("loss_ratio", VIDEO_CALL_LOSS)
    is_scored = f"{latency} is not null and loss_ratio is not null"
    return Point(
        percentile,
        f"case when {is_scored} then least({by_latency}, {by_loss}) end",
        binding=f"case when not ({is_scored}) then null when {by_latency} <= {by_loss} then 'latency_ms' "
        "else 'loss_ratio' end",
    )


_IQB_STATISTICS: Final = {None: "idle", 50: "loaded_median", 95: "loaded_p95", 99: "loaded_p99"}
_OF_ROLES = ("role", "delay_basis")

RUN_SCORES: Final = {
    score.name: score
    for score in (
        RunScore(
            "added_delay",
            "delay that load adds to a run, with its bufferbloat grade",
            "run_outcome",
            _OF_ROLES,
            tuple(Point(percentile, f"{rtt} - idle_rtt_ms") for percentile, rtt in PERCENTILES.items()),
            ("added_delay_ms", "added_delay_lower_ms", "added_delay_upper_ms"),
            unit="ms",
            is_higher_better=False,
            label_column="bufferbloat_grade",
            label=lambda value, _: bufferbloat_grade(max(0.0, value)),
        ),
        RunScore(
            "responsiveness",
            "round trips a minute of a run under load",
            "run_outcome",
            _OF_ROLES,
            tuple(Point(percentile, f"60000 / nullif({rtt}, 0)") for percentile, rtt in PERCENTILES.items()),
            ("responsiveness_rpm", "responsiveness_lower_rpm", "responsiveness_upper_rpm"),
            unit="1/min",
        ),
        RunScore(
            "qoo",
            "Quality of Outcome of a video call, from RTT and loss of a run",
            "run_outcome",
            _OF_ROLES,
            tuple(_qoo_point(percentile, rtt) for percentile, rtt in PERCENTILES.items()),
            ("qoo_score", "qoo_score_lower", "qoo_score_upper"),
            has_binding=True,
        ),
        RunScore(
            "iqb",
            "Internet Quality Barometer of a run: its lower and its upper end",
            "run_iqb",
            _OF_ROLES,
            tuple(
                Point(
                    percentile,
                    "iqb_lower_score",
                    "iqb_upper_score",
                    f"latency_statistic = '{statistic}'",
                    "binding_requirement",
                )
                for percentile, statistic in _IQB_STATISTICS.items()
            ),
            ("iqb_lower_score", "iqb_interval_lower", "iqb_interval_upper"),
            upper_column="iqb_upper_score",
            has_binding=True,
        ),
        RunScore(
            "aim",
            "points of AIM that a run has",
            "run_aim",
            (*_OF_ROLES, "qoe_model_id"),
            (Point(None, "aim_points", binding="binding_quantity"),),
            ("aim_points", "aim_points_lower", "aim_points_upper"),
            label_column="quality_class",
            label=lambda value, row: aim_class(value, str(row["qoe_model_id"])),
            has_binding=True,
        ),
    )
}
