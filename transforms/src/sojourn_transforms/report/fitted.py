"""A fitted model with the runs that it is of, in the unit of the metric."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sojourn_statistics.mixed.design import Design
from sojourn_statistics.mixed.fitting import FEW_BLOCKS, LinearEstimate, MixedFit
from sojourn_statistics.mixed.residuals import ResidualCheck
from sojourn_transforms.report.selected_runs import SelectedRuns

SIGNIFICANT = 0.05
#: Largest over smallest standard deviation of cells from which one variance for all is doubtful, whatever a test says.
DEVIATIONS_APART = 3.0


def value_unit(runs: SelectedRuns) -> str:
    """Return the unit of the metric; a score or an index has none."""
    return runs.metric.unit or "without unit"


def digits_of(deviation: float) -> int:
    """Return the digits after the point that show two of a standard deviation."""
    return min(9, max(0, 1 - math.floor(math.log10(deviation))))


def of_three_digits(value: float) -> float:
    """Return a p-value with three significant digits; more say nothing."""
    return float(f"{value:.3g}")


@dataclass(frozen=True)
class Fitted:
    """A fit with its runs and checks; ``is_log`` if the values are natural logarithms."""

    runs: SelectedRuns
    fit: MixedFit
    check: ResidualCheck
    is_log: bool

    @property
    def design(self) -> Design:
        """Cells and blocks."""
        return self.fit.design

    @property
    def unit(self) -> str:
        """The unit of means on the page."""
        return value_unit(self.runs)

    @property
    def effect_unit(self) -> str:
        """The unit of differences on the page."""
        return "ratio" if self.is_log else self.unit

    @property
    def fitted_unit(self) -> str:
        """The unit in which the model is fitted, of residuals and standard deviations."""
        return f"log of {self.unit}" if self.is_log else self.unit

    @property
    def digits(self) -> int:
        """Digits after the point of numbers in tables: two of the standard deviation of a run."""
        return digits_of(math.sqrt(self.fit.residual_variance))

    @property
    def shown_digits(self) -> int:
        """The same of means and their intervals on the page, which are back from logarithms."""
        lowest = float(np.exp(self.fit.means.min()))
        return digits_of(lowest * math.sqrt(self.fit.residual_variance)) if self.is_log else self.digits

    @property
    def effect_digits(self) -> int:
        """The same of differences; ratios have three."""
        return 3 if self.is_log else self.digits

    def shown(self, estimate: LinearEstimate) -> tuple[float, float, float]:
        """Return an estimate and the ends of its interval as the page shows them: back from logarithms."""
        three = (estimate.value, estimate.lower, estimate.upper)
        return (math.exp(three[0]), math.exp(three[1]), math.exp(three[2])) if self.is_log else three

    @property
    def doubts(self) -> list[str]:
        """What speaks against the model, each in one sentence."""
        doubts, check, blocks = [], self.check, len(self.design.blocks)
        if check.normality.p_value is not None and check.normality.p_value < SIGNIFICANT:
            doubts.append(
                f"Residuals are not normal (Shapiro-Wilk, p = {check.normality.p_value:.2g}): with few runs "
                "per cell, intervals and p-values are approximate."
            )
        ratio, test = check.deviation_ratio, check.equal_variance
        is_rejected = test.p_value is not None and test.p_value < SIGNIFICANT
        if is_rejected or (ratio is not None and ratio > DEVIATIONS_APART):
            how = f"p = {test.p_value:.2g}" if test.p_value is not None else test.p_null_reason
            apart = "" if ratio is None else f", and the largest deviation of a cell is {ratio:.1f} times the smallest"
            advice = "compare by ranks" if self.is_log else "try --scale log, or compare by ranks"
            doubts.append(
                f"Cells differ in variance (Brown-Forsythe, {how}{apart}): intervals are too wide for steady "
                f"cells and too narrow for unsteady ones; {advice}."
            )
        if blocks < FEW_BLOCKS:
            doubts.append(
                f"There are {blocks} blocks: their variance is hardly known, and intervals of means are wide or wrong. "
                f"Add {FEW_BLOCKS - blocks} blocks of 1 run of each of the {len(self.design.cells)} cells."
            )
        if check.outliers.size:
            names = [self.runs.run_ids[place] for place in check.outliers]
            doubts.append(
                f"{len(names)} of {len(self.runs.run_ids)} residuals are beyond four standard deviations: "
                f"{', '.join(names[:5])}{' and more' if len(names) > 5 else ''}."
            )
        return doubts
