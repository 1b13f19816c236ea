"""Difference of two shares of connections whose connections are clustered: by host, or by autonomous system.

References
----------
.. [1] K. M. Wolter, "Introduction to Variance Estimation", 2nd ed., Springer 2007, ch. 6,
   https://doi.org/10.1007/978-0-387-35099-8 (Taylor linearisation of ratios of cluster totals).
.. [2] A. C. Cameron and D. L. Miller, "A practitioner's guide to cluster-robust inference", Journal of Human
   Resources 50(2), 2015, https://doi.org/10.3368/jhr.50.2.317 (t with the number of clusters less one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.intervals.cluster import FEW_CLUSTERS
from sojourn_statistics.samples.arrays import Reals, level_checked
from sojourn_statistics.samples.estimate import (
    LEVEL,
    Estimate,
    Interval,
    SignificanceTest,
    estimate,
    refused_test,
)

FEWEST_CLUSTERS = 10
"""Below this, the variance between clusters is known too badly for an interval."""

_ESTIMATOR = "difference of shares, cluster-robust"
_TEST = "cluster-robust t test"
_HYPOTHESIS = "the two shares are equal"


@dataclass(frozen=True)
class ShareDifference:
    """What two shares differ by, treatment minus baseline; named as in `comparison.Comparison`."""

    treatment_share: float
    baseline_share: float
    shift: Estimate
    test: SignificanceTest


@dataclass(frozen=True)
class ClusterSums:
    """Sums over clusters of their connections (size) and of those that count (event).

    All that the share and its variance between clusters need, so that clusters themselves need not be known.
    """

    clusters: int
    size: float
    event: float
    size_squared: float
    size_times_event: float
    event_squared: float

    @property
    def share(self) -> float:
        """Share of the events."""
        return self.event / self.size

    @property
    def variance(self) -> float:
        """Variance of the share between clusters, linearised [1]_, corrected by G / (G - 1); 0 for one cluster."""
        if self.clusters < 2:
            return 0.0
        share = self.share
        squares = self.event_squared - 2 * share * self.size_times_event + share**2 * self.size_squared
        # Rounding may leave a little less than nothing if every cluster has the same share.
        return self.clusters / (self.clusters - 1) * max(squares, 0.0) / self.size**2


def share_difference_of_sums(
    treatment: ClusterSums, baseline: ClusterSums, replication_unit: str = "host", level: float = LEVEL
) -> ShareDifference:
    """Compare two shares of which no cluster is part of both.

    Returns
    -------
    ShareDifference
        Interval by t with the smaller number of clusters less one [2]_; refused when one side has fewer than
        10 clusters, flagged below 20.
    """
    counts = (treatment.clusters, baseline.clusters)
    error = math.sqrt(treatment.variance + baseline.variance)
    return _difference(treatment.share, baseline.share, error, counts, replication_unit, level)


def share_difference(
    treatment_events: npt.ArrayLike,
    treatment_sizes: npt.ArrayLike,
    baseline_events: npt.ArrayLike,
    baseline_sizes: npt.ArrayLike,
    replication_unit: str = "autonomous system",
    level: float = LEVEL,
) -> ShareDifference:
    """Compare two shares whose clusters may be part of both.

    Parameters
    ----------
    treatment_events, treatment_sizes, baseline_events, baseline_sizes : integers, shape (clusters,)
        Of each cluster, its events and connections on both sides; 0 if it has none.
    replication_unit : str
        What a cluster is.
    level : float

    Returns
    -------
    ShareDifference
        The variance is that of the difference, so what a cluster does to both sides alike cancels out. Otherwise as
        `share_difference_of_sums`.

    Raises
    ------
    ValueError
        When one side has no connection, or arrays differ in length.
    """
    x, n, y, m = (
        np.asarray(values, dtype=np.float64)
        for values in (treatment_events, treatment_sizes, baseline_events, baseline_sizes)
    )
    if not x.shape == n.shape == y.shape == m.shape or x.ndim != 1:
        raise ValueError("events and sizes of both sides must have one length")
    if n.sum() == 0 or m.sum() == 0:
        raise ValueError("a share needs at least one connection")
    counts = (int((n > 0).sum()), int((m > 0).sum()))
    involved = int(((n > 0) | (m > 0)).sum())
    left, right = float(x.sum() / n.sum()), float(y.sum() / m.sum())
    residuals: Reals = (x - left * n) / n.sum() - (y - right * m) / m.sum()
    scale = involved / (involved - 1) if involved > 1 else 0.0
    error = math.sqrt(scale * float((residuals**2).sum()))
    return _difference(left, right, error, counts, replication_unit, level)


def _difference(
    treatment: float, baseline: float, error: float, counts: tuple[int, int], unit: str, level: float
) -> ShareDifference:
    level_checked(level)
    value, fewest = treatment - baseline, min(counts)
    notes = (f"few clusters: below {FEW_CLUSTERS}",) if fewest < FEW_CLUSTERS else ()
    if fewest < FEWEST_CLUSTERS:
        reason = (
            f"one {unit}: no interval" if fewest == 1 else f"{fewest} clusters: an interval needs {FEWEST_CLUSTERS}"
        )
        shift = estimate(value, _ESTIMATOR, unit, counts, reason, notes)
        return ShareDifference(treatment, baseline, shift, refused_test(_TEST, _HYPOTHESIS, unit, counts, reason))
    half = float(scipy.stats.t.ppf(0.5 + level / 2, fewest - 1)) * error
    interval = Interval(value - half, value + half, level, "cluster-robust variance, t")
    shift = estimate(value, _ESTIMATOR, unit, counts, interval, notes)
    if error == 0:
        test = refused_test(_TEST, _HYPOTHESIS, unit, counts, "all values are equal")
    else:
        statistic = value / error
        p_value = float(2 * scipy.stats.t.sf(abs(statistic), fewest - 1))
        test = SignificanceTest(_TEST, _HYPOTHESIS, unit, counts, statistic, p_value, None, notes)
    return ShareDifference(treatment, baseline, shift, test)
