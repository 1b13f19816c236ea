"""The shape of a distribution: normal or not, one mode or several.

References
----------
.. [1] S. S. Shapiro and M. B. Wilk, "An analysis of variance test for normality", Biometrika 52(3-4), 1965,
   https://doi.org/10.1093/biomet/52.3-4.591.
.. [2] J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13(1), 1985,
   https://doi.org/10.1214/aos/1176346577.
.. [3] A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM
   algorithm", Journal of the Royal Statistical Society B 39(1), 1977,
   https://doi.org/10.1111/j.2517-6161.1977.tb01600.x.
.. [4] G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6(2), 1978,
   https://doi.org/10.1214/aos/1176344136.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt
import scipy

from sojourn_statistics.samples.arrays import Integers, Reals, sample
from sojourn_statistics.samples.estimate import SignificanceTest, refused_test

SHAPIRO_LARGEST = 5000
FEWEST_FOR_MIXTURE = 10


def shapiro_wilk(values: npt.ArrayLike, replication_unit: str = "run") -> SignificanceTest:
    """Test whether values are normal [1]_.

    Parameters
    ----------
    values : float, shape (n,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Statistic W. Refused below 3 values, above 5,000 (where the approximation of p ends, and any difference
        from normal is found), and when all are equal.
    """
    checked = sample(values)
    n, name = (checked.size,), "Shapiro-Wilk"
    if checked.size < 3:
        return refused_test(name, "normal", replication_unit, n, f"n = {checked.size}: needs 3")
    if checked.size > SHAPIRO_LARGEST:
        return refused_test(name, "normal", replication_unit, n, f"n = {checked.size}: valid up to {SHAPIRO_LARGEST}")
    if np.ptp(checked) == 0:
        return refused_test(name, "normal", replication_unit, n, "all values are equal")
    result = scipy.stats.shapiro(checked)
    return SignificanceTest(name, "normal", replication_unit, n, float(result.statistic), float(result.pvalue), None)


def _hull(x: Reals, y: Reals, convex: bool) -> Integers:
    """Return the positions at which the greatest convex minorant (or least concave majorant) touches (x, y)."""
    # The slopes of the minorant are the isotonic regression of the slopes between neighbours.
    slopes = np.diff(y) / np.diff(x)
    fitted = scipy.optimize.isotonic_regression(slopes, weights=np.diff(x), increasing=convex)
    return np.asarray(fitted.blocks, dtype=np.int64)


def dip_statistic(values: npt.ArrayLike) -> float:
    """Return Hartigan's dip: the largest distance of the empirical CDF from the nearest unimodal one [2]_.

    Parameters
    ----------
    values : float, shape (n,)

    Returns
    -------
    float
        From 1 / (2 n), also when all values are equal, to 1/4; without unit. Unchanged by shift and by scale.
        Takes O(n log n) for the sort and O(n) for each round of the search, of which there are few.
    """
    ordered = np.sort(sample(values))
    n = ordered.size
    x, first, counts = np.unique(ordered, return_index=True, return_counts=True)
    smallest = 1 / (2 * n)
    if x.size < 2:
        return smallest
    # Scaled to [0, 1], so that slopes neither overflow nor vanish.
    x = (x - x[0]) / (x[-1] - x[0])
    below, through = first.astype(np.float64), (first + counts).astype(np.float64)
    low, high = 0, x.size - 1
    dip = 1.0
    while high > low:
        span = slice(low, high + 1)
        minorant = low + _hull(x[span], below[span], convex=True)
        majorant = low + _hull(x[span], through[span], convex=False)
        gap_minorant = np.interp(x[minorant], x[majorant], through[majorant]) - below[minorant]
        gap_majorant = through[majorant] - np.interp(x[majorant], x[minorant], below[minorant])
        on_minorant, on_majorant = float(gap_minorant.max()), float(gap_majorant.max())
        if on_minorant > on_majorant:
            gap = on_minorant
            new_low = int(minorant[gap_minorant.argmax()])
            new_high = int(majorant[np.searchsorted(majorant, new_low, side="left")])
        else:
            gap = on_majorant
            new_high = int(majorant[gap_majorant.argmax()])
            new_low = int(minorant[np.searchsorted(minorant, new_high, side="right") - 1])
        if gap <= dip:
            break
        # The ends of the modal interval are left to the next round: there, and only there, may the CDF jump.
        if new_low > low:
            left = slice(low, new_low)
            dip = max(dip, float((through[left] - np.interp(x[left], x[minorant], below[minorant])).max()))
        if new_high < high:
            right = slice(new_high + 1, high + 1)
            dip = max(dip, float((np.interp(x[right], x[majorant], through[majorant]) - below[right]).max()))
        if (new_low, new_high) == (low, high):
            break
        low, high = new_low, new_high
    return dip / (2 * n)


@cache
def dip_table() -> tuple[Integers, Reals, Reals]:
    """Return sizes (s,), probabilities (p,) and the quantiles (s, p) of sqrt(n) dip of uniform samples."""
    text = resources.files(__package__).joinpath("dip_quantiles.json").read_text(encoding="utf-8")
    table = json.loads(text)
    return (
        np.array(table["n"], dtype=np.int64),
        np.array(table["probabilities"], dtype=np.float64),
        np.array(table["sqrt_n_dip"], dtype=np.float64),
    )


def dip_test(values: npt.ArrayLike, replication_unit: str = "run") -> SignificanceTest:
    """Test whether values come from a distribution with one mode, by Hartigan's dip [2]_.

    Parameters
    ----------
    values : float, shape (n,)
    replication_unit : str

    Returns
    -------
    SignificanceTest
        Against the uniform distribution, the hardest unimodal one. p is interpolated in a simulated table
        (`dip_quantiles.json`) in sqrt(n) dip, whose largest size is used for all larger n; it is given between
        the table's extremes. Refused below the table's smallest n, where no sample can look bimodal.
    """
    checked = sample(values)
    sizes, probabilities, quantiles = dip_table()
    n, name, hypothesis = (checked.size,), "Hartigan's dip", "one mode"
    if checked.size < sizes[0]:
        return refused_test(name, hypothesis, replication_unit, n, f"n = {checked.size}: needs {sizes[0]}")
    dip = dip_statistic(checked)
    # Between two sizes the quantiles are interpolated in log n.
    position = float(np.interp(math.log(checked.size), np.log(sizes), np.arange(sizes.size)))
    before = int(position)
    share = position - before
    row = quantiles[before] if share == 0 else (1 - share) * quantiles[before] + share * quantiles[before + 1]
    scaled = math.sqrt(checked.size) * dip
    # Small samples often have the smallest dip there is, which speaks for no second mode at all.
    below = 0.0 if scaled <= row[0] + 1e-6 else float(np.interp(scaled, row, probabilities))
    return SignificanceTest(name, hypothesis, replication_unit, n, dip, 1 - below, None)


@dataclass(frozen=True)
class Mixture:
    """Two normal components, the lower mean first, and how much better they describe the values than one.

    `bic_gain` is BIC of one component minus BIC of two: positive favours two, above 10 strongly.
    `separation` is Ashman's D, sqrt(2) |difference of means| / sqrt(sum of variances): below 2 two components
    do not make two modes. `is_bimodal` needs both.
    """

    n: int
    weights: tuple[float, float]
    means: tuple[float, float]
    standard_deviations: tuple[float, float]
    log_likelihood: float
    bic_one: float
    bic_two: float
    separation: float

    @property
    def bic_gain(self) -> float:
        """BIC of one component minus BIC of two."""
        return self.bic_one - self.bic_two

    @property
    def is_bimodal(self) -> bool:
        """Whether two separate components describe the values strongly better than one."""
        return self.bic_gain > 10 and self.separation > 2


STARTS = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
"""Shares of the ordered values that the first component has at first."""
MOST_ROUNDS = 2000


def _expectation_maximisation(values: Reals, start: Reals, floor: float) -> tuple[Reals, Reals, Reals, Reals]:
    """Fit two components to each row of values (k, n), from the first memberships (k, n) of one of them.

    Returns log-likelihoods (k,), and weights, means and deviations (k, 2). Rows are fitted side by side, because most
    of the time of a fit to a few runs is that of calling NumPy; each ends by itself.
    """
    rows = np.arange(len(values))
    fitted = tuple(np.empty((len(values), *shape)) for shape in ((), (2,), (2,), (2,)))
    membership, before = np.stack([start, 1 - start], axis=1), np.full(len(values), -math.inf)
    for number in range(MOST_ROUNDS):
        totals = membership.sum(axis=2)
        weights = totals / values.shape[1]
        means = (membership * values[:, None]).sum(axis=2) / totals
        distances = values[:, None] - means[:, :, None]
        deviations = np.sqrt(np.maximum((membership * distances**2).sum(axis=2) / totals, floor**2))
        densities = (np.log(weights) - np.log(deviations) - math.log(2 * math.pi) / 2)[:, :, None]
        densities = densities - (distances / deviations[:, :, None]) ** 2 / 2
        joint = np.logaddexp(densities[:, 0], densities[:, 1])
        now = joint.sum(axis=1)
        membership = np.exp(densities - joint[:, None])
        ends = now - before < 1e-10 * np.maximum(1.0, np.abs(now))
        ends |= membership.sum(axis=2).min(axis=1) < 1e-8
        if number == MOST_ROUNDS - 1:
            ends[:] = True
        for all_rows, ended in zip(fitted, (now, weights, means, deviations), strict=True):
            all_rows[rows[ends]] = ended[ends]
        if ends.all():
            break
        rows, values, membership, before = rows[~ends], values[~ends], membership[~ends], now[~ends]
    log_likelihoods, weights, means, deviations = fitted
    return log_likelihoods, weights, means, deviations


def mixture(values: npt.ArrayLike) -> Mixture | str:
    """Fit two normal components to one sample; see :func:`mixtures`."""
    (fitted,) = mixtures([values])
    return fitted


def mixtures(samples: Sequence[npt.ArrayLike]) -> list[Mixture | str]:
    """Fit two normal components to each sample by expectation-maximisation [3]_, and compare with one by BIC [4]_.

    Parameters
    ----------
    samples : sequence of float, shape (n,)
        Independent values; take logarithms of delays first.

    Returns
    -------
    list of Mixture, or of a text with the reason why there is none
        The best of several starts, which split the ordered values at set shares: no random numbers. Standard
        deviations are bounded below by 1 % of that of all values, because the likelihood
        has no maximum otherwise. Refused below 10 values and when all are equal.
    """
    ordered = [np.sort(sample(values)) for values in samples]
    fits: dict[int, Mixture | str] = {}
    by_size: dict[int, list[int]] = {}
    for place, values in enumerate(ordered):
        if values.size < FEWEST_FOR_MIXTURE:
            fits[place] = f"n = {values.size}: two components need {FEWEST_FOR_MIXTURE}"
        elif np.ptp(values) == 0:
            fits[place] = "all values are equal"
        else:
            by_size.setdefault(values.size, []).append(place)
    for places in by_size.values():
        fits.update(zip(places, _mixtures_of_one_size(np.stack([ordered[place] for place in places])), strict=True))
    return [fits[place] for place in range(len(ordered))]


def _mixtures_of_one_size(ordered: Reals) -> Iterator[Mixture]:
    """Yield the mixture of each row of ordered values (k, n)."""
    n = ordered.shape[1]
    centres, scales = ordered.mean(axis=1), ordered.std(axis=1)
    standard = (ordered - centres[:, None]) / scales[:, None]
    first = [max(2, min(n - 2, round(share * n))) for share in STARTS]
    starts = np.where(np.arange(n) < np.array(first)[:, None], 0.99, 0.01)
    of_starts = _expectation_maximisation(
        np.repeat(standard, len(STARTS), axis=0), np.tile(starts, (len(ordered), 1)), 0.01
    )
    best = of_starts[0].reshape(-1, len(STARTS)).argmax(axis=1) + np.arange(len(ordered)) * len(STARTS)
    ones = -(standard**2).sum(axis=1) / 2 - n * math.log(2 * math.pi) / 2
    for row, start in enumerate(best):
        log_likelihood = float(of_starts[0][start])
        weights, means, deviations = (fitted[start] for fitted in of_starts[1:])
        order = np.argsort(means, kind="stable")
        weights, means, deviations = weights[order], means[order], deviations[order]
        separation = math.sqrt(2) * float(means[1] - means[0]) / math.sqrt(float((deviations**2).sum()))
        centre, scale = float(centres[row]), float(scales[row])
        # The likelihood of the values themselves: that of the standardised ones, less log(scale) each.
        unscaled = n * math.log(scale)
        yield Mixture(
            n=n,
            weights=(float(weights[0]), float(weights[1])),
            means=(float(means[0]) * scale + centre, float(means[1]) * scale + centre),
            standard_deviations=(float(deviations[0]) * scale, float(deviations[1]) * scale),
            log_likelihood=log_likelihood - unscaled,
            bic_one=2 * math.log(n) - 2 * (float(ones[row]) - unscaled),
            bic_two=5 * math.log(n) - 2 * (log_likelihood - unscaled),
            separation=separation,
        )
