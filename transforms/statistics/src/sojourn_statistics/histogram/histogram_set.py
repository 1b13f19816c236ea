"""Many histograms in memory, and quantiles and shares of any groups of them.

Adding up the histograms of a group is done in Rust (`native/histograms`): a grouping of ten million bins takes
some ten milliseconds a thread, where SQL and NumPy need a hash or a sort of all bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sojourn_statistics import _histograms
from sojourn_statistics.histogram.log_linear import Integers, ShareAbove, bin_index, shares_of_counts

HIGHEST_BIN = 2**16 - 1
"""Bins are held in 16 bits; those of `histogram` end at 3647."""


@dataclass(frozen=True)
class Groups:
    """Which histograms of a set each group adds up.

    `members` (whole numbers, shape (m,)) are those of all groups in turn, each histogram at most once; `offsets`
    (shape (groups + 1,)) tell where each group starts.
    """

    members: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.uint64]

    @classmethod
    def each(cls, count: int) -> Groups:
        """Return groups of one histogram each."""
        return cls(np.arange(count, dtype=np.uint32), np.arange(count + 1, dtype=np.uint64))

    def between(self, start: int, stop: int) -> Groups:
        """Return the groups from `start` up to, and without, `stop`."""
        offsets = self.offsets[start : stop + 1]
        return Groups(self.members[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0])

    def __len__(self) -> int:
        return len(self.offsets) - 1


class HistogramSet:
    """Histograms that were given once and are added up in any groups.

    Parameters
    ----------
    offsets : integers, shape (n + 1,)
        Where each histogram starts in the other two; the first is 0, the last their length.
    bins, counts : integers, shape (m,)
        Bins, 0 to `HIGHEST_BIN`, and their counts; in any order within a histogram, repeats allowed.
    threads : int
        How many threads a call may run on.

    Raises
    ------
    ValueError
        For offsets that do not fit, bins out of range, and counts that are negative or together exceed 2^63 - 1.
    """

    def __init__(
        self, offsets: npt.NDArray[np.integer], bins: npt.NDArray[np.integer], counts: npt.NDArray[np.integer],
        threads: int = 1,
    ) -> None:  # fmt: skip
        if bins.size and not (int(bins.min()) >= 0 and int(bins.max()) <= HIGHEST_BIN):
            raise ValueError(f"bins must lie in 0..{HIGHEST_BIN}, got {bins.min()}..{bins.max()}")
        if counts.size and int(counts.min()) < 0:
            raise ValueError(f"counts must not be negative, got {counts.min()}")
        self._set = _histograms.HistogramSet(
            np.ascontiguousarray(offsets, dtype=np.uint64),
            np.ascontiguousarray(bins, dtype=np.uint16),
            np.ascontiguousarray(counts, dtype=np.uint64),
        )
        self._threads = threads

    def __len__(self) -> int:
        return len(self._set)

    def quantile_bins(self, groups: Groups, quantiles: Sequence[float]) -> tuple[Integers, Integers]:
        """Return the bin of each quantile of each group, as `histogram.quantile_bins` has it, and the totals.

        Returns
        -------
        bins : int64, shape (groups, quantiles)
        totals : int64, shape (groups,)

        Raises
        ------
        ValueError
            When a group is empty or a quantile is outside [0, 1].
        """
        if any(not 0 <= q <= 1 for q in quantiles):
            raise ValueError(f"quantiles must lie in [0, 1], got {list(quantiles)}")
        ratios = [Fraction(str(q)).as_integer_ratio() for q in quantiles]
        bins, totals = self._set.quantile_bins(groups.members, groups.offsets, ratios, self._threads)
        return bins.reshape(len(groups), len(ratios)), totals

    def share_above(self, groups: Groups, thresholds_us: npt.ArrayLike) -> tuple[ShareAbove, Integers]:
        """Return the share of each group above each threshold, as `histogram.share_above` has it, and the totals.

        Returns
        -------
        shares : ShareAbove
            Arrays of shape (groups, thresholds).
        totals : int64, shape (groups,)
        """
        thresholds = np.asarray(thresholds_us, dtype=np.int64)
        cut = bin_index(thresholds)
        wanted = [*cut.tolist(), *(cut + 1).tolist()]
        below, total = self._set.counts_below(groups.members, groups.offsets, wanted, self._threads)
        counts = below.reshape(len(groups), 2, len(cut))
        above = total[:, np.newaxis] - counts[:, 1]
        return shares_of_counts(thresholds, above, counts[:, 1] - counts[:, 0], total[:, np.newaxis]), total

    def merged(self, groups: Groups) -> tuple[Integers, Integers, Integers]:
        """Return the sum of each group.

        Returns
        -------
        lengths : int64, shape (groups,)
            Occupied bins of each group.
        bins, counts : int64, shape (sum of lengths,)
            Those of all groups in turn; the bins of a group ascend.
        """
        lengths, bins, counts = self._set.merged(groups.members, groups.offsets, self._threads)
        return lengths, bins.astype(np.int64), counts
