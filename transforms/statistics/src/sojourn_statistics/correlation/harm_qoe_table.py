"""Correlation of harm with quality scores over runs, by application and queue: for each link and over all links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from sojourn_statistics.correlation.coefficients import pearson, spearman
from sojourn_statistics.ids import id_part
from sojourn_statistics.samples.estimate import LEVEL, Estimate
from sojourn_statistics.table_column import TableColumn

Row = Mapping[str, Any]

FEWEST_RUNS = 3
"""Runs below which nothing is correlated."""

_TEXT, _REAL, _WHOLE = pa.string(), pa.float64(), pa.int64()


def _estimate_columns(name: str, title: str) -> tuple[TableColumn, ...]:
    return (
        TableColumn(name, _REAL, None, f"{title} of harm and score, -1 to 1; null with the reason."),
        TableColumn(f"{name}_lower", _REAL, None, "Lower end of its interval."),
        TableColumn(f"{name}_upper", _REAL, None, "Upper end of its interval."),
        TableColumn(f"{name}_method", _TEXT, None, "How the interval was found."),
        TableColumn(f"{name}_null_reason", _TEXT, None, "Why there is no interval, or no value at all."),
    )


COLUMNS = (
    TableColumn("harm_qoe_correlation_id", _TEXT, None, "All that identifies the row, as one text.", False),
    TableColumn("study_id", _TEXT, None, "Study.", False),
    TableColumn("qoe_metric", _TEXT, None, "Quality metric.", False),
    TableColumn("harm_metric", _TEXT, None, "What harm is judged by: throughput, delay, jitter or loss.", False),
    TableColumn("application", _TEXT, None, "Application.", False),
    TableColumn("workload", _TEXT, None, "What ran.", False),
    TableColumn("aqm", _TEXT, None, "Queue discipline.", False),
    TableColumn("queue_label", _TEXT, None, "Queue discipline and size, as people name it.", False),
    TableColumn("bandwidth_bps", _WHOLE, "bit/s", "Bottleneck rate; null if runs of all rates are pooled."),
    TableColumn("rtt_ms", _REAL, "ms", "Round-trip time; null if runs of all rates and times are pooled."),
    TableColumn(
        "pooled", _TEXT, None, "What differs between the runs: flows (congestion control, start order) or links too.",
        False,
    ),
    TableColumn("runs", _WHOLE, None, "Runs with both harm and score: what the correlations are over.", False),
    TableColumn("excluded_runs", _WHOLE, None, "Excluded runs; run has the reason of each.", False),
    TableColumn("runs_without_score", _WHOLE, None, "Runs of the group with harm that no score was found for.",
                     False),
    TableColumn("runs_without_harm", _WHOLE, None, "Runs of the group with a score whose harm is null.", False),
    *_estimate_columns("pearson", "Pearson's correlation"),
    *_estimate_columns("spearman", "Spearman's rank correlation"),
    TableColumn("interval_level_ratio", _REAL, "ratio", "Confidence level of the intervals.", False),
    TableColumn("replication_unit", _TEXT, None, "What runs counts.", False),
)  # fmt: skip
"""Columns of the table, for the mart and the documentation."""


def schema() -> pa.Schema:
    """Return the Arrow schema of the table."""
    return pa.schema([pa.field(column.name, column.type) for column in COLUMNS])


def _described(name: str, result: Estimate | None) -> dict[str, Any]:
    if result is None:
        return {f"{name}_null_reason": f"fewer than {FEWEST_RUNS} runs with both"}
    interval = result.interval
    return {
        name: None if result.value != result.value else result.value,
        f"{name}_lower": None if interval is None else interval.lower,
        f"{name}_upper": None if interval is None else interval.upper,
        f"{name}_method": None if interval is None else interval.method,
        f"{name}_null_reason": result.interval_null_reason,
    }


def correlate_harm_and_qoe(rows: Iterable[Row], level: float = LEVEL) -> pa.Table:
    """Correlate harm with quality scores over the runs of each group.

    Parameters
    ----------
    rows : iterable of mappings
        One run, harm metric and quality metric each: study_id, run_id, qoe_metric, harm_metric, application,
        workload, aqm, queue_label, bandwidth_bps, rtt_ms, exclusion_reason, harm_ratio and qoe_score, either of
        which may be None. Excluded runs are counted, not correlated.
    level : float

    Returns
    -------
    pyarrow.Table
        Columns `COLUMNS`, one row per group, in their order. Runs of one study, quality metric, harm metric,
        application, workload and queue are a group, once for each link (`pooled` flows) and once over all links.
        A group in which no run has both is omitted.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        kind = tuple(
            row[name]
            for name in ("study_id", "qoe_metric", "harm_metric", "application", "workload", "aqm", "queue_label")
        )
        groups.setdefault((*kind, row["bandwidth_bps"], row["rtt_ms"], "flows"), []).append(row)
        groups.setdefault((*kind, None, None, "links"), []).append(row)
    result = [_correlated(key, members, level) for key, members in groups.items()]
    kept = sorted((row for row in result if row["runs"] > 0), key=lambda row: str(row["harm_qoe_correlation_id"]))
    return pa.Table.from_pylist(kept, schema=schema())


def _correlated(key: tuple[Any, ...], members: list[Row], level: float) -> dict[str, Any]:
    # In one order, so that sums come out the same to the last bit.
    counted = sorted((row for row in members if row["exclusion_reason"] is None), key=lambda row: str(row["run_id"]))
    both = [row for row in counted if row["harm_ratio"] is not None and row["qoe_score"] is not None]
    harm, score = [float(row["harm_ratio"]) for row in both], [float(row["qoe_score"]) for row in both]
    enough = len(both) >= FEWEST_RUNS
    names = [column.name for column in COLUMNS[1:11]]
    return {
        "harm_qoe_correlation_id": "/".join(id_part(name, part, "all") for name, part in zip(names, key, strict=True)),
        **dict(zip(names, key, strict=True)),
        "runs": len(both),
        "excluded_runs": len(members) - len(counted),
        "runs_without_score": sum(row["qoe_score"] is None and row["harm_ratio"] is not None for row in counted),
        "runs_without_harm": sum(row["harm_ratio"] is None and row["qoe_score"] is not None for row in counted),
        **_described("pearson", pearson(harm, score, level=level) if enough else None),
        **_described("spearman", spearman(harm, score, level=level) if enough else None),
        "interval_level_ratio": level,
        "replication_unit": "run",
    }
