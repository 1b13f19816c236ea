"""Two independent samples: shift, dominance, quantiles and whole distributions. Effects are treatment - baseline.

References
----------
.. [1] J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
   Statistics 34(2), 1963, https://doi.org/10.1214/aoms/1177704172.
.. [2] H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
   than the other", Annals of Mathematical Statistics 18(1), 1947, https://doi.org/10.1214/aoms/1177730491.
.. [3] E. Brunner and U. Munzel, "The nonparametric Behrens-Fisher problem", Biometrical Journal 42(1), 2000,
   https://doi.org/10.1002/(SICI)1521-4036(200001)42:1<17::AID-BIMJ17>3.0.CO;2-U.
.. [4] D. Feng and N. Cliff, "Monte Carlo evaluation of ordinal d with improved confidence interval", Journal of
   Modern Applied Statistical Methods 3(2), 2004, https://doi.org/10.22237/jmasm/1099267560.
.. [5] K. A. Doksum, "Empirical probability plots and statistical inference for nonlinear models in the
   two-sample case", Annals of Statistics 2(2), 1974, https://doi.org/10.1214/aos/1176342662 (shift function).
.. [6] N. Smirnov, "Table for estimating the goodness of fit of empirical distributions", Annals of Mathematical
   Statistics 19(2), 1948, https://doi.org/10.1214/aoms/1177730256.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.intervals.order_statistics import exact_product_ceiling
from sojourn_statistics.intervals.quantile_bootstrap import quantile_difference_bounds
from sojourn_statistics.samples.arrays import Reals, has_ties, level_checked, sample
from sojourn_statistics.samples.estimate import (
    LEVEL,
    ONE_REPETITION,
    Estimate,
    Interval,
    SignificanceTest,
    estimate,
    refused_test,
)
from sojourn_statistics.significance.rank_distributions import EXACT_LARGEST_PRODUCT, mann_whitney_cdf, shift_rank

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TIES_NOTE = "ties: the exact interval covers with more than its level"
FEWEST_FOR_BOOTSTRAP = 5
"""Below this, resamples of a group take too few values for a bootstrap to say anything."""

FEWEST_FOR_VARIANCE = 2


def pairwise_differences(treatment: Reals, baseline: Reals) -> Reals:
    """Return all differences treatment - baseline along the last axis, shape (…, m n)."""
    differences: Reals = treatment[..., :, None] - baseline[..., None, :]
    return differences.reshape(*treatment.shape[:-1], -1)


def shift_bounds(treatment: Reals, baseline: Reals, level: float = LEVEL) -> tuple[Reals, Reals] | None:
    """Return the distribution-free bounds of the shift, shape (…), for samples along the last axis, or None."""
    rank = shift_rank(treatment.shape[-1], baseline.shape[-1], level)
    if rank is None:
        return None
    differences = pairwise_differences(treatment, baseline)
    low, high = rank[0] - 1, differences.shape[-1] - rank[0]
    bounded = np.partition(differences, sorted({low, high}), axis=-1)
    return bounded[..., low], bounded[..., high]


def _too_few(m: int, n: int, level: float) -> str:
    if m == 1 and n == 1:
        return "one run each"
    fewest = 2
    while shift_rank(fewest, fewest, level) is None:
        fewest += 1
    return f"n = {m} and {n}: a {level:.0%} interval of the shift needs {fewest} each or more of one"


def hodges_lehmann(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "run", level: float = LEVEL
) -> Estimate:
    """Estimate the shift between two samples: the median of all pairwise differences [1]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
        Independent values in one unit of measure.
    replication_unit : str
    level : float

    Returns
    -------
    Estimate
        In the unit of the values; negative where the treatment is lower. The interval inverts the
        Mann-Whitney test: distribution-free, covers with at least `level` when one distribution is the other
        one shifted (exact for m n <= 2,500, by the normal approximation beyond; conservative with ties).
        Where the shapes differ it is of the median difference of a random run of each kind.
    """
    x, y, level = sample(treatment, "treatment"), sample(baseline, "baseline"), level_checked(level)
    m, n = x.size, y.size
    value = float(np.median(pairwise_differences(x, y)))
    bounds, rank = shift_bounds(x, y, level), shift_rank(m, n, level)
    name = "Hodges-Lehmann shift"
    if bounds is None or rank is None:
        return estimate(value, name, replication_unit, (m, n), _too_few(m, n, level))
    notes = (TIES_NOTE,) if has_ties(np.concatenate([x, y])) else ()
    method = "inverted Mann-Whitney, " + ("exact" if rank[1] is not None else "normal approximation")
    interval = Interval(float(bounds[0]), float(bounds[1]), level, method, rank[1])
    return estimate(value, name, replication_unit, (m, n), interval, notes)


def mann_whitney(treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "run") -> SignificanceTest:
    """Test whether two samples come from one distribution, against one being larger [2]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Two-sided; the statistic is U of the treatment. Exact without ties for m n <= 2,500, otherwise normal
        with correction for ties and continuity. Refused for one run each, and when all values are equal.
    """
    x, y = sample(treatment, "treatment"), sample(baseline, "baseline")
    n = (x.size, y.size)
    name, hypothesis = "Mann-Whitney", "one distribution"
    if n == (1, 1):
        return refused_test(name, hypothesis, replication_unit, n, "one run each")
    pooled = np.concatenate([x, y])
    if np.ptp(pooled) == 0:
        return refused_test(name, hypothesis, replication_unit, n, "all values are equal")
    if not has_ties(pooled) and x.size * y.size <= EXACT_LARGEST_PRODUCT:
        # SciPy derives the distribution anew for each call, which is most of the time that a build compares for.
        u = int((x[:, None] > y).sum())
        p_value = min(1.0, 2 * float(mann_whitney_cdf(*n)[min(u, x.size * y.size - u)]))
        return SignificanceTest(f"{name}, exact", hypothesis, replication_unit, n, float(u), p_value, None)
    result = scipy.stats.mannwhitneyu(x, y, alternative="two-sided", method="asymptotic")
    statistic, p_value = float(result.statistic), float(result.pvalue)
    return SignificanceTest(f"{name}, normal approximation", hypothesis, replication_unit, n, statistic, p_value, None)


def brunner_munzel(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "run"
) -> SignificanceTest:
    """Test whether either sample tends to larger values, without assuming equal shapes [3]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Two-sided, t approximation. Refused where it has no variance to judge by: fewer than two values in a
        group, or groups that do not overlap. Flagged below 10 values a group, where it rejects too often.
    """
    x, y = sample(treatment, "treatment"), sample(baseline, "baseline")
    n = (x.size, y.size)
    name, hypothesis = "Brunner-Munzel", "P(treatment > baseline) + P(equal)/2 = 1/2"
    if min(n) < FEWEST_FOR_VARIANCE:
        return refused_test(name, hypothesis, replication_unit, n, "fewer than two values in a group")
    if x.max() < y.min() or y.max() < x.min():
        return refused_test(name, hypothesis, replication_unit, n, "the groups do not overlap: no variance of ranks")
    if np.ptp(np.concatenate([x, y])) == 0:
        return refused_test(name, hypothesis, replication_unit, n, "all values are equal")
    result = scipy.stats.brunnermunzel(x, y, alternative="two-sided", distribution="t")
    if not np.isfinite(result.pvalue):
        return refused_test(name, hypothesis, replication_unit, n, "the ranks have no variance within the groups")
    notes = ("small n: rejects too often",) if min(n) < 10 else ()
    # SciPy's statistic is positive where the second sample is larger.
    return SignificanceTest(
        name, hypothesis, replication_unit, n, -float(result.statistic), float(result.pvalue), None, notes
    )


def dominance_bounds(treatment: Reals, baseline: Reals, level: float = LEVEL) -> tuple[Reals, Reals, Reals]:
    """Return Cliff's delta and its bounds, shape (…), for samples along the last axis (m, n >= 2)."""
    m, n = treatment.shape[-1], baseline.shape[-1]
    signs = np.sign(treatment[..., :, None] - baseline[..., None, :])
    delta = signs.mean(axis=(-2, -1))
    by_treatment, by_baseline = signs.mean(axis=-1), signs.mean(axis=-2)
    of_treatment = ((by_treatment - delta[..., None]) ** 2).sum(axis=-1)
    of_baseline = ((by_baseline - delta[..., None]) ** 2).sum(axis=-1)
    of_pairs = ((signs - delta[..., None, None]) ** 2).sum(axis=(-2, -1))
    unbiased = (m**2 * of_treatment + n**2 * of_baseline - of_pairs) / (m * n * (m - 1) * (n - 1))
    # The unbiased estimate of the variance can be negative; Cliff bounds it from below.
    variance = np.maximum(unbiased, (1 - delta**2) / (m * n - 1))
    t = float(scipy.special.stdtrit(m + n - 2, 0.5 + level / 2))
    half = t * np.sqrt(variance) * np.sqrt((1 - delta**2) ** 2 + t**2 * variance)
    scale = 1 - delta**2 + t**2 * variance
    with np.errstate(invalid="ignore"):
        lower, upper = (delta - delta**3 - half) / scale, (delta - delta**3 + half) / scale
    # Without overlap the variance is 0; Feng and Cliff bound delta by the smaller group then.
    z = float(scipy.special.ndtri(0.5 + level / 2))
    fewest = min(m, n)
    nearest = (fewest - z**2) / (fewest + z**2)
    lower = np.where(delta == 1, nearest, np.where(delta == -1, -1.0, lower))
    upper = np.where(delta == -1, -nearest, np.where(delta == 1, 1.0, upper))
    return delta, np.maximum(lower, -1.0), np.minimum(upper, 1.0)


