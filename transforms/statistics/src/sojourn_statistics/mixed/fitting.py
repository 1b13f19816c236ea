"""Fit a mixed model by restricted maximum likelihood (REML), and estimate and test linear functions of its cells.

The model of the value y of run i, in cell c and block g:

    y_i = mu_c + u_g + e_i,    u_g ~ N(0, block variance),    e_i ~ N(0, residual variance)

mu_c has one parameter for each cell, which is the full factorial model of the crossed factors with all interactions.
statsmodels' MixedLM maximises the restricted likelihood [1]_. Where its optimisers stop short of the maximum, which is
frequent if blocks hardly differ, the profile of the likelihood over block variance / residual variance is searched.
Degrees of freedom are Satterthwaite's [2]_, as in [3]_; statsmodels has normal intervals only, which are too narrow for
few blocks. In a complete block design with one run of each cell in each block they are those of the analysis of
variance: (b - 1)(c - 1) for differences of cells.

A block variance estimated as 0, the end of its range, is an ordinary outcome: the estimates are then those of the model
without blocks. Degrees of freedom stay Satterthwaite's with the expected information of both variances, so a study in
which blocks happen to look alike does not claim to know that they are.

References
----------
.. [1] N. M. Laird and J. H. Ware, "Random-effects models for longitudinal data", Biometrics 38(4), 1982,
   https://doi.org/10.2307/2529876.
.. [2] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin
   2(6), 1946, https://doi.org/10.2307/3002019.
.. [3] A. Kuznetsova, P. B. Brockhoff, R. H. B. Christensen, "lmerTest package: tests in linear mixed effects models",
   Journal of Statistical Software 82(13), 2017, https://doi.org/10.18637/jss.v082.i13 (sections 2.2 and 2.3).
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.mixed.design import Design, DesignRefusedError
from sojourn_statistics.samples.arrays import Reals, level_checked, sample
from sojourn_statistics.samples.estimate import LEVEL

FEW_BLOCKS = 5
"""Below this many blocks the block variance is hardly known."""
STEP_OF_CONVERGENCE = 0.01
"""A maximum is reached if the next step of Fisher's scoring is below this share of a standard error."""
SEARCHED_RATIOS = (0.0, *np.geomspace(1e-6, 1e6, 61).tolist())
"""Block variance over residual variance where the slope of the profile likelihood is looked at."""


@dataclass(frozen=True)
class LinearEstimate:
    """A linear function of the cells' means: value, standard error, t interval and two-sided p-value of 0."""

    value: float
    standard_error: float
    degrees: float
    lower: float
    upper: float
    p_value: float


@dataclass(frozen=True)
class TermTest:
    """An F test that several linear functions of the cells' means are all 0."""

    statistic: float
    numerator_degrees: int
    denominator_degrees: float
    p_value: float


@dataclass(frozen=True)
class MixedFit:
    """A fitted model. Variances are in the square of the values' unit.

    `means` (c,) and `covariance` (c, c) are of the cells; `block_effects` (b,) are predicted; `fitted` and `residuals`
    (n,) are conditional on them. `is_singular`: the block variance is 0, the end of its range. `is_searched`: the
    variances are from the search of the profile likelihood, and not from statsmodels. `variance_covariance` (2, 2) is
    the inverse of the expected REML information of block and residual variance.
    """

    design: Design
    values: Reals
    means: Reals
    covariance: Reals
    block_variance: float
    residual_variance: float
    variance_covariance: Reals
    slopes: tuple[Reals, Reals]
    block_effects: Reals
    fitted: Reals
    residuals: Reals
    is_singular: bool
    is_searched: bool
    warnings: tuple[str, ...]

    @property
    def block_share(self) -> float:
        """The intraclass correlation: the share of the block variance in the variance of a run."""
        return self.block_variance / (self.block_variance + self.residual_variance)

    def _degrees(self, weights: Reals) -> float:
        gradient = np.asarray([weights @ slope @ weights for slope in self.slopes])
        spread = float(gradient @ self.variance_covariance @ gradient)
        variance = float(weights @ self.covariance @ weights)
        return 2 * variance**2 / spread

    def estimate(self, weights: npt.ArrayLike, level: float = LEVEL) -> LinearEstimate:
        """Return the weighted sum of the cells' means, with the t interval of Satterthwaite's degrees of freedom.

        `weights` is float, shape (c,): one cell's mean is a 1 among zeros, a difference has weights that add up to 0.
        """
        used, level = sample(weights, "weights"), level_checked(level)
        value = float(used @ self.means)
        error = float(np.sqrt(used @ self.covariance @ used))
        degrees = self._degrees(used)
        half = float(scipy.stats.t.ppf(0.5 + level / 2, degrees)) * error
        p_value = 2 * float(scipy.stats.t.sf(abs(value) / error, degrees))
        return LinearEstimate(value, error, degrees, value - half, value + half, p_value)

    def test(self, rows: Reals) -> TermTest:
        """Return the F test that all of `rows` @ means are 0; `rows` is float, shape (q, c), of full rank q."""
        middle = rows @ self.covariance @ rows.T
        difference = rows @ self.means
        size = rows.shape[0]
        statistic = float(difference @ np.linalg.solve(middle, difference)) / size
        # Independent directions, each with degrees of its own, taken together as Kuznetsova et al. do.
        directions = np.linalg.eigh(middle)[1].T @ rows
        each = np.asarray([self._degrees(direction) for direction in directions])
        if size == 1:
            degrees = float(each[0])
        else:
            expected = float((each[each > 2] / (each[each > 2] - 2)).sum())
            degrees = 2 * expected / (expected - size) if expected > size else float(each.min())
        return TermTest(statistic, size, degrees, float(scipy.stats.f.sf(statistic, size, degrees)))


