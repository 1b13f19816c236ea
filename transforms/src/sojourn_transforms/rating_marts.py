"""The marts of ratings by people: summaries, contrasts and shares of yes, from the marts of the models."""

from __future__ import annotations

from sojourn_statistics.quality.rating_tables import (
    ANSWER_COLUMNS,
    CONTRAST_COLUMNS,
    SUMMARY_COLUMNS,
)
from sojourn_statistics.table_column import TableColumn
from sojourn_transforms.mart import Mart, MartColumn


def _columns(columns: tuple[TableColumn, ...]) -> tuple[MartColumn, ...]:
    return tuple(MartColumn(column.name, column.unit, column.description, column.nullable) for column in columns)


RATING_SUMMARY = Mart(
    name="rating_summary",
    description=(
        "Ratings of an item under a condition: mean over people with Student's t interval, and the "
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
        "reads them, and the paired t test over people who rated both, Holm-corrected over the pairs of an item."
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
