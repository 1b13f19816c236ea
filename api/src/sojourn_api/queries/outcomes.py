"""Scores of groups: the percentile of each replicate, the median over replicates, its interval and its rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sojourn_api.formats import OutputColumn
from sojourn_api.queries.aggregation import STUDIES
from sojourn_api.queries.distributions import grouped_histograms
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.replicates import Row, pooled_studies, result_table, spans_of_groups, studies_between
from sojourn_api.requests.outcomes import REFERENCE, OutcomeRequest
from sojourn_api.snapshot import Snapshot
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.quality.delay import bufferbloat_grade
from sojourn_statistics.quality.outcome import (
    VIDEO_CALL_LATENCY,
    iqb_bounds_by_latency,
    quality_of_outcome,
    responsiveness_rpm,
)
from sojourn_statistics.quality.replicated_groups import ReplicatedMedian, competition_ranks, replicated_median
from sojourn_statistics.samples.estimate import LEVEL

WITHHELD = "withheld"
"""Value of a column in cells that stand for several small ones: no group, so that it has no rank."""

NETWORK = "asn"
"""Column of numbers of networks: one that is withheld or not known is not above 0."""

#: Why a group has no points of AIM, by what the histograms are of.
_NO_AIM: Final = {
    "runs": "the delay of packets alone does not give points: run_aim and configuration_aim also have jitter, "
    "loss and rate",
    "connections": "AIM also needs jitter, loss and download rate, which connections do not have",
    "captures": "AIM also needs jitter, loss and download rate, which the delay of packets does not give",
}
_AIM_OF: Final = {"queuing_delay": "runs", "capture_queuing_delay": "captures"}


def _is_unknown(network: object) -> bool:
    return not isinstance(network, int) or network <= 0


def _grade(estimate: ReplicatedMedian) -> Row:
    return {"bufferbloat_grade": bufferbloat_grade(estimate.median)}


def _of_rtt(estimate: ReplicatedMedian, statistic: object) -> Row:
    """Return what an RTT tells: without load what the barometer can be, with load the round trips a minute."""
    idle = statistic == "minimum"
    rpm = [
        None if idle or value is None or value <= 0 else responsiveness_rpm(value)
        for value in (estimate.median, estimate.upper, estimate.lower)
    ]
    lower, upper = iqb_bounds_by_latency(estimate.median) if idle else (None, None)
    score = (
        None if idle else quality_of_outcome({VIDEO_CALL_LATENCY.quantity: estimate.median}, [VIDEO_CALL_LATENCY])[0]
    )
    return {
        "responsiveness_rpm": rpm[0],
        "responsiveness_lower_rpm": rpm[1],
        "responsiveness_upper_rpm": rpm[2],
        "qoo_latency_score": score,
        "iqb_lower_score": lower,
        "iqb_upper_score": upper,
    }


_SCORES_OF_RTT = (
    OutputColumn("responsiveness_rpm", "DOUBLE", "1/min"),
    OutputColumn("responsiveness_lower_rpm", "DOUBLE", "1/min"),
    OutputColumn("responsiveness_upper_rpm", "DOUBLE", "1/min"),
    OutputColumn("qoo_latency_score", "DOUBLE", None),
    OutputColumn("iqb_lower_score", "DOUBLE", None),
    OutputColumn("iqb_upper_score", "DOUBLE", None),
)


def outcome_output(request: OutcomeRequest) -> tuple[OutputColumn, ...]:
    """Return the columns of a result."""
    replicated = request.replicated
    quantity, count = replicated.metric.quantity, replicated.metric.count
    scores = _SCORES_OF_RTT if quantity == "rtt" else (OutputColumn("bufferbloat_grade", "VARCHAR", None),)
    return (
        *(OutputColumn(column.name, column.type, column.unit) for column in replicated.group),
        OutputColumn("percentile", "BIGINT", None),
        OutputColumn("replication_unit", "VARCHAR", None),
        OutputColumn("replicates", "BIGINT", None),
        OutputColumn("n", "BIGINT", count),
        *([STUDIES] if replicated.has_replicates_of_studies else []),
        OutputColumn(f"{quantity}_ms", "DOUBLE", "ms"),
        OutputColumn(f"{quantity}_lower_ms", "DOUBLE", "ms"),
        OutputColumn(f"{quantity}_upper_ms", "DOUBLE", "ms"),
        *scores,
        OutputColumn("aim_null_reason", "VARCHAR", None),
        OutputColumn("level_ratio", "DOUBLE", "ratio"),
        OutputColumn("interval_null_reason", "VARCHAR", None),
        OutputColumn("group_rank", "BIGINT", None),
        OutputColumn("group_rank_at_p95", "BIGINT", None),
        OutputColumn("is_rank_changed", "BOOLEAN", None),
    )


def fetch_outcomes(
    runner: QueryRunner, snapshot: Snapshot, request: OutcomeRequest, max_rows: int
) -> tuple[pa.Table, tuple[OutputColumn, ...]]:
    """Return one row per group and percentile, and the columns of the result.

    Raises
    ------
    ProblemError
        422, when there are more than `max_rows` rows.
    """
    replicated = request.replicated
    table, histograms, groups = grouped_histograms(runner, snapshot, replicated)
    quantiles = replicated.arguments.quantiles
    bins, totals = histograms.quantile_bins(groups, quantiles)
    values = log_linear.representative_us(bins) / 1000
    names = [column.name for column in replicated.group]
    spans = spans_of_groups(table, names, len(request.percentiles), max_rows)
    studies = pooled_studies(table, replicated)
    rows: list[Row] = []
    ranks: dict[int, dict[int, int | None]] = {}
    for place, quantile in enumerate(quantiles):
        percentile = round(quantile * 100)
        medians = [
            replicated_median(values[slice(*span), place].tolist(), request.replication_unit) for _, span in spans
        ]
        ranks[percentile] = _ranks(request, [key for key, _ in spans], medians)
        if percentile in request.percentiles:
            rows += [
                {
                    "place": number,
                    **_row(request, key, percentile, one),
                    "n": int(totals[slice(*span)].sum()),
                    STUDIES.name: studies_between(studies, span),
                }
                for number, ((key, span), one) in enumerate(zip(spans, medians, strict=True))
            ]
    for row in rows:
        own, reference = ranks[row["percentile"]][row["place"]], ranks[int(REFERENCE)][row["place"]]
        row |= {
            "group_rank": own,
            "group_rank_at_p95": reference,
            "is_rank_changed": None if own is None else own != reference,
        }
    rows.sort(key=lambda row: (row["place"], request.percentiles.index(row["percentile"])))
    output = outcome_output(request)
    return result_table(table, names, rows, output), output


def _row(request: OutcomeRequest, key: Row, percentile: int, estimate: ReplicatedMedian) -> Row:
    quantity = request.replicated.metric.quantity
    return {
        **key,
        "percentile": percentile,
        "replication_unit": request.replication_unit,
        "replicates": estimate.replicates,
        f"{quantity}_ms": estimate.median,
        f"{quantity}_lower_ms": estimate.lower,
        f"{quantity}_upper_ms": estimate.upper,
        **(_of_rtt(estimate, key.get("rtt_statistic")) if quantity == "rtt" else _grade(estimate)),
        "aim_null_reason": _NO_AIM[_AIM_OF.get(request.replicated.metric.name, "connections")],
        "level_ratio": None if estimate.lower is None else LEVEL,
        "interval_null_reason": estimate.null_reason,
    }


def _ranks(
    request: OutcomeRequest, keys: Sequence[Row], estimates: Sequence[ReplicatedMedian]
) -> dict[int, int | None]:
    """Return the rank of each group among those of the same basis, the smallest value first."""
    by_basis: dict[tuple[object, ...], list[int]] = {}
    for number, key in enumerate(keys):
        by_basis.setdefault(tuple(key[name] for name in request.replicated.metric.always), []).append(number)
    ranks: dict[int, int | None] = {}
    for numbers in by_basis.values():
        ranked = [
            None
            if WITHHELD in keys[number].values() or (NETWORK in keys[number] and _is_unknown(keys[number][NETWORK]))
            else estimates[number].median
            for number in numbers
        ]
        ranks.update(zip(numbers, competition_ranks(ranked), strict=True))
    return ranks
