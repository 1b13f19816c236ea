"""Distributions over any grouping, by adding up histogram counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sojourn_api.catalogue import Column, identifier
from sojourn_api.distribution_metrics import Metric
from sojourn_api.formats import OutputColumn
from sojourn_api.held_histograms import Cells, histogram_list, histograms_in, list_values
from sojourn_api.problems import ProblemError
from sojourn_api.queries.aggregation import STUDIES
from sojourn_api.queries.distribution_points import described
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.distributions import DistributionRequest
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet

_UNITS = {"density_per_decade": "1/decade"}


def _output(point: str, metric: Metric) -> OutputColumn:
    """Return the column of a point, named after what the metric measures and counts."""
    if point == "count":
        return OutputColumn(metric.count, "BIGINT", metric.count)
    name = metric.quantity + point.removeprefix("value") if point.startswith("value_") else point
    return OutputColumn(name, "DOUBLE", _UNITS.get(name) or name.rpartition("_")[2])


def cells_sql(request: DistributionRequest, cells: Cells) -> str:
    """Return one row per histogram: its columns (text as a dictionary), runs, studies, and the numbers of its cells."""
    varying = [column for column in request.cells if column.name not in cells.constant]
    keys = ", ".join(column.sql for column in varying)
    grouped = [*(column.sql for column in varying), "list(cell) as members"]
    columns = [
        c.sql if c in varying else f"(select any_value({c.sql}) from {cells.sql}) as {c.sql}" for c in request.cells
    ]
    if request.of_runs:
        grouped.append("count(distinct (study_id, run_id)) as runs")
        columns.append("runs")
    if request.pooled_study is not None:
        grouped.append(f"count(distinct {request.pooled_study.sql}) as studies")
        columns.append("studies")
    return f"""
        with grouped as (
            select {", ".join(grouped)} from {cells.sql} {request.selection.filters.where}
            {f"group by {keys}" if varying else "having count(*) > 0"}
        )
        select {", ".join(columns)}, members from grouped
        {_order_by(varying, "grouped")}
    """


def merged_sql(request: DistributionRequest) -> str:
    """Return one row per histogram: its columns, runs, studies, and its histogram as a list."""
    dataset, count = request.dataset.sql, identifier(request.metric.count)
    keys = [column.sql for column in request.cells]
    listed = ", ".join(keys)
    merged = f"""
        with selected as (select * from {dataset} {request.selection.filters.where}),
        bins as (
            select {listed}, cast(bin_index as bigint) as bin_index, cast(sum({count}) as bigint) as counted
            from selected where {count} > 0 group by {listed}, bin_index
        ),
        merged as (
            select {listed}, {histogram_list("bin_index", "counted")} as histogram from bins group by {listed}
        )"""
    order = _order_by(request.cells, "merged")
    counted = {"runs": "count(distinct (study_id, run_id))"} if request.of_runs else {}
    if request.pooled_study is not None:
        counted["studies"] = f"count(distinct {request.pooled_study.sql})"
    if not counted:
        return f"{merged} select {listed}, histogram from merged {order}"
    joined = " and ".join(f"merged.{key} is not distinct from spans.{key}" for key in keys)
    return f"""{merged},
        spans as (
            select {listed}, {", ".join(f"{count} as {name}" for name, count in counted.items())}
            from selected where {count} > 0 group by {listed}
        )
        select {", ".join(f"merged.{key}" for key in keys)}, {", ".join(f"spans.{name}" for name in counted)}, histogram
        from merged inner join spans on {joined}
        {order}
    """


def _order_by(keys: Sequence[Column], relation: str) -> str:
    return f"order by {', '.join(f'{relation}.{key.sql} asc nulls last' for key in keys)}" if keys else ""


def grouped_histograms(
    runner: QueryRunner, snapshot: Snapshot, request: DistributionRequest
) -> tuple[pa.Table, HistogramSet, Groups]:
    """Return the groups of a query, one per row, and the histograms that each of them adds up.

    From the cells in memory where the snapshot holds them, and from the rows of the dataset otherwise.
    """
    cells = snapshot.cells.get(request.dataset.name)
    if cells:
        table = runner.run(snapshot, cells_sql(request, cells), request.selection.filters.parameters)
        offsets, members = list_values(table.column("members"))
        return table, cells.histograms, Groups(members.to_numpy(), offsets)
    table = runner.run(snapshot, merged_sql(request), request.selection.filters.parameters)
    try:
        histograms = histograms_in(table.column("histogram"), snapshot.threads)
    except ValueError:
        # Each bin's sum fits, and all of them together do not.
        raise ProblemError("result-out-of-range", "A sum does not fit 64 bits. Filter more.") from None
    return table, histograms, Groups.each(table.num_rows)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary, which formats would show."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def fetch_distribution(
    runner: QueryRunner, snapshot: Snapshot, request: DistributionRequest, max_rows: int
) -> tuple[pa.Table, tuple[OutputColumn, ...]]:
    """Return the statistic of each group, one row a point, and the columns of the result."""
    table, histograms, groups = grouped_histograms(runner, snapshot, request)
    description = described(histograms, groups, request.statistic, request.arguments, max_rows)
    rows = pa.array(np.repeat(np.arange(len(groups)), description.lengths))
    arrays = [_plain(table.column(column.name).take(rows)) for column in request.group]
    arrays.append(pa.array(np.repeat(description.totals, description.lengths), pa.int64()))
    columns = [OutputColumn(column.name, column.type, column.unit) for column in request.group]
    columns.append(OutputColumn("n", "BIGINT", request.metric.count))
    if request.of_runs:
        arrays.append(table.column("runs").take(rows))
        columns.append(OutputColumn("runs", "BIGINT", "runs"))
    if request.pooled_study is not None:
        arrays.append(table.column(STUDIES.name).take(rows))
        columns.append(STUDIES)
    for name, values in description.points.items():
        output = _output(name, request.metric)
        type_ = pa.int64() if output.type == "BIGINT" else pa.float64()
        arrays.append(pa.array(values, type_, mask=np.isnan(values)))
        columns.append(output)
    return pa.table(arrays, names=[column.name for column in columns]), tuple(columns)
