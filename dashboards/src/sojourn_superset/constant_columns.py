"""Columns of tables that have one value in every row of the build being served, and so tell no row from another.

A chart's `sojourn.leave_out` lists the labels of columns that go if they do. It is decided over the whole build: a
column that differs between two studies stays, also while a filter shows one of them. A column by which rows are grouped
stays too, because a later build would pool without it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Connection

from sojourn_superset.adapter_query import asked, rows_asked, source_of, sql_by_column, where_of

MOST_ROWS = 20_000
"""A dataset with more rows is not searched for constant columns: each of its tables keeps all."""
TAG = re.compile("<[^>]*>")


class ColumnError(Exception):
    """`sojourn.leave_out` names what the chart does not have; the message says which."""


def leave_out(
    connection: Connection, params: dict[str, Any], dataset: dict[str, Any], labels: Sequence[str]
) -> dict[str, str]:
    """Remove from a table the columns of `labels` that have one value in all rows; return the value of each by label.

    A table of one row keeps all.

    Parameters
    ----------
    params
        Params of a chart of type `table`, aggregated or raw.
    dataset
        Asset of its dataset, with all columns.

    Raises
    ------
    ColumnError
        For a label that is no column of the chart, or one by which it groups, or a column without SQL.
    """
    columns = sql_by_column(dataset)
    source = source_of(dataset)
    where = where_of(params.get("adhoc_filters") or [], columns)
    is_raw = params.get("query_mode") == "raw"
    groups = [_sql(each, columns) for each in params.get("groupby") or []]
    shown = {_label(each): _sql(each, columns) for each in params.get("all_columns" if is_raw else "metrics") or []}
    names = {
        each["column_name"]: each.get("verbose_name") or each["column_name"] for each in dataset["columns"] if is_raw
    }
    if unknown := set(labels) - shown.keys():
        raise ColumnError(f"leave_out: {min(unknown)!r} is no figure and no plain column; those are {', '.join(shown)}")
    by_group = f"GROUP BY {', '.join(groups)}" if groups and not is_raw else ""
    if not (is_raw or groups) or len(rows_asked(connection, f"SELECT 1 FROM {source} {where} {by_group} LIMIT 2")) < 2:
        return {}
    gone: dict[str, str] = {}
    for label in labels:
        of_rows = f"SELECT {shown[label]} AS value FROM {source} {where} {by_group}"
        values = asked(connection, f"SELECT DISTINCT value FROM ({of_rows}) AS of_rows LIMIT 2")
        if len(values) == 1:
            gone[label] = _words(values[0], _format(params, label), is_html=not is_raw)
    key = "all_columns" if is_raw else "metrics"
    params[key] = [each for each in params[key] if _label(each) not in gone]
    return {names.get(label, label): value for label, value in gone.items()}


def _label(column: Any) -> str:
    return str(column["label"]) if isinstance(column, dict) else str(column)


def _sql(column: Any, columns: dict[str, str]) -> str:
    if isinstance(column, dict):
        if "sqlExpression" not in column:
            raise ColumnError(f"leave_out: {column.get('label')!r} has no SQL; only SQL columns can be looked at")
        return str(column["sqlExpression"])
    if column not in columns:
        raise ColumnError(f"leave_out: {column!r} is not a column of the dataset; metrics must have their SQL")
    return columns[column]


def _format(params: dict[str, Any], label: str) -> str:
    """Return the format of a column's numbers, in d3's spelling."""
    return str((params.get("column_config") or {}).get(label, {}).get("d3NumberFormat", ""))


def _words(value: Any, number_format: str, *, is_html: bool) -> str:
    """Return a value as text; only figures hold HTML, and what they show is without it."""
    if value is None or value == "":
        return "no data"
    if isinstance(value, float):
        return f"{100 * value:.3g} %" if number_format.endswith("%") else f"{value:.4g}"
    return html.unescape(TAG.sub(" ", value)).strip() if is_html and isinstance(value, str) else str(value)
