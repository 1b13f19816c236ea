"""What operations on the rows of a chart's query may make of them, in memory, whoever asks for it.

Superset does them with pandas, whose results can be far larger than the rows: a sum of texts is longer than each, a
pivot table has a cell for each pair, a correlation one for each pair of columns, and labels can be made of values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

from superset.exceptions import InvalidPostProcessingError, QueryObjectValidationError

from sojourn_superset.answer_size import LARGEST_ANSWER_BYTES, add_to_answer, label_bytes, rows_bytes

MOST_VALUES = 1_000
"""Names and numbers of a query's operations."""
LARGEST_NUMBER = 1_000
"""Largest number in an operation: bins, rows of a window, periods."""
LONGEST_NAME_CHARACTERS = 255
"""Longest label, and longest text in an operation: as long as the name of a dataset's column. An answer repeats it."""
MOST_CELLS = 1_000_000
"""Most cells that an operation makes."""
MOST_CELLS_OF_ROWS = 8_000_000
"""Most cells of the rows that an operation returns: twice as many as a statement has."""
CELLS_OF_A_GROUP = {"boxplot": 1_000, "rank": 100, "aggregate": 100}
"""What a group of an operation that calls Python for each counts for; a box plot does so for each metric."""

#: Operations whose result can be larger than the rows, and their options that name columns to group by.
GROUPING = {
    "pivot": ("index", "columns"),
    "histogram": ("groupby",),
    "boxplot": ("groupby",),
    "rank": ("group_by",),
    "aggregate": ("groupby",),
    "resample": (),
}

APPENDING = {
    "compare": "source_columns",
    "contribution": "rename_columns",
    "cum": "columns",
    "diff": "columns",
    "rolling": "columns",
}
"""Operations that add columns to the rows, and their options that name as many."""
STEPS_COMPARED = 50
"""Steps of `resample` of which the shortest counts."""
CHOOSING = frozenset({"argmax", "argmin", "count", "count_nonzero", "max", "min", "nanmax", "nanmin"})
"""Operators of an operation whose result is one of the values, or a count of them."""
RUNNING = frozenset({"cumprod", "cumsum"})
"""Operators that give as many values as there are, for which the operation `cum` is."""
SUMMING = frozenset({"linear", "mean", "median", "sum"})
"""Methods of `resample` whose result is none of the values."""
ROLLING = frozenset({"count", "kurt", "max", "mean", "median", "min", "quantile", "skew", "std", "sum", "var"})
"""Kinds of `rolling` with one value for a row, not one for each pair of columns."""


def require(holds: bool, message: str) -> None:
    """Go on if a condition of a question holds; raises QueryObjectValidationError if not."""
    if not holds:
        raise QueryObjectValidationError(message)


def refuse_excess_of_operations(operations: Sequence[Mapping[str, Any]]) -> None:
    """Go on if the operations of a query, as they were sent, are within bounds; raises QueryObjectValidationError."""
    values = list(leaves([each.get("options") for each in operations]))
    require(len(values) <= MOST_VALUES, f"post_processing has at most {MOST_VALUES:,} names and numbers")
    for value in values:
        if isinstance(value, str):
            require_short(value)
        elif isinstance(value, int | float):
            require(abs(value) <= LARGEST_NUMBER, f"a number of post_processing is at most {LARGEST_NUMBER:,}")
    for each in operations:
        operation, options = each.get("operation"), each.get("options") or {}
        # Some rules for their number, which numpy takes by name, have no bound.
        require(operation != "histogram" or isinstance(options.get("bins", 0), int), "bins is a number")
        aggregates = options.get("aggregates") or {}
        is_formed = isinstance(aggregates, Mapping) and all(
            isinstance(each, Mapping) and isinstance(each.get("options") or {}, Mapping) for each in aggregates.values()
        )
        require(is_formed, "aggregates have names, and options each")
        for aggregate in aggregates.values():
            require(
                str(aggregate.get("operator")) not in RUNNING, "an aggregate is one value; use cum for running ones"
            )
            numbers = (aggregate.get("options") or {}).values()
            require(all(isinstance(each, int | float) for each in numbers), "an option of an aggregate is a number")
        kind = str(options.get("rolling_type", "mean"))
        require(operation != "rolling" or kind in ROLLING, f"rolling_type is one of {', '.join(sorted(ROLLING))}")
        for name in ("columns", "rename_columns"):
            # Where three operations select a name a hundred times each, there are a million columns.
            texts = [each for each in leaves(options.get(name)) if isinstance(each, str)]
            texts = texts if isinstance(options.get(name), list) else []
            require(len(texts) == len(set(texts)), f"{operation} names each column once")


def leaves(value: Any) -> Iterator[Any]:
    """Yield the names and values within a value of JSON."""
    if isinstance(value, Mapping):
        yield from value
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    elif value is not None:
        yield value


def require_short(name: str) -> None:
    """Go on if a name is not too long; raises QueryObjectValidationError if it is."""
    require(
        len(name) <= LONGEST_NAME_CHARACTERS,
        f"a name has at most {LONGEST_NAME_CHARACTERS} characters; {name[:20]!r}… has {len(name):,}",
    )


