"""What must not change, and how the rest must: shift, scale, order, swapped labels; refusals; seeds."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sojourn_statistics.correlation.coefficients import pearson, spearman
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.intervals.cluster import (
    cluster_bootstrap_mean,
    cluster_bootstrap_quantile,
    cluster_mean,
    cluster_mean_bounds,
)
from sojourn_statistics.intervals.order_statistics import (
    histogram_quantile,
    mean,
    median,
    quantile,
    quantile_ranks,
    smallest_n,
)
from sojourn_statistics.intervals.proportions import proportion, rate_ratio
from sojourn_statistics.samples.estimate import Estimate, Interval, SignificanceTest
from sojourn_statistics.shape.normality_and_modes import dip_statistic, dip_test, mixture, mixtures, shapiro_wilk
from sojourn_statistics.significance.equivalence import equivalence_of_means, equivalence_of_shift
from sojourn_statistics.significance.multiplicity import CORRECTIONS, corrected
from sojourn_statistics.significance.paired import paired_hodges_lehmann, wilcoxon_signed_rank
from sojourn_statistics.significance.several_samples import dunn, kruskal_wallis
from sojourn_statistics.significance.two_samples import (
    brunner_munzel,
    cliffs_delta,
    hodges_lehmann,
    kolmogorov_smirnov,
    mann_whitney,
    quantile_difference,
    quantile_shift_curve,
)

# Whole numbers, so that shifting and scaling by powers of two is exact; with many ties and without.
VALUES = arrays(np.float64, st.integers(6, 40), elements=st.integers(-50, 50).map(float))
DISTINCT = arrays(np.float64, st.integers(6, 40), elements=st.integers(-(10**6), 10**6).map(float), unique=True)
SAMPLES = st.one_of(VALUES, DISTINCT)
SHIFTS, SCALES = st.integers(-1000, 1000).map(float), st.sampled_from([0.25, 2.0, 1024.0])
FEW = settings(max_examples=40, deadline=None)


def numbers(estimate: Estimate) -> list[float]:
    if estimate.interval is None:
        return [estimate.value]
    return [estimate.value, estimate.interval.lower, estimate.interval.upper]


def near(values: list[float]) -> object:
    return pytest.approx(values, rel=1e-9, abs=1e-6, nan_ok=True)


LOCATIONS: dict[str, Callable[[np.ndarray], Estimate]] = {
    "mean": mean,
    "median": median,
    "quantile": lambda x: quantile(x, 0.75),
    "cluster mean": lambda x: cluster_mean(x, np.arange(x.size) // 3),
    "cluster bootstrap": lambda x: cluster_bootstrap_mean(x, np.arange(x.size) // 3, resamples=200),
}
EFFECTS: dict[str, Callable[[np.ndarray, np.ndarray], Estimate]] = {
    "shift": hodges_lehmann,
    "median difference": lambda x, y: quantile_difference(x, y, 0.5),
}
TESTS: dict[str, Callable[[np.ndarray, np.ndarray], SignificanceTest]] = {
    "Mann-Whitney": mann_whitney,
    "Brunner-Munzel": brunner_munzel,
    "Kolmogorov-Smirnov": kolmogorov_smirnov,
}


@pytest.mark.parametrize("name", LOCATIONS)
@FEW
@given(x=SAMPLES, shift=SHIFTS, scale=SCALES)
def test_locations_follow_shift_and_scale(name: str, x: np.ndarray, shift: float, scale: float) -> None:
    before, after = LOCATIONS[name](x), LOCATIONS[name](scale * x + shift)
    assert numbers(after) == near([scale * value + shift for value in numbers(before)])
    assert (after.n, after.interval_null_reason) == (before.n, before.interval_null_reason)


@pytest.mark.parametrize("name", ["mean", "median", "quantile"])
@FEW
@given(x=SAMPLES, random=st.randoms(use_true_random=False))
def test_order_does_not_matter(name: str, x: np.ndarray, random: object) -> None:
    order = list(range(x.size))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert numbers(LOCATIONS[name](x[order])) == near(numbers(LOCATIONS[name](x)))


@pytest.mark.parametrize("name", EFFECTS)
@FEW
@given(x=SAMPLES, y=SAMPLES, shift=SHIFTS, scale=SCALES)
def test_effects_follow_shift_scale_and_swapped_labels(
    name: str, x: np.ndarray, y: np.ndarray, shift: float, scale: float
) -> None:
    before = numbers(EFFECTS[name](x, y))
    assert numbers(EFFECTS[name](x + shift, y + shift)) == near(before)
    assert numbers(EFFECTS[name](x + shift, y)) == near([value + shift for value in before])
    assert numbers(EFFECTS[name](scale * x, scale * y)) == near([scale * value for value in before])
    assert numbers(EFFECTS[name](x[::-1], np.roll(y, 3))) == near(before)
    if name == "shift":  # the inverted CDF takes the lower of the middle two, which a swap turns round
        swapped = numbers(EFFECTS[name](y, x))
        assert swapped == near([-before[0], *sorted(-value for value in before[1:])])


@FEW
@given(x=SAMPLES, y=SAMPLES, scale=SCALES, shift=SHIFTS)
def test_cliffs_delta_is_of_ranks_and_antisymmetric(x: np.ndarray, y: np.ndarray, scale: float, shift: float) -> None:
    before = numbers(cliffs_delta(x, y))
    assert -1 <= before[1] <= before[0] <= before[2] <= 1
    assert numbers(cliffs_delta(scale * x**3 + shift, scale * y**3 + shift)) == near(before)
    assert numbers(cliffs_delta(y, x)) == near([-before[0], -before[2], -before[1]])


@pytest.mark.parametrize("name", TESTS)
@FEW
@given(x=SAMPLES, y=SAMPLES, scale=SCALES, shift=SHIFTS)
def test_two_sided_tests_do_not_know_which_is_the_baseline(
    name: str, x: np.ndarray, y: np.ndarray, scale: float, shift: float
) -> None:
    first, second = TESTS[name](x, y), TESTS[name](y, x)
    moved = TESTS[name](scale * x + shift, scale * y + shift)
    assert (first.p_value is None) == (second.p_value is None) == (moved.p_value is None)
    if first.p_value is not None:
        assert [second.p_value, moved.p_value] == near([first.p_value, first.p_value])
        assert 0 <= first.p_value <= 1


@FEW
@given(x=DISTINCT, y=DISTINCT)
def test_shift_interval_and_test_agree(x: np.ndarray, y: np.ndarray) -> None:
    assume(np.unique(np.concatenate([x, y])).size == x.size + y.size)
    shift, test = hodges_lehmann(x, y), mann_whitney(x, y)
    assert shift.interval is not None
    assert test.p_value is not None
    assert (shift.interval.lower <= 0 <= shift.interval.upper) == (test.p_value > 0.05)


@FEW
@given(differences=DISTINCT)
def test_paired_interval_and_test_agree_and_swap(differences: np.ndarray) -> None:
    assume(np.unique(np.abs(differences)).size == differences.size)
    assume(np.all(differences != 0))
    zeros = np.zeros_like(differences)
    shift, test = paired_hodges_lehmann(differences, zeros), wilcoxon_signed_rank(differences, zeros)
    assert shift.interval is not None
    assert test.p_value is not None
    assert (shift.interval.lower <= 0 <= shift.interval.upper) == (test.p_value > 0.05)
    swapped = numbers(paired_hodges_lehmann(zeros, differences))
    assert swapped == near([-shift.value, -shift.interval.upper, -shift.interval.lower])


@FEW
@given(x=SAMPLES, scale=SCALES, shift=SHIFTS)
def test_shape_does_not_know_shift_and_scale(x: np.ndarray, scale: float, shift: float) -> None:
    dip = dip_statistic(x)
    assert 1 / (2 * x.size) <= dip <= 0.25
    assert dip_statistic(scale * x + shift) == pytest.approx(dip)
    assert dip_statistic(-x) == pytest.approx(dip)
    before, after = mixture(x), mixture(scale * x + shift)
    if isinstance(before, str) or isinstance(after, str):
        assert before == after
    else:
        assert after.bic_gain == pytest.approx(before.bic_gain, rel=1e-3, abs=1e-2)


@FEW
@given(x=DISTINCT, scale=SCALES, shift=SHIFTS, data=st.data())
def test_correlations_are_symmetric_and_know_no_unit(x: np.ndarray, scale: float, shift: float, data: object) -> None:
    y = np.array(np.random.default_rng(int(abs(x[0]))).permutation(x))
    for correlation in (pearson, spearman):
        before = numbers(correlation(x, y))
        assert numbers(correlation(y, x)) == near(before)
        assert numbers(correlation(scale * x + shift, y)) == near(before)
        assert numbers(correlation(-x, y)) == pytest.approx([-before[0], *sorted(-v for v in before[1:])], abs=0.02)


@FEW
@given(p=st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30), correction=st.sampled_from(CORRECTIONS))
def test_corrections_never_lower_and_keep_the_order(p: list[float | None], correction: str) -> None:
    result = corrected(p, correction)  # type: ignore[arg-type]
    assert [q is None for q in result] == [q is None for q in p]
    made = sorted((before, after) for before, after in zip(p, result, strict=True) if before is not None)
    assert all(before <= after + 1e-15 <= 1 + 1e-12 for before, after in made)
    assert [after for _, after in made] == sorted(after for _, after in made)
    assert corrected(p[::-1], correction)[::-1] == result  # type: ignore[arg-type]


@FEW
@given(values=st.lists(st.integers(0, 10**7), min_size=6, max_size=200), q=st.sampled_from([0.25, 0.5, 0.9]))
def test_histogram_interval_contains_that_of_the_values(values: list[int], q: float) -> None:
    of_bins, of_values = histogram_quantile(*log_linear.histogram_of(values), q), quantile(values, q)
    assert (of_bins.interval is None) == (of_values.interval is None)
    if of_bins.interval is not None and of_values.interval is not None:
        assert of_bins.interval.lower <= of_values.interval.lower <= of_values.interval.upper
        assert of_values.interval.upper <= of_bins.interval.upper


@FEW
@given(st.integers(1, 400), st.sampled_from([0.05, 0.25, 0.5, 0.9]), st.sampled_from([0.9, 0.95, 0.99]))
def test_quantile_ranks_attain_their_level(n: int, q: float, level: float) -> None:
    ranks = quantile_ranks(n, q, level)
    if ranks is None:
        assert n < smallest_n(q, level)
    else:
        assert ranks[2] >= level


def test_swapping_the_groups_inverts_a_rate_ratio() -> None:
    first, second = rate_ratio(11, 800.0, 6, 1083.0), rate_ratio(6, 1083.0, 11, 800.0)
    assert [1 / value for value in numbers(second)] == near([numbers(first)[i] for i in (0, 2, 1)])


def test_a_proportion_and_its_complement() -> None:
    first, second = numbers(proportion(3, 10)), numbers(proportion(7, 10))
    assert [1 - value for value in second] == near([first[i] for i in (0, 2, 1)])


def test_names_of_groups_do_not_matter() -> None:
    random = np.random.default_rng(1)
    values = [random.normal(size=9), random.normal(1, 1, 12), random.normal(2, 1, 7)]
    first = dict(zip("abc", values, strict=True))
    second = dict(zip("cab", values, strict=True))
    assert kruskal_wallis(first).p_value == pytest.approx(kruskal_wallis(second).p_value)
    assert sorted(pair.p_corrected for pair in dunn(first)) == pytest.approx(
        sorted(pair.p_corrected for pair in dunn(second))
    )


def test_equivalence_does_not_know_which_is_the_baseline() -> None:
    random = np.random.default_rng(2)
    x, y = random.normal(size=20), random.normal(0.1, 1, 25)
    for test in (equivalence_of_means, equivalence_of_shift):
        assert test(x, y, 1.0).p_value == pytest.approx(test(y, x, 1.0).p_value)
        assert test(x, y, 1.0).p_value == pytest.approx(test(8 * x, 8 * y, 8.0).p_value)
        assert (test(x, y, 1.5).p_value or 0) < (test(x, y, 0.5).p_value or 0)


def test_totals_of_clusters_give_the_sandwich_of_statsmodels() -> None:
    random = np.random.default_rng(3)
    sizes = random.integers(1, 9, 25)
    clusters = np.repeat(np.arange(25), sizes)
    values = random.normal(size=clusters.size) + random.normal(size=25)[clusters]
    sums = np.bincount(clusters, weights=values)
    assert list(cluster_mean_bounds(sums, sizes, 0.95)) == near(numbers(cluster_mean(values, clusters))[1:])


ONE = [1.0]
REFUSALS: list[tuple[Estimate | SignificanceTest, str]] = [
    (mean(ONE), "one repetition: no interval"),
    (median(ONE), "one repetition: no interval"),
    (median([1.0, 2, 3, 4, 5]), "n = 5: an exact 95% interval of this quantile needs n >= 6"),
    (hodges_lehmann(ONE, [2.0]), "one run each"),
    (hodges_lehmann([1.0, 2, 3], [2.0, 3, 4]), "n = 3 and 3: a 95% interval of the shift needs 4 each or more of one"),
    (cliffs_delta(ONE, [2.0, 3]), "one repetition: no interval"),
    (quantile_difference(range(5), range(20), 0.9), "n = 5 and 20: fewer than 5 values beyond the quantile in a group"),
    (paired_hodges_lehmann(ONE, [2.0]), "one pair"),
    (paired_hodges_lehmann(range(5), [0.5] * 5), "5 pairs: a 95% interval of the shift needs 6"),
    (cluster_mean([1.0, 2], ["a", "a"], "AS"), "one AS: no interval"),
    (cluster_bootstrap_quantile(range(8), range(8)), "8 clusters: the bootstrap of a quantile needs 10"),
    (pearson([1.0, 2, 3], [1.0, 2, 5]), "n = 3: Fisher's z needs 4"),
    (pearson([1.0, 1, 1, 1], [1.0, 2, 5, 3]), "a quantity does not vary"),
    (spearman(range(5), range(5)), "n = 5: the bootstrap of a rank correlation needs 8"),
    (rate_ratio(0, 1.0, 0, 1.0), "no event in either group"),
    (mann_whitney(ONE, [2.0]), "one run each"),
    (mann_whitney([1.0, 1], [1.0, 1]), "all values are equal"),
    (brunner_munzel([1.0, 2], [3.0, 4]), "the groups do not overlap: no variance of ranks"),
    (brunner_munzel(ONE, [3.0, 4]), "fewer than two values in a group"),
    (wilcoxon_signed_rank([1.0, 2], [1.0, 2]), "all differences are 0"),
    (kruskal_wallis({"a": ONE, "b": ONE}), "one run each"),
    (equivalence_of_means(ONE, [1.0, 2], 1.0), "fewer than two values in a group"),
    (shapiro_wilk([1.0, 2]), "n = 2: needs 3"),
    (dip_test([1.0, 2]), "n = 2: needs 4"),
]


@pytest.mark.parametrize(("result", "reason"), REFUSALS, ids=[reason for _, reason in REFUSALS])
def test_what_cannot_be_given_says_why(result: Estimate | SignificanceTest, reason: str) -> None:
    if isinstance(result, Estimate):
        assert (result.interval, result.interval_null_reason) == (None, reason)
    else:
        assert (result.p_value, result.p_null_reason) == (None, reason)
    assert result.replication_unit


def test_a_result_has_an_interval_or_a_reason_and_not_both() -> None:
    with pytest.raises(ValueError, match="or the reason"):
        Estimate(1.0, "mean", "run", (1,), None, None)
    with pytest.raises(ValueError, match="or the reason"):
        Estimate(1.0, "mean", "run", (1,), Interval(0, 1, 0.95, "t"), "one repetition")


@pytest.mark.parametrize("bad", [[], [math.nan, 1.0], [math.inf], [[1.0]]])
def test_missing_values_are_the_callers_decision(bad: list[float]) -> None:
    for estimator in (mean, median, shapiro_wilk, dip_statistic):
        with pytest.raises(ValueError):
            estimator(bad)


def test_shift_curve_is_flat_for_a_shift_and_wider_than_a_single_interval() -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=200)
    curve = quantile_shift_curve(x + 3, x)
    assert all(point.value == pytest.approx(3) for point in curve)
    alone = quantile_difference(x + 3, x, 0.5).interval
    assert alone is not None
    assert curve[4].interval is not None
    assert curve[4].interval.lower < alone.lower < alone.upper < curve[4].interval.upper


def test_mixture_finds_planted_modes_and_rejects_one() -> None:
    random = np.random.default_rng(5)
    two = mixture(np.concatenate([random.normal(20, 3, 60), random.normal(100, 10, 40)]))
    one = mixture(random.normal(50, 10, 100))
    assert not isinstance(two, str)
    assert not isinstance(one, str)
    assert two.is_bimodal
    assert not one.is_bimodal
    assert two.means == (pytest.approx(20, abs=2), pytest.approx(100, abs=6))
    assert dip_test(np.concatenate([random.normal(20, 3, 60), random.normal(100, 10, 40)])).p_value < 0.01
    assert dip_test(random.normal(50, 10, 100)).p_value > 0.05


def test_samples_that_are_fitted_side_by_side_are_fitted_as_each_alone() -> None:
    random = np.random.default_rng(13)
    samples = [random.normal(size=n) for n in (12, 15, 12, 9, 15)]
    samples += [np.concatenate([random.normal(size=6), random.normal(9, 1, 6)]), np.ones(12)]
    assert mixtures(samples) == [mixture(values) for values in samples]


SEEDED = """
import numpy as np
from sojourn_statistics.intervals.cluster import cluster_bootstrap_mean, cluster_bootstrap_quantile
from sojourn_statistics.correlation.coefficients import spearman
x = np.random.default_rng(1).normal(size=300)
print(spearman(x, np.roll(x, 1)), cluster_bootstrap_mean(x, np.arange(300) // 7))
print(cluster_bootstrap_quantile(x, np.arange(300) // 7))
"""


def test_the_same_values_give_the_same_bytes_with_any_number_of_threads() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SEEDED],
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    }
    assert len(outputs) == 1
    assert outputs.pop()
