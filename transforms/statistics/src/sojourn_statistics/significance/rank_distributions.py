"""Exact null distributions of the two rank sums: of U for values without ties, of V also with ties.

References
----------
.. [1] H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger
   than the other", Annals of Mathematical Statistics 18(1), 1947, https://doi.org/10.1214/aoms/1177730491
   (recursion of U).
.. [2] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1(6), 1945,
   https://doi.org/10.2307/3001968.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import scipy

from sojourn_statistics.samples.arrays import Reals

EXACT_LARGEST_PRODUCT = 2500
"""Largest m n for which the distribution of U is computed; beyond, the normal approximation is used."""

EXACT_LARGEST_PAIRS = 200
"""Most pairs for which the distribution of the signed-rank sum is computed."""


@lru_cache(maxsize=2048)
def mann_whitney_cdf(m: int, n: int) -> Reals:
    """Return P(U <= u) for u = 0 … m n under the null hypothesis, float64, shape (m n + 1,).

    By the recursion of [1]_ on probabilities, so nothing overflows. Takes time in proportion to (m n)^2.
    """
    if m > n:
        return mann_whitney_cdf(n, m)
    # Row j holds the distribution for (i, j), i growing; (0, j) and (i, 0) are certain to be 0.
    length = m * n + 1
    certain = np.zeros(length)
    certain[0] = 1.0
    before = [certain] * (n + 1)
    for i in range(1, m + 1):
        row = [certain]
        for j in range(1, n + 1):
            shifted = np.zeros(length)
            shifted[j:] = before[j][: length - j]
            row.append((i * shifted + j * row[j - 1]) / (i + j))
        before = row
    cumulative: Reals = np.minimum(np.cumsum(before[n]), 1.0)
    cumulative.setflags(write=False)
    return cumulative


@lru_cache(maxsize=512)
def signed_rank_cdf(n: int) -> Reals:
    """Return P(V <= v) of the signed-rank sum for v = 0 … n (n + 1) / 2, float64 [2]_."""
    return rank_sum_cdf(range(1, n + 1))


def rank_sum_cdf(ranks: Iterable[int]) -> Reals:
    """Return P(V <= v) for v = 0 … sum of the ranks, float64, where V is the sum of ranks that each count with 1/2.

    With midranks, doubled so that they are whole, this is the distribution given the ties.
    """
    probabilities = np.ones(1)
    for rank in ranks:
        longer = np.zeros(probabilities.size + rank)
        longer[: probabilities.size] = probabilities
        longer[rank:] += probabilities
        probabilities = longer / 2
    cumulative: Reals = np.minimum(np.cumsum(probabilities), 1.0)
    cumulative.setflags(write=False)
    return cumulative


def _tail_rank(cdf: Reals, tail: float) -> tuple[int, float]:
    """Return the largest k with P(statistic <= k - 1) <= tail (0 if there is none), and 1 - 2 P."""
    k = int(np.searchsorted(cdf, tail, side="right"))
    return k, 1.0 - 2.0 * float(cdf[k - 1]) if k else math.nan


@lru_cache(maxsize=4096)
def shift_rank(m: int, n: int, level: float) -> tuple[int, float | None] | None:
    """Return the rank k of the ordered differences that bounds the shift, and the exact confidence.

    The interval is the k-th smallest to the k-th largest of the m n differences. The confidence is None if
    the normal approximation replaces the exact distribution. None as a whole when m and n are too small.
    """
    tail = (1 - level) / 2
    if m * n <= EXACT_LARGEST_PRODUCT:
        k, attained = _tail_rank(mann_whitney_cdf(m, n), tail)
        return (k, attained) if k else None
    deviation = math.sqrt(m * n * (m + n + 1) / 12)
    return max(1, math.floor(m * n / 2 - float(scipy.stats.norm.isf(tail)) * deviation)), None


@lru_cache(maxsize=2048)
def walsh_rank(n: int, level: float) -> tuple[int, float | None] | None:
    """Return the rank of the ordered Walsh averages that bounds the shift of n pairs; see `shift_rank`."""
    tail = (1 - level) / 2
    if n <= EXACT_LARGEST_PAIRS:
        k, attained = _tail_rank(signed_rank_cdf(n), tail)
        return (k, attained) if k else None
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(1, math.floor(n * (n + 1) / 4 - float(scipy.stats.norm.isf(tail)) * deviation)), None
