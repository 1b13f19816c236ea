"""Mean, median and quantiles of independent values, with their intervals.

References
----------
.. [1] Student, "The probable error of a mean", Biometrika 6(1), 1908, https://doi.org/10.1093/biomet/6.1.1.
.. [2] W. R. Thompson, "On confidence ranges for the median and other expectation distributions for populations
   of unknown distribution form", Annals of Mathematical Statistics 7(3), 1936,
   https://doi.org/10.1214/aoms/1177732502.
.. [3] R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50(4),
   1996, https://doi.org/10.1080/00031305.1996.10473566.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.histogram import log_linear
from sojourn_statistics.samples.arrays import Reals, level_checked, sample
from sojourn_statistics.samples.estimate import LEVEL, ONE_REPETITION, Estimate, Interval, estimate


def mean_bounds(values: Reals, level: float = LEVEL) -> tuple[Reals, Reals]:
    """Return the t interval of the mean over the last axis (n >= 2): lower, upper, shape (…)."""
    n = values.shape[-1]
    centre = values.mean(axis=-1)
    half = scipy.stats.t.ppf(0.5 + level / 2, n - 1) * values.std(axis=-1, ddof=1) / np.sqrt(n)
    return centre - half, centre + half


def mean(values: npt.ArrayLike, replication_unit: str = "run", level: float = LEVEL) -> Estimate:
    """Estimate the mean, with Student's t interval [1]_.

    Parameters
    ----------
    values : float, shape (n,)
        One independent value for each unit of replication, any unit of measure.
    replication_unit : str
        What was repeated.
    level : float
        Confidence of the interval.

    Returns
    -------
    Estimate
        In the unit of the values. Coverage is exact for normal values and approximate otherwise: too low for
        few values with a long tail. One value has no interval.
    """
    checked, level = sample(values), level_checked(level)
    n = checked.size
    if n == 1:
        return estimate(checked[0], "mean", replication_unit, (1,), ONE_REPETITION)
    lower, upper = mean_bounds(checked, level)
    return estimate(
        checked.mean(), "mean", replication_unit, (n,), Interval(float(lower), float(upper), level, "Student's t")
    )


def exact_product_ceiling(quantile: float, n: int) -> int:
    """Return max(1, ceil(q n)), with q as the decimal number it is written as."""
    return max(1, -((-Fraction(str(quantile)) * n).__floor__()))


@lru_cache(maxsize=4096)
def quantile_ranks(n: int, quantile: float = 0.5, level: float = LEVEL) -> tuple[int, int, float] | None:
    """Return the ranks of the order statistics that enclose a quantile, and the exact confidence.

    Parameters
    ----------
    n : int
        Number of independent values.
    quantile : float
        Strictly between 0 and 1.
    level : float

    Returns
    -------
    (int, int, float) or None
        Ranks from 1 to n. The number of values below the quantile is binomial for any distribution of
        the values, so each side errs with at most (1 - level) / 2 [2]_. None when n is too small for both
        sides.
    """
    if not 0 < quantile < 1:
        raise ValueError(f"a quantile with an interval lies strictly between 0 and 1, got {quantile}")
    tail = (1 - level_checked(level)) / 2
    below = scipy.stats.binom(n, quantile)
    # Rank r is above the quantile only if fewer than r values are below it.
    lower = int(below.ppf(tail))
    while lower > 0 and below.cdf(lower - 1) > tail:
        lower -= 1
    upper = int(below.isf(tail)) + 1
    while upper <= n and below.sf(upper - 1) > tail:
        upper += 1
    if lower < 1 or upper > n:
        return None
    return lower, upper, float(1 - below.cdf(lower - 1) - below.sf(upper - 1))


def smallest_n(quantile: float = 0.5, level: float = LEVEL) -> int:
    """Return the fewest values for which a quantile has a two-sided order-statistic interval."""
    n = 1
    while quantile_ranks(n, quantile, level) is None:
        n += 1
    return n


def _too_few(n: int, quantile: float, level: float) -> str:
    if n == 1:
        return ONE_REPETITION
    return f"n = {n}: an exact {level:.0%} interval of this quantile needs n >= {smallest_n(quantile, level)}"


ORDER_STATISTICS = "order statistics, exact binomial"


def quantile(
    values: npt.ArrayLike, probability: float, replication_unit: str = "run", level: float = LEVEL
) -> Estimate:
    """Estimate a quantile, with the exact binomial order-statistic interval [2]_.

    Parameters
    ----------
    values : float, shape (n,)
        One independent value for each unit of replication.
    probability : float
        Strictly between 0 and 1. For 0.5, the median is the mean of the middle two of an even n; otherwise
        the quantile is the inverted CDF (definition 1 of [3]_).
    replication_unit : str
    level : float

    Returns
    -------
    Estimate
        In the unit of the values. The interval covers with at least `level`, for any distribution; with ties
        too. Where n is too small it is refused.
    """
    checked, level = sample(values), level_checked(level)
    ordered = np.sort(checked)
    n = ordered.size
    if probability == 0.5:
        value, name = float(np.median(ordered)), "median"
    else:
        value, name = float(ordered[exact_product_ceiling(probability, n) - 1]), f"quantile {probability:g}"
    ranks = quantile_ranks(n, probability, level)
    if ranks is None:
        return estimate(value, name, replication_unit, (n,), _too_few(n, probability, level))
    lower, upper, attained = ranks
    interval = Interval(float(ordered[lower - 1]), float(ordered[upper - 1]), level, ORDER_STATISTICS, attained)
    return estimate(value, name, replication_unit, (n,), interval)


def median(values: npt.ArrayLike, replication_unit: str = "run", level: float = LEVEL) -> Estimate:
    """Estimate the median; see `quantile`."""
    return quantile(values, 0.5, replication_unit, level)


def histogram_quantile(
    indexes: npt.ArrayLike,
    counts: npt.ArrayLike,
    probability: float,
    replication_unit: str = "connection",
    level: float = LEVEL,
) -> Estimate:
    """Estimate a quantile from a log-linear histogram, the bins' error added to the sampling error.

    Parameters
    ----------
    indexes, counts : integers, shape (m,)
        Bins and counts as `histogram` defines them.
    probability : float
        Strictly between 0 and 1.
    replication_unit : str
        What one count is. Counts that are not independent (packets of a run, connections of a host) give too
        narrow an interval: summarise each run or host first, or use `cluster`.
    level : float

    Returns
    -------
    Estimate
        In µs. The interval runs from the lower edge of the bin of the lower order statistic to the last
        integer of the bin of the upper one, so it contains the interval of the values themselves and covers
        with at least `level`.

    Raises
    ------
    ValueError
        When the histogram is empty.
    """
    occupied, weights = log_linear.merge(indexes, counts)
    value = float(log_linear.quantile(occupied, weights, [probability])[0])
    cumulative = np.cumsum(weights)
    n = int(cumulative[-1])
    name = f"quantile {probability:g} of a histogram"
    ranks = quantile_ranks(n, probability, level_checked(level))
    if ranks is None:
        return estimate(value, name, replication_unit, (n,), _too_few(n, probability, level))
    low, high = occupied[np.searchsorted(cumulative, np.array(ranks[:2]), side="left")]
    interval = Interval(
        float(log_linear.bin_lower_us(low)),
        float(log_linear.bin_upper_us(high) - 1),
        level,
        f"{ORDER_STATISTICS}, widened to bin edges",
        ranks[2],
    )
    return estimate(value, name, replication_unit, (n,), interval)
