"""Correction of p-values where several hypotheses are tested at once.

References
----------
.. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics
   6(2), 1979, https://www.jstor.org/stable/4615733.
.. [2] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
   Society B 57(1), 1995, https://doi.org/10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sojourn_statistics.samples.arrays import Reals

Correction = Literal["holm", "benjamini_hochberg"]
CORRECTIONS: tuple[Correction, ...] = ("holm", "benjamini_hochberg")


def _holm(p_values: Reals) -> Reals:
    # statsmodels collects all garbage of the process in its step-down methods: 60 ms a family, in a server.
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1))
    result = np.empty_like(p_values)
    result[order] = np.minimum(stepped, 1.0)
    return result


def corrected(p_values: Sequence[float | None], correction: Correction = "holm") -> list[float | None]:
    """Return the corrected p-value of each test of a family.

    Parameters
    ----------
    p_values : sequence of float or None, length k
        None if a test was not made: it stays None and does not count towards the family.
    correction : {'holm', 'benjamini_hochberg'}
        `holm` keeps the chance of any false finding in the family at the level, under any dependence [1]_;
        `benjamini_hochberg` the expected share of false ones among the findings, for independent or
        positively dependent tests [2]_.

    Returns
    -------
    list of float or None, length k
    """
    made = [p for p in p_values if p is not None]
    if not made:
        return list(p_values)
    if any(not 0 <= p <= 1 for p in made):
        raise ValueError("p-values lie in [0, 1]")
    if correction == "holm":
        results = iter(_holm(np.array(made)))
    else:
        from statsmodels.stats.multitest import multipletests

        results = iter(multipletests(made, method="fdr_bh")[1])
    return [None if p is None else float(next(results)) for p in p_values]
