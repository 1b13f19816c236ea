"""Groups of histograms in memory: what the functions for one histogram say of the members put together."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn_statistics.histogram import log_linear
from sojourn_statistics.histogram.histogram_set import Groups, HistogramSet

QUANTILES = [0.5, 0.07, 0.0, 1.0, 0.999999999999, 0.05, 0.5]
THRESHOLDS_US = [500_000, 0, 63, 64, 127, 128, 2**40]


def drawn(seed: int, largest: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Groups]:
    """Histograms with repeated bins in no order, none and one bin among them, and groups of some of them."""
    random = np.random.default_rng(seed)
    lengths = np.array([0, 1, *random.integers(0, 60, 40)])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    bins = random.integers(0, 400, offsets[-1]) * random.choice([1, 9], offsets[-1])
    counts = random.integers(0, largest, offsets[-1])
    chosen = random.permutation(len(lengths))[:30].astype(np.uint32)
    cuts = np.sort(random.integers(0, len(chosen), 7))
    return offsets, bins, counts, Groups(chosen, np.array([0, *cuts, len(chosen)], dtype=np.uint64))


def of_group(
    offsets: np.ndarray, bins: np.ndarray, counts: np.ndarray, groups: Groups, group: int
) -> tuple[np.ndarray, np.ndarray]:
    members = groups.members[int(groups.offsets[group]) : int(groups.offsets[group + 1])]
    rows = np.concatenate([np.arange(0), *(np.arange(offsets[m], offsets[m + 1]) for m in members)])
    return log_linear.merge(bins[rows], counts[rows])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("largest", [5, 2**50], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("seed", range(5))
def test_every_figure_is_that_of_the_members_put_together(seed: int, largest: int, threads: int) -> None:
    offsets, bins, counts, groups = drawn(seed, largest)
    histograms = HistogramSet(offsets, bins, counts, threads)
    alone = [of_group(offsets, bins, counts, groups, group) for group in range(len(groups))]
    assert any(len(part[0]) for part in alone)

    lengths, merged_bins, merged_counts = histograms.merged(groups)
    assert lengths.tolist() == [len(part[0]) for part in alone]
    assert merged_bins.tolist() == np.concatenate([part[0] for part in alone]).tolist()
    assert merged_counts.tolist() == np.concatenate([part[1] for part in alone]).tolist()
    assert histograms.merged(groups.between(2, 5))[0].tolist() == lengths[2:5].tolist()

    # A group without counts has no quantile.
    some = [group for group, part in enumerate(alone) if len(part[0])]
    members = [groups.members[int(groups.offsets[g]) : int(groups.offsets[g + 1])] for g in some]
    occupied = Groups(np.concatenate(members), np.cumsum([0, *map(len, members)]).astype(np.uint64))
    chosen, totals = histograms.quantile_bins(occupied, QUANTILES)
    share, totals_again = histograms.share_above(occupied, THRESHOLDS_US)
    assert totals.tolist() == totals_again.tolist() == [alone[g][1].sum() for g in some]
    for place, group in enumerate(some):
        assert chosen[place].tolist() == log_linear.quantile_bins(*alone[group], QUANTILES).tolist()
        expected = log_linear.share_above(*alone[group], THRESHOLDS_US)
        assert share.estimate[place].tolist() == expected.estimate.tolist()
        assert share.lower[place].tolist() == expected.lower.tolist()
        assert share.upper[place].tolist() == expected.upper.tolist()


def test_no_group_and_no_quantile() -> None:
    histograms = HistogramSet(np.array([0, 1]), np.array([3]), np.array([4]))
    assert len(histograms) == 1
    assert histograms.quantile_bins(Groups.each(0), QUANTILES)[0].shape == (0, len(QUANTILES))
    assert histograms.quantile_bins(Groups.each(1), [])[0].shape == (1, 0)
    assert histograms.merged(Groups.each(0))[0].shape == (0,)


def test_what_is_no_histogram_is_refused() -> None:
    one, offsets = np.array([1]), np.array([0, 1])
    for bins, counts, of in (
        (np.array([2**16]), one, "bins"),
        (np.array([-1]), one, "bins"),
        (one, np.array([-1]), "counts"),
        (one, np.array([1, 2]), "differ"),
    ):
        with pytest.raises(ValueError, match=of):
            HistogramSet(offsets, bins, counts)
    with pytest.raises(ValueError, match="offsets"):
        HistogramSet(np.array([0, 2]), one, one)
    with pytest.raises(ValueError, match="64 bits"):
        HistogramSet(np.array([0, 2]), np.array([1, 2]), np.array([2**62, 2**62]))
    histograms = HistogramSet(np.array([0, 0, 1]), one, one)
    with pytest.raises(ValueError, match="without counts"):
        histograms.quantile_bins(Groups.each(2), [0.5])
    with pytest.raises(ValueError, match="not a histogram"):
        histograms.merged(Groups.each(3))
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        histograms.quantile_bins(Groups.each(1), [1.5])
