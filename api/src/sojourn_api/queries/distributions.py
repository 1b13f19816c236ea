"""Distributions over any grouping, by adding up histogram counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn_api.catalogue import Catalogue, Column, Dataset, identifier
from sojourn_api.filters import Filters, split_name
from sojourn_api.formats import OutputColumn
from sojourn_api.parameters import Items, comma_list, one_of
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.queries.aggregation import parse_group
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.snapshot import Snapshot
from sojourn_transforms.statistics import histogram

STATISTICS = ("quantiles", "cdf", "pdf", "thresholds")
DEFAULT_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MOST_POINTS = 1000
BINS_PER_OCTAVE = ("1", "2", "4", "8", "16", "32", "64")

_DECIMAL = re.compile(r"^[0-9]{1,12}(\.[0-9]{1,12})?$")


@dataclass(frozen=True)
class Metric:
    """A quantity with histogram datasets.

    Rows that differ in one of `always` measure differently, or of something else: they are never pooled, so these
    columns are part of every group. `datasets` hold the same counts at several grains: the one with the fewest rows
    that has all columns of a request answers it. `otherwise` is asked for columns that none of them has.
    """

    name: str
    quantity: str
    count: str
    datasets: tuple[str, ...]
    always: tuple[str, ...]
    otherwise: tuple[str, ...] = ()


_OF_CONNECTIONS = ("dataset", "synthetic", "rtt_basis", "sample_basis")

METRICS = {
    metric.name: metric
    for metric in (
        Metric("queuing_delay", "queuing_delay", "packets", ("queuing_delay_histogram",), ("delay_basis",)),
        Metric(
            "connection_queuing_delay",
            "queuing_delay",
            "connections",
            (
                "connection_queuing_delay_histogram",
                "connection_queuing_delay_month_histogram",
                "connection_queuing_delay_month_technology_histogram",
                "connection_queuing_delay_month_country_histogram",
                "connection_queuing_delay_day_technology_histogram",
                "connection_queuing_delay_day_country_histogram",
            ),
            ("is_upper_bound", *_OF_CONNECTIONS),
            ("connection_queuing_delay_as_histogram",),
        ),
        Metric(
            "host_maximum_queuing_delay",
            "queuing_delay",
            "hosts",
            ("host_maximum_queuing_delay_histogram",),
            ("is_upper_bound", *_OF_CONNECTIONS, "period_kind", "period"),
        ),
        Metric("rtt", "rtt", "connections", ("rtt_histogram",), (*_OF_CONNECTIONS, "rtt_statistic")),
    )
}
_HISTOGRAM_COLUMNS = frozenset({"bin_index", "bin_lower_us", "bin_upper_us", "packets", "connections", "hosts"})


@dataclass(frozen=True)
class Statistic:
    """What to tell of each distribution."""

    name: str
    quantiles: tuple[float, ...]
    thresholds_us: tuple[int, ...]
    bins_per_octave: int


def metric_of(name: str) -> Metric:
    """Return the metric of a name, or raise the problem that lists the known ones."""
    if name not in METRICS:
        raise ProblemError(
            "unknown-metric", f"{quoted(name)} is not a metric", metric=name[:200], known=sorted(METRICS)
        )
    return METRICS[name]


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
    return {name: column for name, column in dataset.by_name.items() if name not in _HISTOGRAM_COLUMNS}


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
        bins_per_octave=int(one_of(items, "bins_per_octave", BINS_PER_OCTAVE) or histogram.BINS_PER_OCTAVE),
    )


Points = dict[str, npt.NDArray[Any]]
Bins = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _quantile_points(bins: Bins, statistic: Statistic) -> Points:
    chosen = histogram.quantile_bins(*bins, statistic.quantiles)
    return {
        "quantile_ratio": np.array(statistic.quantiles, dtype=np.float64),
        "value_ms": histogram.representative_us(chosen) / 1000,
        "value_lower_ms": histogram.bin_lower_us(chosen) / 1000,
        "value_upper_ms": (histogram.bin_upper_us(chosen) - 1) / 1000,
    }


def _cdf_points(bins: Bins, statistic: Statistic) -> Points:
    _, upper, counts = histogram.coarsen(*bins, statistic.bins_per_octave)
    return {
        "value_ms": (upper - 1) / 1000,
        "count": counts,
        "cdf_ratio": histogram.cdf(counts),
    }


def _pdf_points(bins: Bins, statistic: Statistic) -> Points:
    lower, upper, counts = histogram.coarsen(*bins, statistic.bins_per_octave)
    return {
        "value_lower_ms": lower / 1000,
        "value_upper_ms": upper / 1000,
        "count": counts,
        "share_ratio": counts / counts.sum(),
        "density_per_decade": histogram.log_pdf_per_decade(lower, upper, counts),
    }


def _threshold_points(bins: Bins, statistic: Statistic) -> Points:
    thresholds = np.array(statistic.thresholds_us, dtype=np.int64)
    share = histogram.share_above(*bins, thresholds)
    return {
        "threshold_ms": thresholds / 1000,
        "share_above_ratio": share.estimate,
        "share_above_lower_ratio": share.lower,
        "share_above_upper_ratio": share.upper,
    }


_POINTS: dict[str, Callable[[Bins, Statistic], Points]] = {
    "quantiles": _quantile_points,
    "cdf": _cdf_points,
    "pdf": _pdf_points,
    "thresholds": _threshold_points,
}
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

    def merged_sql(self) -> str:
        """Return one row a group: its columns, runs, and its bins and counts as two lists in one order."""
        dataset, count = self.dataset.sql, identifier(self.metric.count)
        keys = [column.sql for column in self.group]
        listed = ", ".join(keys)
        order = ", ".join(f"merged.{key} asc nulls last" for key in keys)
        merged = f"""
            with selected as (select * from {dataset} {self.filters.where}),
            bins as (
                select {listed}, cast(bin_index as bigint) as bin_index, cast(sum({count}) as bigint) as counted
                from selected where {count} > 0 group by {listed}, bin_index
            ),
            merged as (
                select
                    {listed},
                    list(bin_index order by bin_index) as bin_indexes,
                    list(counted order by bin_index) as bin_counts
                from bins group by {listed}
            )"""
        if not self.of_runs:
            return f"{merged} select {listed}, bin_indexes, bin_counts from merged order by {order}"
        joined = " and ".join(f"merged.{key} is not distinct from spans.{key}" for key in keys)
        return f"""{merged},
            spans as (
                select {listed}, count(distinct (study_id, run_id)) as runs
                from selected where {count} > 0 group by {listed}
            )
            select {", ".join(f"merged.{key}" for key in keys)}, spans.runs as runs, bin_indexes, bin_counts
            from merged inner join spans on {joined}
            order by {order}
        """


def distribution_query(metric: Metric, dataset: Dataset, items: Items, filters: Filters) -> DistributionQuery:
    """Return the query of a request."""
    group = parse_group(items, dimensions(dataset))
    always = (dataset.by_name[name] for name in metric.always)
    group = (*group, *(column for column in always if column not in group))
    return DistributionQuery(metric, dataset, group, filters, parse_statistic(items))


def _lists(column: pa.ChunkedArray) -> list[npt.NDArray[np.int64]]:
    """Return each list of a column as an array, without copying."""
    arrays: list[npt.NDArray[np.int64]] = []
    for chunk in column.chunks:
        values, offsets = chunk.values.to_numpy(), chunk.offsets.to_numpy()
        arrays += [values[start:end] for start, end in pairwise(offsets)]
    return arrays


def fetch_distribution(
    runner: QueryRunner, snapshot: Snapshot, query: DistributionQuery, max_rows: int
) -> tuple[pa.Table, tuple[OutputColumn, ...]]:
    """Return the statistic of each group, one row a point, and the columns of the result."""
    merged = runner.run(snapshot, query.merged_sql(), query.filters.parameters)
    indexes, counts = _lists(merged.column("bin_indexes")), _lists(merged.column("bin_counts"))
    point_count, points = 0, []
    for bins in zip(indexes, counts, strict=True):
        points.append(_POINTS[query.statistic.name](bins, query.statistic))
        point_count += len(next(iter(points[-1].values())))
        if point_count > max_rows:
            raise ProblemError(
                "result-too-large",
                f"The result has more than {max_rows} rows. Filter more, group by fewer columns, ask for "
                "fewer points or lower bins_per_octave.",
                maximum=max_rows,
            )
    # Without any group the columns are still those of the statistic, so they are taken from an empty example.
    names = list(points[0] if points else _POINTS[query.statistic.name](_ONE_BIN, query.statistic))
    lengths = [len(group_points[names[0]]) for group_points in points]
    group_rows = np.repeat(np.arange(len(points)), lengths)
    totals = np.array([int(group_counts.sum()) for group_counts in counts], dtype=np.int64)
    arrays = [merged.column(column.name).take(pa.array(group_rows)) for column in query.group]
    arrays.append(pa.array(totals[group_rows], pa.int64()))
    columns = [OutputColumn(column.name, column.type, column.unit) for column in query.group]
    columns.append(OutputColumn("n", "BIGINT", query.metric.count))
    if query.of_runs:
        arrays.append(merged.column("runs").take(pa.array(group_rows)))
        columns.append(OutputColumn("runs", "BIGINT", "runs"))
    for name in names:
        output = _output(name, query.metric)
        values = np.concatenate([group_points[name] for group_points in points]) if points else np.array([])
        type_ = pa.int64() if output.type == "BIGINT" else pa.float64()
        arrays.append(pa.array(values, type_, mask=np.isnan(values)))
        columns.append(output)
    return pa.table(arrays, names=[column.name for column in columns]), tuple(columns)


_ONE_BIN: Bins = (np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))
