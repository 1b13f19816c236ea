"""The statistics of a distribution: the one list that the requests, the OpenAPI document and the responses read.

A statistic is declared in `STATISTICS` with the parameters that apply to it and the function that gives its points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sojourn_statistics.histogram import log_linear
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet
from sojourn_statistics.intervals.order_statistics import histogram_quantile
from sojourn_statistics.intervals.proportions import proportion

Points = dict[str, npt.NDArray[Any]]
"""The points of one or all groups by column; a name that begins with `value` is that of the metric's quantity."""
Totals = npt.NDArray[np.int64]
"""How many values each group is of."""
Bins = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Bins of one group and their counts."""

DEFAULT_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class Arguments:
    """Which points a request asks for; each statistic takes those of its own parameters."""

    quantiles: tuple[float, ...] = DEFAULT_QUANTILES
    thresholds_us: tuple[int, ...] = ()
    bins_per_octave: int = log_linear.BINS_PER_OCTAVE


OfAll = Callable[[HistogramSet, Groups, Arguments], tuple[Points, Totals]]
OfOne = Callable[[Bins, Arguments], Points]


@dataclass(frozen=True)
class Bounded:
    """A value over replicates, with its interval at 95 % or the reason why there is none."""

    replicates: int
    value: float
    lower: float | None
    upper: float | None
    null_reason: str | None


@dataclass(frozen=True)
class Replicable:
    """What a statistic is over replicates: the names of its place and of its value among the points.

    `of_counted` gives the values of one group's bins, in the unit of the points, where each count is a replicate.
    """

    place: str
    value: str
    of_counted: Callable[[Bins, Arguments, str], list[Bounded]]


@dataclass(frozen=True)
class Statistic:
    """One statistic of a distribution.

    `parameters` are those of the query string that apply only to it, of which `needed` must be given. The points come
    from `of_all`, where each group has as many as `points` says, or else from `of_one` group's bins.
    """

    name: str
    parameters: tuple[str, ...]
    needed: tuple[str, ...] = ()
    points: Callable[[Arguments], int] | None = None
    of_all: OfAll | None = None
    of_one: OfOne | None = None
    replicable: Replicable | None = None


def _quantile_points(histograms: HistogramSet, groups: Groups, arguments: Arguments) -> tuple[Points, Totals]:
    bins, totals = histograms.quantile_bins(groups, arguments.quantiles)
    chosen = bins.ravel()
    # There are far fewer bins than points of many groups: each is worked out once.
    every_bin = np.arange(int(chosen.max(initial=-1)) + 1)
    return {
        "quantile_ratio": np.tile(np.array(arguments.quantiles, dtype=np.float64), len(groups)),
        "value_ms": (log_linear.representative_us(every_bin) / 1000)[chosen],
        "value_bin_lower_ms": (log_linear.bin_lower_us(every_bin) / 1000)[chosen],
        "value_bin_upper_ms": ((log_linear.bin_upper_us(every_bin) - 1) / 1000)[chosen],
    }, totals


def _threshold_points(histograms: HistogramSet, groups: Groups, arguments: Arguments) -> tuple[Points, Totals]:
    thresholds = np.array(arguments.thresholds_us, dtype=np.int64)
    share, totals = histograms.share_above(groups, thresholds)
    return {
        "threshold_ms": np.tile(thresholds / 1000, len(groups)),
        "share_above_ratio": share.estimate.ravel(),
        "share_above_bin_lower_ratio": share.lower.ravel(),
        "share_above_bin_upper_ratio": share.upper.ravel(),
    }, totals


def _bounded_quantiles(bins: Bins, arguments: Arguments, unit: str) -> list[Bounded]:
    total = int(bins[1].sum())
    bounded = []
    for quantile in arguments.quantiles:
        if quantile in (0, 1):
            value = float(log_linear.quantile(*bins, [quantile])[0]) / 1000
            bounded.append(Bounded(total, value, None, None, "no interval encloses the smallest or the largest value"))
            continue
        estimate = histogram_quantile(*bins, quantile, unit)
        interval = estimate.interval
        lower, upper = (None, None) if interval is None else (interval.lower / 1000, interval.upper / 1000)
        bounded.append(Bounded(total, estimate.value / 1000, lower, upper, estimate.interval_null_reason))
    return bounded


def _bounded_shares(bins: Bins, arguments: Arguments, unit: str) -> list[Bounded]:
    share = log_linear.share_above(*bins, np.array(arguments.thresholds_us, dtype=np.int64))
    total = int(bins[1].sum())
    bounded = []
    for value, fewest, most in zip(share.estimate, share.lower, share.upper, strict=True):
        # A threshold within a bin leaves open which of its values are above it: each end is of the count furthest out.
        lower = proportion(round(float(fewest) * total), total, unit).interval
        upper = proportion(round(float(most) * total), total, unit).interval
        assert lower is not None
        assert upper is not None
        bounded.append(Bounded(total, float(value), lower.lower, upper.upper, None))
    return bounded


def _cdf_points(bins: Bins, arguments: Arguments) -> Points:
    _, upper, counts = log_linear.coarsen(*bins, arguments.bins_per_octave)
    return {
        "value_ms": (upper - 1) / 1000,
        "count": counts,
        "cdf_ratio": log_linear.cdf(counts),
    }


def _pdf_points(bins: Bins, arguments: Arguments) -> Points:
    lower, upper, counts = log_linear.coarsen(*bins, arguments.bins_per_octave)
    return {
        "value_bin_lower_ms": lower / 1000,
        "value_bin_upper_ms": upper / 1000,
        "count": counts,
        "share_ratio": counts / counts.sum(),
        "density_per_decade": log_linear.log_pdf_per_decade(lower, upper, counts),
    }


STATISTICS = {
    statistic.name: statistic
    for statistic in (
        Statistic(
            "quantiles",
            parameters=("quantiles",),
            points=lambda arguments: len(arguments.quantiles),
            of_all=_quantile_points,
            replicable=Replicable("quantile_ratio", "value_ms", _bounded_quantiles),
        ),
        Statistic("cdf", parameters=("bins_per_octave",), of_one=_cdf_points),
        Statistic("pdf", parameters=("bins_per_octave",), of_one=_pdf_points),
        Statistic(
            "thresholds",
            parameters=("thresholds_ms",),
            needed=("thresholds_ms",),
            points=lambda arguments: len(arguments.thresholds_us),
            of_all=_threshold_points,
            replicable=Replicable("threshold_ms", "share_above_ratio", _bounded_shares),
        ),
    )
}
DEFAULT_STATISTIC = "quantiles"
