"""The marts that the statistics make, beside those of dbt."""

from __future__ import annotations

from sojourn_statistics.comparison import table as comparison_table
from sojourn_statistics.correlation import harm_qoe_table
from sojourn_statistics.quality import rating_tables
from sojourn_transforms.catalogue import Mart
from sojourn_transforms.comparison_mart import COMPARISON
from sojourn_transforms.harm_qoe_mart import HARM_QOE_CORRELATION
from sojourn_transforms.rating_marts import ANSWER_SHARE, RATING_CONTRAST, RATING_SUMMARY

STATISTICS_MARTS: tuple[Mart, ...] = (COMPARISON, HARM_QOE_CORRELATION, RATING_SUMMARY, RATING_CONTRAST, ANSWER_SHARE)

TYPE_NAMES: dict[str, dict[str, str]] = {
    COMPARISON.name: {column.name: str(column.type) for column in comparison_table.COLUMNS},
    HARM_QOE_CORRELATION.name: {column.name: str(column.type) for column in harm_qoe_table.COLUMNS},
    RATING_SUMMARY.name: {column.name: str(column.type) for column in rating_tables.SUMMARY_COLUMNS},
    RATING_CONTRAST.name: {column.name: str(column.type) for column in rating_tables.CONTRAST_COLUMNS},
    ANSWER_SHARE.name: {column.name: str(column.type) for column in rating_tables.ANSWER_COLUMNS},
}
"""Arrow types of the columns by mart and name, for the documentation."""
