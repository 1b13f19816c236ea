"""The marts ``comparison`` and ``queue_comparison``, computed from the marts of the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from sojourn_statistics.comparison.metrics import (
    CONFIGURATION,
    FACTORS,
    METRICS,
    OF_RUN,
    ComparisonMetric,
    selected_runs,
)
from sojourn_statistics.comparison.table import COLUMNS, Row, compare_configurations, schema
from sojourn_statistics.findings import queue_comparison
from sojourn_transforms.mart import MART_LAYER, Mart, MartColumn

STANDARD = (
    ("aqm", ("tail-drop", "fq_codel", "codel", "pie", "fq_pie", "red", "cake", "dualpi2")),
    ("congestion_control", ("cubic", "reno", "bbr")),
    ("start_order", ("app_first",)),
)
"""Factors that are compared in every build, with the order in which a study's baseline is looked for.

What runs without a choice comes first: a plain queue, then Linux's default `fq_codel`; Linux's CUBIC, then Reno.
"""

COMPARISON = Mart(
    name="comparison",
    description=(
        "Comparisons of otherwise equal configurations by queue discipline, congestion control and start order, for "
        "every metric with one value per run. The baseline is tail-drop, cubic and app_first. If the runs of "
        "a study with that metric lack it, the baseline is the first that they have of fq_codel, codel, pie, "
        "fq_pie, red, cake and dualpi2, or of reno and bbr; otherwise, the first in alphabetical order. "
        "Excluded runs are omitted. p-values are corrected by "
        "Holm over all comparisons of one metric by one factor in one study."
    ),
    grain="one metric of two configurations that differ in one factor",
    key=("comparison_id",),
    columns=tuple(MartColumn(column.name, column.unit, column.description, column.nullable) for column in COLUMNS),
)

QUEUE_COMPARISON = Mart(
    name="queue_comparison",
    description=(
        "The metrics by which a queue is chosen: the median of each configuration with competition, next to "
        "the best of the configurations that differ only in the queue, with a verdict by their intervals."
    ),
    grain="one metric of one role of one configuration",
    key=("configuration_id", "metric", "role", "basis"),
    columns=tuple(
        MartColumn(column.name, column.unit, column.description, column.nullable) for column in queue_comparison.COLUMNS
    ),
)


def runs_sql(metric: ComparisonMetric, relation: str, run: str) -> str:
    """Return the statement that selects what a comparison of a metric needs of each run that is not excluded."""
    parts = (name for name in CONFIGURATION if name not in OF_RUN)
    columns = ("run_id", "repetition", *parts, *metric.strata, metric.column)
    return selected_runs(columns, relation, run, "where exclusion_reason is null")


def study_baseline(values: Iterable[str | None], order: Sequence[str]) -> str | None:
    """Return the first of `order` among a study's values of a factor, else the first by name; None without values."""
    present = sorted({value for value in values if value is not None})
    return next((value for value in order if value in present), present[0] if present else None)


def compare_with_study_baselines(
    rows: Sequence[Row], metric: ComparisonMetric, factor: str, order: Sequence[str]
) -> pa.Table:
    """Compare the configurations of each study with those of the study's own baseline, in the order of the studies.

    Rows are as for :func:`sojourn_statistics.comparison.table.compare_configurations`. A run without a value of the
    metric is no reason for a baseline.
    """
    studies: dict[str, list[Row]] = {}
    for row in rows:
        if row[metric.column] is not None:
            studies.setdefault(row["study_id"], []).append(row)
    tables = [schema().empty_table()]
    for _, of_study in sorted(studies.items()):
        baseline = study_baseline((row[factor] for row in of_study), order)
        if baseline is not None:
            tables.append(compare_configurations(of_study, metric, FACTORS[factor], baseline))
    return pa.concat_tables(tables)


def standard_comparisons(query: Callable[[str], pa.Table]) -> pa.Table:
    """Return the standard comparisons, in the order of factors, metrics and configurations.

    ``query`` gives the rows of a statement over the marts. The same marts give the same table with any number of
    threads: the runs are put in order first.
    """
    tables = {}
    for metric in METRICS.values():
        # Once for all factors: a hundred thousand runs are as many Python objects.
        rows = query(runs_sql(metric, f"{MART_LAYER}.{metric.dataset}", f"{MART_LAYER}.run")).to_pylist()
        for factor, order in STANDARD:
            tables[factor, metric.name] = compare_with_study_baselines(rows, metric, factor, order)
    in_order = [tables[factor, name] for factor, _ in STANDARD for name in METRICS]
    return pa.concat_tables([schema().empty_table(), *in_order])


def queue_comparisons(query: Callable[[str], pa.Table]) -> pa.Table:
    """Return the configurations beside the best of their queues."""
    metrics = ", ".join(repr(name) for name in queue_comparison.METRICS)
    return queue_comparison.queue_comparisons(
        query(f"select * from {MART_LAYER}.configuration_metric where metric in ({metrics})").to_pylist(),
        query(f"select * from {MART_LAYER}.quality_class where bound_of = 'mos'").to_pylist(),
    )
