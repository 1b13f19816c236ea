"""Bootstrap by counts: how often each unit is drawn in each resample, and percentile bounds from it.

References
----------
.. [1] B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7(1), 1979,
   https://doi.org/10.1214/aos/1176344552.
.. [2] T. C. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69(4), 2015,
   https://doi.org/10.1080/00031305.2015.1089789 (expanded percentile interval).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from sojourn_statistics.samples.arrays import Integers, Reals, generator

RESAMPLES = 2000


@lru_cache(maxsize=16)
def resample_counts(n: int, resamples: int = RESAMPLES) -> Integers:
    """Return how often each of n units is drawn in each resample, int64, shape (resamples, n).

    The same n gives the same counts, in this process or another.
    """
    counts: Integers = generator().multinomial(n, np.full(n, 1 / n), size=resamples)
    counts.setflags(write=False)
    return counts


def expanded_tail(n: int, level: float) -> float:
    """Return the tail probability at which to read the percentiles of n resampled units.

    The plain percentile interval of few units is too narrow: it lacks the factor sqrt(n / (n - 1)) and takes
    the normal for the t distribution. Reading it further out corrects both [2]_.
    """
    t = float(scipy.stats.t.ppf(0.5 + level / 2, n - 1))
    return float(scipy.stats.norm.cdf(-math.sqrt(n / (n - 1)) * t))


def percentile_bounds(replicates: Reals, n: int, level: float) -> tuple[Reals, Reals]:
    """Return the expanded percentile bounds of replicates along the last axis, for n resampled units."""
    tail = expanded_tail(n, level)
    lower, upper = np.quantile(replicates, [tail, 1 - tail], axis=-1)
    return lower, upper
