"""The marts that the statistics make, beside those of the models: what each reads, and what computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from sojourn_statistics.comparison import table as comparison_table
from sojourn_statistics.comparison.metrics import METRICS
from sojourn_statistics.correlation import harm_qoe_table
from sojourn_statistics.findings import finding, queue_comparison
from sojourn_statistics.quality import rating_tables
from sojourn_transforms.comparison_mart import COMPARISON, QUEUE_COMPARISON, queue_comparisons, standard_comparisons
from sojourn_transforms.finding_marts import FINDING, FINDING_NUMBER, SOURCES, finding_numbers, findings
from sojourn_transforms.harm_qoe_mart import HARM_QOE_CORRELATION, harm_qoe_correlations
from sojourn_transforms.mart import MART_LAYER, Mart
from sojourn_transforms.project import statistics_fingerprint
from sojourn_transforms.rating_marts import ANSWER_SHARE, RATING_CONTRAST, RATING_SUMMARY
from sojourn_transforms.running.statements import Statement

Query = Callable[[str], pa.Table]
"""Gives the rows of a statement over the marts."""


@dataclass(frozen=True)
class StatisticsMart:
    """A mart, the marts that it is computed from, and what computes it."""

    mart: Mart
    reads: frozenset[str]
    compute: Callable[[Query], pa.Table]


def _of_all_rows(mart: Mart, source: str, compute: Callable[[list[dict[str, object]]], pa.Table]) -> StatisticsMart:
    statement = f"select * from {MART_LAYER}.{source}"
    return StatisticsMart(mart, frozenset({source}), lambda query: compute(query(statement).to_pylist()))


_BY_NAME: Mapping[str, StatisticsMart] = {
    each.mart.name: each
    for each in (
        StatisticsMart(
            COMPARISON, frozenset({"run", *(metric.dataset for metric in METRICS.values())}), standard_comparisons
        ),
        StatisticsMart(QUEUE_COMPARISON, frozenset({"configuration_metric", "quality_class"}), queue_comparisons),
        StatisticsMart(HARM_QOE_CORRELATION, frozenset({"run_metric_harm", "harm_qoe"}), harm_qoe_correlations),
        _of_all_rows(RATING_SUMMARY, "subject_rating", rating_tables.rating_summaries),
        _of_all_rows(RATING_CONTRAST, "subject_rating", rating_tables.rating_contrasts),
        _of_all_rows(ANSWER_SHARE, "subject_answer", rating_tables.answer_shares),
        StatisticsMart(FINDING, SOURCES, findings),
        StatisticsMart(FINDING_NUMBER, SOURCES, finding_numbers),
    )
}
_SUBJECTS: Mapping[str, str] = {
    COMPARISON.name: "comparison",
    QUEUE_COMPARISON.name: "comparison",
    HARM_QOE_CORRELATION.name: "quality",
    RATING_SUMMARY.name: "rating",
    RATING_CONTRAST.name: "rating",
    ANSWER_SHARE.name: "rating",
    FINDING.name: "finding",
    FINDING_NUMBER.name: "finding",
}
STATISTICS_MARTS: tuple[Mart, ...] = tuple(
    replace(each.mart, subject=_SUBJECTS[name]) for name, each in _BY_NAME.items()
)

TYPE_NAMES: dict[str, dict[str, str]] = {
    COMPARISON.name: {column.name: str(column.type) for column in comparison_table.COLUMNS},
    QUEUE_COMPARISON.name: {column.name: str(column.type) for column in queue_comparison.COLUMNS},
    HARM_QOE_CORRELATION.name: {column.name: str(column.type) for column in harm_qoe_table.COLUMNS},
    RATING_SUMMARY.name: {column.name: str(column.type) for column in rating_tables.SUMMARY_COLUMNS},
    RATING_CONTRAST.name: {column.name: str(column.type) for column in rating_tables.CONTRAST_COLUMNS},
    ANSWER_SHARE.name: {column.name: str(column.type) for column in rating_tables.ANSWER_COLUMNS},
    FINDING.name: {column.name: str(column.type) for column in finding.COLUMNS},
    FINDING_NUMBER.name: {column.name: str(column.type) for column in finding.NUMBER_COLUMNS},
}
"""Arrow types of the columns by mart and name, for the documentation."""


def computed(name: str, query: Query) -> pa.Table:
    """Return the rows of one of the marts, computed from those that it reads."""
    return _BY_NAME[name].compute(query)


def statistics_statements() -> list[Statement]:
    """Return the marts as statements of the runner, each after the marts that it reads."""
    digest = statistics_fingerprint()
    return [
        Statement(
            name=name,
            kind="statistic",
            sql="",
            relation=f"{MART_LAYER}.{name}",
            path=f"{MART_LAYER}/{name}",
            after=each.reads,
            digest=digest,
        )
        for name, each in _BY_NAME.items()
    ]
