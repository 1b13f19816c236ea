"""The bootstrap of sample quantiles without resampling: the chance of each order statistic is known exactly.

A resample of n values has the k-th smallest at or below the j-th order statistic exactly when at least k of n
draws fall on the first j values: a binomial probability. So the bootstrap distribution of a quantile, and of
a difference of two independent ones, needs no random numbers and has no simulation error.

References
----------
.. [1] B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7(1), 1979,
   https://doi.org/10.1214/aos/1176344552 (section 3: the median).
.. [2] A. D. Hutson and M. D. Ernst, "The exact bootstrap mean and variance of an L-estimator", Journal of the
   Royal Statistical Society B 62(1), 2000, https://doi.org/10.1111/1467-9868.00221.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from sojourn_statistics.intervals.order_statistics import exact_product_ceiling
from sojourn_statistics.samples.arrays import Reals
from sojourn_statistics.samples.estimate import LEVEL

NEGLIGIBLE = 1e-9
"""Order statistics less likely than this are omitted: with thousands of values, nearly all of them."""


@lru_cache(maxsize=4096)
def order_statistic_chances(n: int, probability: float) -> tuple[int, Reals]:
    """Return the first order statistic (from 0) that a resampled quantile may be, and the chances from it on."""
    rank = exact_product_ceiling(probability, n)
    at_most = scipy.stats.binom.sf(rank - 1, n, np.arange(n + 1) / n)
    chances = np.diff(at_most)
    kept = np.flatnonzero(chances > NEGLIGIBLE)
    first, last = int(kept[0]), int(kept[-1])
    selected: Reals = chances[first : last + 1] / chances[first : last + 1].sum()
    selected.setflags(write=False)
    return first, selected


def quantile_difference_bounds(
    ordered: Reals, baseline_ordered: Reals, probability: float, level: float = LEVEL
) -> tuple[Reals, Reals]:
    """Return the percentile bounds of the bootstrap of a difference of quantiles.

    Parameters
    ----------
    ordered, baseline_ordered : float, shapes (…, m) and (…, n)
        Each in ascending order along the last axis.
    probability : float
    level : float

    Returns
    -------
    lower, upper : float, shape (…)
    """
    first, chances = order_statistic_chances(ordered.shape[-1], probability)
    baseline_first, baseline_chances = order_statistic_chances(baseline_ordered.shape[-1], probability)
    left = ordered[..., first : first + chances.size]
    right = baseline_ordered[..., baseline_first : baseline_first + baseline_chances.size]
    differences = (left[..., :, None] - right[..., None, :]).reshape(*ordered.shape[:-1], -1)
    weights = np.outer(chances, baseline_chances).ravel()
    order = np.argsort(differences, axis=-1, kind="stable")
    cumulative = np.cumsum(weights[order], axis=-1)
    tail = (1 - level) / 2
    # The first difference whose cumulative chance passes the tail, from either side.
    low = (cumulative <= tail).sum(axis=-1, keepdims=True)
    high = (cumulative < 1 - tail).sum(axis=-1, keepdims=True)
    last = differences.shape[-1] - 1
    positions = np.take_along_axis(order, np.minimum(np.concatenate([low, high], axis=-1), last), axis=-1)
    bounds = np.take_along_axis(differences, positions, axis=-1)
    return bounds[..., 0], bounds[..., 1]
