"""Distributions over any grouping, by adding up histogram counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn_api.catalogue import Column, Dataset
from sojourn_api.filters import Filters
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
    """A quantity with a histogram dataset.

    Rows of different `basis` measure differently and are never pooled, so that column is part of every group.
    """

    name: str
    dataset: str
    basis: str


METRICS = {"queuing_delay": Metric("queuing_delay", "queuing_delay_histogram", "delay_basis")}
_HISTOGRAM_COLUMNS = frozenset({"bin_index", "bin_lower_us", "bin_upper_us", "packets"})


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
        "queuing_delay_ms": histogram.representative_us(chosen) / 1000,
        "queuing_delay_lower_ms": histogram.bin_lower_us(chosen) / 1000,
        "queuing_delay_upper_ms": (histogram.bin_upper_us(chosen) - 1) / 1000,
    }


def _cdf_points(bins: Bins, statistic: Statistic) -> Points:
    _, upper, counts = histogram.coarsen(*bins, statistic.bins_per_octave)
    return {
        "queuing_delay_ms": (upper - 1) / 1000,
        "packets": counts,
        "cdf_ratio": histogram.cdf(counts),
    }


def _pdf_points(bins: Bins, statistic: Statistic) -> Points:
    lower, upper, counts = histogram.coarsen(*bins, statistic.bins_per_octave)
    return {
        "queuing_delay_lower_ms": lower / 1000,
        "queuing_delay_upper_ms": upper / 1000,
        "packets": counts,
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
_UNITS = {"packets": "packets", "density_per_decade": "1/decade"}


def _output(name: str) -> OutputColumn:
    type_ = "BIGINT" if name == "packets" else "DOUBLE"
    return OutputColumn(name, type_, _UNITS.get(name) or name.rpartition("_")[2])


@dataclass(frozen=True)
class DistributionQuery:
    """Distributions of a metric over groups of runs."""

    metric: Metric
    dataset: Dataset
    group: tuple[Column, ...]
    filters: Filters
    statistic: Statistic

    def merged_sql(self) -> str:
        """Return one row a group: its columns, runs, and its bins and counts as two lists in one order."""
        dataset = self.dataset.sql
        keys = [column.sql for column in self.group]
        listed = ", ".join(keys)
        joined = " and ".join(f"merged.{key} is not distinct from spans.{key}" for key in keys)
        return f"""
            with selected as (select * from {dataset} {self.filters.where}),
            bins as (
                select {listed}, cast(bin_index as bigint) as bin_index, cast(sum(packets) as bigint) as packets
                from selected where packets > 0 group by {listed}, bin_index
            ),
            merged as (
                select
                    {listed},
                    list(bin_index order by bin_index) as bin_indexes,
                    list(packets order by bin_index) as bin_packets
                from bins group by {listed}
            ),
            spans as (
                select {listed}, count(distinct (study_id, run_id)) as runs
                from selected where packets > 0 group by {listed}
            )
            select {", ".join(f"merged.{key}" for key in keys)}, spans.runs as runs, bin_indexes, bin_packets
            from merged inner join spans on {joined}
            order by {", ".join(f"merged.{key} asc nulls last" for key in keys)}
        """


def distribution_query(metric: Metric, dataset: Dataset, items: Items, filters: Filters) -> DistributionQuery:
    """Return the query of a request."""
    group = parse_group(items, dimensions(dataset))
    basis = dataset.by_name[metric.basis]
    if basis not in group:
        group = (*group, basis)
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
    indexes, packets = _lists(merged.column("bin_indexes")), _lists(merged.column("bin_packets"))
    point_count, points = 0, []
    for group_indexes, group_packets in zip(indexes, packets, strict=True):
        bins = (group_indexes, group_packets)
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
    totals = np.array([int(group_packets.sum()) for group_packets in packets], dtype=np.int64)
    arrays = [merged.column(column.name).take(pa.array(group_rows)) for column in query.group]
    arrays.append(pa.array(totals[group_rows], pa.int64()))
    arrays.append(merged.column("runs").take(pa.array(group_rows)))
    columns = [OutputColumn(column.name, column.type, column.unit) for column in query.group]
    columns += [OutputColumn("n", "BIGINT", "packets"), OutputColumn("runs", "BIGINT", "runs")]
    for name in names:
        output = _output(name)
        values = np.concatenate([group_points[name] for group_points in points]) if points else np.array([])
        type_ = pa.int64() if output.type == "BIGINT" else pa.float64()
        arrays.append(pa.array(values, type_, mask=np.isnan(values)))
        columns.append(output)
    return pa.table(arrays, names=[column.name for column in columns]), tuple(columns)


_ONE_BIN: Bins = (np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))
