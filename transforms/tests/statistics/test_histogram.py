from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn_statistics.histogram import log_linear as h

VALUES = st.one_of(
    st.integers(0, 300),
    st.integers(0, 10**7),
    st.integers(0, h.MAXIMUM_US),
    st.builds(lambda exponent, step: max(0, 2**exponent + step), st.integers(0, 61), st.integers(-2, 2)),
)
SAMPLES = st.lists(VALUES, min_size=1, max_size=200)


def reference_bin(value: int) -> tuple[int, int, int]:
    """Index, lower and exclusive upper edge of a value's bin: plain Python, and counted rather than
    computed."""
    if value < 64:
        return value, value, value + 1
    lower, width, index = 64, 1, 64
    while lower * 2 <= value:
        lower, width, index = lower * 2, width * 2, index + 64
    steps = (value - lower) // width
    return index + steps, lower + steps * width, lower + (steps + 1) * width


def edge_values() -> list[int]:
    values = {max(0, 2**e + step) for e in range(41) for step in (-2, -1, 0, 1, 2)}
    return sorted(values | {h.MAXIMUM_US, h.MAXIMUM_US - 1, 2**53 - 1, 2**53, 2**53 + 1})


@pytest.mark.parametrize("value", edge_values())
def test_every_power_of_two_and_its_neighbours(value: int) -> None:
    index, lower, upper = reference_bin(value)
    assert h.bin_index(np.array([value])).tolist() == [index]
    assert h.bin_lower_us(np.array([index])).tolist() == [lower]
    assert h.bin_upper_us(np.array([index])).tolist() == [upper]


@given(st.lists(VALUES, max_size=100))
def test_bins_equal_the_plain_python_reference(values: list[int]) -> None:
    expected = [reference_bin(value) for value in values]
    indexes = h.bin_index(np.array(values, dtype=np.int64))
    assert indexes.tolist() == [e[0] for e in expected]
    assert h.bin_lower_us(indexes).tolist() == [e[1] for e in expected]
    assert h.bin_upper_us(indexes).tolist() == [e[2] for e in expected]


def test_bins_tile_the_integers_without_gap_or_overlap() -> None:
    indexes = np.arange(64 * 57)
    assert (h.bin_upper_us(indexes)[:-1] == h.bin_lower_us(indexes)[1:]).all()
    assert (h.bin_index(h.bin_lower_us(indexes)) == indexes).all()
    assert (h.bin_index(h.bin_upper_us(indexes) - 1) == indexes).all()


@given(VALUES, VALUES)
def test_bin_index_is_monotone(a: int, b: int) -> None:
    low, high = h.bin_index(np.array(sorted((a, b))))
    assert low <= high


@given(VALUES)
def test_representative_is_within_one_percent_and_exact_in_narrow_bins(value: int) -> None:
    (representative,) = h.representative_us(h.bin_index(np.array([value]))).tolist()
    assert abs(representative - value) <= value / 128
    if value < 128:
        assert representative == value


def test_shape_and_unsigned_input_are_kept() -> None:
    assert h.bin_index(np.array([[0, 64], [128, 129]], dtype=np.uint64)).tolist() == [[0, 64], [128, 128]]
    assert h.bin_index(np.array([], dtype=np.float64)).tolist() == []


@pytest.mark.parametrize("values", [[-1], [h.MAXIMUM_US + 1], [2**64 - 1]])
def test_values_out_of_range_are_refused(values: list[int]) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        h.bin_index(np.array(values))


def test_values_that_are_not_integers_are_refused() -> None:
    with pytest.raises(TypeError, match="must be integers"):
        h.bin_index(np.array([1.5]))


@given(SAMPLES, SAMPLES)
def test_merging_histograms_equals_the_histogram_of_all_values(a: list[int], b: list[int]) -> None:
    index_a, count_a = h.histogram_of(np.array(a))
    index_b, count_b = h.histogram_of(np.array(b))
    merged = h.merge(np.concatenate([index_a, index_b]), np.concatenate([count_a, count_b]))
    together = h.histogram_of(np.array(a + b))
    assert merged[0].tolist() == together[0].tolist()
    assert merged[1].tolist() == together[1].tolist()


