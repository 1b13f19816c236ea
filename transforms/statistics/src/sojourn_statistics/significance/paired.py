"""Pairs: runs of two configurations that match in everything else, repetition included.

References
----------
.. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945,
   https://doi.org/10.2307/3001968.
.. [2] J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
   Statistics 34(2), 1963, https://doi.org/10.1214/aoms/1177704172.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.samples.arrays import Reals, has_ties, level_checked, sample
from sojourn_statistics.samples.estimate import (
    LEVEL,
    Estimate,
    Interval,
    SignificanceTest,
    estimate,
    refused_test,
)
from sojourn_statistics.significance.rank_distributions import rank_sum_cdf, walsh_rank
from sojourn_statistics.significance.two_samples import TIES_NOTE

EXACT_LARGEST_TEST = 50


def walsh_averages(differences: Reals) -> Reals:
    """Return the n (n + 1) / 2 means of every two differences, each with itself too, along the last axis."""
    rows, columns = np.triu_indices(differences.shape[-1])
    averages: Reals = (differences[..., rows] + differences[..., columns]) / 2
    return averages


def paired_shift_bounds(differences: Reals, level: float = LEVEL) -> tuple[Reals, Reals] | None:
    """Return the distribution-free bounds of the centre of differences along the last axis, or None."""
    rank = walsh_rank(differences.shape[-1], level)
    if rank is None:
        return None
    averages = walsh_averages(differences)
    low, high = rank[0] - 1, averages.shape[-1] - rank[0]
    bounded = np.partition(averages, sorted({low, high}), axis=-1)
    return bounded[..., low], bounded[..., high]


def _differences(treatment: npt.ArrayLike, baseline: npt.ArrayLike) -> Reals:
    x, y = sample(treatment, "treatment"), sample(baseline, "baseline")
    if x.size != y.size:
        raise ValueError(f"pairs need as many values in both, got {x.size} and {y.size}")
    return x - y


def paired_hodges_lehmann(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "pair of runs", level: float = LEVEL
) -> Estimate:
    """Estimate the shift within pairs: the median of the Walsh averages of their differences [2]_.

    Parameters
    ----------
    treatment, baseline : float, shape (n,)
        Values of the same pair at the same place.
    replication_unit : str
    level : float

    Returns
    -------
    Estimate
        In the unit of the values; negative where the treatment is lower. The interval inverts the signed-rank
        test: covers with at least `level` when differences are symmetric about their centre (exact up to 200
        pairs). Refused below 6 pairs at 95 %.
    """
    differences, level = _differences(treatment, baseline), level_checked(level)
    n = differences.size
    name = "Hodges-Lehmann shift of pairs"
    value = float(np.median(walsh_averages(differences)))
    bounds, rank = paired_shift_bounds(differences, level), walsh_rank(n, level)
    if bounds is None or rank is None:
        fewest = n
        while walsh_rank(fewest, level) is None:
            fewest += 1
        reason = "one pair" if n == 1 else f"{n} pairs: a {level:.0%} interval of the shift needs {fewest}"
        return estimate(value, name, replication_unit, (n,), reason)
    notes = (TIES_NOTE,) if has_ties(np.abs(differences)) else ()
    method = "inverted signed-rank, " + ("exact" if rank[1] is not None else "normal approximation")
    interval = Interval(float(bounds[0]), float(bounds[1]), level, method, rank[1])
    return estimate(value, name, replication_unit, (n,), interval, notes)


def wilcoxon_signed_rank(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, replication_unit: str = "pair of runs"
) -> SignificanceTest:
    """Test whether differences within pairs are symmetric about 0 [1]_.

    Parameters
    ----------
    treatment, baseline : float, shape (n,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Two-sided; the statistic is the sum of the ranks of positive differences. Exact, given the ties, up to 50
        pairs that differ, beyond normal with correction for ties and continuity; zero differences are left out
        and counted in a note. Refused for one pair, and when all differences are 0.
    """
    differences = _differences(treatment, baseline)
    n = (differences.size,)
    name, hypothesis = "Wilcoxon signed-rank", "differences symmetric about 0"
    if n == (1,):
        return refused_test(name, hypothesis, replication_unit, n, "one pair")
    nonzero = differences[differences != 0]
    if nonzero.size == 0:
        return refused_test(name, hypothesis, replication_unit, n, "all differences are 0")
    exact = nonzero.size <= EXACT_LARGEST_TEST
    ranks = scipy.stats.rankdata(np.abs(nonzero))
    if exact:
        doubled = np.rint(2 * ranks).astype(int)
        smaller = min(doubled[nonzero > 0].sum(), doubled[nonzero < 0].sum())
        p_value = min(1.0, 2 * float(rank_sum_cdf(doubled.tolist())[smaller]))
    else:
        p_value = float(scipy.stats.wilcoxon(nonzero, correction=True, method="asymptotic").pvalue)
    zeros = differences.size - nonzero.size
    return SignificanceTest(
        f"{name}, {'exact' if exact else 'normal approximation'}",
        hypothesis,
        replication_unit,
        n,
        float(ranks[nonzero > 0].sum()),
        p_value,
        None,
        (f"{zeros} pairs without a difference left out",) if zeros else (),
    )
