"""Every estimator against R: `golden/statistics.json`, written by `golden/statistics.R` with R 4.2 and its packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from sojourn_statistics.correlation.coefficients import pearson, spearman
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.intervals.cluster import cluster_bootstrap_mean, cluster_bootstrap_quantile, cluster_mean
from sojourn_statistics.intervals.order_statistics import histogram_quantile, mean, median, quantile, quantile_ranks
from sojourn_statistics.intervals.proportions import proportion, rate_ratio
from sojourn_statistics.samples.estimate import Estimate
from sojourn_statistics.shape.normality_and_modes import Mixture, dip_test, mixture, shapiro_wilk
from sojourn_statistics.significance.equivalence import equivalence_of_means, equivalence_of_shift
from sojourn_statistics.significance.multiplicity import corrected
from sojourn_statistics.significance.paired import paired_hodges_lehmann, wilcoxon_signed_rank
from sojourn_statistics.significance.rank_distributions import mann_whitney_cdf, signed_rank_cdf
from sojourn_statistics.significance.several_samples import dunn, kruskal_wallis
from sojourn_statistics.significance.two_samples import (
    brunner_munzel,
    cliffs_delta,
    hodges_lehmann,
    kolmogorov_smirnov,
    mann_whitney,
    quantile_difference,
)

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "statistics.json").read_text())
INPUT = {name: np.array(values) for name, values in GOLDEN["input"].items()}


def close(expected: Any, relative: float = 1e-9) -> Any:
    return pytest.approx(expected, rel=relative, abs=1e-12)


def bounds(estimate: Estimate) -> list[float]:
    assert estimate.interval is not None, estimate.interval_null_reason
    return [estimate.interval.lower, estimate.interval.upper]


def test_mean_t() -> None:
    expected, estimate = GOLDEN["mean_t"], mean(INPUT["x"])
    assert [estimate.value, *bounds(estimate)] == close([expected["estimate"], expected["lower"], expected["upper"]])


def test_ranks_of_the_exact_quantile_interval() -> None:
    for n, q, lower, upper, attained in GOLDEN["quantile_ranks"]:
        assert quantile_ranks(int(n), q) == (lower, upper, close(attained))


def test_quantile_interval_reads_those_ranks() -> None:
    ordered = np.sort(INPUT["eruptions"])
    _, _, lower, upper, _ = GOLDEN["quantile_ranks"][2]
    assert bounds(quantile(INPUT["eruptions"], 0.9)) == [ordered[int(lower) - 1], ordered[int(upper) - 1]]
    indexes, counts = log_linear.histogram_of((INPUT["eruptions"] * 1e6).astype(np.int64))
    low, high = bounds(histogram_quantile(indexes, counts, 0.9))
    assert low <= ordered[int(lower) - 1] * 1e6 <= low * (1 + 1 / 64)
    assert high >= ordered[int(upper) - 1] * 1e6 >= high * (1 - 1 / 64)


def test_wilson() -> None:
    for successes, n, lower, upper in GOLDEN["wilson"]:
        assert bounds(proportion(int(successes), int(n))) == close([lower, upper], 1e-8)


def test_rate_ratio() -> None:
    for events, exposure, baseline, baseline_exposure, ratio, lower, upper in GOLDEN["rate_ratio"]:
        estimate = rate_ratio(int(events), exposure, int(baseline), baseline_exposure)
        assert [estimate.value, *bounds(estimate)] == close([ratio, lower, upper], 1e-6)


def test_pearson() -> None:
    expected, estimate = GOLDEN["pearson"], pearson(INPUT["eruptions"], INPUT["waiting"])
    assert [estimate.value, *bounds(estimate)] == close([expected["estimate"], expected["lower"], expected["upper"]])


def test_spearman_with_ties() -> None:
    estimate = spearman(INPUT["ozone"], INPUT["wind"])
    assert estimate.value == close(GOLDEN["spearman"])
    # Two bootstraps, of 2,000 and 40,000 resamples.
    assert bounds(estimate) == pytest.approx(GOLDEN["spearman_bootstrap"], abs=0.015)


def test_cluster_mean() -> None:
    expected, estimate = GOLDEN["cluster_mean"], cluster_mean(INPUT["ozone"], INPUT["month"], "month")
    assert [estimate.value, *bounds(estimate)] == close([expected["estimate"], expected["lower"], expected["upper"]])
    assert estimate.n == (5,)


def test_cluster_bootstrap() -> None:
    clusters = np.repeat(np.arange(16), 17)
    estimate = cluster_bootstrap_mean(INPUT["eruptions"], clusters)
    assert bounds(estimate) == pytest.approx(GOLDEN["cluster_bootstrap"]["mean"], abs=0.01)
    of_median = cluster_bootstrap_quantile(INPUT["eruptions"], clusters)
    assert bounds(of_median) == pytest.approx(GOLDEN["cluster_bootstrap"]["median"], abs=0.04)


def test_null_distributions_of_ranks() -> None:
    expected = GOLDEN["pwilcox"]
    assert list(mann_whitney_cdf(expected["m"], expected["n"])) == close(expected["cdf"])
    assert list(mann_whitney_cdf(expected["n"], expected["m"])) == close(expected["cdf"])
    assert list(signed_rank_cdf(GOLDEN["psignrank"]["n"])) == close(GOLDEN["psignrank"]["cdf"])


def test_hodges_lehmann_and_mann_whitney() -> None:
    expected, estimate = GOLDEN["hodges_lehmann"], hodges_lehmann(INPUT["x"], INPUT["y"])
    assert [estimate.value, *bounds(estimate)] == close([expected["estimate"], expected["lower"], expected["upper"]])
    exact = mann_whitney(INPUT["x"], INPUT["y"])
    assert [exact.statistic, exact.p_value] == close(GOLDEN["mann_whitney"])
    tied = mann_whitney(INPUT["pain_y"], INPUT["pain_n"])
    assert [tied.statistic, tied.p_value] == close(GOLDEN["mann_whitney_ties"])


def test_mann_whitney_is_that_of_scipy() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        x, y = random.normal(0.5, 1, random.integers(1, 13)), random.normal(0, 1, random.integers(2, 40))
        exact, expected = mann_whitney(x, y), scipy.stats.mannwhitneyu(x, y, method="exact")
        assert [exact.statistic, exact.p_value] == close([expected.statistic, expected.pvalue])


def test_paired() -> None:
    expected, estimate = GOLDEN["paired"], paired_hodges_lehmann(INPUT["before"], INPUT["after"])
    assert [estimate.value, *bounds(estimate)] == close([expected["estimate"], expected["lower"], expected["upper"]])
    exact = wilcoxon_signed_rank(INPUT["before"], INPUT["after"])
    assert [exact.statistic, exact.p_value] == close([expected["statistic"], expected["p"]])
    ties = GOLDEN["paired_ties"]
    tied = wilcoxon_signed_rank(ties["x"], ties["y"])
    # R approximates by the normal distribution with ties; nine differences of one sign have 2 in 2^9.
    assert [tied.statistic, tied.p_value] == close([ties["statistic"], 2 / 2**9])
    assert tied.notes == ("1 pairs without a difference left out",)


def test_signed_rank_with_ties_is_that_of_every_permutation_of_signs() -> None:
    random = np.random.default_rng(11)
    permutations = scipy.stats.PermutationMethod(n_resamples=np.inf)
    for _ in range(40):
        differences = random.integers(-3, 6, random.integers(3, 11)).astype(float)
        if not differences.any() or differences.size < 2:
            continue
        test = wilcoxon_signed_rank(differences, np.zeros_like(differences))
        assert test.test == "Wilcoxon signed-rank, exact"
        nonzero = differences[differences != 0]
        assert test.p_value == pytest.approx(scipy.stats.wilcoxon(nonzero, method=permutations).pvalue, abs=1e-12)


def test_many_pairs_have_the_normal_approximation() -> None:
    differences = np.random.default_rng(12).integers(-3, 5, 120).astype(float)
    test = wilcoxon_signed_rank(differences, np.zeros_like(differences))
    expected = scipy.stats.wilcoxon(differences[differences != 0], correction=True, method="asymptotic")
    assert (test.test, test.p_value) == ("Wilcoxon signed-rank, normal approximation", close(expected.pvalue))


def test_brunner_munzel_against_its_paper() -> None:
    statistic, _, p_value = GOLDEN["brunner_munzel"]
    # Brunner and Munzel (2000) print 3.1375 and p = 0.0058 for the shoulder pain.
    assert (statistic, p_value) == (pytest.approx(3.1375, abs=5e-5), pytest.approx(0.0058, abs=5e-5))
    test = brunner_munzel(INPUT["pain_n"], INPUT["pain_y"])
    assert [test.statistic, test.p_value] == close([statistic, p_value])


def test_cliffs_delta() -> None:
    for first, second, expected in (("x", "y", "cliff"), ("pain_y", "pain_n", "cliff_ties")):
        estimate = cliffs_delta(INPUT[first], INPUT[second])
        assert [estimate.value, *bounds(estimate)] == close(GOLDEN[expected])


def test_kolmogorov_smirnov() -> None:
    test = kolmogorov_smirnov(INPUT["x"], INPUT["y"])
    assert [test.statistic, test.p_value] == close(GOLDEN["ks"])


def test_exact_bootstrap_meets_sixty_thousand_resamples() -> None:
    first, second = INPUT["eruptions"][:60], INPUT["eruptions"][60:140]
    assert bounds(quantile_difference(first, second, 0.5)) == pytest.approx(GOLDEN["quantile_difference"], abs=0.02)
    assert bounds(quantile_difference(first, second, 0.25)) == pytest.approx(GOLDEN["quantile_difference_25"], abs=0.02)


def test_kruskal_wallis_and_dunn() -> None:
    groups = {name: INPUT["plant"][INPUT["plant_group"] == name] for name in ("ctrl", "trt1", "trt2")}
    test = kruskal_wallis(groups)
    assert [test.statistic, test.p_value] == close(GOLDEN["kruskal"])
    by_month = {str(month): INPUT["ozone"][INPUT["month"] == month] for month in range(5, 10)}
    tied = kruskal_wallis(by_month)
    assert [tied.statistic, tied.p_value] == close(GOLDEN["kruskal_ties"])
    pairs = [[p.first, p.second, p.z, p.p_value, p.p_corrected] for p in dunn(groups)]
    for pair, expected in zip(pairs, GOLDEN["dunn"], strict=True):
        assert pair[:2] == expected[:2]
        assert pair[2:] == close(expected[2:])


def test_corrections() -> None:
    expected = GOLDEN["adjust"]
    assert corrected(expected["p"], "holm") == close(expected["holm"])
    assert corrected(expected["p"], "benjamini_hochberg") == close(expected["benjamini_hochberg"])


def test_equivalence() -> None:
    expected = GOLDEN["equivalence"]
    means = [equivalence_of_means(INPUT["x"], INPUT["y"], margin).p_value for margin in expected["margin"]]
    assert means == close(expected["means"])
    shifts = [equivalence_of_shift(INPUT["x"], INPUT["y"], margin).p_value for margin in (0.501, 1.003, 2.055)]
    assert shifts == close(expected["shift"])


def test_shapiro_wilk() -> None:
    test = shapiro_wilk(INPUT["eruptions"])
    assert [test.statistic, test.p_value] == close(GOLDEN["shapiro"], 1e-5)


def test_dip() -> None:
    # p from two simulated tables; that of diptest has a million samples a size, ours 30,000.
    for values, expected in (
        ("statfaculty", "dip_statfaculty"),
        ("eruptions", "dip_eruptions"),
        ("x", "dip_x"),
    ):
        test = dip_test(INPUT[values])
        assert test.statistic == close(GOLDEN[expected][0])
        assert test.p_value == pytest.approx(GOLDEN[expected][1], abs=0.01)


def test_mixture() -> None:
    expected, fitted = GOLDEN["mixture"], mixture(INPUT["eruptions"])
    assert isinstance(fitted, Mixture)
    assert list(fitted.weights) == close(expected["weights"], 1e-3)
    assert list(fitted.means) == close(expected["means"], 1e-3)
    assert list(fitted.standard_deviations) == close(expected["sd"], 1e-3)
    assert [fitted.bic_two, fitted.bic_one] == close([expected["bic_two"], expected["bic_one"]], 1e-6)
    assert fitted.is_bimodal


def test_median_of_an_even_number_is_the_middle() -> None:
    assert median(INPUT["x"]).value == np.median(INPUT["x"])
