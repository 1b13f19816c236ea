"""Medians over replicates of groups, their exact intervals, and the ranks of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn_statistics.intervals.order_statistics import quantile_ranks
from sojourn_statistics.samples.estimate import LEVEL


@dataclass(frozen=True)
class ReplicatedMedian:
    """The median over replicates of a group, with its interval or the reason why there is none."""

    replicates: int
    median: float
    lower: float | None
    upper: float | None
    null_reason: str | None


def replicated_median(values: Sequence[float], replication_unit: str) -> ReplicatedMedian:
    """Return the median of one value per replicate, with the exact interval by order statistics at 95 %.

    Parameters
    ----------
    values
        One value of each replicate, such as the percentile of each day, in any unit; at least one.
    replication_unit
        What was repeated, in the singular: run, day, month.

    Raises
    ------
    ValueError
        There is no value.
    """
    if not values:
        raise ValueError("a median needs at least one value")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    ranks = quantile_ranks(n, 0.5, LEVEL)
    median = float(np.median(ordered))
    if ranks is None:
        reason = (
            f"one {replication_unit}"
            if n == 1
            else f"fewer than 6 {replication_unit}s: an exact 95% interval of the median needs 6"
        )
        return ReplicatedMedian(n, median, None, None, reason)
    lower, upper, _ = ranks
    return ReplicatedMedian(n, median, float(ordered[lower - 1]), float(ordered[upper - 1]), None)


def competition_ranks(values: Sequence[float | None]) -> list[int | None]:
    """Return the rank of each value from the smallest, 1; equal values share a rank, and None has none."""
    present = sorted(value for value in values if value is not None)
    first: dict[float, int] = {}
    for place, value in enumerate(present, 1):
        first.setdefault(value, place)
    return [None if value is None else first[value] for value in values]
