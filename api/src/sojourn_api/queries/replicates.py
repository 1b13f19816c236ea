"""Statistics of distributions over replicates: one value of each run, day or month, or of the hosts themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from sojourn_api.distribution_statistics import Bounded
from sojourn_api.formats import OutputColumn
from sojourn_api.problems import ProblemError
from sojourn_api.queries.aggregation import STUDIES
from sojourn_api.queries.distributions import grouped_histograms
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.distributions import DistributionRequest, Replication
from sojourn_api.requests.selection import STUDY
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet
from sojourn_statistics.quality.replicated_groups import replicated_median
from sojourn_statistics.samples.estimate import LEVEL

Row = dict[str, Any]
Span = tuple[int, int]
TYPES: Final = {"BIGINT": pa.int64(), "VARCHAR": pa.string(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}


def spans_of_groups(table: pa.Table, names: Sequence[str], points: int, max_rows: int) -> list[tuple[Row, Span]]:
    """Return each group of replicates with its first row and its end; rows of a group are neighbours.

    Raises
    ------
    ProblemError
        422, when the groups have more than `max_rows` rows of `points` each.
    """
    columns = [table.column(name).to_pylist() for name in names]
    keys = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    spans = list(_spans(keys))
    if len(spans) * points > max_rows:
        detail = f"The result has more than {max_rows} rows. Filter more or group by fewer columns."
        raise ProblemError("result-too-large", detail, maximum=max_rows)
    return [(dict(zip(names, keys[first], strict=True)), (first, end)) for first, end in spans]


def _spans(keys: Sequence[tuple[object, ...]]) -> Iterator[Span]:
    """Yield first and end of each run of equal keys."""
    first = 0
    for place in range(1, len(keys) + 1):
        if place == len(keys) or keys[place] != keys[first]:
            yield first, place
            first = place


def pooled_studies(table: pa.Table, request: DistributionRequest) -> list[str | None] | None:
    """Return the study of each replicate, or None where groups do not pool studies."""
    return table.column(STUDY).to_pylist() if request.has_replicates_of_studies else None


def studies_between(studies: Sequence[str | None] | None, span: Span) -> int | None:
    """Return how many studies the replicates of a group are of."""
    return None if studies is None else len({*studies[slice(*span)]} - {None})


def result_table(
    table: pa.Table, names: Sequence[str], rows: Sequence[Row], output: Sequence[OutputColumn]
) -> pa.Table:
    """Return rows as a table, in which the columns of the group have the types of `table` without dictionaries."""
    arrays = [
        pa.array(
            [row[column.name] for row in rows],
            plain_type(table, column.name) if column.name in names else TYPES[column.type],
        )
        for column in output
    ]
    return pa.table(arrays, names=[column.name for column in output])


def plain_type(table: pa.Table, name: str) -> pa.DataType:
    """Return the type of a column without its dictionary."""
    type_ = table.schema.field(name).type
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _output(request: DistributionRequest, place: str, bounds: Sequence[str], unit: str) -> tuple[OutputColumn, ...]:
    return (
        *(OutputColumn(column.name, column.type, column.unit) for column in request.group),
        OutputColumn("replication_unit", "VARCHAR", None),
        OutputColumn("replicates", "BIGINT", None),
        OutputColumn("n", "BIGINT", request.metric.count),
        *([STUDIES] if request.has_replicates_of_studies else []),
        OutputColumn(place, "DOUBLE", place.rpartition("_")[2]),
        *(OutputColumn(name, "DOUBLE", unit) for name in bounds),
        OutputColumn("level_ratio", "DOUBLE", "ratio"),
        OutputColumn("interval_null_reason", "VARCHAR", None),
    )


def fetch_replicated(
    runner: QueryRunner, snapshot: Snapshot, request: DistributionRequest, max_rows: int
) -> tuple[pa.Table, tuple[OutputColumn, ...]]:
    """Return the statistic of each group with its interval over replicates, one row a point, and the columns.

    Raises
    ------
    ProblemError
        422, when there are more than `max_rows` rows.
    """
    over, statistic = request.over, request.statistic
    assert over is not None
    assert statistic.replicable is not None
    assert statistic.points is not None
    assert statistic.of_all is not None
    table, histograms, groups = grouped_histograms(runner, snapshot, request)
    names = [column.name for column in request.group]
    number = statistic.points(request.arguments)
    spans = spans_of_groups(table, names, number, max_rows)
    points, totals = statistic.of_all(histograms, groups, request.arguments)
    values = points[statistic.replicable.value].reshape(len(groups), number)
    places = points[statistic.replicable.place].reshape(len(groups), number)
    studies = pooled_studies(table, request)
    # `value_ms` is named after what the metric measures.
    stem, _, unit = statistic.replicable.value.rpartition("_")
    stem = request.metric.quantity if stem == "value" else stem
    value, lower, upper = f"{stem}_{unit}", f"{stem}_lower_{unit}", f"{stem}_upper_{unit}"
    rows: list[Row] = []
    for key, (first, end) in spans:
        bounded = (
            _of_counted(histograms, groups.between(first, end), request, over)
            if over.is_counted
            else [_of_replicates(values[first:end, point].tolist(), over) for point in range(number)]
        )
        rows += [
            {
                **key,
                "replication_unit": over.unit,
                "replicates": one.replicates,
                "n": int(totals[first:end].sum()),
                STUDIES.name: studies_between(studies, (first, end)),
                statistic.replicable.place: float(places[first, point]),
                value: one.value,
                lower: one.lower,
                upper: one.upper,
                "level_ratio": None if one.lower is None else LEVEL,
                "interval_null_reason": one.null_reason,
            }
            for point, one in enumerate(bounded)
        ]
    output = _output(request, statistic.replicable.place, (value, lower, upper), unit)
    return result_table(table, names, rows, output), output


def _of_replicates(values: list[float], over: Replication) -> Bounded:
    median = replicated_median(values, over.unit)
    return Bounded(median.replicates, median.median, median.lower, median.upper, median.null_reason)


def _of_counted(
    histograms: HistogramSet, group: Groups, request: DistributionRequest, over: Replication
) -> list[Bounded]:
    assert request.statistic.replicable is not None
    _, bins, counts = histograms.merged(group)
    return request.statistic.replicable.of_counted((bins, counts), request.arguments, over.unit)