def test_merge_drops_bins_without_values_and_refuses_uneven_input() -> None:
    indexes, counts = h.merge([3, 1, 3, 2], [1, 2, 4, 0])
    assert (indexes.tolist(), counts.tolist()) == ([1, 3], [2, 5])
    with pytest.raises(ValueError, match="one and the same length"):
        h.merge([1, 2], [1])


@given(SAMPLES, st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=1, max_size=5))
def test_quantiles_are_within_one_percent_of_the_values_own(values: list[int], quantiles: list[float]) -> None:
    estimated = h.quantile(*h.histogram_of(np.array(values)), quantiles)
    for q, estimate in zip(quantiles, estimated.tolist(), strict=True):
        rank = max(1, math.ceil(Fraction(str(q)) * len(values)))
        exact = sorted(values)[rank - 1]
        assert abs(estimate - exact) <= exact / 100


def test_a_quantile_counts_as_the_decimal_it_is_written_as() -> None:
    indexes, counts = h.histogram_of(np.arange(1, 101))
    assert h.quantile(indexes, counts, [0, 0.01, 0.07, 0.29, 0.57, 0.58, 1]).tolist() == [
        1,
        1,
        7,
        29,
        57,
        58,
        100,
    ]


def test_quantiles_of_nothing_or_outside_zero_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match="empty histogram"):
        h.quantile([], [], [0.5])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        h.quantile([1], [1], [1.5])


@given(SAMPLES)
def test_cdf_is_exact_at_the_last_integer_of_each_bin(values: list[int]) -> None:
    indexes, counts = h.histogram_of(np.array(values))
    for last, share in zip((h.bin_upper_us(indexes) - 1).tolist(), h.cdf(counts).tolist(), strict=True):
        assert share == sum(value <= last for value in values) / len(values)


@given(SAMPLES, st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_coarse_bins_keep_every_value_and_stay_whole(values: list[int], bins_per_octave: int) -> None:
    lower, upper, counts = h.coarsen(*h.histogram_of(np.array(values)), bins_per_octave)
    expected: dict[tuple[int, int], int] = {}
    for value in values:
        octave = 2 ** (value.bit_length() - 1) if value else 1
        width = max(1, octave // bins_per_octave)
        edge = value // width * width
        expected[edge, edge + width] = expected.get((edge, edge + width), 0) + 1
    got = zip(zip(lower.tolist(), upper.tolist(), strict=True), counts.tolist(), strict=True)
    assert list(got) == sorted(expected.items())


def test_coarsening_knows_its_layouts_and_empty_input() -> None:
    with pytest.raises(ValueError, match="power of two"):
        h.coarsen([1], [1], 3)
    assert [a.tolist() for a in h.coarsen([], [], 8)] == [[], [], []]
    assert h.cdf([]).tolist() == []


@given(SAMPLES, st.sampled_from([1, 8, 64]))
def test_area_under_the_log_density_is_the_share_of_positive_values(values: list[int], bins_per_octave: int) -> None:
    lower, upper, counts = h.coarsen(*h.histogram_of(np.array(values)), bins_per_octave)
    density = h.log_pdf_per_decade(lower, upper, counts)
    positive = lower > 0
    area = float((density[positive] * np.log10(upper[positive] / lower[positive])).sum())
    assert area == pytest.approx(sum(v > 0 for v in values) / len(values))
    assert np.isnan(density[~positive]).all()


@given(SAMPLES, VALUES)
def test_share_above_encloses_the_true_share(values: list[int], threshold: int) -> None:
    share = h.share_above(*h.histogram_of(np.array(values)), [threshold])
    true = sum(value > threshold for value in values) / len(values)
    assert share.lower[0] <= true <= share.upper[0]
    assert share.lower[0] <= share.estimate[0] <= share.upper[0]
    if threshold < 128:
        assert share.lower[0] == share.estimate[0] == share.upper[0] == true


def test_share_above_of_a_cut_bin_takes_its_share_of_integers() -> None:
    # bin [256, 260) holds four values; 257 leaves two of its four integers above
    share = h.share_above(h.bin_index([256]), [4], [257])
    assert (share.lower[0], share.estimate[0], share.upper[0]) == (0.0, 0.5, 1.0)
    with pytest.raises(ValueError, match="empty histogram"):
        h.share_above([], [], [1])
