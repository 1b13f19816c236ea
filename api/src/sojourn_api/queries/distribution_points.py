"""What is told of each distribution: quantiles, CDF, PDF of the logarithm, or shares above thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn_api.problems import ProblemError
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet

Points = dict[str, npt.NDArray[Any]]
Bins = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_GROUPS_AT_ONCE = 64
"""Of CDF and PDF: few, so that a result that is too large is refused before all of it is added up."""


@dataclass(frozen=True)
class Statistic:
    """What to tell of each distribution."""

    name: str
    quantiles: tuple[float, ...]
    thresholds_us: tuple[int, ...]
    bins_per_octave: int


@dataclass(frozen=True)
class Described:
    """The points of all groups in turn, how many each group has, and how many values each group is of."""

    points: Points
    lengths: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]


def described(histograms: HistogramSet, groups: Groups, statistic: Statistic, max_rows: int) -> Described:
    """Return a statistic of groups of histograms, of which none is empty.

    Raises
    ------
    ProblemError
        422, when there are more than `max_rows` points.
    """
    if statistic.name in _OF_ALL:
        points_each = len(statistic.quantiles if statistic.name == "quantiles" else statistic.thresholds_us)
        if len(groups) * points_each > max_rows:
            raise _too_large(max_rows)
        points, totals = _OF_ALL[statistic.name](histograms, groups, statistic)
        return Described(points, np.full(len(groups), points_each, dtype=np.int64), totals)
    return _of_each(histograms, groups, statistic, max_rows)


def _too_large(max_rows: int) -> ProblemError:
    return ProblemError(
        "result-too-large",
        f"The result has more than {max_rows} rows. Filter more, group by fewer columns, ask for "
        "fewer points or lower bins_per_octave.",
        maximum=max_rows,
    )


def _quantile_points(
    histograms: HistogramSet, groups: Groups, statistic: Statistic
) -> tuple[Points, npt.NDArray[np.int64]]:
    bins, totals = histograms.quantile_bins(groups, statistic.quantiles)
    chosen = bins.ravel()
    # There are far fewer bins than points of many groups: each is worked out once.
    every_bin = np.arange(int(chosen.max(initial=-1)) + 1)
    return {
        "quantile_ratio": np.tile(np.array(statistic.quantiles, dtype=np.float64), len(groups)),
        "value_ms": (log_linear.representative_us(every_bin) / 1000)[chosen],
        "value_lower_ms": (log_linear.bin_lower_us(every_bin) / 1000)[chosen],
        "value_upper_ms": ((log_linear.bin_upper_us(every_bin) - 1) / 1000)[chosen],
    }, totals


def _threshold_points(
    histograms: HistogramSet, groups: Groups, statistic: Statistic
) -> tuple[Points, npt.NDArray[np.int64]]:
    thresholds = np.array(statistic.thresholds_us, dtype=np.int64)
    share, totals = histograms.share_above(groups, thresholds)
    return {
        "threshold_ms": np.tile(thresholds / 1000, len(groups)),
        "share_above_ratio": share.estimate.ravel(),
        "share_above_lower_ratio": share.lower.ravel(),
        "share_above_upper_ratio": share.upper.ravel(),
    }, totals


def _cdf_points(bins: Bins, statistic: Statistic) -> Points:
    _, upper, counts = log_linear.coarsen(*bins, statistic.bins_per_octave)
    return {
        "value_ms": (upper - 1) / 1000,
        "count": counts,
        "cdf_ratio": log_linear.cdf(counts),
    }


def _pdf_points(bins: Bins, statistic: Statistic) -> Points:
    lower, upper, counts = log_linear.coarsen(*bins, statistic.bins_per_octave)
    return {
        "value_lower_ms": lower / 1000,
        "value_upper_ms": upper / 1000,
        "count": counts,
        "share_ratio": counts / counts.sum(),
        "density_per_decade": log_linear.log_pdf_per_decade(lower, upper, counts),
    }


_OF_ALL: dict[str, Callable[[HistogramSet, Groups, Statistic], tuple[Points, npt.NDArray[np.int64]]]] = {
    "quantiles": _quantile_points,
    "thresholds": _threshold_points,
}
_OF_ONE: dict[str, Callable[[Bins, Statistic], Points]] = {"cdf": _cdf_points, "pdf": _pdf_points}
STATISTICS = ("quantiles", "cdf", "pdf", "thresholds")
_ONE_BIN: Bins = (np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))


def _of_each(histograms: HistogramSet, groups: Groups, statistic: Statistic, max_rows: int) -> Described:
    tell = _OF_ONE[statistic.name]
    # Without any group the points are still those of the statistic, so there is an empty example.
    points = [{name: values[:0] for name, values in tell(_ONE_BIN, statistic).items()}]
    lengths, totals = [0], []
    for start in range(0, len(groups), _GROUPS_AT_ONCE):
        of_bins, bins, counts = histograms.merged(groups.between(start, start + _GROUPS_AT_ONCE))
        ends = np.cumsum(of_bins)
        for first, end in zip(ends - of_bins, ends, strict=True):
            totals.append(counts[first:end].sum())
            points.append(tell((bins[first:end], counts[first:end]), statistic))
            lengths.append(len(next(iter(points[-1].values()))))
        if sum(lengths) > max_rows:
            raise _too_large(max_rows)
    return Described(
        {name: np.concatenate([of_group[name] for of_group in points]) for name in points[0]},
        np.array(lengths[1:], dtype=np.int64),
        np.array(totals, dtype=np.int64),
    )
