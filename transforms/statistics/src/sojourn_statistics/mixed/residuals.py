"""What the residuals of a mixed model say of its assumptions: normal, of one variance, without outliers.

References
----------
.. [1] M. B. Brown and A. B. Forsythe, "Robust tests for the equality of variances", Journal of the American Statistical
   Association 69(346), 1974, https://doi.org/10.1080/01621459.1974.10482955.
.. [2] G. Blom, "Statistical estimates and transformed beta-variables", 1958 (positions of normal scores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.mixed.fitting import MixedFit
from sojourn_statistics.samples.arrays import Integers, Reals, sample
from sojourn_statistics.samples.estimate import SignificanceTest, refused_test
from sojourn_statistics.shape.normality_and_modes import shapiro_wilk

OUTLIER = 4.0
"""Residuals beyond this many residual standard deviations are named; of 1,000 normal ones, 0.06 are."""


@dataclass(frozen=True)
class ResidualCheck:
    """Tests of the residuals, each with the reason if it was not made, and the places of outliers among the runs.

    `deviations` (c,) is the standard deviation of the residuals of each cell; NaN for a cell with one run.
    """

    normality: SignificanceTest
    normality_of_blocks: SignificanceTest
    equal_variance: SignificanceTest
    deviations: Reals
    outliers: Integers

    @property
    def deviation_ratio(self) -> float | None:
        """Largest standard deviation of a cell over the smallest; None if that is 0 or no cell has two runs."""
        finite = self.deviations[~np.isnan(self.deviations)]
        return float(finite.max() / finite.min()) if finite.size and finite.min() > 0 else None


def check_residuals(fit: MixedFit) -> ResidualCheck:
    """Return the checks of a fit; see `ResidualCheck`."""
    parts = [fit.residuals[fit.design.cell == place] for place in range(len(fit.design.cells))]
    deviations = np.asarray([np.std(part, ddof=1) if part.size > 1 else np.nan for part in parts])
    blocks = (len(fit.design.blocks),)
    of_blocks = (
        refused_test("Shapiro-Wilk", "normal", "block", blocks, "the block variance is 0")
        if fit.is_singular
        else shapiro_wilk(fit.block_effects, "block")
    )
    bound = OUTLIER * np.sqrt(fit.residual_variance)
    return ResidualCheck(
        normality=shapiro_wilk(fit.residuals),
        normality_of_blocks=of_blocks,
        equal_variance=brown_forsythe(parts),
        deviations=deviations,
        outliers=np.flatnonzero(np.abs(fit.residuals) > bound),
    )


def brown_forsythe(groups: list[Reals], replication_unit: str = "run") -> SignificanceTest:
    """Test whether groups have one variance, by distances from each group's median [1]_.

    Parameters
    ----------
    groups : list of float arrays
        Groups with fewer than two values do not count.
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Refused with fewer than two groups of two values, and if all values of each group are equal.
    """
    used = [group for group in groups if group.size > 1]
    n, name, hypothesis = tuple(group.size for group in groups), "Brown-Forsythe", "one variance"
    if len(used) < 2:
        return refused_test(name, hypothesis, replication_unit, n, "fewer than two cells with two runs")
    if all(np.ptp(group) == 0 for group in used):
        return refused_test(name, hypothesis, replication_unit, n, "no variation within cells")
    result = scipy.stats.levene(*used, center="median")
    return SignificanceTest(name, hypothesis, replication_unit, n, float(result.statistic), float(result.pvalue), None)


def normal_scores(values: npt.ArrayLike) -> tuple[Reals, Reals, Integers]:
    """Return expected normal scores (Blom [2]_), the values in order, and the order, each of shape (n,)."""
    checked = sample(values)
    order = np.argsort(checked, kind="stable")
    positions = (np.arange(1, checked.size + 1) - 0.375) / (checked.size + 0.25)
    scores: Reals = scipy.stats.norm.ppf(positions)
    return scores, checked[order], order
