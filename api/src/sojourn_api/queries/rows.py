"""Rows of a dataset under filters."""

from __future__ import annotations

from sojourn_api.formats import OutputColumn
from sojourn_api.queries.aggregation import aggregated_relation
from sojourn_api.queries.paging import Relation, total_order
from sojourn_api.requests.rows import RowsRequest


def rows_relation(request: RowsRequest) -> Relation:
    """Return the rows, or groups of rows, that a request asks for, in a total order.

    Raises
    ------
    ProblemError
        422, when the result has no such column to order by.
    """
    if request.aggregated:
        return aggregated_relation(request)
    dataset, filters = request.dataset, request.selection.filters
    types = {column.name: column.type for column in dataset.columns}
    source = dataset.sql
    if request.sample is not None:
        # MD5, because DuckDB's own hash differs from version to version.
        key = ", ".join(f"coalesce(cast({dataset.by_name[name].sql} as varchar), '')" for name in dataset.key)
        number = f"md5_number_lower(concat_ws(chr(31), '{request.sample.seed}', {key}))"
        source = f"(select * from {source} where {number} < {request.sample.below}::uhugeint)"
    return Relation(
        sql=f"select * from {source} {filters.where}",
        parameters=filters.parameters,
        columns=tuple(OutputColumn(column.name, column.type, column.unit) for column in request.columns),
        order=total_order(request.order, types, dataset.key),
    )
