"""How long connections in the wild wait, and how many wait long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row
from sojourn_statistics.findings.wording import counted, milliseconds, percent_of

THRESHOLD_MS = 100.0
"""Delay above which connections are counted."""

_BASIS = ("dataset", "synthetic", "rtt_basis", "sample_basis")


def wild_findings(shares: Iterable[Row], quantiles: Iterable[Row]) -> list[Finding]:
    """Return for each data set and basis, which are never pooled, the median wait and the share above a threshold.

    Rows are those of ``queuing_delay_share`` and ``connection_queuing_delay_quantile`` over everything: of all periods
    and access technologies. Shares above other thresholds than :data:`THRESHOLD_MS`, and quantiles other than the
    median, are left out.
    """
    by_basis: dict[tuple[Any, ...], list[Row]] = {}
    for row in shares:
        by_basis.setdefault(_basis(row), []).append(row)
    medians = {_basis(row): row["queuing_delay_ms"] for row in quantiles if abs(row["quantile_ratio"] - 0.5) < 1e-4}
    totals: dict[bool, int] = {}
    for key, rows in by_basis.items():
        totals[key[1]] = totals.get(key[1], 0) + max(row["connections"] for row in rows)
    return [_finding(key, rows, medians.get(key), totals[key[1]]) for key, rows in by_basis.items()]


def _basis(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _BASIS)


def _finding(key: tuple[Any, ...], rows: list[Row], median_ms: float | None, total: int) -> Finding:
    setting = dict(zip(_BASIS, key, strict=True))
    connections = max(row["connections"] for row in rows)
    hosts = max(row["hosts"] for row in rows)
    above = next((row["connections_above"] for row in rows if row["threshold_ms"] == THRESHOLD_MS), None)
    kind = "synthetic" if setting["synthetic"] else "measured"
    headline, detail, numbers = "No median to report.", "", []
    if median_ms is not None:
        headline = f"Half of the {counted(connections, f'{kind} connection')} wait at most {milliseconds(median_ms)}."
        numbers.append(_number("queuing_delay_median_ms", median_ms, "ms", connections))
    if above is not None:
        waits = "waits" if above == 1 else "wait"
        detail = (
            f"At most {above:,} of them ({percent_of(above, connections)}) {waits} longer than "
            f"{milliseconds(THRESHOLD_MS)}."
        )
        numbers.append(_number("share_above_100_ms_ratio", above / connections, "ratio", connections))
    return Finding(
        question="wild",
        setting=setting,
        verdict="cannot tell" if median_ms is None else "answered",
        subject=None,
        headline=headline,
        detail=detail,
        context=(
            f"{setting['dataset']} · {connections:,} of {counted(total, f'{kind} connection')} of this build, of "
            f"{counted(hosts, 'host')} · maximum minus minimum of the RTT of a connection, an upper bound on its wait"
        ),
        sources=("queuing_delay_share", "connection_queuing_delay_quantile"),
        numbers=tuple(numbers),
    )


def _number(metric: str, value: float, unit: str, connections: int) -> FindingNumber:
    return FindingNumber(None, metric, "all", value, None, None, unit, connections, "connections")
