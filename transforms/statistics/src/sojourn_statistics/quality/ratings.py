"""Ratings by people: summaries of conditions, and contrasts between them.

References
----------
.. [1] S. S. Shapiro and M. B. Wilk, "An analysis of variance test for normality", Biometrika 52, 1965,
   https://doi.org/10.1093/biomet/52.3-4.591.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import ArrayLike

LEVEL: Final = 0.95


@dataclass(frozen=True)
class RatingSummary:
    """Ratings of one item under one condition.

    Attributes
    ----------
    subjects
        Ratings, one of each subject.
    mean, standard_deviation
        On the scale of the ratings; the deviation has n - 1, and is None for one rating.
    lower, upper
        Student's t interval of the mean; None for one rating.
    interval_null_reason
        Why there is no interval.
    normality_w, normality_p
        Shapiro-Wilk [1]_; None with the reason.
    normality_null_reason
        Why there is no test.
    """

    subjects: int
    mean: float
    standard_deviation: float | None
    lower: float | None
    upper: float | None
    interval_null_reason: str | None
    normality_w: float | None
    normality_p: float | None
    normality_null_reason: str | None


def summary(ratings: ArrayLike, lowest: float, highest: float, level: float = LEVEL) -> RatingSummary:
    """Summarise the ratings of one item under one condition.

    Parameters
    ----------
    ratings
        One of each subject, training left out, shape (n,).
    lowest, highest
        Ends of the scale.
    level
        Confidence of the interval.

    Returns
    -------
    RatingSummary
        The interval is on the mean and may leave the scale; few steps of a scale are never normal, so a test that finds
        nothing says that n is small.

    Raises
    ------
    ValueError
        There is no rating, or one lies outside the scale.
    """
    values = np.asarray(ratings, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError("a summary needs at least one rating, in one dimension")
    if not np.all((values >= lowest) & (values <= highest)):
        raise ValueError(f"a rating lies outside its scale of {lowest:g} to {highest:g}")
    n = values.size
    # Rounding puts the mean of equal ratings beyond them.
    mean = float(np.clip(values.mean(), values.min(), values.max()))
    deviation = lower = upper = w = p = None
    if n > 1:
        deviation = float(values.std(ddof=1))
        half = float(scipy.stats.t.ppf(0.5 + level / 2, n - 1)) * deviation / np.sqrt(n)
        lower, upper = float(mean - half), float(mean + half)
    if n < 3:
        no_test = "fewer than 3 ratings"
    elif np.ptp(values) == 0:
        no_test = "all ratings are equal"
    else:
        no_test = None
        normality = scipy.stats.shapiro(values)
        w, p = float(normality.statistic), float(normality.pvalue)
    return RatingSummary(n, mean, deviation, lower, upper, "one rating" if n == 1 else None, w, p, no_test)


def are_apart(first: RatingSummary, second: RatingSummary) -> bool | None:
    """Return whether the intervals of two conditions do not overlap, as PAM'21 reads them; None without both intervals.

    It asks too much of few subjects: conditions may differ whose intervals overlap. `paired_difference` uses that each
    subject rates all conditions.
    """
    if first.lower is None or first.upper is None or second.lower is None or second.upper is None:
        return None
    return first.upper < second.lower or second.upper < first.lower


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference of two conditions over the subjects that rate both.

    Attributes
    ----------
    subjects
        Subjects with both ratings.
    mean, lower, upper
        Second minus first, with Student's t interval; the bounds are None for one subject.
    p_value
        Of the paired t test; None for one subject, or where all differences are equal.
    null_reason
        Why there is no test.
    """

    subjects: int
    mean: float
    lower: float | None
    upper: float | None
    p_value: float | None
    null_reason: str | None


def paired_difference(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> PairedDifference:
    """Compare two conditions that the same subjects rate.

    Parameters
    ----------
    first, second
        Ratings of the same subjects in the same order, shape (n,).
    level
        Confidence of the interval.

    Raises
    ------
    ValueError
        The shapes differ, or there is no subject.
    """
    before, after = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if before.shape != after.shape or before.ndim != 1 or before.size == 0:
        raise ValueError(f"{before.size} and {after.size} ratings; expected both of each subject")
    difference = after - before
    n = difference.size
    mean = float(difference.mean())
    if n == 1:
        return PairedDifference(1, mean, None, None, None, "one subject")
    half = float(scipy.stats.t.ppf(0.5 + level / 2, n - 1) * difference.std(ddof=1) / np.sqrt(n))
    if np.ptp(difference) == 0:
        return PairedDifference(n, mean, mean, mean, None, "all differences are equal")
    test = scipy.stats.ttest_rel(after, before)
    return PairedDifference(n, mean, mean - half, mean + half, float(test.pvalue), None)
