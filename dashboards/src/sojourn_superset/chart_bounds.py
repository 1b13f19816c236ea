"""How much a question of a chart may ask for, whoever asks it.

A question names operations on the rows that the database answers with, which Superset then does in memory: a histogram
of a million bins of two rows takes two minutes and 4 GB. An answer repeats the label of each column in every row: 600
metrics with long labels take 3 GB. A spreadsheet takes a minute of CPU to write. Superset bounds rows, and nothing of
this.
"""

from __future__ import annotations

import functools
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from werkzeug.exceptions import RequestEntityTooLarge, UnprocessableEntity

from sojourn_superset.answer_size import (
    BYTES_OF_A_VALUE,
    LARGEST_ANSWER_BYTES,
    LARGEST_JSON_BYTES,
    label_bytes,
    texts_bytes,
)
from sojourn_superset.operation_bounds import (
    CELLS_OF_A_GROUP,
    MOST_CELLS,
    bound_operations,
    leaves,
    refuse_excess_of_operations,
    require,
    require_short,
)

MOST_QUERIES = 10
"""Queries of a question. Superset's pages send four at most."""
MOST_PARTS = 40
"""Operations, time offsets or annotation layers of a question. Superset's pages send nine operations for each query."""
MOST_NAMES = 300
"""Columns and metrics of a question, those in filters and orders included."""
MOST_FILTER_VALUES = 5_000
"""Values in the filters of a question: Superset parses the statement that they become, 0.1 ms for each."""
LAYER_OVERRIDES = frozenset({"granularity", "time_grain_sqla", "time_range", "time_shift"})
"""What an annotation layer may change of its chart. Superset's schema has the same names, but not all routes use it."""
LARGEST_QUESTION_BYTES = 2**20
"""Largest question, as JSON. A filter of many values adds to it."""
LONGEST_TIME_CHARACTERS = 250
"""Longest start or end of a range of time: the parser calls itself for each word."""
MOST_CELLS_OF_A_FILE = {"xlsx": 500_000, "csv": 1_000_000}
"""Most cells of what a request downloads: writing a cell of text takes 18 µs as xlsx, and 10 µs as csv."""
ADDING = re.compile("Sum|Average|Median|Sample")
"""Aggregates of a pivot table whose result is none of the values."""
AGGREGATES = frozenset({"COUNT_DISTINCT", "COUNT", "SUM", "AVG", "MIN", "MAX"})
"""Aggregates of a metric that is not written in SQL."""


def refuse_excess(queries: Sequence[Mapping[str, Any]]) -> None:
    """Go on if the queries of a question, as they were sent, are within bounds.

    Raises
    ------
    QueryObjectValidationError
        If there are too many or too long parts, or one is not as Superset has it.
    """
    require(len(queries) <= MOST_QUERIES, f"a chart asks at most {MOST_QUERIES} queries; there are {len(queries)}")
    size = sum(len(json.dumps(query, default=str)) for query in queries)
    require(size <= LARGEST_QUESTION_BYTES, f"a chart's question has at most {LARGEST_QUESTION_BYTES // 2**20} MiB")
    for name in ("post_processing", "time_offsets", "annotation_layers"):
        count = sum(len(query.get(name) or ()) for query in queries)
        require(count <= MOST_PARTS, f"{name} has at most {MOST_PARTS} entries; there are {count}")
    values = sum(1 for query in queries for each in _filters(query) for _ in leaves(each.get("val")))
    require(values <= MOST_FILTER_VALUES, f"filters have at most {MOST_FILTER_VALUES:,} values; there are {values:,}")
    parts = [part for query in queries for part in _columns_and_metrics(query) if part[1] is not None]
    require(len(parts) <= MOST_NAMES, f"a chart has at most {MOST_NAMES} columns and metrics; there are {len(parts)}")
    for kind, part in parts:
        _refuse_malformed(kind, part)
    for query in queries:
        # Superset joins the rows of each offset by the columns, which repeat unless metrics group them.
        require(not query.get("time_offsets") or bool(query.get("metrics")), "time_offsets require metrics")
        refuse_excess_of_operations([each for each in query.get("post_processing") or () if each])
        for layer in query.get("annotation_layers") or ():
            others = sorted(set(layer.get("overrides") or ()) - LAYER_OVERRIDES)
            require(not others, f"an annotation layer overrides {', '.join(sorted(LAYER_OVERRIDES))}; not {others}")


