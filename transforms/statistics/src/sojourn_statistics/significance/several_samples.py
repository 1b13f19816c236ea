"""Several independent samples at once: is there any difference, and between which.

References
----------
.. [1] W. H. Kruskal and W. A. Wallis, "Use of ranks in one-criterion variance analysis", Journal of the
   American Statistical Association 47(260), 1952, https://doi.org/10.1080/01621459.1952.10483441.
.. [2] O. J. Dunn, "Multiple comparisons using rank sums", Technometrics 6(3), 1964,
   https://doi.org/10.1080/00401706.1964.10490181.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.samples.arrays import Reals, sample
from sojourn_statistics.samples.estimate import SignificanceTest, refused_test
from sojourn_statistics.significance.multiplicity import Correction, corrected

SMALL_GROUP = 5


def _samples(groups: Mapping[str, npt.ArrayLike]) -> dict[str, Reals]:
    if len(groups) < 2:
        raise ValueError("comparing needs two groups or more")
    return {name: sample(values, name) for name, values in sorted(groups.items())}


def kruskal_wallis(groups: Mapping[str, npt.ArrayLike], replication_unit: str = "run") -> SignificanceTest:
    """Test whether several samples come from one distribution, against some being larger [1]_.

    Parameters
    ----------
    groups : mapping of str to float, shape (n_i,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Statistic H with correction for ties, chi-squared approximation; flagged when a group has fewer than 5
        values. Refused for one run each and when all values are equal. `n` by name of group, ascending.
    """
    checked = _samples(groups)
    n = tuple(values.size for values in checked.values())
    name, hypothesis = "Kruskal-Wallis", "one distribution"
    if max(n) == 1:
        return refused_test(name, hypothesis, replication_unit, n, "one run each")
    if np.ptp(np.concatenate(list(checked.values()))) == 0:
        return refused_test(name, hypothesis, replication_unit, n, "all values are equal")
    result = scipy.stats.kruskal(*checked.values())
    notes = (f"small n: a group has fewer than {SMALL_GROUP}",) if min(n) < SMALL_GROUP else ()
    return SignificanceTest(
        name, hypothesis, replication_unit, n, float(result.statistic), float(result.pvalue), None, notes
    )


@dataclass(frozen=True)
class PairComparison:
    """One pair of groups of Dunn's test."""

    first: str
    second: str
    z: float
    p_value: float
    p_corrected: float


def dunn(groups: Mapping[str, npt.ArrayLike], correction: Correction = "holm") -> list[PairComparison]:
    """Compare every two of several samples by their mean ranks in all of them together [2]_.

    Parameters
    ----------
    groups : mapping of str to float, shape (n_i,)
    correction : {'holm', 'benjamini_hochberg'}

    Returns
    -------
    list of PairComparison
        Every pair once, names ascending. z is positive where the first has the higher ranks; two-sided,
        normal approximation with correction for ties.

    Raises
    ------
    ValueError
        When all values are equal, or there are not two groups.
    """
    checked = _samples(groups)
    pooled = np.concatenate(list(checked.values()))
    total = pooled.size
    ranks = scipy.stats.rankdata(pooled)
    _, ties = np.unique(pooled, return_counts=True)
    variance = (total * (total + 1) - float((ties**3 - ties).sum()) / (total - 1)) / 12 if total > 1 else 0.0
    if variance <= 0:
        raise ValueError("all values are equal: there are no ranks to compare")
    sizes = {name: values.size for name, values in checked.items()}
    parts = np.split(ranks, np.cumsum(list(sizes.values()))[:-1])
    means = {name: float(part.mean()) for name, part in zip(checked, parts, strict=True)}
    pairs = list(combinations(checked, 2))
    scores = [(means[a] - means[b]) / math.sqrt(variance * (1 / sizes[a] + 1 / sizes[b])) for a, b in pairs]
    p_values = [float(2 * scipy.stats.norm.sf(abs(z))) for z in scores]
    adjusted = corrected(p_values, correction)
    return [
        PairComparison(a, b, z, p, p if q is None else q)
        for (a, b), z, p, q in zip(pairs, scores, p_values, adjusted, strict=True)
    ]
