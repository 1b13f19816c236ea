"""Comparisons of otherwise equal configurations among the runs that a request selects."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from sojourn_api.catalogue import Column, Dataset, identifier
from sojourn_api.filters import Filters, parse_value
from sojourn_api.formats import OutputColumn
from sojourn_api.parameters import Items, one_of, single
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.share_comparisons import SHARE_METRICS
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.comparison.metrics import CONFIGURATION, FACTORS, METRICS, ComparisonMetric, Factor
from sojourn_statistics.comparison.table import COLUMNS, EQUIVALENCE_COLUMNS, compare_configurations
from sojourn_statistics.significance.multiplicity import CORRECTIONS, Correction

LEVELS = ("0.9", "0.95", "0.99")
RESULTS_KEPT = 64

_MARGIN = re.compile(r"^[0-9]{1,12}(\.[0-9]{1,12})?$")
_DUCKDB_TYPES = {"string": "VARCHAR", "double": "DOUBLE", "int64": "BIGINT"}


def metric_of(name: str) -> ComparisonMetric:
    """Return the metric of a name, or raise the problem that lists the known ones."""
    if name not in METRICS:
        raise ProblemError(
            "unknown-metric",
            f"{quoted(name)} is not a metric",
            metric=name[:200],
            known=sorted([*METRICS, *SHARE_METRICS]),
        )
    return METRICS[name]


@dataclass(frozen=True)
class ComparisonQuery:
    """Comparisons of a metric by one factor, over selected runs."""

    metric: ComparisonMetric
    dataset: Dataset
    filters: Filters
    factor: Factor
    baseline: str | float | int
    correction: Correction
    level: float
    margin: float | None

    def sql(self) -> str:
        """Return the selected runs; a part of the configuration that the build does not know is null."""
        known = self.dataset.by_name
        selected = [
            known[name].sql if name in known else f"cast(null as varchar) as {identifier(name)}"
            for name in ("run_id", "repetition", *CONFIGURATION, *self.metric.strata, self.metric.column)
        ]
        return f"select {', '.join(selected)} from {self.dataset.sql} {self.filters.where}"

    @property
    def output(self) -> tuple[OutputColumn, ...]:
        """Names, types and units of the result."""
        declared = COLUMNS if self.margin is None else (*COLUMNS, *EQUIVALENCE_COLUMNS)
        return tuple(OutputColumn(column.name, _DUCKDB_TYPES[str(column.type)], column.unit) for column in declared)


def _baseline(items: Items, column: Column) -> str | float | int:
    text = single(items, "baseline")
    if text is None:
        raise invalid_parameter("baseline", f"is needed: the {column.name} that others are compared with")
    return cast("str | float | int", parse_value("baseline", text, column))


def comparison_query(metric: ComparisonMetric, dataset: Dataset, items: Items, filters: Filters) -> ComparisonQuery:
    """Return the query of a request.

    Raises
    ------
    ProblemError
        422, when a parameter is missing or has a value that it cannot have.
    """
    if single(items, "threshold_ms") is not None:
        raise invalid_parameter("threshold_ms", "applies to shares of connections and hosts only")
    allowed = [name for name in FACTORS if name in dataset.by_name]
    factor = one_of(items, "factor", allowed)
    if factor is None:
        raise invalid_parameter("factor", "is needed: what configurations are compared by", allowed=allowed)
    margin = single(items, "margin")
    if margin is not None and (not _MARGIN.match(margin) or float(margin) == 0):
        raise invalid_parameter("margin", f"{quoted(margin)} is not a number above 0, in the metric's unit")
    return ComparisonQuery(
        metric=metric,
        dataset=dataset,
        filters=filters,
        factor=FACTORS[factor],
        baseline=_baseline(items, dataset.by_name[factor]),
        correction=cast(Correction, one_of(items, "correction", CORRECTIONS) or "holm"),
        level=float(one_of(items, "level", LEVELS) or "0.95"),
        margin=None if margin is None else float(margin),
    )


def fetch_comparisons(runner: QueryRunner, snapshot: Snapshot, query: ComparisonQuery, max_rows: int) -> pa.Table:
    """Return one row a comparison.

    Raises
    ------
    ProblemError
        422, when no selected run has the baseline, or there are too many comparisons.
    """
    rows: list[dict[str, Any]] = runner.run(snapshot, query.sql(), query.filters.parameters).to_pylist()
    values = {row[query.factor.name] for row in rows} - {None}
    if query.baseline not in values:
        raise invalid_parameter(
            "baseline",
            f"no run that is selected has {query.factor.name} = {quoted(str(query.baseline))}",
            known=sorted(values),
        )
    table = compare_configurations(
        rows, query.metric, query.factor, query.baseline, query.correction, query.level, query.margin
    )
    if table.num_rows > max_rows:
        raise ProblemError(
            "result-too-large", f"The result has more than {max_rows} rows. Filter more.", maximum=max_rows
        )
    return table


class ResultCache:
    """Results of the build being served, least recently used first to go.

    A snapshot never changes, so a result is valid as long as its build is served; those of another build are
    dropped when the first of a new one comes in.
    """

    def __init__(self, kept: int = RESULTS_KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._build_id = ""
        self._results: OrderedDict[Any, pa.Table] = OrderedDict()

    def get(self, build_id: str, key: Any, compute: Callable[[], pa.Table]) -> pa.Table:
        """Return the result of a key, computed unless it is known."""
        with self._lock:
            if self._build_id == build_id and key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        result = compute()
        with self._lock:
            if self._build_id != build_id:
                self._build_id = build_id
                self._results.clear()
            self._results[key] = result
            while len(self._results) > self._kept:
                self._results.popitem(last=False)
        return result
