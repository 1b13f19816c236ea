"""Equivalence: whether a difference is smaller than one that matters, by two one-sided tests.

References
----------
.. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing
   the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987,
   https://doi.org/10.1007/BF01068419.
.. [2] S. Wellek, "Testing statistical hypotheses of equivalence and noninferiority", 2nd ed., 2010,
   https://doi.org/10.1201/EBK1439808184 (rank tests of equivalence).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.samples.arrays import has_ties, sample
from sojourn_statistics.samples.estimate import SignificanceTest, refused_test
from sojourn_statistics.significance.rank_distributions import EXACT_LARGEST_PRODUCT


def _margin_checked(margin: float) -> float:
    if not (margin > 0 and np.isfinite(margin)):
        raise ValueError(f"a margin is a positive number in the unit of the values, got {margin}")
    return float(margin)


def equivalence_of_means(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, margin: float, replication_unit: str = "run"
) -> SignificanceTest:
    """Test the hypothesis that two means differ by `margin` or more, by two one-sided Welch tests [1]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    margin : float
        Smallest difference that matters, in the unit of the values; chosen before looking at them.
    replication_unit : str

    Returns
    -------
    SignificanceTest
        A small p-value shows that there is no relevant difference; the statistic is the difference of means.
        Refused with one value in a group, or without any variance.
    """
    x, y, margin = sample(treatment, "treatment"), sample(baseline, "baseline"), _margin_checked(margin)
    n, name = (x.size, y.size), "two one-sided Welch tests"
    hypothesis = f"the means differ by {margin:g} or more"
    if min(n) < 2:
        return refused_test(name, hypothesis, replication_unit, n, "fewer than two values in a group")
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        return refused_test(name, hypothesis, replication_unit, n, "no variance")
    from statsmodels.stats.weightstats import ttost_ind

    p_value = ttost_ind(x, y, -margin, margin, usevar="unequal")[0]
    return SignificanceTest(name, hypothesis, replication_unit, n, float(x.mean() - y.mean()), float(p_value), None)


def equivalence_of_shift(
    treatment: npt.ArrayLike, baseline: npt.ArrayLike, margin: float, replication_unit: str = "run"
) -> SignificanceTest:
    """Test the hypothesis that two samples are shifted by `margin` or more, by two one-sided rank tests [2]_.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
    margin : float
        Smallest shift that matters, in the unit of the values; chosen before looking at them.
    replication_unit : str

    Returns
    -------
    SignificanceTest
        The larger of the p-values of two Mann-Whitney tests, of the treatment moved up and down by the
        margin. It is below 5 % exactly when the 90 % interval of the Hodges-Lehmann shift lies within the
        margin (without ties). The statistic is the Hodges-Lehmann shift. Refused for one run each.
    """
    x, y, margin = sample(treatment, "treatment"), sample(baseline, "baseline"), _margin_checked(margin)
    n, name = (x.size, y.size), "two one-sided Mann-Whitney tests"
    hypothesis = f"shifted by {margin:g} or more"
    if n == (1, 1):
        return refused_test(name, hypothesis, replication_unit, n, "one run each")

    def p_value(moved: float, alternative: str) -> float:
        shifted = x + moved
        pooled = np.concatenate([shifted, y])
        if np.ptp(pooled) == 0:
            return 1.0
        exact = not has_ties(pooled) and x.size * y.size <= EXACT_LARGEST_PRODUCT
        method = "exact" if exact else "asymptotic"
        return float(scipy.stats.mannwhitneyu(shifted, y, alternative=alternative, method=method).pvalue)

    larger = max(p_value(margin, "greater"), p_value(-margin, "less"))
    shift = float(np.median(x[:, None] - y[None, :]))
    return SignificanceTest(name, hypothesis, replication_unit, n, shift, larger, None)
