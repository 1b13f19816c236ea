"""Rows of a dataset: selected columns, filtered, in a total order."""

from __future__ import annotations

from sojourn_api.catalogue import Dataset
from sojourn_api.filters import Filters
from sojourn_api.formats import OutputColumn
from sojourn_api.parameters import Items, comma_list
from sojourn_api.problems import invalid_parameter, quoted
from sojourn_api.queries.paging import OrderTerm, Relation, orderable


def parse_order(items: Items, types: dict[str, str], total: tuple[str, ...]) -> tuple[OrderTerm, ...]:
    """Return the order of ``order=a,-b``, completed to a total one.

    Parameters
    ----------
    items : sequence of (name, value)
        The query string.
    types : dict of str to str
        The columns that may be ordered by, with their DuckDB types.
    total : tuple of str
        Columns that identify a row; those not named in the request are added at the end.
    """
    terms: list[OrderTerm] = []
    for part in comma_list(items, "order") or ():
        name = part.removeprefix("-")
        if name not in types:
            allowed = [name for name, type_ in types.items() if orderable(type_)]
            raise invalid_parameter("order", f"{quoted(name)} is not a column of the result", allowed=allowed)
        if not orderable(types[name]):
            raise invalid_parameter("order", f"{name} is {types[name]} and has no order")
        if any(term.name == name for term in terms):
            raise invalid_parameter("order", f"{name} occurs twice")
        terms.append(OrderTerm(name, types[name], part.startswith("-")))
    named = {term.name for term in terms}
    return (*terms, *(OrderTerm(name, types[name]) for name in total if name not in named))


def rows_relation(dataset: Dataset, items: Items, filters: Filters) -> Relation:
    """Return the rows that a request without aggregation asks for."""
    names = comma_list(items, "select") or tuple(dataset.by_name)
    for name in names:
        if name not in dataset.by_name:
            raise invalid_parameter(
                "select", f"{quoted(name)} is not a column of {dataset.name}", allowed=list(dataset.by_name)
            )
    columns = tuple(
        OutputColumn(column.name, column.type, column.unit) for column in (dataset.by_name[name] for name in names)
    )
    types = {column.name: column.type for column in dataset.columns}
    return Relation(
        sql=f"select * from {dataset.sql} {filters.where}",
        parameters=filters.parameters,
        columns=columns,
        order=parse_order(items, types, dataset.key),
    )