@dataclass(frozen=True)
class _Parts:
    """What the likelihood is made of at given variances: covariance of the means, slopes, score and information.

    `weighted_squares` is the sum of squares of the residuals in the metric of their covariance matrix; `deviance` is
    minus twice the restricted log-likelihood, without its constant.
    """

    means: Reals
    weighted_squares: float
    deviance: float
    covariance: Reals
    slopes: tuple[Reals, Reals]
    score: Reals
    information: Reals
    block_effects: Reals


def _product(first: tuple[Reals, Reals], second: tuple[Reals, Reals], sizes: Reals) -> tuple[Reals, Reals]:
    """Return the product of two matrices a I + b J of each block, as its a and b; J has ones, `sizes` are blocks'."""
    a, b = first
    c, d = second
    return a * c, a * d + b * c + sizes * b * d


def _parts(design: Design, values: Reals, block_variance: float, residual_variance: float) -> _Parts:
    """Return the parts at given variances; sums over blocks, because each block's covariance matrix is a I + b J."""
    counts = design.counts.astype(np.float64)
    sizes = counts.sum(axis=1)
    one, zero = np.ones_like(sizes), np.zeros_like(sizes)
    inverse = (
        one / residual_variance,
        -block_variance / (residual_variance * (residual_variance + sizes * block_variance)),
    )
    derivatives = ((zero, one), (one, zero))

    def between_cells(matrix: tuple[Reals, Reals]) -> Reals:
        summed: Reals = np.diag(matrix[0] @ counts) + counts.T @ (matrix[1][:, None] * counts)
        return summed

    sums = np.zeros_like(counts)
    np.add.at(sums, (design.block, design.cell), values)
    totals = sums.sum(axis=1)
    covariance: Reals = np.linalg.inv(between_cells(inverse)).astype(np.float64)
    means = covariance @ (inverse[0] @ sums + counts.T @ (inverse[1] * totals))
    residuals = values - means[design.cell]
    of_blocks = np.bincount(design.block, weights=residuals, minlength=sizes.size)
    squares = np.bincount(design.block, weights=residuals**2, minlength=sizes.size)

    weighted_squares = float((inverse[0] * squares + inverse[1] * of_blocks**2).sum())
    of_covariance = float(((sizes - 1) * np.log(residual_variance)).sum())
    of_covariance += float(np.log(residual_variance + sizes * block_variance).sum())
    deviance = of_covariance - float(np.linalg.slogdet(covariance)[1]) + weighted_squares

    sandwiches = [_product(inverse, derivative, sizes) for derivative in derivatives]
    in_cells = [between_cells(_product(sandwich, inverse, sizes)) for sandwich in sandwiches]
    score, information = np.zeros(2), np.zeros((2, 2))
    for i, sandwich in enumerate(sandwiches):
        quadratic = _product(sandwich, inverse, sizes)
        trace = float((sizes * (sandwich[0] + sandwich[1])).sum()) - float(np.trace(covariance @ in_cells[i]))
        score[i] = -trace / 2 + float((quadratic[0] * squares + quadratic[1] * of_blocks**2).sum()) / 2
        for j, other in enumerate(sandwiches):
            twice = _product(sandwich, other, sizes)
            information[i, j] = (
                float((sizes * (twice[0] + twice[1])).sum())
                - 2 * float(np.trace(covariance @ between_cells(_product(twice, inverse, sizes))))
                + float(np.trace(covariance @ in_cells[i] @ covariance @ in_cells[j]))
            ) / 2
    slopes = (covariance @ in_cells[0] @ covariance, covariance @ in_cells[1] @ covariance)
    effects = block_variance / (residual_variance + sizes * block_variance) * of_blocks
    return _Parts(means, weighted_squares, deviance, covariance, slopes, score, information, effects)


