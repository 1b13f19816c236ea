"""Comparisons of shares of delayed connections and hosts in the wild, where connections come in clusters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from sojourn_api.catalogue import Dataset
from sojourn_api.filters import Filters
from sojourn_api.formats import OutputColumn
from sojourn_api.parameters import Items, one_of, single
from sojourn_api.problems import ProblemError, invalid_parameter, quoted
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.comparison.configurations import verdict
from sojourn_statistics.comparison.share_difference import (
    ClusterSums,
    ShareDifference,
    share_difference,
    share_difference_of_sums,
)
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.significance.multiplicity import CORRECTIONS, Correction, corrected

LEVELS = ("0.9", "0.95", "0.99")
_DECIMAL = re.compile(r"^[0-9]{1,9}(\.[0-9]{1,3})?$")
_BASIS = ("dataset", "synthetic", "rtt_basis", "sample_basis")


@dataclass(frozen=True)
class ShareMetric:
    """A share above a threshold, with the clusters that its connections come in. `strata` are never pooled."""

    name: str
    dataset: str
    strata: tuple[str, ...]
    factors: tuple[str, ...]
    replication_unit: str
    description: str


SHARE_METRICS = {
    metric.name: metric
    for metric in (
        ShareMetric(
            "connection_delay_share",
            "connection_queuing_delay_as_histogram",
            _BASIS,
            ("access_technology", "country"),
            "autonomous system",
            "share of connections above a threshold, clustered by autonomous system",
        ),
        ShareMetric(
            "connection_delay_share_by_host",
            "queuing_delay_share",
            (*_BASIS, "period_kind", "period"),
            ("access_technology",),
            "host",
            "share of connections above a threshold, clustered by host",
        ),
        ShareMetric(
            "host_delay_share",
            "queuing_delay_share",
            (*_BASIS, "period_kind", "period"),
            ("access_technology",),
            "host",
            "share of hosts with a connection above a threshold",
        ),
    )
}
SHARE_FACTORS = ("access_technology", "country")


@dataclass(frozen=True)
class ShareQuery:
    """Comparisons of a share by one factor."""

    metric: ShareMetric
    dataset: Dataset
    filters: Filters
    factor: str
    baseline: str
    threshold_us: int
    correction: Correction
    level: float

    @property
    def of_systems(self) -> bool:
        """Whether the clusters are autonomous systems, which the dataset names."""
        return "asn" in self.dataset.by_name

    @property
    def effective_threshold_us(self) -> int:
        """Largest value of the threshold's bin: what is above it is known exactly."""
        if not self.of_systems:
            return self.threshold_us
        return int(log_linear.bin_upper_us(log_linear.bin_index([self.threshold_us]))[0]) - 1

    def sql(self) -> str:
        """Return one row a stratum, value of the factor and cluster, or one with sums over clusters."""
        strata = ", ".join(self.dataset.by_name[name].sql for name in self.metric.strata)
        factor = self.dataset.by_name[self.factor].sql
        selected = f"(select * from {self.dataset.sql} {self.filters.where})"
        if not self.of_systems:
            return f"select * from {selected} where threshold_ms = {self.threshold_us / 1000!r} and {factor} != 'all'"
        return f"""
            select {strata}, {factor}, asn, cast(sum(connections) as bigint) as size,
                cast(
                    coalesce(sum(connections) filter (where bin_lower_us > {self.effective_threshold_us}), 0) as bigint
                ) as event
            from {selected} where asn > 0 and {factor} != 'withheld'
            group by {strata}, {factor}, asn order by {strata}, {factor}, asn
        """

    @property
    def output(self) -> tuple[OutputColumn, ...]:
        """Names, types and units of the result."""
        types = {"string": "VARCHAR", "double": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"}
        schema = _schema(self.metric)
        return tuple(OutputColumn(field.name, types[str(field.type)], _unit(field.name)) for field in schema)


def _unit(name: str) -> str | None:
    suffix = name.rpartition("_")[2]
    return suffix if suffix in ("ratio", "ms") else None


def share_query(metric: ShareMetric, dataset: Dataset, items: Items, filters: Filters) -> ShareQuery:
    """Return the query of a request.

    Raises
    ------
    ProblemError
        422, when a parameter is missing or has a value that it cannot have.
    """
    factor = one_of(items, "factor", metric.factors)
    if factor is None:
        raise invalid_parameter("factor", "is needed: what is compared by", allowed=list(metric.factors))
    baseline = single(items, "baseline")
    if baseline is None:
        raise invalid_parameter("baseline", f"is needed: the {factor} that others are compared with")
    if single(items, "margin") is not None:
        raise invalid_parameter("margin", "does not apply to shares")
    threshold = single(items, "threshold_ms")
    if threshold is None or not _DECIMAL.match(threshold):
        raise invalid_parameter("threshold_ms", "is needed: a number of ms with at most three decimals")
    return ShareQuery(
        metric=metric,
        dataset=dataset,
        filters=filters,
        factor=factor,
        baseline=baseline,
        threshold_us=round(float(threshold) * 1000),
        correction=cast(Correction, one_of(items, "correction", CORRECTIONS) or "holm"),
        level=float(one_of(items, "level", LEVELS) or "0.95"),
    )


def fetch_shares(runner: QueryRunner, snapshot: Snapshot, query: ShareQuery, max_rows: int) -> pa.Table:
    """Return one row a comparison with the baseline.

    Raises
    ------
    ProblemError
        422, when nothing that is selected has the baseline or the threshold, or there are too many comparisons.
    """
    rows = runner.run(snapshot, query.sql(), query.filters.parameters).to_pylist()
    if not rows and not query.of_systems:
        raise invalid_parameter("threshold_ms", "no share of it is published; those of queuing_delay_share are")
    known = sorted({str(row[query.factor]) for row in rows})
    if query.baseline not in known:
        raise invalid_parameter(
            "baseline", f"nothing that is selected has {query.factor} = {quoted(query.baseline)}", known=known
        )
    strata: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        groups = strata.setdefault(tuple(row[name] for name in query.metric.strata), {})
        groups.setdefault(str(row[query.factor]), []).append(row)
    found: list[dict[str, Any]] = []
    for stratum in sorted(strata, key=lambda key: tuple(str(part) for part in key)):
        groups = strata[stratum]
        if query.baseline in groups:
            found += _family(query, stratum, groups)
    if len(found) > max_rows:
        raise ProblemError(
            "result-too-large", f"The result has more than {max_rows} rows. Filter more.", maximum=max_rows
        )
    return pa.Table.from_pylist(found, schema=_schema(query.metric))


def _family(
    query: ShareQuery, stratum: tuple[Any, ...], groups: dict[str, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    baseline = groups[query.baseline]
    others = [value for value in sorted(groups) if value != query.baseline]
    differences = [_compared(query, groups[value], baseline) for value in others]
    p_values = [one.test.p_value for one in differences]
    family = sum(p is not None for p in p_values)
    rows = []
    for value, one, p in zip(others, differences, corrected(p_values, query.correction), strict=True):
        interval = one.shift.interval
        rows.append(
            dict(zip(query.metric.strata, stratum, strict=True))
            | {
                "metric": query.metric.name,
                "factor": query.factor,
                "treatment": value,
                "baseline": query.baseline,
                "threshold_ms": query.threshold_us / 1000,
                "effective_threshold_ms": query.effective_threshold_us / 1000,
                "replication_unit": one.shift.replication_unit,
                "treatment_n": one.shift.n[0],
                "baseline_n": one.shift.n[1],
                "treatment_share_ratio": one.treatment_share,
                "baseline_share_ratio": one.baseline_share,
                "estimator": one.shift.estimator,
                "effect": one.shift.value,
                "effect_lower": None if interval is None else interval.lower,
                "effect_upper": None if interval is None else interval.upper,
                "interval_level_ratio": query.level,
                "interval_method": None if interval is None else interval.method,
                "interval_null_reason": one.shift.interval_null_reason,
                "test": one.test.test,
                "p_value": one.test.p_value,
                "p_null_reason": one.test.p_null_reason,
                "correction": query.correction,
                "family_tests": family,
                "p_corrected": p,
                "notes": "; ".join(one.shift.notes) or None,
                "verdict": verdict(one, "ratio", p),
                "is_upper_bound": True,
            }
        )
    return rows


def _compared(query: ShareQuery, treatment: list[dict[str, Any]], baseline: list[dict[str, Any]]) -> ShareDifference:
    unit = query.metric.replication_unit
    if not query.of_systems:
        return share_difference_of_sums(_sums(query, treatment), _sums(query, baseline), unit, query.level)
    systems = np.unique([row["asn"] for row in (*treatment, *baseline)])
    return share_difference(*_aligned(systems, treatment), *_aligned(systems, baseline), unit, query.level)


def _aligned(systems: Any, rows: Iterable[dict[str, Any]]) -> tuple[Any, Any]:
    events, sizes = np.zeros(systems.size), np.zeros(systems.size)
    for row in rows:
        place = np.searchsorted(systems, row["asn"])
        events[place], sizes[place] = row["event"], row["size"]
    return events, sizes


def _sums(query: ShareQuery, rows: list[dict[str, Any]]) -> ClusterSums:
    (row,) = rows
    if query.metric.name == "host_delay_share":
        hosts, above = row["hosts"], row["hosts_above"]
        return ClusterSums(hosts, hosts, above, hosts, above, above)
    return ClusterSums(
        row["hosts"],
        row["connections"],
        row["connections_above"],
        row["connections_squared"],
        row["connections_times_above"],
        row["connections_above_squared"],
    )


def _schema(metric: ShareMetric) -> pa.Schema:
    text, real, whole = pa.string(), pa.float64(), pa.int64()
    columns: list[tuple[str, pa.DataType]] = [
        *((name, pa.bool_() if name == "synthetic" else text) for name in metric.strata),
        *((name, text) for name in ("metric", "factor", "treatment", "baseline")),
        *((name, real) for name in ("threshold_ms", "effective_threshold_ms")),
        ("replication_unit", text),
        *((name, whole) for name in ("treatment_n", "baseline_n")),
        *((name, real) for name in ("treatment_share_ratio", "baseline_share_ratio")),
        ("estimator", text),
        *((name, real) for name in ("effect", "effect_lower", "effect_upper", "interval_level_ratio")),
        *((name, text) for name in ("interval_method", "interval_null_reason", "test")),
        ("p_value", real),
        *((name, text) for name in ("p_null_reason", "correction")),
        ("family_tests", whole),
        ("p_corrected", real),
        *((name, text) for name in ("notes", "verdict")),
        ("is_upper_bound", pa.bool_()),
    ]
    return pa.schema(columns)