def refuse_large_answer(queries: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Go on if the rows that queries ask for are not too many for their labels; all columns count where none is named.

    Raises
    ------
    QueryObjectValidationError
        If the answer may be larger than LARGEST_ANSWER_BYTES.
    """
    size = 0
    for query in queries:
        metrics = [_label(part) for part in query.get("metrics") or ()]
        # Each offset repeats the metrics.
        labels = [
            *map(_label, query.get("columns") or ()),
            *metrics * (1 + len(query.get("time_offsets") or ())),
        ] or columns
        size += (query.get("row_limit") or 0) * sum(label_bytes(label) + BYTES_OF_A_VALUE for label in labels)
    require(
        size <= LARGEST_ANSWER_BYTES,
        f"the answer may have {size / 2**20:,.0f} MiB, more than {LARGEST_ANSWER_BYTES // 2**20}; lower the row limit, "
        "or choose fewer columns and metrics",
    )


def _label(part: Any) -> str:
    return str(part.get("label") or "") if isinstance(part, Mapping) else str(part)


def _columns_and_metrics(query: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind, names in (("column", ("columns", "groupby", "series_columns")), ("metric", ("metrics",))):
        yield from ((kind, each) for name in names for each in query.get(name) or ())
    yield from (("column", each.get("col")) for each in _filters(query))
    yield from (("metric", each[0]) for each in query.get("orderby") or () if each)
    yield "metric", query.get("series_limit_metric") or query.get("timeseries_limit_metric")


def _filters(query: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (each for name in ("filters", "filter") for each in query.get(name) or ())


def _refuse_malformed(kind: str, part: Any) -> None:
    """Go on if a column or metric has a name that is not too long, and what Superset takes for granted."""
    if isinstance(part, str):
        require_short(part)
    elif isinstance(part, Mapping):
        label, aggregate = part.get("label"), part.get("aggregate")
        require(label is None or isinstance(label, str), "a label is a text")
        require_short(label or "")
        if kind == "column":
            require({"label", "sqlExpression"} <= set(part), "a column is a name, or has a label and sqlExpression")
        elif part.get("expressionType") == "SIMPLE":
            choices = ", ".join(sorted(AGGREGATES))
            require(aggregate in AGGREGATES, f"a metric's aggregate is one of {choices}; write others in SQL")


def _bounded_pivot(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes a pivot table of rows for a download, if it has few enough cells: Python is called for each."""
    most = MOST_CELLS // CELLS_OF_A_GROUP["aggregate"]

    @functools.wraps(make)
    def bounded(df: Any, rows: list[str], columns: list[str], metrics: list[str], **options: Any) -> Any:
        grouped = ([each for each in names if each in df] for names in (rows, columns))
        cells = math.prod(len(df[names].drop_duplicates()) for names in grouped if names) * len(metrics)
        _require_few(
            cells <= most,
            f"the pivot table would have {cells:,} cells, more than {most:,}; download its rows, or filter",
        )
        if ADDING.match(options.get("aggfunc", "Sum")):
            texts = [each for each in metrics if each in df and any(isinstance(value, str) for value in df[each])]
            if texts:
                raise UnprocessableEntity(f"{texts[0]} has texts, which do not add up; download its rows")
        return make(df, rows, columns, metrics, **options)

    return bounded


def _bounded_formats(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what formats the columns of a table for a download, if no format fills a value up to a great width."""

    @functools.wraps(make)
    def bounded(rows: Any, form: Mapping[str, Any], datasource: Any = None) -> Any:
        for column in (form.get("column_config") or {}).values():
            numbers = re.findall(r"\d+", str(column.get("d3NumberFormat")))
            _require_few(all(len(each) <= 2 for each in numbers), "a number of d3NumberFormat has at most two digits")
        return make(rows, form, datasource)

    return bounded


def _require_few(holds: bool, message: str) -> None:
    if not holds:
        raise RequestEntityTooLarge(message)


def _refuse_large_file(kind: str, cells: int) -> None:
    """Go on if a file has few enough cells.

    Raises
    ------
    RequestEntityTooLarge
        If it has too many.
    """
    most = MOST_CELLS_OF_A_FILE[kind]
    other = ", choose csv" if kind == "xlsx" and cells <= MOST_CELLS_OF_A_FILE["csv"] else ""
    _require_few(
        cells <= most,
        f"the {kind} file would have {cells:,} cells, more than {most:,}; filter, choose fewer columns{other}, or read "
        "the rows from the Sojourn API",
    )


def _within_cells(kind: str, write: Callable[..., Any]) -> Callable[..., Any]:
    """Return what writes a file of a data frame, if all files of the request have few enough cells."""
    from flask import g

    @functools.wraps(write)
    def written(rows: Any, *arguments: Any, **named: Any) -> Any:
        # A request may have several queries, each with a file of its own.
        g.cells_of_files = g.get("cells_of_files", 0) + rows.size
        _refuse_large_file(kind, g.cells_of_files)
        g.texts_of_files = g.get("texts_of_files", 0) + texts_bytes(rows)
        most = LARGEST_JSON_BYTES // 2**20
        _require_few(g.texts_of_files <= LARGEST_JSON_BYTES, f"the texts of the file have more than {most} MiB; filter")
        return write(rows, *arguments, **named)

    return written


def _refuse_stream(command: Any) -> Any:
    """Refuse a csv file that is written as its rows are read, of which nobody can count the cells first."""
    raise RequestEntityTooLarge(
        "a csv file is not written as a stream; use the other csv export, or read the rows from the Sojourn API"
    )


def as_xlsx(quote_formulas: Callable[[Any], Any], rows: Any, **options: Any) -> bytes:
    """Return rows as a file whose texts, also those of headers, are texts: Superset quotes those of cells only."""
    import pandas as pd

    content = io.BytesIO()
    as_texts = {"options": {"strings_to_formulas": False, "strings_to_urls": False}}
    with pd.ExcelWriter(content, engine="xlsxwriter", engine_kwargs=as_texts) as writer:
        quote_formulas(rows).to_excel(writer, **options)
    return content.getvalue()


def bound_charts() -> None:
    """Have Superset keep the bounds."""
    from superset import db
    from superset.charts import client_processing
    from superset.commands.chart.exceptions import TimeRangeParseFailError
    from superset.commands.streaming_export.base import BaseStreamingCSVExportCommand
    from superset.common.chart_data import ChartDataResultType
    from superset.common.query_context_factory import QueryContextFactory
    from superset.connectors.sqla.models import BaseDatasource
    from superset.exceptions import QueryObjectValidationError
    from superset.models.slice import Slice
    from superset.utils import csv, date_parser, excel

    create, time_of = QueryContextFactory.create, date_parser.datetime_eval
    saved_context, saved_form, data_for = Slice.get_query_context, Slice.form_data.fget, BaseDatasource.data_for_slices

    def create_within_bounds(factory: Any, **question: Any) -> Any:
        refuse_excess(question["queries"])
        context = create(factory, **question)
        # Superset has put a row limit where there was none, or too high a one.
        columns = [column.column_name for column in context.datasource.columns] if context.datasource else []
        sizes = [{**query.to_dict(), "time_offsets": query.time_offsets} for query in context.queries]
        if context.result_type in (ChartDataResultType.SAMPLES, ChartDataResultType.DRILL_DETAIL):
            # These have all columns, whatever was named.
            sizes = [{"row_limit": query["row_limit"]} for query in sizes]
        refuse_large_answer(sizes, columns)
        return context

    malformed = (QueryObjectValidationError, LookupError, TypeError, AttributeError, ValueError, RecursionError)

    def readable_context(chart: Any) -> Any:
        """Return the question that a chart was saved with; None for what is no question, as for a chart without one.

        A dashboard reads that of each of its charts.
        """
        try:
            return saved_context(chart)
        except malformed:
            return None

    def form_of_members(chart: Any) -> Any:
        """Return the parameters of a chart; only those of the chart itself if the saved ones have no names."""
        try:
            return saved_form(chart)
        except malformed:
            source = f"{chart.datasource_id}__{chart.datasource_type}"
            return {"slice_id": chart.id, "viz_type": chart.viz_type, "datasource": source}

    def data_for_readable(dataset: Any, charts: list[Any]) -> Any:
        """Return what charts need of a dataset, without those whose parameters cannot be read."""

        def is_readable(chart: Any) -> bool:
            try:
                data_for(dataset, [chart])
            except malformed:
                return False
            return True

        try:
            return data_for(dataset, charts)
        except malformed:
            return data_for(dataset, [chart for chart in charts if is_readable(chart)])
        finally:
            # A dashboard asks each of its datasets, and holds all of them: without this, also all of their columns.
            db.session.expire(dataset, ("columns", "metrics"))

    Slice.get_query_context = readable_context
    Slice.form_data = property(form_of_members)
    BaseDatasource.data_for_slices = data_for_readable

    def time_of_few_words(expression: str | None = None) -> Any:
        if expression is not None and len(expression) > LONGEST_TIME_CHARACTERS:
            raise TimeRangeParseFailError(f"{expression[:20]}…, {len(expression):,} characters")
        return time_of(expression)

    QueryContextFactory.create = create_within_bounds
    date_parser.datetime_eval = time_of_few_words

    def types_of_few_cells(rows: Any, types: Any) -> Any:
        # Superset converts each cell before it writes the file.
        _refuse_large_file("xlsx", rows.size)
        return convert(rows, types)

    csv.df_to_escaped_csv = _within_cells("csv", csv.df_to_escaped_csv)
    # Superset's pages have no use for it below CSV_STREAMING_ROW_THRESHOLD, but a request may ask for it.
    BaseStreamingCSVExportCommand.run = _refuse_stream
    excel.df_to_excel = _within_cells("xlsx", functools.partial(as_xlsx, excel.quote_formulas))
    convert, excel.apply_column_types = excel.apply_column_types, types_of_few_cells
    # What Superset does to the rows of a download as the browser does it for the page.
    client_processing.pivot_df = _bounded_pivot(client_processing.pivot_df)
    client_processing.post_processors["table"] = _bounded_formats(client_processing.table)
    bound_operations()