def fit_mixed(design: Design, values: npt.ArrayLike) -> MixedFit:
    """Fit the model by REML.

    Parameters
    ----------
    design : Design
    values : float, shape (n,)
        One value for each run, in any unit.

    Returns
    -------
    MixedFit
        If the restricted likelihood is highest at a block variance of 0, that end of the range is the estimate and
        `is_singular` is set; intervals then keep the blocks' degrees of freedom, so they do not pool them.

    Raises
    ------
    DesignRefusedError
        If the likelihood rises up to the last of `SEARCHED_RATIOS`: runs of one block hardly differ but by their cells.
    """
    checked = sample(values)
    # Variances of bit/s and of seconds are eighteen decades apart; an optimiser sees the same numbers for both.
    centre, scale = float(checked.mean()), float(checked.std())
    scaled = (checked - centre) / scale
    noted: tuple[str, ...] = ()
    is_searched = bool(_profiled(design, scaled, 0.0)[1].score[0] <= 0)
    if not is_searched:
        block_variance, residual_variance, noted = _of_statsmodels(design, scaled)
        parts = _parts(design, scaled, block_variance, residual_variance)
        is_searched = not _is_maximum(parts)
    if is_searched:
        block_variance, residual_variance, parts = _searched(design, scaled)
    predicted = parts.means[design.cell] + parts.block_effects[design.block]
    return MixedFit(
        design=design,
        values=checked,
        means=parts.means * scale + centre,
        covariance=parts.covariance * scale**2,
        block_variance=block_variance * scale**2,
        residual_variance=residual_variance * scale**2,
        variance_covariance=np.linalg.inv(parts.information).astype(np.float64) * scale**4,
        slopes=parts.slopes,
        block_effects=parts.block_effects * scale,
        fitted=predicted * scale + centre,
        residuals=(scaled - predicted) * scale,
        is_singular=block_variance == 0,
        is_searched=is_searched,
        warnings=noted,
    )


def _is_maximum(parts: _Parts) -> bool:
    """Return whether the next step of Fisher's scoring is hardly one, in standard errors of the variances."""
    step = np.linalg.solve(parts.information, parts.score)
    errors = np.sqrt(np.diag(np.linalg.inv(parts.information)))
    return float((np.abs(step) / errors).max()) <= STEP_OF_CONVERGENCE


def _profiled(design: Design, values: Reals, ratio: float) -> tuple[float, _Parts]:
    """Return the best residual variance at a ratio of block to residual variance, and the parts there.

    The first element of the score then has the sign of the slope of the profile likelihood over the ratio.
    """
    free = values.size - len(design.cells)
    residual_variance = _parts(design, values, ratio, 1.0).weighted_squares / free
    return residual_variance, _parts(design, values, ratio * residual_variance, residual_variance)


def _searched(design: Design, values: Reals) -> tuple[float, float, _Parts]:
    """Return block variance, residual variance and parts where the restricted likelihood is highest.

    A maximum is at a ratio of 0 if the profile falls from there, and wherever it rises and then falls; an unbalanced
    design may have several.
    """

    def slope(ratio: float) -> float:
        return float(_profiled(design, values, ratio)[1].score[0])

    slopes = [slope(ratio) for ratio in SEARCHED_RATIOS]
    maxima = [0.0] if slopes[0] <= 0 else []
    for (low, rise), (high, fall) in itertools.pairwise(zip(SEARCHED_RATIOS, slopes, strict=True)):
        if rise > 0 >= fall:
            maxima.append(float(scipy.optimize.brentq(slope, low, high, xtol=1e-12, rtol=1e-10)))
    if not maxima:
        raise DesignRefusedError(
            f"blocks differ more than {SEARCHED_RATIOS[-1]:.0e} times as much as runs within a block: the "
            "variance between runs is close to 0; add blocks, or choose another metric"
        )
    searched = [(ratio, *_profiled(design, values, ratio)) for ratio in maxima]
    ratio, residual_variance, parts = min(searched, key=lambda one: one[2].deviance)
    return ratio * residual_variance, residual_variance, parts


def _of_statsmodels(design: Design, values: Reals) -> tuple[float, float, tuple[str, ...]]:
    """Return block and residual variance where statsmodels' optimisers stop, and what it warns of."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MixedLM(values, np.eye(len(design.cells))[design.cell], groups=design.block)
        fitted = model.fit(reml=True, method=["bfgs", "lbfgs", "cg"])
    said = tuple(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    return float(fitted.cov_re[0, 0]), float(fitted.scale), said
