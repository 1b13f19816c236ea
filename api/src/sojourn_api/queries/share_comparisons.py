"""Comparisons of shares of delayed connections and hosts in the wild, where connections come in clusters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sojourn_api.formats import OutputColumn
from sojourn_api.problems import ProblemError, invalid_parameter
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.comparisons import ShareRequest
from sojourn_api.requests.value_words import known_baseline
from sojourn_api.share_metrics import ShareMetric
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.comparison.configurations import verdict
from sojourn_statistics.comparison.share_difference import (
    ClusterSums,
    ShareDifference,
    share_difference,
    share_difference_of_sums,
)
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.significance.multiplicity import corrected


def of_systems(request: ShareRequest) -> bool:
    """Return whether the clusters are autonomous systems, which the dataset names."""
    return "asn" in request.dataset.by_name


def effective_threshold_us(request: ShareRequest) -> int:
    """Return the largest value of the threshold's bin: what is above it is known exactly."""
    if not of_systems(request):
        return request.threshold_us
    return int(log_linear.bin_upper_us(log_linear.bin_index([request.threshold_us]))[0]) - 1


def shares_sql(request: ShareRequest) -> str:
    """Return one row a stratum, value of the factor and cluster, or one with sums over clusters."""
    strata = ", ".join(request.dataset.by_name[name].sql for name in request.metric.strata)
    factor = request.dataset.by_name[request.factor].sql
    selected = f"(select * from {request.dataset.sql} {request.selection.filters.where})"
    if not of_systems(request):
        return f"select * from {selected} where threshold_ms = {request.threshold_us / 1000!r} and {factor} != 'all'"
    return f"""
        select {strata}, {factor}, asn, cast(sum(connections) as bigint) as size,
            cast(
                coalesce(sum(connections) filter (where bin_lower_us > {effective_threshold_us(request)}), 0) as bigint
            ) as event
        from {selected} where asn > 0 and {factor} != 'withheld'
        group by {strata}, {factor}, asn order by {strata}, {factor}, asn
    """


def shares_output(metric: ShareMetric) -> tuple[OutputColumn, ...]:
    """Return names, types and units of the result."""
    types = {"string": "VARCHAR", "double": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"}
    return tuple(OutputColumn(field.name, types[str(field.type)], _unit(field.name)) for field in _schema(metric))


def _unit(name: str) -> str | None:
    suffix = name.rpartition("_")[2]
    return suffix if suffix in ("ratio", "ms") else None


def fetch_shares(runner: QueryRunner, snapshot: Snapshot, request: ShareRequest, max_rows: int) -> pa.Table:
    """Return one row a comparison with the baseline.

    Raises
    ------
    ProblemError
        422, when nothing that is selected has the baseline or the threshold, or there are too many comparisons.
    """
    rows = runner.run(snapshot, shares_sql(request), request.selection.filters.parameters).to_pylist()
    if not rows and not of_systems(request):
        raise invalid_parameter("threshold_ms", "no row of queuing_delay_share matches it and the filters")
    present = sorted({str(row[request.factor]) for row in rows})
    request = replace(request, baseline=known_baseline(request.factor, request.baseline, present))
    strata: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        groups = strata.setdefault(tuple(row[name] for name in request.metric.strata), {})
        groups.setdefault(str(row[request.factor]), []).append(row)
    comparisons: list[dict[str, Any]] = []
    for stratum in sorted(strata, key=lambda key: tuple(str(part) for part in key)):
        groups = strata[stratum]
        if request.baseline in groups:
            comparisons += _family(request, stratum, groups)
    if len(comparisons) > max_rows:
        raise ProblemError(
            "result-too-large", f"The result has more than {max_rows} rows. Filter more.", maximum=max_rows
        )
    return pa.Table.from_pylist(comparisons, schema=_schema(request.metric))


def _family(
    request: ShareRequest, stratum: tuple[Any, ...], groups: dict[str, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    baseline = groups[request.baseline]
    others = [value for value in sorted(groups) if value != request.baseline]
    differences = [_compared(request, groups[value], baseline) for value in others]
    p_values = [one.test.p_value for one in differences]
    family = sum(p is not None for p in p_values)
    rows = []
    for value, one, p in zip(others, differences, corrected(p_values, request.correction), strict=True):
        interval = one.shift.interval
        rows.append(
            dict(zip(request.metric.strata, stratum, strict=True))
            | {
                "metric": request.metric.name,
                "factor": request.factor,
                "treatment": value,
                "baseline": request.baseline,
                "threshold_ms": request.threshold_us / 1000,
                "effective_threshold_ms": effective_threshold_us(request) / 1000,
                "replication_unit": one.shift.replication_unit,
                "treatment_n": one.shift.n[0],
                "baseline_n": one.shift.n[1],
                "treatment_share_ratio": one.treatment_share,
                "baseline_share_ratio": one.baseline_share,
                "estimator": one.shift.estimator,
                "effect": one.shift.value,
                "effect_lower": None if interval is None else interval.lower,
                "effect_upper": None if interval is None else interval.upper,
                "interval_level_ratio": request.level,
                "interval_method": None if interval is None else interval.method,
                "interval_null_reason": one.shift.interval_null_reason,
                "test": one.test.test,
                "p_value": one.test.p_value,
                "p_null_reason": one.test.p_null_reason,
                "correction": request.correction,
                "family_tests": family,
                "p_corrected": p,
                "notes": "; ".join(one.shift.notes) or None,
                "verdict": verdict(one, "ratio", p),
                "is_upper_bound": True,
            }
        )
    return rows


def _compared(
    request: ShareRequest, treatment: list[dict[str, Any]], baseline: list[dict[str, Any]]
) -> ShareDifference:
    unit = request.metric.replication_unit
    if not of_systems(request):
        return share_difference_of_sums(_sums(request, treatment), _sums(request, baseline), unit, request.level)
    systems = np.unique([row["asn"] for row in (*treatment, *baseline)])
    return share_difference(*_aligned(systems, treatment), *_aligned(systems, baseline), unit, request.level)


def _aligned(systems: Any, rows: Iterable[dict[str, Any]]) -> tuple[Any, Any]:
    events, sizes = np.zeros(systems.size), np.zeros(systems.size)
    for row in rows:
        place = np.searchsorted(systems, row["asn"])
        events[place], sizes[place] = row["event"], row["size"]
    return events, sizes


def _sums(request: ShareRequest, rows: list[dict[str, Any]]) -> ClusterSums:
    (row,) = rows
    if request.metric.name == "host_delay_share":
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
