"""Requests for distributions of a metric over groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from sojourn_api.catalogue import Catalogue, Column, Dataset
from sojourn_api.distribution_metrics import HISTOGRAM_COLUMNS, METRICS, REPLICATION_UNITS, Metric
from sojourn_api.distribution_statistics import (
    DEFAULT_QUANTILES,
    DEFAULT_STATISTIC,
    STATISTICS,
    Arguments,
    Statistic,
)
from sojourn_api.problems import invalid_parameter, quoted
from sojourn_api.requests.filters import split_name
from sojourn_api.requests.query_string import MetricName, OneOf, RequestContext, comma_list
from sojourn_api.requests.rows import group_columns, pooled_study
from sojourn_api.requests.selection import STUDY, DataParameters, Selection, Text, select
from sojourn_statistics.histogram import log_linear

MOST_POINTS = 1000
BINS_PER_OCTAVE = ("1", "2", "4", "8", "16", "32", "64")

DistributionMetric = Annotated[str, MetricName(tuple(METRICS))]

_DECIMAL = re.compile(r"^[0-9]{1,12}(\.[0-9]{1,12})?$")


class DistributionParameters(DataParameters):
    """Parameters of ``/v1/distributions/{metric}``."""

    group: Text = Field(
        default=None, description="Columns to group by, comma-separated, in addition to the basis of measurement."
    )
    statistic: Annotated[Text, OneOf(tuple(STATISTICS))] = Field(
        default=None, description=f"Statistic of each distribution; default: `{DEFAULT_STATISTIC}`."
    )
    quantiles: Text = Field(
        default=None, description=f"Decimals from 0 to 1; default: {', '.join(map(str, DEFAULT_QUANTILES))}."
    )
    thresholds_ms: Text = Field(default=None, description="Thresholds in ms; required with `statistic=thresholds`.")
    bins_per_octave: Annotated[Text, OneOf(BINS_PER_OCTAVE)] = Field(
        default=None, description="Bins per doubling of the delay, for `cdf` and `pdf`; default: 64."
    )
    over: Annotated[Text, OneOf(REPLICATION_UNITS)] = Field(
        default=None,
        description="Unit of replication of intervals, with `quantiles` and `thresholds`: the median over the runs, "
        "days or months of a group; or the hosts themselves.",
    )


@dataclass(frozen=True)
class Replication:
    """What intervals are over: a unit, and the columns beside those of the group that tell its replicates apart.

    If `is_counted`, each value of a histogram is a replicate, and there are no such columns.
    """

    unit: str
    columns: tuple[Column, ...]
    is_counted: bool = False


@dataclass(frozen=True)
class DistributionRequest:
    """A statistic of the distributions of a metric, over groups of the rows of a dataset of histograms."""

    metric: Metric
    dataset: Dataset
    selection: Selection
    group: tuple[Column, ...]
    statistic: Statistic
    arguments: Arguments
    over: Replication | None = None

    @property
    def cells(self) -> tuple[Column, ...]:
        """The columns that tell histograms apart: those of the group and of its replicates."""
        return self.group if self.over is None else (*self.group, *self.over.columns)

    @property
    def of_runs(self) -> bool:
        """Whether the dataset is of runs, which are then counted beside."""
        return "run_id" in self.dataset.by_name

    @property
    def pooled_study(self) -> Column | None:
        """The column of the study, of which each histogram counts the values, or None where none pools studies."""
        return pooled_study(self.cells, self.dataset)

    @property
    def has_replicates_of_studies(self) -> bool:
        """Whether replicates are of studies that a group may pool."""
        return self.over is not None and any(column.name == STUDY for column in self.over.columns)


def dimensions(dataset: Dataset) -> dict[str, Column]:
    """Return the columns to filter and group by: a filter on bins would cut a distribution."""
    return {name: column for name, column in dataset.by_name.items() if name not in HISTOGRAM_COLUMNS}


def dataset_for(metric: Metric, catalogue: Catalogue, filters: tuple[str, ...], group: tuple[str, ...]) -> Dataset:
    """Return the smallest dataset of a metric with every column that a request filters or groups by.

    Without any such dataset it is the one with most columns, so that an error lists what is available. `filters` are
    names of parameters, such as ``rtt_ms__lt``.
    """
    first = catalogue.dataset(metric.datasets[0])
    named = {dataset.name: dataset for dataset in catalogue.datasets}
    smallest_first = sorted((named[name] for name in metric.datasets if name in named), key=lambda one: one.rows)
    for candidate in (*smallest_first, *(named[name] for name in metric.otherwise if name in named)):
        columns = dimensions(candidate)
        if all(name in columns for name in group) and all(split_name(name, columns) for name in filters):
            return candidate
    return first


def replicated_dataset(
    metric: Metric,
    catalogue: Catalogue,
    filters: tuple[str, ...],
    group: tuple[str, ...],
    units: Sequence[tuple[str, tuple[str, ...]]],
) -> tuple[Dataset, str, tuple[str, ...]]:
    """Return the dataset with the columns of a request by the first unit that one has, the unit and its columns.

    Without any such dataset it is that of the request without replicates, and the unit is the last.
    """
    for unit, replicate in units:
        needed = (*group, *(column for column in replicate if column not in group))
        dataset = dataset_for(metric, catalogue, filters, needed)
        columns = dimensions(dataset)
        if all(name in columns for name in needed) and all(split_name(name, columns) for name in filters):
            return dataset, unit, replicate
    return dataset_for(metric, catalogue, filters, group), unit, replicate


def replication(
    dataset: Dataset, group: tuple[Column, ...], unit: str, replicate: tuple[str, ...], parameter: str
) -> Replication:
    """Return the replication of a group by a unit; raises ProblemError for `parameter` where the dataset has none."""
    columns = dimensions(dataset)
    missing = [one for one in replicate if one not in columns]
    if missing:
        raise invalid_parameter(parameter, f"no dataset has these columns by {unit}", missing=missing)
    return Replication(unit, tuple(columns[one] for one in replicate if columns[one] not in group), not replicate)


def _units(metric: Metric, over: str, statistic: Statistic) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the unit of ``over=run`` with its columns; raises ProblemError where the metric has no such replicates."""
    if statistic.replicable is None:
        replicable = " and ".join(one.name for one in STATISTICS.values() if one.replicable)
        raise invalid_parameter("over", f"applies to statistic={replicable} only")
    units = tuple(one for one in metric.replicates if one[0] == over)
    if not units:
        allowed = [unit for unit, _ in metric.replicates]
        raise invalid_parameter("over", f"{metric.name} has intervals over {' or '.join(allowed)}", allowed=allowed)
    return units


