"""Log-linear histograms of integer microseconds, with 64 linear bins per power of two.

The values 0 to 63 µs have a bin each (0 has its own). From 64 µs on, every interval [2^e, 2^(e+1)) is cut
into 64 bins of equal width 2^(e-6). A bin is thus at most 1/64 of its lower edge wide and its midpoint is
within 1/128 (0.79 %) of any value in it. The layout has no upper end, and counts of the same bin add up, over
any grouping.

Everything about edges is integer arithmetic, since a floating-point logarithm puts values next to a power of
two into the wrong bin and differs between engines.

References
----------
.. [1] G. Tene, "HdrHistogram: a high dynamic range histogram", http://hdrhistogram.org (log-linear layout).
.. [2] R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50(4),
   1996, https://doi.org/10.1080/00031305.1996.10473566 (definition 1, the inverted CDF).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

BINS_PER_OCTAVE = 64
"""Linear bins in each interval [2^e, 2^(e+1)) µs, for e >= 6."""

MAXIMUM_US = 2**62 - 1
"""Largest value in µs (146,000 years): its exclusive upper edge, 2^62, still fits a 64-bit integer."""

_SUB_BITS = 6
_LAST_INDEX = 64 * (61 - 5) + 63

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


def _whole_numbers(values: npt.ArrayLike, name: str, maximum: int) -> Integers:
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got {array.dtype}")
    if int(array.min()) < 0 or int(array.max()) > maximum:
        raise ValueError(f"{name} must lie in 0..{maximum}, got {array.min()}..{array.max()}")
    return array.astype(np.int64)


def _floor_log2(values: Integers) -> Integers:
    """Return the position of the highest set bit of values >= 1 (0 for 0), by smearing that bit downwards."""
    smeared = values.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> distance
    return np.maximum(np.bitwise_count(smeared).astype(np.int64) - 1, 0)


def bin_index(values_us: npt.ArrayLike) -> Integers:
    """Return the bin of each value.

    Parameters
    ----------
    values_us : integers, any shape
        Values in µs, 0 to `MAXIMUM_US`.

    Returns
    -------
    int64, same shape
        v for v < 64, otherwise 64 (e - 5) + (v >> (e - 6)) - 64 with e the floor of log2(v).

    Raises
    ------
    TypeError
        For values that are not integers: rounding is a decision of the caller.
    ValueError
        For values out of range.
    """
    values = _whole_numbers(values_us, "values_us", MAXIMUM_US)
    exponent = np.maximum(_floor_log2(values), _SUB_BITS - 1)
    shift = np.maximum(exponent - _SUB_BITS, 0)
    return np.where(
        values < BINS_PER_OCTAVE,
        values,
        BINS_PER_OCTAVE * (exponent - 5) + (values >> shift) - BINS_PER_OCTAVE,
    )


def _shift_of(indexes: Integers) -> Integers:
    return np.maximum(indexes // BINS_PER_OCTAVE - 1, 0)


def bin_lower_us(indexes: npt.ArrayLike) -> Integers:
    """Return the smallest integer value, in µs, of each bin (int64, same shape)."""
    checked = _whole_numbers(indexes, "indexes", _LAST_INDEX)
    linear = (checked % BINS_PER_OCTAVE + BINS_PER_OCTAVE) << _shift_of(checked)
    return np.where(checked < BINS_PER_OCTAVE, checked, linear)


def bin_upper_us(indexes: npt.ArrayLike) -> Integers:
    """Return the exclusive upper edge, in µs, of each bin: the lower edge of the next (int64, same shape)."""
    checked = _whole_numbers(indexes, "indexes", _LAST_INDEX)
    return bin_lower_us(checked) + (np.int64(1) << _shift_of(checked))


def representative_us(indexes: npt.ArrayLike) -> Reals:
    """Return the midpoint of the integers of each bin, (lower + upper - 1) / 2 in µs (float64, same shape).

    It is the value itself where the bin holds one integer (below 128 µs), and within 0.79 % of any value
    elsewhere.
    """
    lower, upper = bin_lower_us(indexes), bin_upper_us(indexes)
    return lower + (upper - 1 - lower) / 2


def merge(indexes: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[Integers, Integers]:
    """Add up the counts of equal bins.

    Parameters
    ----------
    indexes, counts : integers, shape (n,)
        Bins in any order, with repeats, and their counts; concatenated histograms are merged by this.

    Returns
    -------
    indexes, counts : int64, shape (m,)
        Each bin with a positive count once, in ascending order.
    """
    checked = _whole_numbers(indexes, "indexes", _LAST_INDEX)
    weights = _whole_numbers(counts, "counts", np.iinfo(np.int64).max)
    if checked.shape != weights.shape or checked.ndim != 1:
        raise ValueError(f"indexes {checked.shape} and counts {weights.shape} must have one and the same length")
    unique, position = np.unique(checked, return_inverse=True)
    total = np.zeros(unique.shape, dtype=np.int64)
    np.add.at(total, position, weights)
    return unique[total > 0], total[total > 0]


def histogram_of(values_us: npt.ArrayLike) -> tuple[Integers, Integers]:
    """Return the occupied bins, ascending, and their counts (both int64, shape (m,)) for values in µs."""
    indexes, counts = np.unique(bin_index(values_us), return_counts=True)
    return indexes, counts.astype(np.int64)


def coarsen(indexes: npt.ArrayLike, counts: npt.ArrayLike, bins_per_octave: int) -> tuple[Integers, Integers, Integers]:
    """Join neighbouring bins, so that every [2^e, 2^(e+1)) µs keeps at most `bins_per_octave`.

    No bin is split: an interval of fewer than `bins_per_octave` integers keeps a bin for each, and 0 keeps
    its own.

    Parameters
    ----------
    indexes, counts : integers, shape (n,)
    bins_per_octave : int
        A power of two, 1 to 64. With 64 the bins are unchanged.

    Returns
    -------
    lower_us, upper_us, counts : int64, shape (m,)
        The occupied bins in ascending order; `upper_us` is exclusive.
    """
    if bins_per_octave not in (1, 2, 4, 8, 16, 32, 64):
        raise ValueError(f"bins_per_octave must be a power of two from 1 to 64, got {bins_per_octave}")
    fine, weights = merge(indexes, counts)
    lower = bin_lower_us(fine)
    shift = np.maximum(_floor_log2(lower) - (bins_per_octave.bit_length() - 1), 0)
    lower = (lower >> shift) << shift
    upper = lower + (np.int64(1) << shift)
    first = np.flatnonzero(np.diff(lower, prepend=np.int64(-1)))
    if first.size == 0:
        return lower, upper, weights
    return lower[first], upper[first], np.add.reduceat(weights, first)


def quantile_bins(indexes: npt.ArrayLike, counts: npt.ArrayLike, quantiles: Sequence[float]) -> Integers:
    """Return the bin that holds each quantile, by the inverted CDF.

    The quantile q of n values is the k-th smallest, k = max(1, ceil(q n)); its bin is the first one whose
    cumulative count reaches k. Each q counts as the decimal number it is written as: 0.07 of 100 values is
    the 7th, although 0.07 * 100 is above 7 in floating point.

    Parameters
    ----------
    indexes, counts : integers, shape (n,)
        Bins in any order, repeats allowed.
    quantiles : sequence of float, length k
        Each in [0, 1].

    Returns
    -------
    int64, shape (k,)

    Raises
    ------
    ValueError
        When the histogram is empty (there is no quantile then) or a quantile is outside [0, 1].
    """
    occupied, weights = merge(indexes, counts)
    if occupied.size == 0:
        raise ValueError("an empty histogram has no quantile")
    if any(not 0 <= q <= 1 for q in quantiles):
        raise ValueError(f"quantiles must lie in [0, 1], got {list(quantiles)}")
    cumulative = np.cumsum(weights)
    total = int(cumulative[-1])
    ranks = [max(1, -((-Fraction(str(q)) * total).__floor__())) for q in quantiles]
    return occupied[np.searchsorted(cumulative, np.array(ranks, dtype=np.int64), side="left")]


def quantile(indexes: npt.ArrayLike, counts: npt.ArrayLike, quantiles: Sequence[float]) -> Reals:
    """Return quantiles in µs, each the representative of the bin `quantile_bins` names.

    Within 0.79 % of the inverted-CDF quantile [2]_ of the values themselves; exact below 128 µs.

    Returns
    -------
    float64, shape (k,)
    """
    return representative_us(quantile_bins(indexes, counts, quantiles))


def cdf(counts: npt.ArrayLike) -> Reals:
    """Return the share of values up to and including each bin (float64, shape (n,)).

    Parameters
    ----------
    counts : integers, shape (n,)
        Counts of bins in ascending order. The share belongs to the last integer of the bin, upper edge - 1
        µs, where it is exact.
    """
    cumulative = np.cumsum(_whole_numbers(counts, "counts", np.iinfo(np.int64).max))
    return cumulative / cumulative[-1] if cumulative.size else cumulative.astype(np.float64)


def log_pdf_per_decade(lower_us: npt.ArrayLike, upper_us: npt.ArrayLike, counts: npt.ArrayLike) -> Reals:
    """Return the density of log10 of the values: the share of each bin per decade.

    Parameters
    ----------
    lower_us, upper_us, counts : integers, shape (n,)
        All occupied bins of a histogram, in any order; the upper edge is exclusive.

    Returns
    -------
    float64, shape (n,)
        share / log10(upper / lower). The area over log10 of the values is 1, less the share of zero. The bin
        of zero has no logarithm: NaN.
    """
    lower = _whole_numbers(lower_us, "lower_us", 2**62)
    upper = _whole_numbers(upper_us, "upper_us", 2**62)
    weights = _whole_numbers(counts, "counts", np.iinfo(np.int64).max)
    decades = np.full(lower.shape, np.nan)
    positive = lower > 0
    decades[positive] = np.log10(upper[positive] / lower[positive])
    density: Reals = weights / max(int(weights.sum()), 1) / decades
    return density


@dataclass(frozen=True)
class ShareAbove:
    """Share of values above thresholds, with the error interval that the bins leave; arrays of shape (k,)."""

    estimate: Reals
    lower: Reals
    upper: Reals


def share_above(indexes: npt.ArrayLike, counts: npt.ArrayLike, thresholds_us: npt.ArrayLike) -> ShareAbove:
    """Return the share of values strictly above each threshold.

    Parameters
    ----------
    indexes, counts : integers, shape (n,)
    thresholds_us : integers, shape (k,)
        In µs.

    Returns
    -------
    ShareAbove
        `lower` counts the bins that lie above the threshold as a whole, `upper` adds the bin that the
        threshold cuts, and `estimate` adds that bin's share of integers above the threshold. All three are
        equal (and exact) when the threshold is the last integer of a bin, as it always is below 128 µs.

    Raises
    ------
    ValueError
        When the histogram is empty.
    """
    occupied, weights = merge(indexes, counts)
    if occupied.size == 0:
        raise ValueError("an empty histogram has no share above a threshold")
    thresholds = _whole_numbers(thresholds_us, "thresholds_us", MAXIMUM_US)
    cumulative = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(weights)])
    total = int(cumulative[-1])
    # A value is above t exactly when it is at least t + 1; the bin of t is the only one that may hold both
    # kinds.
    cut = bin_index(thresholds)
    above = total - cumulative[np.searchsorted(occupied, cut, side="right")]
    inside = total - cumulative[np.searchsorted(occupied, cut, side="left")] - above
    return shares_of_counts(thresholds, above, inside, np.int64(total))


def shares_of_counts(
    thresholds_us: Integers, above: Integers, inside: Integers, total: Integers | np.int64
) -> ShareAbove:
    """Return the shares above thresholds from counts; see `share_above`.

    Parameters
    ----------
    thresholds_us : int64, shape (k,)
    above, inside : int64, shape (..., k)
        Values in bins above the threshold's bin, and values in that bin.
    total : int64
        All values, above 0; of a shape that fits the counts.
    """
    cut = bin_index(thresholds_us)
    lower_edge, upper_edge = bin_lower_us(cut), bin_upper_us(cut)
    fraction = (upper_edge - 1 - thresholds_us) / (upper_edge - lower_edge)
    possible = np.where(thresholds_us == upper_edge - 1, 0, inside)
    return ShareAbove(
        estimate=(above + inside * fraction) / total, lower=above / total, upper=(above + possible) / total
    )
