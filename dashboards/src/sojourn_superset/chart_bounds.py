"""How much a question of a chart may ask for, whoever asks it.

A question names operations on the rows that the database answers with, which Superset then does in memory: a histogram
of a million bins of two rows takes two minutes and 4 GB. Superset bounds rows, and nothing of this.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from superset.exceptions import InvalidPostProcessingError, QueryObjectValidationError

MOST_QUERIES = 10
"""Queries of a question. Superset's pages send four at most."""
MOST_PARTS = 20
"""Operations, time offsets or annotation layers of a query. Superset's pages send nine operations at most."""
MOST_VALUES = 1_000
"""Names and numbers of a query's operations."""
LARGEST_NUMBER = 1_000
"""Largest number in an operation: bins, rows of a window, periods."""
LONGEST_NAME_CHARACTERS = 255
"""Longest label, and longest text in an operation: as long as the name of a dataset's column. An answer repeats it."""
LARGEST_QUESTION_BYTES = 2**20
"""Largest question, as JSON. A filter of many values adds to it."""
LONGEST_TIME_CHARACTERS = 250
"""Longest start or end of a range of time: the parser calls itself for each word."""
MOST_CELLS = 1_000_000
"""Most cells that an operation makes."""
CELLS_OF_A_GROUP = 100
"""What a group of a box plot or rank counts for; each calls Python several times."""

#: Operations whose result can be larger than the rows, and their options that name columns to group by.
GROUPING = {
    "pivot": ("index", "columns"),
    "histogram": ("groupby",),
    "boxplot": ("groupby",),
    "rank": ("group_by",),
    "aggregate": ("groupby",),
    "resample": (),
}
AGGREGATES = frozenset({"COUNT_DISTINCT", "COUNT", "SUM", "AVG", "MIN", "MAX"})
"""Aggregates of a metric that is not written in SQL."""


def refuse_excess(queries: Sequence[Mapping[str, Any]]) -> None:
    """Go on if the queries of a question, as they were sent, are within bounds.

    Raises
    ------
    QueryObjectValidationError
        If there are too many or too long parts, or one is not as Superset has it.
    """
    _require(len(queries) <= MOST_QUERIES, f"a chart asks at most {MOST_QUERIES} queries; there are {len(queries)}")
    size = sum(len(json.dumps(query, default=str)) for query in queries)
    _require(size <= LARGEST_QUESTION_BYTES, f"a chart's question has at most {LARGEST_QUESTION_BYTES // 2**20} MiB")
    for query in queries:
        for name in ("post_processing", "time_offsets", "annotation_layers"):
            count = len(query.get(name) or ())
            _require(count <= MOST_PARTS, f"{name} has at most {MOST_PARTS} entries; there are {count}")
        _refuse_excess_of_operations([each for each in query.get("post_processing") or () if each])
        for name, part in _columns_and_metrics(query):
            _refuse_malformed(name, part)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise QueryObjectValidationError(message)


def _refuse_excess_of_operations(operations: Sequence[Mapping[str, Any]]) -> None:
    values = list(_leaves([each.get("options") for each in operations]))
    _require(len(values) <= MOST_VALUES, f"post_processing has at most {MOST_VALUES:,} names and numbers")
    for value in values:
        if isinstance(value, str):
            _require_short(value)
        elif isinstance(value, int | float):
            _require(abs(value) <= LARGEST_NUMBER, f"a number of post_processing is at most {LARGEST_NUMBER:,}")
    for each in operations:
        # Some rules for their number, which numpy takes by name, have no bound.
        bins = (each.get("options") or {}).get("bins", 0)
        _require(each.get("operation") != "histogram" or isinstance(bins, int), "bins is a number")


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the names and values within a value of JSON."""
    if isinstance(value, Mapping):
        yield from value
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value


def _columns_and_metrics(query: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind, names in (("column", ("columns", "groupby", "series_columns")), ("metric", ("metrics",))):
        yield from ((kind, each) for name in names for each in query.get(name) or ())
    yield from (("column", each.get("col")) for name in ("filters", "filter") for each in query.get(name) or ())
    yield from (("metric", each[0]) for each in query.get("orderby") or () if each)
    yield "metric", query.get("series_limit_metric") or query.get("timeseries_limit_metric")


def _refuse_malformed(kind: str, part: Any) -> None:
    """Go on if a column or metric has a name that is not too long, and what Superset takes for granted."""
    if isinstance(part, str):
        _require_short(part)
    elif isinstance(part, Mapping):
        label, aggregate = part.get("label"), part.get("aggregate")
        _require(label is None or isinstance(label, str), "a label is a text")
        _require_short(label or "")
        if kind == "column":
            _require({"label", "sqlExpression"} <= set(part), "a column is a name, or has a label and sqlExpression")
        elif part.get("expressionType") == "SIMPLE":
            choices = ", ".join(sorted(AGGREGATES))
            _require(aggregate in AGGREGATES, f"a metric's aggregate is one of {choices}; write others in SQL")


def _require_short(name: str) -> None:
    _require(
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
    return groups * CELLS_OF_A_GROUP


def _steps(times: Any, rule: Any) -> int:
    """Return how many steps of a rule, such as `1D`, are between the first and the last time."""
    from pandas import DatetimeIndex, Timedelta
    from pandas.tseries.frequencies import to_offset

    if not isinstance(times, DatetimeIndex) or times.empty:
        return 0
    try:
        step = Timedelta(to_offset(rule))
    except ValueError:
        # Steps of different lengths, such as months; the shortest is an hour of business.
        step = Timedelta(hours=1)
    return int((times.max() - times.min()) / step)


def _bounded(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def bounded(rows: Any, **options: Any) -> Any:
        if cells_made(name, rows, options) > MOST_CELLS:
            raise InvalidPostProcessingError(
                f"{name} would make more than {MOST_CELLS:,} cells; filter, or group by fewer columns"
            )
        return operation(rows, **options)

    return bounded


def bound_charts() -> None:
    """Have Superset keep the bounds."""
    from superset.commands.chart.exceptions import TimeRangeParseFailError
    from superset.common.query_context_factory import QueryContextFactory
    from superset.utils import date_parser, pandas_postprocessing

    create, time_of = QueryContextFactory.create, date_parser.datetime_eval

    def create_within_bounds(factory: Any, **question: Any) -> Any:
        refuse_excess(question["queries"])
        return create(factory, **question)

    def time_of_few_words(expression: str | None = None) -> Any:
        if expression is not None and len(expression) > LONGEST_TIME_CHARACTERS:
            raise TimeRangeParseFailError(f"{expression[:20]}…, {len(expression):,} characters")
        return time_of(expression)

    QueryContextFactory.create = create_within_bounds
    date_parser.datetime_eval = time_of_few_words
    for name in GROUPING:
        setattr(pandas_postprocessing, name, _bounded(name, getattr(pandas_postprocessing, name)))