def cliffs_delta(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "run", level: float = LEVEL
) -> Estimate:
    """Estimate Cliff's delta: P(treatment > baseline) - P(treatment < baseline).

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    replication_unit : str
    level : float

    Returns
    -------
    Estimate
        From -1 (all of the treatment below) to 1. Asymmetric interval with t quantiles [4]_, approximate: see
        the coverage table of docs/statistics.md. Refused with one value in a group.
    """
    x, y, level = sample(treatment, "treatment"), sample(baseline, "baseline"), level_checked(level)
    n = (x.size, y.size)
    if min(n) < FEWEST_FOR_VARIANCE:
        value = float(np.sign(pairwise_differences(x, y)).mean())
        reason = "one run each" if n == (1, 1) else ONE_REPETITION
        return estimate(value, "Cliff's delta", replication_unit, n, reason)
    delta, lower, upper = dominance_bounds(x, y, level)
    interval = Interval(float(lower), float(upper), level, "Feng-Cliff")
    return estimate(float(delta), "Cliff's delta", replication_unit, n, interval)


def quantile_difference(
    treatment: npt.ArrayLike,
    baseline: npt.ArrayLike,
    probability: float,
    replication_unit: str = "run",
    level: float = LEVEL,
) -> Estimate:
    """Estimate the difference of a quantile, with the interval of the exact bootstrap.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    probability : float
        Strictly between 0 and 1; quantiles by the inverted CDF.
    replication_unit : str
    level : float

    Returns
    -------
    Estimate
        In the unit of the values. Percentile interval; no random numbers, see `quantile_bootstrap`.
        Approximate, and refused if the quantile is among the outermost values: below 5 values a group,
        or fewer than 5 expected beyond the quantile.
    """
    x, y, level = sample(treatment, "treatment"), sample(baseline, "baseline"), level_checked(level)
    if not 0 < probability < 1:
        raise ValueError(f"a quantile lies strictly between 0 and 1, got {probability}")
    n = (x.size, y.size)
    ordered, baseline_ordered = np.sort(x), np.sort(y)
    value = float(
        ordered[exact_product_ceiling(probability, n[0]) - 1]
        - baseline_ordered[exact_product_ceiling(probability, n[1]) - 1]
    )
    name = f"difference of quantile {probability:g}"
    rare = min(probability, 1 - probability)
    # Half a value of slack, so that the median is given for 9 values and not only for 10.
    if min(n) < FEWEST_FOR_BOOTSTRAP or (min(n) + 1) * rare < FEWEST_FOR_BOOTSTRAP:
        reason = (
            f"n = {n[0]} and {n[1]}: fewer than {FEWEST_FOR_BOOTSTRAP} values beyond the quantile in a group"
            if n != (1, 1)
            else "one run each"
        )
        return estimate(value, name, replication_unit, n, reason)
    lower, upper = quantile_difference_bounds(ordered, baseline_ordered, probability, level)
    return estimate(
        value, name, replication_unit, n, Interval(float(lower), float(upper), level, "exact bootstrap, percentile")
    )