def _decimals(name: str, text: str | None, wanted: str, highest: Decimal) -> tuple[Decimal, ...] | None:
    texts = comma_list(name, text)
    if texts is None:
        return None
    if len(texts) > MOST_POINTS:
        raise invalid_parameter(name, f"{len(texts)} values; at most {MOST_POINTS}")
    for one in texts:
        if not _DECIMAL.match(one) or Decimal(one) > highest:
            raise invalid_parameter(name, f"{quoted(one)} is not {wanted}")
    return tuple(Decimal(one) for one in texts)


def _statistic(parameters: DistributionParameters) -> tuple[Statistic, Arguments]:
    """Return the statistic of a request and its arguments; parameters of another statistic are refused."""
    statistic = STATISTICS[parameters.statistic or DEFAULT_STATISTIC]
    applying: dict[str, list[str]] = {}
    for one in STATISTICS.values():
        for name in one.parameters:
            applying.setdefault(name, []).append(one.name)
    for name, statistics in applying.items():
        if getattr(parameters, name) is not None and name not in statistic.parameters:
            raise invalid_parameter(name, f"applies to statistic={' and '.join(statistics)} only")
    quantiles = _decimals("quantiles", parameters.quantiles, "a decimal from 0 to 1", Decimal(1))
    thresholds = _decimals("thresholds_ms", parameters.thresholds_ms, "a number of ms from 0 to 1e9", Decimal(10**9))
    for name in statistic.needed:
        if getattr(parameters, name) is None:
            raise invalid_parameter(name, f"is needed with statistic={statistic.name}, such as 100,500")
    in_us = tuple(1000 * threshold for threshold in thresholds or ())
    if any(value != value.to_integral_value() for value in in_us):
        raise invalid_parameter("thresholds_ms", "the resolution is 0.001 ms")
    return statistic, Arguments(
        quantiles=DEFAULT_QUANTILES if quantiles is None else tuple(float(q) for q in quantiles),
        thresholds_us=tuple(int(value) for value in in_us),
        bins_per_octave=int(parameters.bins_per_octave or log_linear.BINS_PER_OCTAVE),
    )


def distribution_request(
    metric: Metric, catalogue: Catalogue, parameters: DistributionParameters, context: RequestContext
) -> DistributionRequest:
    """Return the request for distributions of a metric.

    Raises
    ------
    ProblemError
        404, when the build has no dataset of the metric; 422, when a parameter is unknown or has a value that it cannot
        have; 406 for formats.
    """
    names = parameters.names()
    context.refuse_repeated(names)
    wanted = comma_list("group", parameters.group) or ()
    studies = [] if context.key.studies is None else [STUDY]
    filters = (*(name for name, _ in context.items if name not in names), *studies)
    statistic, arguments = _statistic(parameters)
    if parameters.over is None:
        dataset = dataset_for(metric, catalogue, filters, wanted)
    else:
        units = _units(metric, parameters.over, statistic)
        dataset, unit, replicate = replicated_dataset(metric, catalogue, filters, wanted, units)
    context.key.permit(dataset.name)
    columns = dimensions(dataset)
    selection = select(context, parameters, dataset, columns, wanted)
    group = group_columns(wanted, columns)
    always = (dataset.by_name[name] for name in metric.always)
    group = (*group, *(column for column in always if column not in group))
    over = None if parameters.over is None else replication(dataset, group, unit, replicate, "over")
    return DistributionRequest(metric, dataset, selection, group, statistic, arguments, over)
