"""Groups of rows of a small dataset, computed over its columns in memory: the rows of DuckDB, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn_api.queries.held_columns import HeldColumn, HeldColumns
from sojourn_api.requests.filters import LIKE
from sojourn_api.requests.rows import QUANTILES, Aggregate, RowsRequest, pooled_study

#: Beyond, a loop over the groups costs more than DuckDB's query.
MOST_GROUPS = 500
#: Combinations of the values of the columns to group by that are counted in an array.
_MOST_COMBINATIONS = 2**16

#: Up to here a sum of whole numbers is a real number without a loss.
_EXACT = 2**53
#: 2^53 times more than this is still a number.
_MOST_TO_SPLIT = 1e290

Row = tuple[Any, ...]
Places = npt.NDArray[np.intp]


def held_groups(request: RowsRequest, held: HeldColumns) -> list[Row] | None:
    """Return the groups of an aggregated request, ordered by the columns to group by, with nulls last.

    Each row has the values of these columns, the rows of the group, the studies that it pools unless they are
    grouped by, and for each aggregate its value and the number of values that it is of.

    Returns
    -------
    list of tuple, or None
        None, if a column is not held in memory or there are too many groups: DuckDB answers then.
    """
    if any(condition.operator == LIKE for condition in request.selection.filters.conditions) or any(
        aggregate.function == "stddev" for aggregate in request.aggregates
    ):
        return None
    used = [condition.column for condition in request.selection.filters.conditions]
    used += [*request.group, *(aggregate.column for aggregate in request.aggregates)]
    study = pooled_study(request.group, request.dataset)
    if study is not None:
        used.append(study)
    columns: dict[str, HeldColumn] = {}
    for column in used:
        found = held.column(request.dataset, column)
        if found is None:
            return None
        columns[column.name] = found
    rows = _rows_that_meet(request, columns)
    groups = _groups([columns[column.name] for column in request.group], rows)
    if groups is None:
        return None
    if not groups.sizes:
        return []
    sorted_columns: dict[str, _GroupedColumn] = {}
    results: list[Sequence[Any]] = [*groups.values, groups.sizes]
    if study is not None:
        results.append(_distinct(columns[study.name], rows, groups))
    for aggregate in request.aggregates:
        name = aggregate.column.name
        if name not in sorted_columns:
            sorted_columns[name] = _GroupedColumn(columns[name], rows, groups)
        values = _aggregate(aggregate, sorted_columns[name])
        if values is None:
            return None
        results += [values, sorted_columns[name].counts]
    return list(zip(*results, strict=True))


def _rows_that_meet(request: RowsRequest, columns: dict[str, HeldColumn]) -> Places:
    conditions = request.selection.filters.conditions
    if not conditions:
        return np.arange(request.dataset.rows)
    met = [columns[condition.column.name].rows_that_meet(condition) for condition in conditions]
    return np.flatnonzero(np.logical_and.reduce(met))


@dataclass(frozen=True)
class _Groups:
    """The group of each row, the rows of each group, and the values of each column to group by."""

    of_rows: Places
    sizes: list[int]
    values: list[list[Any]]


def _groups(columns: Sequence[HeldColumn], rows: Places) -> _Groups | None:
    if not columns:
        return _Groups(np.zeros(len(rows), np.intp), [len(rows)], [])
    combinations = 1
    combined = np.zeros(len(rows), np.intp)
    for column in columns:
        codes, distinct = column.places
        combinations *= len(distinct) + 1
        if combinations > _MOST_COMBINATIONS:
            return None
        combined = combined * (len(distinct) + 1) + codes[rows]
    counted = np.bincount(combined, minlength=combinations)
    present = np.flatnonzero(counted)
    if len(present) > MOST_GROUPS:
        return None
    place = np.empty(combinations, np.intp)
    place[present] = np.arange(len(present))
    values: list[list[Any]] = []
    rest = present
    for column in reversed(columns):
        distinct = (*column.places[1], None)
        rest, codes = np.divmod(rest, len(distinct))
        values.insert(0, [distinct[code] for code in codes.tolist()])
    return _Groups(place[combined], counted[present].tolist(), values)


def _distinct(column: HeldColumn, rows: Places, groups: _Groups) -> list[int]:
    """Return how many values that are not null each group has."""
    codes, distinct = column.places
    pairs = np.unique(groups.of_rows * (len(distinct) + 1) + codes[rows])
    of_groups, code = np.divmod(pairs, len(distinct) + 1)
    counts: list[int] = np.bincount(of_groups[code < len(distinct)], minlength=len(groups.sizes)).tolist()
    return counts


class _GroupedColumn:
    """The values of a column that are not null, group by group."""

    def __init__(self, column: HeldColumn, rows: Places, groups: _Groups) -> None:
        self._column = column
        self._groups = len(groups.sizes)
        self._rows, self._of_rows = rows, groups.of_rows
        if column.present is not None:
            known = column.present[rows]
            self._rows, self._of_rows = rows[known], groups.of_rows[known]
        self._counts = np.bincount(self._of_rows, minlength=self._groups)

    @property
    def counts(self) -> list[int]:
        """The values of each group."""
        counts: list[int] = self._counts.tolist()
        return counts

    @cached_property
    def segments(self) -> list[npt.NDArray[Any]]:
        """The values of each group in ascending order; of text and booleans, their places."""
        of_rows = self._column.numbers
        values = (self._column.places[0] if of_rows is None else of_rows)[self._rows]
        ascending = np.argsort(values)
        grouped = ascending[np.argsort(self._of_rows[ascending].astype(np.uint16), kind="stable")]
        return np.split(values[grouped], np.cumsum(self._counts)[:-1])

    def value(self, held: Any) -> Any:
        """Return a value of `segments` as the column's."""
        return self._column.places[1][held] if self._column.numbers is None else held.item()


