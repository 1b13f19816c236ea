"""Pages of a relation in a total order. A page starts after the order values of the row before it.

Because the order is total and the snapshot immutable, the pages together are the whole, without loss or repetition.
A late page costs no more than the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sojourn_api.catalogue import identifier, kind_of
from sojourn_api.formats import FewRows, OutputColumn, are_plain
from sojourn_api.problems import invalid_parameter, quoted
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.filters import placeholder
from sojourn_api.requests.rows import OrderBy, orderable
from sojourn_api.settings import DEFAULT_PAGE_ROWS
from sojourn_api.snapshot import Snapshot
from sojourn_api.suggestions import did_you_mean


@dataclass(frozen=True)
class OrderTerm:
    """A column to order by; nulls come last in either direction."""

    name: str
    type: str
    descending: bool = False

    @property
    def sql(self) -> str:
        """The term in an order by clause."""
        return f"{identifier(self.name)} {'desc' if self.descending else 'asc'} nulls last"


@dataclass(frozen=True)
class Relation:
    """A query whose rows can be paged.

    `sql` is a select with `parameters`, `columns` are those to return and `order` makes the order of rows
    total. `are_groups` tells rows that are groups, of which there are few as a rule.
    """

    sql: str
    parameters: list[Any]
    columns: tuple[OutputColumn, ...]
    order: tuple[OrderTerm, ...]
    are_groups: bool = False


@dataclass(frozen=True)
class Page:
    """Rows, and the order values of the last of them when more rows follow."""

    rows: pa.Table | FewRows
    next_values: tuple[Any, ...] | None


def total_order(order: Sequence[OrderBy], types: Mapping[str, str], total: Sequence[str]) -> tuple[OrderTerm, ...]:
    """Return the order that a request asks for, completed to a total one.

    Parameters
    ----------
    asked : sequence of OrderBy
    types : mapping of str to str
        The columns that may be ordered by, with their DuckDB types.
    total : sequence of str
        Columns that identify a row; those not named in the request are added at the end.

    Raises
    ------
    ProblemError
        422 for a column that the result does not have or that has no order, and for one that occurs twice.
    """
    terms: list[OrderTerm] = []
    for by in order:
        if by.name not in types:
            allowed = [name for name, type_ in types.items() if orderable(type_)]
            detail = f"{quoted(by.name)} is not a column of the result{did_you_mean(by.name, allowed)}"
            raise invalid_parameter("order", detail, allowed=allowed)
        if not orderable(types[by.name]):
            raise invalid_parameter("order", f"{by.name} is {types[by.name]} and has no order")
        if any(term.name == by.name for term in terms):
            raise invalid_parameter("order", f"{by.name} occurs twice")
        terms.append(OrderTerm(by.name, types[by.name], by.descending))
    named = {term.name for term in terms}
    return (*terms, *(OrderTerm(name, types[name]) for name in total if name not in named))


def _after(order: tuple[OrderTerm, ...], values: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the condition, and its parameters, that a row comes after the row with these order values."""
    alternatives: list[str] = []
    parameters: list[Any] = []
    equal_sql: list[str] = []
    equal_parameters: list[Any] = []
    for term, value in zip(order, values, strict=True):
        column = identifier(term.name)
        if value is None:
            # Only other nulls come after a null, and the next terms order them.
            equal_sql.append(f"{column} is null")
            continue
        marker = placeholder(term.type)
        follows = f"({column} {'<' if term.descending else '>'} {marker} or {column} is null)"
        alternatives.append(" and ".join([*equal_sql, follows]))
        parameters += [*equal_parameters, value]
        equal_sql.append(f"{column} = {marker}")
        equal_parameters.append(value)
    return " or ".join(f"({alternative})" for alternative in alternatives) or "false", parameters


def _order_value(value: Any, term: OrderTerm) -> Any:
    # Arrow has no 128-bit integers: DuckDB hands them over as decimals.
    return int(value) if isinstance(value, Decimal) and kind_of(term.type) == "integer" else value


def fetch_page(
    runner: QueryRunner,
    snapshot: Snapshot,
    relation: Relation,
    limit: int,
    after: tuple[Any, ...] | None,
) -> Page:
    """Return at most `limit` rows of a relation, from the start or after the row with these order values."""
    # Order values are fetched along under names that no column has, so that columns not selected can be
    # ordered by.
    selected = [identifier(column.name) for column in relation.columns]
    hidden = [f"{identifier(term.name)} as {identifier(f'#{i}')}" for i, term in enumerate(relation.order)]
    parameters = list(relation.parameters)
    where = ""
    if after is not None:
        condition, values = _after(relation.order, after)
        where = f"where {condition}"
        parameters += values
    order = f"order by {', '.join(term.sql for term in relation.order)}" if relation.order else ""
    sql = (
        f"select {', '.join([*selected, *hidden])} from ({relation.sql}) as relation {where} {order} limit {limit + 1}"
    )
    types = [(column.name, column.type) for column in relation.columns]
    types += [(f"#{i}", term.type) for i, term in enumerate(relation.order)]
    width = len(relation.columns)
    if relation.are_groups and limit <= DEFAULT_PAGE_ROWS and are_plain(type_ for _, type_ in types):
        few = runner.run_few(snapshot, sql, parameters, tuple(types))
        shown = FewRows(few.columns[:width], [row[:width] for row in few.rows[:limit]])
        return Page(shown, few.rows[limit - 1][width:] if len(few.rows) > limit else None)
    fetched = runner.run(snapshot, sql, parameters)
    table = fetched.select(range(width)).slice(0, limit)
    if fetched.num_rows <= limit:
        return Page(table, None)
    last = tuple(
        _order_value(fetched.column(width + i)[limit - 1].as_py(), term) for i, term in enumerate(relation.order)
    )
    return Page(table, last)
