"""Distributions over any grouping, by adding up histogram counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sojourn_api.catalogue import Catalogue, Column, Dataset, identifier
from sojourn_api.cells import Cells, histogram_list, histograms_in, list_values
from sojourn_api.filters import Filters, split_name
from sojourn_api.formats import OutputColumn
from sojourn_api.histogram_metrics import HISTOGRAM_COLUMNS, Metric
from sojourn_api.parameters import Items, comma_list, one_of
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.queries.aggregation import parse_group
from sojourn_api.queries.distribution_points import STATISTICS, Statistic, described
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet

DEFAULT_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MOST_POINTS = 1000
BINS_PER_OCTAVE = ("1", "2", "4", "8", "16", "32", "64")

_DECIMAL = re.compile(r"^[0-9]{1,12}(\.[0-9]{1,12})?$")


def dataset_for(metric: Metric, catalogue: Catalogue, items: Items, parameters: Collection[str]) -> Dataset:
    """Return the smallest dataset of a metric with every column that a request filters or groups by.

    Without any such dataset it is the one that has most columns, whose names then tell what there is.
    """
    first = catalogue.dataset(metric.datasets[0])
    named = {dataset.name: dataset for dataset in catalogue.datasets}
    smallest_first = sorted((named[name] for name in metric.datasets if name in named), key=lambda one: one.rows)
    wanted = [name for name, _ in items if name not in parameters]
    group = comma_list(items, "group") or ()
    for candidate in (*smallest_first, *(named[name] for name in metric.otherwise if name in named)):
        columns = dimensions(candidate)
        if all(name in columns for name in group) and all(split_name(name, columns) for name in wanted):
            return candidate
    return first


def dimensions(dataset: Dataset) -> dict[str, Column]:
    """Return the columns to filter and group by: a filter on bins would cut a distribution."""
    return {name: column for name, column in dataset.by_name.items() if name not in HISTOGRAM_COLUMNS}


def _decimals(items: Items, name: str, wanted: str, highest: Decimal) -> tuple[Decimal, ...] | None:
    texts = comma_list(items, name)
    if texts is None:
        return None
    if len(texts) > MOST_POINTS:
        raise invalid_parameter(name, f"{len(texts)} values; at most {MOST_POINTS}")
    for text in texts:
        if not _DECIMAL.match(text) or Decimal(text) > highest:
            raise invalid_parameter(name, f"{quoted(text)} is not {wanted}")
    return tuple(Decimal(text) for text in texts)


def parse_statistic(items: Items) -> Statistic:
    """Return the statistic of a request; parameters of another statistic are refused."""
    name = one_of(items, "statistic", STATISTICS) or "quantiles"
    given = {key for key, _ in items}
    for parameter, statistics in {
        "quantiles": ("quantiles",),
        "thresholds_ms": ("thresholds",),
        "bins_per_octave": ("cdf", "pdf"),
    }.items():
        if parameter in given and name not in statistics:
            raise invalid_parameter(parameter, f"applies to statistic={' and '.join(statistics)} only")
    quantiles = _decimals(items, "quantiles", "a decimal from 0 to 1", Decimal(1))
    thresholds = _decimals(items, "thresholds_ms", "a number of ms from 0 to 1e9", Decimal(10**9))
    if name == "thresholds" and thresholds is None:
        raise invalid_parameter("thresholds_ms", "is needed with statistic=thresholds, such as 100,500")
    in_us = tuple(1000 * threshold for threshold in thresholds or ())
    if any(value != value.to_integral_value() for value in in_us):
        raise invalid_parameter("thresholds_ms", "the resolution is 0.001 ms")
    return Statistic(
        name=name,
        quantiles=DEFAULT_QUANTILES if quantiles is None else tuple(float(q) for q in quantiles),
        thresholds_us=tuple(int(value) for value in in_us),
        bins_per_octave=int(one_of(items, "bins_per_octave", BINS_PER_OCTAVE) or log_linear.BINS_PER_OCTAVE),
    )


_UNITS = {"density_per_decade": "1/decade"}


def _output(point: str, metric: Metric) -> OutputColumn:
    """Return the column of a point, named after what the metric measures and counts."""
    if point == "count":
        return OutputColumn(metric.count, "BIGINT", metric.count)
    name = metric.quantity + point.removeprefix("value") if point.startswith("value_") else point
    return OutputColumn(name, "DOUBLE", _UNITS.get(name) or name.rpartition("_")[2])


@dataclass(frozen=True)
class DistributionQuery:
    """Distributions of a metric over groups of rows."""

    metric: Metric
    dataset: Dataset
    group: tuple[Column, ...]
    filters: Filters
    statistic: Statistic

    @property
    def of_runs(self) -> bool:
        """Whether the dataset is of runs, which are then counted beside."""
        return "run_id" in self.dataset.by_name

    def cells_sql(self, cells: Cells) -> str:
        """Return one row a group: its columns (text as a dictionary), runs, and the numbers of its cells as a list."""
        varying = [column for column in self.group if column.name not in cells.constant]
        keys = ", ".join(column.sql for column in varying)
        grouped = [*(column.sql for column in varying), "list(cell) as members"]
        columns = [
            c.sql if c in varying else f"(select any_value({c.sql}) from {cells.sql}) as {c.sql}" for c in self.group
        ]
        if self.of_runs:
            grouped.append("count(distinct (study_id, run_id)) as runs")
            columns.append("runs")
        return f"""
            with grouped as (
                select {", ".join(grouped)} from {cells.sql} {self.filters.where}
                {f"group by {keys}" if varying else "having count(*) > 0"}
            )
            select {", ".join(columns)}, members from grouped
            {self._order_by(varying, "grouped")}
        """

    def merged_sql(self) -> str:
        """Return one row a group: its columns, runs, and its histogram as a list."""
        dataset, count = self.dataset.sql, identifier(self.metric.count)
        keys = [column.sql for column in self.group]
        listed = ", ".join(keys)
        merged = f"""
            with selected as (select * from {dataset} {self.filters.where}),
            bins as (
                select {listed}, cast(bin_index as bigint) as bin_index, cast(sum({count}) as bigint) as counted
                from selected where {count} > 0 group by {listed}, bin_index
            ),
            merged as (
                select {listed}, {histogram_list("bin_index", "counted")} as histogram from bins group by {listed}
            )"""
        order = self._order_by(self.group, "merged")
        if not self.of_runs:
            return f"{merged} select {listed}, histogram from merged {order}"
        joined = " and ".join(f"merged.{key} is not distinct from spans.{key}" for key in keys)
        return f"""{merged},
            spans as (
                select {listed}, count(distinct (study_id, run_id)) as runs
                from selected where {count} > 0 group by {listed}
            )
            select {", ".join(f"merged.{key}" for key in keys)}, spans.runs as runs, histogram
            from merged inner join spans on {joined}
            {order}
        """

    @staticmethod
    def _order_by(keys: Sequence[Column], relation: str) -> str:
        return f"order by {', '.join(f'{relation}.{key.sql} asc nulls last' for key in keys)}" if keys else ""


def distribution_query(metric: Metric, dataset: Dataset, items: Items, filters: Filters) -> DistributionQuery:
    """Return the query of a request."""
    group = parse_group(items, dimensions(dataset))
    always = (dataset.by_name[name] for name in metric.always)
    group = (*group, *(column for column in always if column not in group))
    return DistributionQuery(metric, dataset, group, filters, parse_statistic(items))


def grouped_histograms(
    runner: QueryRunner, snapshot: Snapshot, query: DistributionQuery
) -> tuple[pa.Table, HistogramSet, Groups]:
    """Return the groups of a query, one a row, and the histograms that each of them adds up.

    From the cells in memory where the snapshot holds them, and from the rows of the dataset otherwise.
    """
    cells = snapshot.cells.get(query.dataset.name)
    if cells:
        table = runner.run(snapshot, query.cells_sql(cells), query.filters.parameters)
        offsets, members = list_values(table.column("members"))
        return table, cells.histograms, Groups(members.to_numpy(), offsets)
    table = runner.run(snapshot, query.merged_sql(), query.filters.parameters)
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
    runner: QueryRunner, snapshot: Snapshot, query: DistributionQuery, max_rows: int
) -> tuple[pa.Table, tuple[OutputColumn, ...]]:
    """Return the statistic of each group, one row a point, and the columns of the result."""
    table, histograms, groups = grouped_histograms(runner, snapshot, query)
    told = described(histograms, groups, query.statistic, max_rows)
    rows = pa.array(np.repeat(np.arange(len(groups)), told.lengths))
    arrays = [_plain(table.column(column.name).take(rows)) for column in query.group]
    arrays.append(pa.array(np.repeat(told.totals, told.lengths), pa.int64()))
    columns = [OutputColumn(column.name, column.type, column.unit) for column in query.group]
    columns.append(OutputColumn("n", "BIGINT", query.metric.count))
    if query.of_runs:
        arrays.append(table.column("runs").take(rows))
        columns.append(OutputColumn("runs", "BIGINT", "runs"))
    for name, values in told.points.items():
        output = _output(name, query.metric)
        type_ = pa.int64() if output.type == "BIGINT" else pa.float64()
        arrays.append(pa.array(values, type_, mask=np.isnan(values)))
        columns.append(output)
    return pa.table(arrays, names=[column.name for column in columns]), tuple(columns)
