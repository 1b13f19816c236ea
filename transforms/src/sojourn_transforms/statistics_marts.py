"""The marts that the statistics make, beside those of dbt."""

from __future__ import annotations

from sojourn_statistics.comparison import table as comparison_table
from sojourn_statistics.correlation import harm_qoe_table
from sojourn_transforms.catalogue import Mart
from sojourn_transforms.comparison_mart import COMPARISON
from sojourn_transforms.harm_qoe_mart import HARM_QOE_CORRELATION

STATISTICS_MARTS: tuple[Mart, ...] = (COMPARISON, HARM_QOE_CORRELATION)

TYPE_NAMES: dict[str, dict[str, str]] = {
    COMPARISON.name: {column.name: str(column.type) for column in comparison_table.COLUMNS},
    HARM_QOE_CORRELATION.name: {column.name: str(column.type) for column in harm_qoe_table.COLUMNS},
}
"""Arrow types of the columns by mart and name, for the documentation."""