def _aggregate(aggregate: Aggregate, column: _GroupedColumn) -> Sequence[Any] | None:
    function, kind = aggregate.function, aggregate.column.kind
    if function == "count":
        return column.counts
    if function in ("min", "max"):
        place = 0 if function == "min" else -1
        return [column.value(values[place]) if len(values) else None for values in column.segments]
    if function in QUANTILES:
        return [_quantile(values, QUANTILES[function]) for values in column.segments]
    sums: Sequence[int | float | None]
    if kind == "integer":
        sums = [_whole_sum(values) for values in column.segments]
        if function == "mean":
            sums = [total if total is not None and abs(total) < _EXACT else None for total in sums]
    else:
        sums = [_real_sum(values) for values in column.segments]
    if None in sums:
        return None
    counted = zip(sums, column.counts, strict=True)
    if function == "sum":
        return [total if count else None for total, count in counted]
    return [total / count if total is not None and count else None for total, count in counted]


def _quantile(values: npt.NDArray[Any], share: float) -> float | None:
    """Return the quantile between the two nearest values (R's type 7), as quantile_cont computes it."""
    if not len(values):
        return None
    place = (len(values) - 1) * share
    below, above = float(values[math.floor(place)]), float(values[math.ceil(place)])
    part = place - math.floor(place)
    return _multiplied_and_added(below, 1.0 - part, above * part)


def _multiplied_and_added(left: float, right: float, added: float) -> float:
    """Return left * right + added, rounded once, as the instruction does by which DuckDB interpolates."""
    if abs(left) > _MOST_TO_SPLIT:
        return left * right + added
    product = left * right
    (left_high, left_low), (right_high, right_low) = _split(left), _split(right)
    lost = left_low * right_low - (product - left_high * right_high - left_low * right_high - left_high * right_low)
    return math.fsum((product, lost, added))


def _split(value: float) -> tuple[float, float]:
    """Return two numbers of half the digits whose sum is the value (Dekker 1971)."""
    moved = 134_217_729.0 * value
    high = moved - (moved - value)
    return high, value - high


def _real_sum(values: npt.NDArray[np.float64]) -> float | None:
    """Return a sum, or None if it is beyond the largest number."""
    # One by one from the smallest on, as DuckDB adds up in an order; np.sum adds up in pairs.
    total = float(np.add.accumulate(values)[-1]) if len(values) else 0.0
    return total if math.isfinite(total) else None


def _whole_sum(values: npt.NDArray[Any]) -> int | None:
    """Return a sum, or None if it might not fit 64 bits."""
    if not len(values):
        return 0
    if max(abs(int(values[0])), abs(int(values[-1]))) * len(values) >= 2**63:
        return None
    return int(values.sum())
