"""The metrics of otherwise equal configurations beside the best of their queues, in the table that is published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from sojourn_statistics.comparison.metrics import CONFIGURATION, FACTORS
from sojourn_statistics.findings.finding import RUN_SETTING, Row
from sojourn_statistics.findings.order import Measured, OrderVerdict, verdicts
from sojourn_statistics.table_column import TableColumn

Better = Literal["less", "more"]
Grade = Literal["good", "near", "fair", "poor", "bad"]


@dataclass(frozen=True)
class QueueMetric:
    """A metric of ``configuration_metric`` by which queues are compared.

    ``better`` is None if neither less nor more of it is better. ``is_share`` says that distances are in percentage
    points, and ``model`` whose classes of quality grade it.
    """

    better: Better | None = "less"
    is_share: bool = False
    model: str | None = None


METRICS = {
    "queuing_delay_mean_ms": QueueMetric(),
    "queuing_delay_median_ms": QueueMetric(),
    "queuing_delay_p95_ms": QueueMetric(),
    "jitter_ms": QueueMetric(),
    "drop_ratio": QueueMetric(is_share=True),
    "harm_throughput_ratio": QueueMetric(is_share=True),
    "link_share_ratio": QueueMetric(better=None, is_share=True),
    "mos_g107-network": QueueMetric(better="more", model="g107-network"),
}

FAIR_TIMES, POOR_TIMES = 2.0, 5.0
"""A value at most so many times the best is fair, or poor."""

FAIR_POINTS, POOR_POINTS = 5.0, 10.0
"""A share at most so many percentage points from the best is fair, or poor."""

GRADE_OF_CLASS: dict[int, Grade] = {1: "good", 2: "good", 3: "fair", 4: "poor", 5: "poor", 6: "bad"}
"""Grade of the six classes of users' satisfaction (ITU-T G.107, Annex B), from "very satisfied" on."""

_TEXT, _REAL = pa.string(), pa.float64()
_IN_UNIT = "in the metric's unit"

COLUMNS = (
    TableColumn("configuration_id", _TEXT, None, "The configuration.", False),
    TableColumn("metric", _TEXT, None, "What is compared.", False),
    TableColumn("role", _TEXT, None, "Whose packets it is of.", False),
    TableColumn("basis", _TEXT, None, "What the metric is, or where it comes from; never pooled.", False),
    *RUN_SETTING,
    TableColumn("congestion_control", _TEXT, None, "Congestion control of the TCP flow."),
    TableColumn("queue_label", _TEXT, None, "Queue discipline, for tail-drop with its size."),
    TableColumn("queue_scheme", _TEXT, None, "Name that the study gives the queue size."),
    TableColumn("runs", pa.int64(), None, "Runs that the median is over.", False),
    TableColumn("value_median", _REAL, None, f"Median over runs, {_IN_UNIT}.", False),
    TableColumn("value_lower", _REAL, None, "Lower end of its interval; null without one."),
    TableColumn("value_upper", _REAL, None, "Upper end of its interval; null without one."),
    TableColumn("interval_null_reason", _TEXT, None, "Why there is no interval; null if there is one."),
    TableColumn(
        "best_median", _REAL, None, f"Best median of these queues, {_IN_UNIT}; null for metrics without a better "
        "direction.",
    ),
    TableColumn(
        "verdict", _TEXT, None, "best: the interval is better than those of all others. worse: that of another is "
        "better. tied: neither. cannot tell: not worse, but an interval is missing, its own or another. none: no other "
        "queue was measured. Null for metrics without a better direction.",
    ),
    TableColumn(
        "grade", _TEXT, None, "good: the best median. near: tied with it. fair: at most 2 times it, or 5 percentage "
        "points of a share. poor: at most 5 times, or 10 points. bad: beyond. fair also: cannot "
        "tell, and none. Null without a verdict. A MOS has the grade of its class: good from 4.03, fair from 3.6, poor "
        "from 2.58.",
    ),
    TableColumn("words", _TEXT, None, "The verdict with the distance from the best median; of a MOS its class."),
)  # fmt: skip
"""Columns of the table, for the mart and the documentation."""

