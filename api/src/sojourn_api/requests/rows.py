"""Requests for rows of a dataset, plain or aggregated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from typing import Annotated

from pydantic import Field, WithJsonSchema

from sojourn_api.catalogue import Column, Dataset, kind_of
from sojourn_api.problems import invalid_parameter, quoted
from sojourn_api.requests.exclusion import INCLUDE, LEAVE_OUT
from sojourn_api.requests.query_string import RequestContext, comma_list, whole_number
from sojourn_api.requests.selection import STUDY, DataParameters, Selection, Text, select
from sojourn_api.safety.keys import Key
from sojourn_api.settings import DEFAULT_PAGE_ROWS, Settings
from sojourn_api.suggestions import did_you_mean

QUANTILES = {"median": 0.5, "q05": 0.05, "q25": 0.25, "q75": 0.75, "q95": 0.95, "q99": 0.99}
AGGREGATES = ("count", "min", "max", "mean", "median", "stddev", "sum", *(q for q in QUANTILES if q != "median"))
_NUMERIC = frozenset({"integer", "real", "decimal"})
#: A share as people and programs write it, such as 0.01, .5 and 1e-05.
_SHARE = re.compile(r"(?=\.?[0-9])[0-9]{0,60}(?:\.[0-9]{0,400})?(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
#: Cuts off, so that what is below 1 stays below it.
_EXACT = Context(prec=100, rounding=ROUND_DOWN)
_OF_PAGES = ("limit", "cursor", "format", "escape")


class RowsParameters(DataParameters):
    """Parameters of ``/v1/datasets/{name}/rows``."""

    select: Text = Field(default=None, description="Columns to return, comma-separated; default: all.")
    order: Text = Field(
        default=None,
        description="Columns to order by, comma-separated; `-` before a name sorts in descending order, and "
        "nulls come last. The key is added at the end, so the order is total.",
    )
    limit: Annotated[Text, WithJsonSchema({"type": "integer", "minimum": 1})] = Field(
        default=None,
        description=f"Rows per page; default: {DEFAULT_PAGE_ROWS}, maximum: SOJOURN_API_MAX_ROWS.",
    )
    cursor: Text = Field(
        default=None,
        description="`next_cursor` of the previous page. Keep all other parameters except limit, format and escape.",
    )
    sample: Text = Field(
        default=None,
        description="Share of the rows to return, above 0 and below 1. The selection depends only on the key "
        "of each row and on `seed`: it is the same in every request and format, and part of that for a larger share.",
    )
    seed: Text = Field(default=None, description="Whole number that selects a different sample; default: 0.")
    group: Text = Field(default=None, description="Columns to group by, comma-separated.")
    aggregate: Text = Field(
        default=None,
        description=f"Comma-separated `function:column` with a function of {', '.join(AGGREGATES)}; or "
        "`count`, the number of rows in the group, which every row also has as `n`.",
    )


@dataclass(frozen=True)
class Aggregate:
    """A function of one column, over the rows of a group."""

    function: str
    column: Column


@dataclass(frozen=True)
class Sample:
    """Rows that are chosen by their key: those whose number of 64 bits is below `below`."""

    below: int
    seed: int


@dataclass(frozen=True)
class OrderBy:
    """A column of the result to order by."""

    name: str
    descending: bool


@dataclass(frozen=True)
class RowsRequest:
    """Rows of a dataset, or with `aggregated` one row per group; `cursor` is where the page starts, unopened."""

    dataset: Dataset
    selection: Selection
    columns: tuple[Column, ...]
    aggregated: bool
    group: tuple[Column, ...]
    aggregates: tuple[Aggregate, ...]
    order: tuple[OrderBy, ...]
    sample: Sample | None
    limit: int
    cursor: str | None
    pages_of: tuple[tuple[str, str], ...]
    """The query string without what may differ between the pages of one result."""


def pooled_study(group: Sequence[Column], dataset: Dataset) -> Column | None:
    """Return the column of the study if groups of a dataset's rows may pool studies; each group then counts them."""
    study = dataset.by_name.get(STUDY)
    return None if study in group else study


def orderable(duckdb_type: str) -> bool:
    """Return whether a type has an order that a cursor can continue."""
    return kind_of(duckdb_type) != "other"


def group_columns(names: tuple[str, ...], columns: Mapping[str, Column]) -> tuple[Column, ...]:
    """Return the columns of ``group=a,b``; raises ProblemError for one that cannot be grouped by."""
    group = []
    for name in names:
        if name not in columns:
            raise invalid_parameter(
                "group",
                f"{quoted(name)} is not a column to group by{did_you_mean(name, columns)}",
                allowed=list(columns),
            )
        column = columns[name]
        if not orderable(column.type):
            raise invalid_parameter("group", f"{name} is {column.type} and cannot be grouped by")
        group.append(column)
    return tuple(group)


