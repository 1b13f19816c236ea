"""Questions to the datasets of the API in SQL, as Superset asks them: through the adapter, with the same pushdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection

from sojourn_client import Client
from sojourn_superset.catalogue_memory import types_of
from sojourn_superset.pushdown import rewrite
from sojourn_superset.security import refuse_another_api

COMPARISONS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "LIKE": "LIKE"}
"""Operators of filters with one value, and how SQLite spells them."""
OPERATORS = (*COMPARISONS, "IN", "NOT IN", "IS NULL", "IS NOT NULL")


class FilterError(Exception):
    """A filter of an asset file cannot be said in SQL."""


@contextmanager
def adapter(client: Client) -> Iterator[Connection]:
    """Connect to the datasets of the API as tables."""
    refuse_another_api(client.url)
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"])
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def rows_asked(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    return [tuple(row) for row in connection.execute(text(rewrite(query, types_of).replace(":", "\\:")))]


def first_column(connection: Connection, query: str) -> list[Any]:
    """Return the first column of a query's rows."""
    return [row[0] for row in rows_asked(connection, query)]


def sql_by_column(dataset: dict[str, Any]) -> dict[str, str]:
    """Return the SQL of each column of a dataset by its name."""
    return {each["column_name"]: each.get("expression") or each["column_name"] for each in dataset["columns"]}


def literal(value: Any) -> str:
    """Return a value as SQL spells it."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def rows_that_meet(filters: Sequence[dict[str, Any]], dataset: dict[str, Any], conditions: Sequence[str] = ()) -> str:
    """Return the part of a query from FROM on: the rows of a dataset that meet filters and further conditions.

    Parameters
    ----------
    filters
        Simple filters of a chart or a dashboard's filter, as Superset exports them.

    Raises
    ------
    FilterError
        For a filter that is not simple, is on a column that the dataset does not have, or has another operator than
        those of `OPERATORS`.
    """
    columns = sql_by_column(dataset)
    met = list(conditions)
    for each in filters:
        try:
            column, operator, value = columns[each["subject"]], each["operator"], each.get("comparator")
        except KeyError as error:
            raise FilterError(
                f"filter on {error}; expected one of expressionType SIMPLE, on a column that the dataset has"
            ) from error
        match operator:
            case "IN" | "NOT IN":
                met.append(f"{column} {operator} ({', '.join(map(literal, value or ()))})")
            case "IS NULL" | "IS NOT NULL":
                met.append(f"{column} {operator}")
            case _ if operator in COMPARISONS:
                met.append(f"{column} {COMPARISONS[operator]} {literal(value)}")
            case _:
                raise FilterError(
                    f"filter on {each['subject']!r} has operator {operator!r}; expected {', '.join(OPERATORS)}"
                )
    return f"FROM {dataset['table_name']}" + (f" WHERE {' AND '.join(met)}" if met else "")