def cells_made(operation: str, rows: Any, options: Mapping[str, Any]) -> int:
    """Return how many cells an operation makes of a data frame, at most."""
    if operation == "resample":
        return _steps(rows.index, options.get("rule")) * len(rows.columns)
    columns: list[Any] = []
    for name in GROUPING[operation]:
        named = options.get(name) or []
        columns += [named] if isinstance(named, str) else list(named)
    groups = math.prod(len(rows[each].drop_duplicates()) for each in columns if each in rows)
    if operation == "pivot":
        return groups * len(options.get("aggregates") or ())
    if operation == "histogram":
        return groups * int(options.get("bins", 1))
    return groups * len(options.get("metrics") or [None]) * CELLS_OF_A_GROUP[operation]


def _steps(times: Any, rule: Any) -> int:
    """Return how many steps of a rule, such as `1D`, are between the first and the last time, at most."""
    from pandas import DatetimeIndex, Timedelta, Timestamp, date_range

    if not isinstance(times, DatetimeIndex) or times.empty:
        return 0
    try:
        # Steps may have different lengths, such as months or the hours of a working week.
        some = date_range(Timestamp(2026, 1, 1), periods=STEPS_COMPARED, freq=rule)
        step = (some[1:] - some[:-1]).min()
    except (ValueError, TypeError) as error:
        raise InvalidPostProcessingError(f"{rule!r} is not a step of time") from error
    _require(rule is not None and step > Timedelta(0), f"{rule!r} is not a step of time")
    return int((times.max() - times.min()) / step)


def bound_operations() -> None:
    """Have Superset keep the bounds."""
    # Superset's own modules can be imported only now that it is configured.
    from superset.common.query_object import QueryObject
    from superset.utils import pandas_postprocessing

    for name in {*pandas_postprocessing.__all__} - {"escape_separator", "unescape_separator"}:
        setattr(pandas_postprocessing, name, bounded(name, getattr(pandas_postprocessing, name)))
    QueryObject.exec_post_processing = within_answer(QueryObject.exec_post_processing)


def bounded(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation that is not begun if its result may be too large, and ends the question if it is."""

    @functools.wraps(operation)
    def within_bounds(rows: Any, **options: Any) -> Any:
        # Columns of one label become several with each operation that takes one of that label.
        _require(rows.columns.is_unique, f"{name} requires that each column has its own label")
        _require(
            name not in GROUPING or cells_made(name, rows, options) <= MOST_CELLS,
            f"{name} would make more than {MOST_CELLS:,} cells; filter, or group by fewer columns",
        )
        cells = len(rows) * (len(rows.columns) + len(options.get(APPENDING.get(name, "")) or ()))
        _require(
            name not in APPENDING or cells <= MOST_CELLS_OF_ROWS,
            f"{name} would make {cells:,} cells, more than {MOST_CELLS_OF_ROWS:,}; filter, or choose fewer columns",
        )
        made = operation(as_numbers(rows, _summed(name, rows, options)), **options)
        _require(
            made.size <= MOST_CELLS_OF_ROWS and sum(map(label_bytes, made.columns)) <= LARGEST_ANSWER_BYTES,
            f"{name} makes more than {MOST_CELLS_OF_ROWS:,} cells, or too long labels; filter, or choose fewer columns",
        )
        return made

    return within_bounds


def within_answer(operate: Callable[..., Any]) -> Callable[..., Any]:
    """Return what does all operations of a query, if the answers to its request together are not too large."""

    @functools.wraps(operate)
    def within_bounds(query: Any, rows: Any) -> Any:
        made = operate(query, rows)
        add_to_answer(rows_bytes(made))
        return made

    return within_bounds


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise InvalidPostProcessingError(message)


def _summed(operation: str, rows: Any, options: Mapping[str, Any]) -> list[Any]:
    """Return the columns whose values an operation adds up, or otherwise makes others of."""
    if operation == "cum":
        return list(options.get("columns") or ())
    if operation == "resample":
        return list(rows.columns) if options.get("method") in SUMMING else []
    aggregates = options.get("aggregates") or {} if operation in ("pivot", "aggregate") else {}
    return [each.get("column", name) for name, each in aggregates.items() if str(each.get("operator")) not in CHOOSING]


def as_numbers(rows: Any, names: Sequence[Any]) -> Any:
    """Return rows in which the values of some columns are numbers of a fixed size, or none.

    Sums of texts are longer than each, and products of Python's numbers take more and more digits.

    Raises
    ------
    InvalidPostProcessingError
        If one is a text or something else that is not a number.
    """
    named = {*names}
    rows = rows.copy(deep=False)
    for place, label in enumerate(rows.columns):
        # Of several levels, the first is the metric.
        is_named = label in named or (isinstance(label, tuple) and label[0] in named)
        column = rows.iloc[:, place]
        if not is_named or column.dtype != object:
            continue
        _require(
            all(value is None or isinstance(value, Number) for value in column),
            f"{label} has values that are not numbers; choose another aggregate or column",
        )
        try:
            rows.isetitem(place, column.astype(float))
        except OverflowError as error:
            raise InvalidPostProcessingError(f"{label} has numbers beyond 1e308") from error
    return rows
