"""Aggregates over groups of a dataset's rows, the same to the last bit with any number of threads.

Integers are summed exactly. Real numbers are summed in ascending order, because the sum of doubles depends on
the order of its terms and a parallel scan has none.
"""

from __future__ import annotations

from sojourn_api.catalogue import identifier
from sojourn_api.formats import OutputColumn
from sojourn_api.problems import ProblemError
from sojourn_api.queries.paging import Relation, total_order
from sojourn_api.requests.rows import QUANTILES, Aggregate, RowsRequest, pooled_study

STUDIES = OutputColumn("studies", "BIGINT", "studies")
"""How many studies a row pools."""


def aggregate_output(aggregate: Aggregate) -> OutputColumn:
    """Return name, type and unit of an aggregate, such as ``median_harm_ratio``."""
    function, column = aggregate.function, aggregate.column
    name = f"{function}_{column.name}"
    if function == "count":
        return OutputColumn(name, "BIGINT", "rows")
    if function in ("min", "max"):
        return OutputColumn(name, column.type, column.unit)
    if function == "sum" and column.kind == "integer":
        return OutputColumn(name, "BIGINT", column.unit)
    return OutputColumn(name, "DOUBLE", column.unit)


def aggregate_sql(aggregate: Aggregate) -> str:
    """Return an aggregate as a SQL expression."""
    function, value, kind = aggregate.function, aggregate.column.sql, aggregate.column.kind
    if function in QUANTILES:
        return f"quantile_cont(cast({value} as double), {QUANTILES[function]})"
    if function == "sum" and kind == "integer":
        return f"cast(sum({value}) as bigint)"
    if function == "mean" and kind == "integer":
        return f"avg({value})"
    if function == "stddev":
        return f"stddev_samp(cast({value} as double) order by {value})"
    if function in ("sum", "mean"):
        name = "sum" if function == "sum" else "avg"
        return f"{name}(cast({value} as double) order by {value})"
    return f"{function}({value})"


def aggregated_relation(request: RowsRequest) -> Relation:
    """Return the groups that a request with ``group`` or ``aggregate`` asks for.

    Each row has the group columns, `n` (rows of the group), `studies` that it pools unless they are grouped by, and for
    each aggregate its value and the number of non-null values it is of.

    Raises
    ------
    ProblemError
        422, when two columns would have one name, or the column to order by does not exist.
    """
    group, filters = request.group, request.selection.filters
    columns = [OutputColumn(column.name, column.type, column.unit) for column in group]
    columns.append(OutputColumn("n", "BIGINT", "rows"))
    expressions = [column.sql for column in group] + ["count(*) as n"]
    study = pooled_study(group, request.dataset)
    if study is not None:
        columns.append(STUDIES)
        expressions.append(f"count(distinct {study.sql}) as studies")
    for aggregate in request.aggregates:
        output = aggregate_output(aggregate)
        counted = OutputColumn(f"{output.name}_n", "BIGINT", "rows")
        columns += [output, counted]
        expressions += [
            f"{aggregate_sql(aggregate)} as {identifier(output.name)}",
            f"count({aggregate.column.sql}) as {identifier(counted.name)}",
        ]
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        raise ProblemError("invalid-parameter", "Two columns of the result would have the same name.", columns=names)
    group_by = f"group by {', '.join(column.sql for column in group)}" if group else ""
    types = {column.name: column.type for column in columns}
    return Relation(
        sql=f"select {', '.join(expressions)} from {request.dataset.sql} {filters.where} {group_by}",
        parameters=filters.parameters,
        columns=tuple(columns),
        order=total_order(request.order, types, tuple(column.name for column in group)),
        are_groups=True,
    )
