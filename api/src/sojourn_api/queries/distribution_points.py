"""The points of a statistic for all groups of a request, within the largest result that may be sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sojourn_api.distribution_statistics import Arguments, Bins, OfOne, Points, Statistic, Totals
from sojourn_api.problems import ProblemError
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet

_GROUPS_AT_ONCE = 64
"""Of CDF and PDF: few, so that a result that is too large is refused before all of it is added up."""
_ONE_BIN: Bins = (np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))


@dataclass(frozen=True)
class Described:
    """The points of all groups in turn, how many each group has, and how many values each group is of."""

    points: Points
    lengths: npt.NDArray[np.int64]
    totals: Totals


def described(
    histograms: HistogramSet, groups: Groups, statistic: Statistic, arguments: Arguments, max_rows: int
) -> Described:
    """Return a statistic of groups of histograms, each of which has a value.

    Raises
    ------
    ProblemError
        422, when there are more than `max_rows` points.
    """
    if statistic.of_one is not None:
        return _of_each(histograms, groups, statistic.of_one, arguments, max_rows)
    assert statistic.of_all is not None
    assert statistic.points is not None
    points_each = statistic.points(arguments)
    if len(groups) * points_each > max_rows:
        raise _too_large(max_rows)
    points, totals = statistic.of_all(histograms, groups, arguments)
    return Described(points, np.full(len(groups), points_each, dtype=np.int64), totals)


def _too_large(max_rows: int) -> ProblemError:
    return ProblemError(
        "result-too-large",
        f"The result has more than {max_rows} rows. Filter more, group by fewer columns, ask for "
        "fewer points or lower bins_per_octave.",
        maximum=max_rows,
    )


def _of_each(histograms: HistogramSet, groups: Groups, tell: OfOne, arguments: Arguments, max_rows: int) -> Described:
    # Without any group the points are still those of the statistic, so there is an empty example.
    points = [{name: values[:0] for name, values in tell(_ONE_BIN, arguments).items()}]
    lengths, totals = [0], []
    for start in range(0, len(groups), _GROUPS_AT_ONCE):
        of_bins, bins, counts = histograms.merged(groups.between(start, start + _GROUPS_AT_ONCE))
        ends = np.cumsum(of_bins)
        for first, end in zip(ends - of_bins, ends, strict=True):
            totals.append(counts[first:end].sum())
            points.append(tell((bins[first:end], counts[first:end]), arguments))
            lengths.append(len(next(iter(points[-1].values()))))
        if sum(lengths) > max_rows:
            raise _too_large(max_rows)
    return Described(
        {name: np.concatenate([of_group[name] for of_group in points]) for name in points[0]},
        np.array(lengths[1:], dtype=np.int64),
        np.array(totals, dtype=np.int64),
    )
