"""Proportions and ratios of rates, with their intervals.

References
----------
.. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
   American Statistical Association 22(158), 1927, https://doi.org/10.1080/01621459.1927.10502953.
.. [2] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
   binomial", Biometrika 26(4), 1934, https://doi.org/10.1093/biomet/26.4.404.
"""

from __future__ import annotations

import math

from sojourn_statistics.samples.arrays import level_checked
from sojourn_statistics.samples.estimate import LEVEL, Estimate, Interval, estimate


def proportion(successes: int, n: int, replication_unit: str = "run", level: float = LEVEL) -> Estimate:
    """Estimate a proportion, with Wilson's score interval [1]_.

    Parameters
    ----------
    successes, n : int
        0 <= successes <= n, n >= 1; independent trials.
    replication_unit : str
        What one trial is.
    level : float

    Returns
    -------
    Estimate
        A ratio from 0 to 1. Coverage is approximate: on average `level`, below it for some proportions near 0
        or 1. Given for n = 1 too, where it is as wide as it should be.

    Raises
    ------
    ValueError
        When the counts are impossible.
    """
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, got {successes} of {n}")
    from statsmodels.stats.proportion import proportion_confint

    lower, upper = proportion_confint(successes, n, alpha=1 - level_checked(level), method="wilson")
    share = successes / n
    return estimate(
        share,
        "proportion",
        replication_unit,
        (n,),
        # The score interval reaches 0 and 1 exactly there; rounding must not pass them, nor stop short of them.
        Interval(min(share, max(0.0, float(lower))), max(share, min(1.0, float(upper))), level, "Wilson score"),
    )


def rate_ratio(
    events: int,
    exposure: float,
    baseline_events: int,
    baseline_exposure: float,
    replication_unit: str = "event",
    level: float = LEVEL,
) -> Estimate:
    """Estimate the ratio of two rates of independent events (Poisson), with the exact conditional interval.

    Given the sum of the events, those of the first group are binomial; the interval of that proportion
    (Clopper and Pearson [2]_) is an interval of the ratio.

    Parameters
    ----------
    events, baseline_events : int
        Counts, 0 or more.
    exposure, baseline_exposure : float
        Time, packets or bytes that the events were counted over; positive, in one unit.
    replication_unit : str
        What one event is. Drops that come in bursts are not independent events: use runs then.
    level : float

    Returns
    -------
    Estimate
        A ratio. Covers with at least `level` for independent events. The ratio is infinite when only the
        baseline has no event, and the upper end with it; without any event there is no ratio (NaN).
    """
    if events < 0 or baseline_events < 0 or exposure <= 0 or baseline_exposure <= 0:
        raise ValueError("counts must be 0 or more, and exposures positive")
    n = (events, baseline_events)
    total = events + baseline_events
    if total == 0:
        return estimate(math.nan, "rate ratio", replication_unit, n, "no event in either group")
    from statsmodels.stats.proportion import proportion_confint

    lower, upper = proportion_confint(events, total, alpha=1 - level_checked(level), method="beta")
    relative = baseline_exposure / exposure

    def ratio(share: float) -> float:
        return math.inf if share >= 1 else share / (1 - share) * relative

    value = math.inf if baseline_events == 0 else events / baseline_events * relative
    interval = Interval(
        ratio(float(lower)), math.inf if baseline_events == 0 else ratio(float(upper)), level, "exact conditional"
    )
    return estimate(value, "rate ratio", replication_unit, n, interval)
