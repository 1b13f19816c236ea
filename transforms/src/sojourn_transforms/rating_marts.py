"""The marts of ratings by people: summaries, contrasts and shares of yes, from dbt's marts before publication."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa

from sojourn_statistics.comparison.table import ComparisonColumn
from sojourn_statistics.quality.rating_tables import (
    ANSWER_COLUMNS,
    CONTRAST_COLUMNS,
    SUMMARY_COLUMNS,
    answer_shares,
    rating_contrasts,
    rating_summaries,
)
from sojourn_transforms.catalogue import MART_LAYER, Mart, MartColumn
from sojourn_transforms.warehouse import open_marts


def _columns(columns: tuple[ComparisonColumn, ...]) -> tuple[MartColumn, ...]:
    return tuple(MartColumn(column.name, column.unit, column.description, column.nullable) for column in columns)


RATING_SUMMARY = Mart(
    name="rating_summary",
    description=(
        "What people made of an item under a condition: mean over people with Student's t interval, and the "
        "Shapiro-Wilk test of a normal distribution. One rating has no interval, and fewer than three have no test."
    ),
    grain="one item under one condition, on one scale",
    key=("study_id", "item", "scale_lowest", "scale_highest", "condition"),
    columns=_columns(SUMMARY_COLUMNS),
)

RATING_CONTRAST = Mart(
    name="rating_contrast",
    description=(
        "Two conditions of an item, contrasted in two ways: whether the intervals of their means are apart, as PAM'21 "
        "reads them, and the paired t test over people who rated both, corrected by Holm over the pairs of an item."
    ),
    grain="two conditions of one item, on one scale",
    key=("study_id", "item", "scale_lowest", "scale_highest", "baseline_condition", "condition"),
    columns=_columns(CONTRAST_COLUMNS),
)

ANSWER_SHARE = Mart(
    name="answer_share",
    description="How many people said yes to a question under a condition, with Wilson's interval of the share.",
    grain="one question under one condition",
    key=("study_id", "question", "condition"),
    columns=_columns(ANSWER_COLUMNS),
)

Rows = list[dict[str, object]]
_MARTS: Final[tuple[tuple[Mart, str, Callable[[Rows], pa.Table]], ...]] = (
    (RATING_SUMMARY, "subject_rating", rating_summaries),
    (RATING_CONTRAST, "subject_rating", rating_contrasts),
    (ANSWER_SHARE, "subject_answer", answer_shares),
)


def write_rating_marts(warehouse: Path, memory: str | None = None) -> None:
    """Write the marts into the file of the marts, independently of the engine that filled it."""
    with open_marts(warehouse, memory) as connection:
        for mart, source, computed in _MARTS:
            rows = connection.sql(f"select * from {MART_LAYER}.{source}").to_arrow_table().to_pylist()
            connection.register("computed", computed(rows))
            connection.execute(f"create or replace table {MART_LAYER}.{mart.name} as select * from computed")
            connection.unregister("computed")
