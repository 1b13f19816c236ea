"""Correlation of two quantities of the same units.

References
----------
.. [1] R. A. Fisher, "On the 'probable error' of a coefficient of correlation deduced from a small sample",
   Metron 1, 1921, https://hdl.handle.net/2440/15169.
.. [2] C. Spearman, "The proof and measurement of association between two things", American Journal of
   Psychology 15(1), 1904, https://doi.org/10.2307/1412159.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.samples.arrays import Integers, Reals, has_ties, level_checked, sample
from sojourn_statistics.samples.estimate import LEVEL, ONE_REPETITION, Estimate, Interval, estimate
from sojourn_statistics.samples.resampling import RESAMPLES, percentile_bounds, resample_counts

FEWEST_FOR_FISHER = 4
FEWEST_FOR_BOOTSTRAP = 8


def _pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Reals, Reals]:
    first, second = sample(x, "x"), sample(y, "y")
    if first.size != second.size:
        raise ValueError(f"x and y must have one length, got {first.size} and {second.size}")
    return first, second


def pearson(x: npt.ArrayLike, y: npt.ArrayLike, replication_unit: str = "run", level: float = LEVEL) -> Estimate:
    """Estimate the linear correlation, with Fisher's z interval [1]_.

    Parameters
    ----------
    x, y : float, shape (n,)
        Two quantities of the same units.
    replication_unit : str
    level : float

    Returns
    -------
    Estimate
        From -1 to 1. Coverage is near `level` for bivariate normal values and can be far below it for long
        tails: use `spearman` there. Refused below 4 values; NaN when a quantity does not vary.
    """
    first, second = _pairs(x, y)
    n, name = (first.size,), "Pearson correlation"
    if n == (1,):
        return estimate(math.nan, name, replication_unit, n, ONE_REPETITION)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return estimate(math.nan, name, replication_unit, n, "a quantity does not vary")
    result = scipy.stats.pearsonr(first, second)
    if n[0] < FEWEST_FOR_FISHER:
        reason = f"n = {n[0]}: Fisher's z needs {FEWEST_FOR_FISHER}"
        return estimate(float(result.statistic), name, replication_unit, n, reason)
    bounds = result.confidence_interval(level_checked(level))
    interval = Interval(float(bounds.low), float(bounds.high), level, "Fisher's z")
    return estimate(float(result.statistic), name, replication_unit, n, interval)


def resampled_midranks(values: Reals, counts: Integers) -> Reals:
    """Return the midrank of each unit in each resample, float64, shape (resamples, n), by counting.

    A unit's midrank is the number of draws below its value plus the middle of the draws equal to it; this
    needs one sort for all resamples.
    """
    order = np.argsort(values, kind="stable")
    ordered_counts = counts[:, order]
    below_and_own = np.cumsum(ordered_counts, axis=1)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if starts.size == ordered.size:
        ranks = below_and_own - (ordered_counts - 1) / 2
    else:
        ends = np.concatenate([starts[1:], [ordered.size]])
        group = np.repeat(np.arange(starts.size), ends - starts)
        through = below_and_own[:, ends - 1]
        equal = np.diff(through, axis=1, prepend=0)
        ranks = (through - (equal - 1) / 2)[:, group]
    result = np.empty(ranks.shape)
    result[:, order] = ranks
    return result


def spearman_replicates(first: Reals, second: Reals, counts: Integers) -> Reals:
    """Return Spearman's correlation of each resample, shape (resamples,); 0 if a resample does not vary."""
    n = first.size
    centre = (n + 1) / 2
    x, y = resampled_midranks(first, counts) - centre, resampled_midranks(second, counts) - centre
    covariance = np.einsum("ij,ij,ij->i", counts, x, y)
    product = np.einsum("ij,ij,ij->i", counts, x, x) * np.einsum("ij,ij,ij->i", counts, y, y)
    varies = product > 0
    replicates = np.zeros(counts.shape[0])
    replicates[varies] = covariance[varies] / np.sqrt(product[varies])
    return replicates


def spearman(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    replication_unit: str = "run",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the rank correlation [2]_, with a bootstrap interval over units.

    Parameters
    ----------
    x, y : float, shape (n,)
        Two quantities of the same units; ties have midranks.
    replication_unit : str
    level : float
    resamples : int

    Returns
    -------
    Estimate
        From -1 to 1. Expanded percentile interval of the bootstrap of pairs, with a fixed seed; approximate.
        Refused below 8 values; NaN when a quantity does not vary.
    """
    first, second = _pairs(x, y)
    n, name = (first.size,), "Spearman correlation"
    if n == (1,):
        return estimate(math.nan, name, replication_unit, n, ONE_REPETITION)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return estimate(math.nan, name, replication_unit, n, "a quantity does not vary")
    value = float(scipy.stats.spearmanr(first, second).statistic)
    if n[0] < FEWEST_FOR_BOOTSTRAP:
        reason = f"n = {n[0]}: the bootstrap of a rank correlation needs {FEWEST_FOR_BOOTSTRAP}"
        return estimate(value, name, replication_unit, n, reason)
    replicates = spearman_replicates(first, second, resample_counts(n[0], resamples))
    lower, upper = percentile_bounds(replicates, n[0], level_checked(level))
    interval = Interval(
        max(-1.0, float(lower)), min(1.0, float(upper)), level, f"bootstrap of {resamples}, expanded percentile"
    )
    notes = ("ties: midranks",) if has_ties(first) or has_ties(second) else ()
    return estimate(value, name, replication_unit, n, interval, notes)