def _aggregates(names: tuple[str, ...], dataset: Dataset) -> tuple[Aggregate, ...]:
    aggregates = []
    for part in names:
        if part == "count":
            continue  # the number of rows is in every result, as n
        function, separator, name = part.partition(":")
        if function not in AGGREGATES or not separator:
            meant = did_you_mean(function, AGGREGATES) or f"; functions: {', '.join(AGGREGATES)}"
            raise invalid_parameter(
                "aggregate",
                f"{quoted(part)} is neither count nor function:column{meant}",
                functions=list(AGGREGATES),
            )
        if name not in dataset.by_name:
            raise invalid_parameter(
                "aggregate",
                f"{quoted(name)} is not a column of {dataset.name}{did_you_mean(name, dataset.by_name)}",
                allowed=list(dataset.by_name),
            )
        column = dataset.by_name[name]
        if function in ("min", "max"):
            suits = column.kind != "other"
        else:
            suits = function == "count" or column.kind in _NUMERIC
        if not suits:
            raise invalid_parameter("aggregate", f"{function} does not apply to {name}, which is {column.type}")
        aggregates.append(Aggregate(function, column))
    return tuple(aggregates)


def _sample(parameters: RowsParameters) -> Sample | None:
    seed = whole_number("seed", parameters.seed, 0, 2**31 - 1)
    if parameters.sample is None:
        if seed is not None:
            raise invalid_parameter("seed", "applies to samples only; give sample too, such as sample=0.01")
        return None
    share = Decimal(parameters.sample) if _SHARE.fullmatch(parameters.sample) else Decimal(0)
    if not 0 < share < 1:
        raise invalid_parameter("sample", f"{quoted(parameters.sample)} is not a number above 0 and below 1")
    return Sample(int(_EXACT.multiply(share, Decimal(2**64))), seed or 0)


def _selected(names: tuple[str, ...] | None, dataset: Dataset) -> tuple[Column, ...]:
    for name in names or ():
        if name not in dataset.by_name:
            raise invalid_parameter(
                "select",
                f"{quoted(name)} is not a column of {dataset.name}{did_you_mean(name, dataset.by_name)}",
                allowed=list(dataset.by_name),
            )
    return tuple(dataset.by_name[name] for name in names or dataset.by_name)


def rows_request(
    dataset: Dataset, parameters: RowsParameters, context: RequestContext, settings: Settings
) -> RowsRequest:
    """Return the request for rows of a dataset.

    Raises
    ------
    ProblemError
        422, when a parameter is unknown or has a value that it cannot have; 406 for formats; 403 for what the key does
        not read.
    """
    context.key.permit(dataset.name)
    group = comma_list("group", parameters.group)
    aggregate = comma_list("aggregate", parameters.aggregate)
    aggregated = not (group is None and aggregate is None)
    excluded = LEAVE_OUT if aggregated else INCLUDE
    selection = select(context, parameters, dataset, dataset.by_name, group or (), excluded)
    if aggregated and parameters.select is not None:
        raise invalid_parameter("select", "cannot be combined with group or aggregate, which name the columns")
    sample = _sample(parameters)
    if aggregated and sample is not None:
        raise invalid_parameter("sample", "cannot be combined with group or aggregate, which use all rows")
    return RowsRequest(
        dataset=dataset,
        selection=selection,
        columns=_selected(comma_list("select", parameters.select), dataset),
        aggregated=aggregated,
        group=group_columns(group or (), dataset.by_name),
        aggregates=_aggregates(aggregate or (), dataset),
        order=tuple(
            OrderBy(part.removeprefix("-"), part.startswith("-"))
            for part in comma_list("order", parameters.order) or ()
        ),
        sample=sample,
        limit=whole_number("limit", parameters.limit, 1, settings.api_max_rows) or settings.default_rows,
        cursor=parameters.cursor,
        pages_of=tuple(item for item in context.items if item[0] not in _OF_PAGES),
    )


def all_rows(dataset: Dataset, key: Key) -> RowsRequest:
    """Return the request for all rows of a dataset that a key reads, without a filter."""
    key.permit(dataset.name)
    context = RequestContext(f"/v1/datasets/{dataset.name}/rows", (), None, key)
    selection = select(context, DataParameters(), dataset, dataset.by_name, excluded=INCLUDE)
    return RowsRequest(dataset, selection, dataset.columns, False, (), (), (), None, max(dataset.rows, 1), None, ())
