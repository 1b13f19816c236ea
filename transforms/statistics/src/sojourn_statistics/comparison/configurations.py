"""Two configurations compared: the estimator and test that suit their runs, and the finding in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sojourn_statistics.samples.arrays import sample
from sojourn_statistics.samples.estimate import LEVEL, Estimate, Interval, SignificanceTest
from sojourn_statistics.significance.equivalence import equivalence_of_shift
from sojourn_statistics.significance.paired import paired_hodges_lehmann, wilcoxon_signed_rank
from sojourn_statistics.significance.two_samples import cliffs_delta, hodges_lehmann, mann_whitney


@dataclass(frozen=True)
class Comparison:
    """What two configurations differ by; effects are treatment minus baseline."""

    is_paired: bool
    treatment_n: int
    baseline_n: int
    treatment_median: float
    baseline_median: float
    shift: Estimate
    test: SignificanceTest
    dominance: Estimate
    equivalence: SignificanceTest | None


class Finding(Protocol):
    """What a verdict needs to know of a comparison."""

    @property
    def shift(self) -> Estimate:
        """The effect."""

    @property
    def test(self) -> SignificanceTest:
        """The test of no effect."""


def compare(
    treatment: npt.ArrayLike,
    baseline: npt.ArrayLike,
    paired: bool = False,
    level: float = LEVEL,
    margin: float | None = None,
    replication_unit: str = "run",
) -> Comparison:
    """Compare two configurations, one value for each run.

    Parameters
    ----------
    treatment, baseline : float, shapes (m,) and (n,)
        In one unit of measure; when paired m = n, and values at the same place belong together.
    paired : bool
        Whether the runs match.
    level : float
        Confidence of the intervals.
    margin : float, optional
        Smallest difference that matters, for a test of equivalence; unpaired runs only.
    replication_unit : str

    Returns
    -------
    Comparison
        Unpaired: Hodges-Lehmann shift, whose interval inverts the Mann-Whitney test, and that test. Paired: the
        shift within pairs with the signed-rank test. Cliff's delta in both cases.
    """
    x, y = sample(treatment, "treatment"), sample(baseline, "baseline")
    if paired and margin is not None:
        raise ValueError("equivalence is tested for unpaired runs only")
    if paired:
        unit = f"pair of {replication_unit}s"
        shift, test = paired_hodges_lehmann(x, y, unit, level), wilcoxon_signed_rank(x, y, unit)
    else:
        shift, test = hodges_lehmann(x, y, replication_unit, level), mann_whitney(x, y, replication_unit)
    return Comparison(
        is_paired=paired,
        treatment_n=x.size,
        baseline_n=y.size,
        treatment_median=float(np.median(x)),
        baseline_median=float(np.median(y)),
        shift=shift,
        test=test,
        dominance=cliffs_delta(x, y, replication_unit, level),
        equivalence=None if margin is None else equivalence_of_shift(x, y, margin, replication_unit),
    )


def _decimals(interval: Interval) -> int:
    """Return the decimals at which the width of an interval has two significant digits."""
    width = interval.upper - interval.lower
    largest = max(abs(interval.lower), abs(interval.upper), 1e-9)
    scale = width if width > 0 else largest
    return min(max(1 - math.floor(math.log10(scale)), 0), 6)


def _number(value: float, decimals: int) -> str:
    # Rounding must not leave a minus before a zero.
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def verdict(
    comparison: Finding,
    unit: str | None,
    p_corrected: float | None,
    equivalence_p_corrected: float | None = None,
    margin: float | None = None,
) -> str:
    """Return the finding in plain words, such as "lower by 62 ms [58, 66]".

    Parameters
    ----------
    comparison : Finding
    unit : str or None
        Unit of the effect; none is written for None and for ratios.
    p_corrected, equivalence_p_corrected : float or None
        p-values corrected within their family; None where the test was not made.
    margin : float, optional
        The margin of the equivalence test.

    Returns
    -------
    str
        "lower by" and "higher by" only when the interval leaves out 0 and the corrected p-value is at most
        1 - level, "no relevant difference" only when equivalence was shown; "cannot tell" with its reason
        without an interval; otherwise "no difference shown", which is not the same as none.
    """
    interval = comparison.shift.interval
    if interval is None:
        return f"cannot tell: {comparison.shift.interval_null_reason}"
    decimals = _decimals(interval)
    named = "" if unit in (None, "ratio") else f" {unit}"
    lower, upper = interval.lower, interval.upper
    alpha = 1 - interval.level + 1e-12
    value = comparison.shift.value
    if equivalence_p_corrected is not None and equivalence_p_corrected <= alpha and margin is not None:
        span = f"[{_number(lower, decimals)}, {_number(upper, decimals)}]"
        return f"no relevant difference: within ±{margin:g}{named} {span}"
    if p_corrected is None:
        # There is an interval, so the test was refused because nothing varies.
        return f"no difference: {comparison.test.p_null_reason}"
    if lower <= 0 <= upper or value == 0:
        span = f"[{_number(lower, decimals)}, {_number(upper, decimals)}]"
        return f"no difference shown: {_number(value, decimals)}{named} {span}"
    low, high = sorted((abs(lower), abs(upper)))
    text = (
        f"{'lower' if value < 0 else 'higher'} by {_number(abs(value), decimals)}{named} "
        f"[{_number(low, decimals)}, {_number(high, decimals)}]"
    )
    return text if p_corrected <= alpha else f"no difference shown: {text}, lost to the correction for many tests"
