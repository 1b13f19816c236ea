"""Two configurations compared: the estimator and test that suit their runs, and the finding in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from sojourn_statistics.samples.arrays import Reals, sample
from sojourn_statistics.samples.estimate import LEVEL, Estimate, Interval, SignificanceTest, refused_test
from sojourn_statistics.significance.equivalence import equivalence_of_shift
from sojourn_statistics.significance.paired import paired_hodges_lehmann, wilcoxon_signed_rank
from sojourn_statistics.significance.two_samples import cliffs_delta, hodges_lehmann, mann_whitney

Effect = Literal["difference", "ratio"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
"""What an effect is: the treatment minus the baseline, or the treatment over the baseline."""

NOT_ABOVE_ZERO = "a value is not above 0: no ratio"
"""Why an estimate or a test of a ratio is missing."""


@dataclass(frozen=True)
class Comparison:
    """What two configurations differ by; the shift is a difference, or a ratio whose value is NaN where it has none."""

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
    effect: Effect = "difference",
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
    effect : {'difference', 'ratio'}
        A ratio is exp of the shift between logarithms, and so are the ends of its interval; equivalence is of
        differences only.

    Returns
    -------
    Comparison
        Unpaired: Hodges-Lehmann shift, whose interval inverts the Mann-Whitney test, and that test. Paired: the
        shift within pairs with the signed-rank test. Cliff's delta in both cases.
    """
    x, y = sample(treatment, "treatment"), sample(baseline, "baseline")
    if margin is not None and (paired or effect == "ratio"):
        raise ValueError("equivalence is tested for differences of unpaired runs only")
    unit = f"pair of {replication_unit}s" if paired else replication_unit
    shift, test = _ratio(x, y, paired, unit, level) if effect == "ratio" else _shift(x, y, paired, unit, level)
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


def _shift(x: Reals, y: Reals, paired: bool, unit: str, level: float) -> tuple[Estimate, SignificanceTest]:
    if paired:
        return paired_hodges_lehmann(x, y, unit, level), wilcoxon_signed_rank(x, y, unit)
    return hodges_lehmann(x, y, unit, level), mann_whitney(x, y, unit)


def _ratio(x: Reals, y: Reals, paired: bool, unit: str, level: float) -> tuple[Estimate, SignificanceTest]:
    if min(x.min(), y.min()) <= 0:
        n = (x.size,) if paired else (x.size, y.size)
        missing = Estimate(math.nan, "Hodges-Lehmann ratio", unit, n, None, NOT_ABOVE_ZERO)
        return missing, refused_test("none", "one distribution", unit, n, NOT_ABOVE_ZERO)
    shift, test = _shift(np.log(x), np.log(y), paired, unit, level)
    interval = None
    if shift.interval is not None:
        interval = replace(
            shift.interval,
            lower=math.exp(shift.interval.lower),
            upper=math.exp(shift.interval.upper),
            method=f"{shift.interval.method}, of logarithms",
        )
    name = shift.estimator.replace("shift", "ratio")
    return replace(shift, value=math.exp(shift.value), estimator=name, interval=interval), test


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
    effect: Effect = "difference",
) -> str:
    """Return the finding in plain words, such as "lower by 62 ms [58, 66]".

    Parameters
    ----------
    comparison : Finding
    unit : str or None
        Unit of the effect; none is written for None and for ratios.
    p_corrected, equivalence_p_corrected : float or None
        p-values corrected within their family; None if the test was not made.
    margin : float, optional
        The margin of the equivalence test.
    effect : {'difference', 'ratio'}
        A ratio is worded "lower: 0.50 times [0.48, 0.53]", and leaves out 1 where a difference leaves out 0.

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
    if effect == "ratio":
        return _verdict_of_ratio(value, interval, decimals, p_corrected <= alpha)
    if lower <= 0 <= upper or value == 0:
        span = f"[{_number(lower, decimals)}, {_number(upper, decimals)}]"
        return f"no difference shown: {_number(value, decimals)}{named} {span}"
    low, high = sorted((abs(lower), abs(upper)))
    text = (
        f"{'lower' if value < 0 else 'higher'} by {_number(abs(value), decimals)}{named} "
        f"[{_number(low, decimals)}, {_number(high, decimals)}]"
    )
    return (
        text
        if p_corrected <= alpha
        else f"no difference shown: {text}, not significant after correction for multiple tests"
    )


def _verdict_of_ratio(value: float, interval: Interval, decimals: int, is_significant: bool) -> str:
    span = (
        f"{_number(value, decimals)} times [{_number(interval.lower, decimals)}, {_number(interval.upper, decimals)}]"
    )
    if interval.lower <= 1 <= interval.upper:
        return f"no difference shown: {span}"
    text = f"{'lower' if value < 1 else 'higher'}: {span}"
    return (
        text if is_significant else f"no difference shown: {text}, not significant after correction for multiple tests"
    )
