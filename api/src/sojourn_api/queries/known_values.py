"""The distinct values of columns, to tell a filter value that no row has from an empty result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sojourn_api.distribution_metrics import HISTOGRAM_COLUMNS
from sojourn_api.requests.filters import IN, Condition, Filters
from sojourn_api.requests.value_words import MOST_VALUES, ColumnValues

if TYPE_CHECKING:
    from sojourn_api.catalogue import Column, Dataset
    from sojourn_api.held_histograms import Cells

Studies = tuple[str, ...] | None
Query = Callable[[str, list[Any]], pa.Table]
"""Returns the result of a query of the build with its parameters, within the limits of the service."""


class KnownValues:
    """The values of each column that was filtered by, of one build; read when a request first needs them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[str, str, Studies], ColumnValues | None] = {}

    def of(
        self, query: Query, cells: Cells | None, dataset: Dataset, column: Column, studies: Studies
    ) -> ColumnValues | None:
        """Return the distinct values of a column in ascending order, without null; None if they are too many.

        Parameters
        ----------
        query : callable
        cells : Cells, optional
            Those of the dataset, if it has histograms.
        dataset : Dataset
        column : Column
        studies : tuple of str, optional
            Those that the key reads: values of others are not shown.

        Raises
        ------
        ProblemError
            As `query` does.
        """
        key = dataset.name, column.name, studies
        with self._lock:
            if key in self._values:
                return self._values[key]
        values = _read(query, cells, dataset, column, studies)
        with self._lock:
            self._values[key] = values
        return values


def _read(query: Query, cells: Cells | None, dataset: Dataset, column: Column, studies: Studies) -> ColumnValues | None:
    # There are far fewer cells than rows.
    source = cells.sql if cells is not None and column.name not in HISTOGRAM_COLUMNS else dataset.sql
    conditions = () if studies is None else (Condition(dataset.by_name["study_id"], IN, studies),)
    filters = Filters(conditions, frozenset())
    sql = f"select distinct cast({column.sql} as {column.type}) as value from {source} {filters.where}"
    sql = f"select value from ({sql}) where value is not null limit {MOST_VALUES + 1}"
    values = query(sql, filters.parameters).column("value").to_pylist()
    return None if len(values) > MOST_VALUES else ColumnValues(sorted(values))
