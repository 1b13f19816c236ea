"""Aggregates over groups of a dataset's rows, the same to the last bit whatever the number of threads.

Integers are summed exactly. Real numbers are summed in ascending order, because the sum of doubles depends on
the order of its terms and a parallel scan has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn_api.catalogue import Column, Dataset, identifier
from sojourn_api.filters import Filters
from sojourn_api.formats import OutputColumn
from sojourn_api.parameters import Items, comma_list
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.queries.paging import Relation, orderable
from sojourn_api.queries.rows import parse_order

NUMERIC = frozenset({"integer", "real", "decimal"})
QUANTILES = {"median": 0.5, "q05": 0.05, "q25": 0.25, "q75": 0.75, "q95": 0.95}
AGGREGATES = ("count", "min", "max", "mean", "median", "sum", *(q for q in QUANTILES if q != "median"))


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of one column."""

    function: str
    column: Column

    @property
    def name(self) -> str:
        """The name of the result, such as ``median_harm_ratio``."""
        return f"{self.function}_{self.column.name}"

    @property
    def output(self) -> OutputColumn:
        """Type and unit of the result."""
        if self.function == "count":
            return OutputColumn(self.name, "BIGINT", "rows")
        if self.function in ("min", "max"):
            return OutputColumn(self.name, self.column.type, self.column.unit)
        if self.function == "sum" and self.column.kind == "integer":
            return OutputColumn(self.name, "BIGINT", self.column.unit)
        return OutputColumn(self.name, "DOUBLE", self.column.unit)

    @property
    def sql(self) -> str:
        """The aggregate as a SQL expression."""
        value = self.column.sql
        if self.function in QUANTILES:
            return f"quantile_cont(cast({value} as double), {QUANTILES[self.function]})"
        if self.function == "sum" and self.column.kind == "integer":
            return f"cast(sum({value}) as bigint)"
        if self.function == "mean" and self.column.kind == "integer":
            return f"avg({value})"
        if self.function in ("sum", "mean"):
            function = "sum" if self.function == "sum" else "avg"
            return f"{function}(cast({value} as double) order by {value})"
        return f"{self.function}({value})"


def _parse_aggregates(items: Items, dataset: Dataset) -> tuple[Aggregate, ...]:
    aggregates = []
    for part in comma_list(items, "aggregate") or ():
        if part == "count":
            continue  # the number of rows is in every result, as n
        function, separator, name = part.partition(":")
        if function not in AGGREGATES or not separator:
            raise invalid_parameter(
                "aggregate",
                f"{quoted(part)} is neither count nor function:column",
                functions=list(AGGREGATES),
            )
        if name not in dataset.by_name:
            raise invalid_parameter(
                "aggregate", f"{quoted(name)} is not a column of {dataset.name}", allowed=list(dataset.by_name)
            )
        column = dataset.by_name[name]
        if function in ("min", "max"):
            suits = column.kind != "other"
        else:
            suits = function == "count" or column.kind in NUMERIC
        if not suits:
            raise invalid_parameter("aggregate", f"{function} does not apply to {name}, which is {column.type}")
        aggregates.append(Aggregate(function, column))
    return tuple(aggregates)


def parse_group(items: Items, columns: Mapping[str, Column]) -> tuple[Column, ...]:
    """Return the columns of ``group=a,b``."""
    group = []
    for name in comma_list(items, "group") or ():
        if name not in columns:
            raise invalid_parameter("group", f"{quoted(name)} is not a column to group by", allowed=list(columns))
        column = columns[name]
        if not orderable(column.type):
            raise invalid_parameter("group", f"{name} is {column.type} and cannot be grouped by")
        group.append(column)
    return tuple(group)


def aggregation_relation(dataset: Dataset, items: Items, filters: Filters) -> Relation:
    """Return the groups that a request with ``group`` or ``aggregate`` asks for.

    Each row has the group columns, `n` (rows of the group), and for each aggregate its value and the number
    of non-null values it is of.
    """
    group = parse_group(items, dataset.by_name)
    aggregates = _parse_aggregates(items, dataset)
    columns = [OutputColumn(column.name, column.type, column.unit) for column in group]
    columns.append(OutputColumn("n", "BIGINT", "rows"))
    expressions = [column.sql for column in group] + ["count(*) as n"]
    for aggregate in aggregates:
        counted = OutputColumn(f"{aggregate.name}_n", "BIGINT", "rows")
        columns += [aggregate.output, counted]
        expressions += [
            f"{aggregate.sql} as {identifier(aggregate.name)}",
            f"count({aggregate.column.sql}) as {identifier(counted.name)}",
        ]
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        raise ProblemError("invalid-parameter", "Two columns of the result would have one name.", columns=names)
    group_by = f"group by {', '.join(column.sql for column in group)}" if group else ""
    types = {column.name: column.type for column in columns}
    return Relation(
        sql=f"select {', '.join(expressions)} from {dataset.sql} {filters.where} {group_by}",
        parameters=filters.parameters,
        columns=tuple(columns),
        order=parse_order(items, types, tuple(column.name for column in group)),
    )