def quantile_shift_curve(
    treatment: npt.ArrayLike,
    baseline: npt.ArrayLike,
    probabilities: Sequence[float] = DECILES,
    replication_unit: str = "run",
    level: float = LEVEL,
) -> list[Estimate]:
    """Estimate the shift function: the difference of each of several quantiles [5]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    probabilities : sequence of float, length k
    replication_unit : str
    level : float
        Confidence of all intervals together: each has 1 - (1 - level) / k (Bonferroni).

    Returns
    -------
    list of Estimate, length k
        See `quantile_difference`. A curve that is flat says that the whole distribution has moved.
    """
    each = 1 - (1 - level_checked(level)) / len(probabilities)
    return [quantile_difference(treatment, baseline, q, replication_unit, each) for q in probabilities]


def kolmogorov_smirnov(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "run"
) -> SignificanceTest:
    """Test whether two samples come from one distribution, against any difference [6]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Two-sided; the statistic is the largest difference of the two CDFs. Exact up to 10,000 values a group,
        asymptotic beyond or where SciPy's exact sum fails (it warns then); conservative with ties.
    """
    x, y = sample(treatment, "treatment"), sample(baseline, "baseline")
    n = (x.size, y.size)
    name, hypothesis = "Kolmogorov-Smirnov", "one distribution"
    if n == (1, 1):
        return refused_test(name, hypothesis, replication_unit, n, "one run each")
    result = scipy.stats.ks_2samp(x, y, alternative="two-sided", method="auto")
    notes = ("ties: the p-value is too large rather than too small",) if has_ties(np.concatenate([x, y])) else ()
    return SignificanceTest(
        name, hypothesis, replication_unit, n, float(result.statistic), float(result.pvalue), None, notes
    )