_GROUP = (
    "metric",
    "role",
    "basis",
    "synthetic",
    *(name for name in CONFIGURATION if name not in FACTORS["queue_label"].determines),
)
_COPIED = tuple(
    column.name for column in COLUMNS if column.name not in ("best_median", "verdict", "grade", "words")
)  # fmt: skip


def queue_comparisons(rows: Iterable[Row], classes: Iterable[Row]) -> pa.Table:
    """Return the metrics of configurations in which something competes, each beside the best of the other queues.

    Parameters
    ----------
    rows
        Rows of ``configuration_metric``; those of other metrics than :data:`METRICS` are left out. Configurations that
        differ in the queue alone are compared with each other.
    classes
        Rows of ``quality_class``.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["metric"] in METRICS and row["start_order"] not in (None, "solo") and row["value_median"] is not None:
            groups.setdefault(tuple(row[name] for name in _GROUP), []).append(row)
    by_model: dict[str, list[Row]] = {}
    for row in classes:
        by_model.setdefault(row["qoe_model_id"], []).append(row)
    compared = [
        row
        for members in groups.values()
        for row in _compared(members, METRICS[members[0]["metric"]], by_model)
    ]  # fmt: skip
    compared.sort(key=lambda row: (row["configuration_id"], row["metric"], row["role"], row["basis"]))
    return pa.Table.from_pylist(
        compared, schema=pa.schema([pa.field(column.name, column.type) for column in COLUMNS])
    )  # fmt: skip


def _compared(rows: list[Row], metric: QueueMetric, classes: dict[str, list[Row]]) -> list[dict[str, Any]]:
    if metric.better is None:
        return [{name: row[name] for name in _COPIED} for row in rows]
    values = [_measured(row, metric.better) for row in rows]
    best = min(each.value for each in values)
    of_one_queue = len({row["queue_label"] for row in rows}) == 1
    of_each: list[OrderVerdict] = ["none" for _ in rows] if of_one_queue else verdicts(values)
    compared = []
    for row, value, verdict in zip(rows, values, of_each, strict=True):
        grade, words = (
            _judged(value.value, best, verdict, metric)
            if metric.model is None
            else _class(row["value_median"], classes.get(metric.model, []))
        )
        judged = {"best_median": best if metric.better == "less" else -best, "verdict": verdict}
        compared.append({name: row[name] for name in _COPIED} | judged | {"grade": grade, "words": words})
    return compared


def _measured(row: Row, better: Better) -> Measured:
    """Return a value of which less is better."""
    value, lower, upper = row["value_median"], row["value_lower"], row["value_upper"]
    if better == "less":
        return Measured(value, lower, upper)
    return Measured(-value, None if upper is None else -upper, None if lower is None else -lower)


def _judged(value: float, best: float, verdict: OrderVerdict, metric: QueueMetric) -> tuple[Grade, str]:
    """Return the grade and the words of a value by its distance from the best."""
    if verdict == "none":
        return "fair", "only one queue"
    if value == best:
        return ("fair" if verdict == "cannot tell" else "good"), verdict
    if verdict == "tied":
        return "near", verdict
    if metric.is_share:
        points = 100 * (value - best)
        grade, words = _graded(points, FAIR_POINTS, POOR_POINTS), f"{points:.1f} points off"
    elif best > 0:
        grade, words = _graded(value / best, FAIR_TIMES, POOR_TIMES), f"{value / best:.1f}× best"
    else:
        grade, words = "bad", "not best"
    # A distance that may be chance has no shade.
    return ("fair", f"{words}, {verdict}") if verdict == "cannot tell" else (grade, words)


def _graded(distance: float, fair: float, poor: float) -> Grade:
    return "fair" if distance <= fair else "poor" if distance <= poor else "bad"


def _class(mos: float, classes: list[Row]) -> tuple[Grade | None, str | None]:
    """Return the grade and the name of the class of a MOS."""
    for row in classes:
        if (row["lower_bound"] is None or mos >= row["lower_bound"]) and (
            row["upper_bound"] is None or mos < row["upper_bound"]
        ):
            return GRADE_OF_CLASS[row["class_number"]], row["quality_class"]
    return None, None
