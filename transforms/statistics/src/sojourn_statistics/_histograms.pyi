"""Histograms added up in Rust; NumPy arrays cross the boundary."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_U16 = npt.NDArray[np.uint16]
_U32 = npt.NDArray[np.uint32]
_U64 = npt.NDArray[np.uint64]
_I64 = npt.NDArray[np.int64]

class HistogramSet:
    """Histograms one after another, in memory of its own: bins with their counts, divided by offsets.

    Groups are ``members`` (each histogram at most once) divided by ``offsets``. All arrays have one dimension and are
    contiguous. Everything runs without the GIL, on so many threads. Raises ValueError for offsets that do not divide
    what they should, unknown members, and counts that together do not fit a signed 64-bit integer.
    """

    def __init__(self, offsets: _U64, bins: _U16, counts: _U64) -> None: ...
    def __len__(self) -> int: ...
    def quantile_bins(
        self, members: _U32, offsets: _U64, quantiles: Sequence[tuple[int, int]], threads: int
    ) -> tuple[_I64, _I64]:
        """Return the bin of each quantile (numerator, denominator) of each group in turn, and each group's total.

        Raises ValueError for a group without counts, and for what is not a ratio from 0 to 1.
        """
    def counts_below(self, members: _U32, offsets: _U64, bins: Sequence[int], threads: int) -> tuple[_I64, _I64]:
        """Return how many values each group has below each bin, and each group's total."""
    def merged(self, members: _U32, offsets: _U64, threads: int) -> tuple[_I64, _U16, _I64]:
        """Return the sums: the number of occupied bins of each group, and bins and counts of all groups in turn."""
