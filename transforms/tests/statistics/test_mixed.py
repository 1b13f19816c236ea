"""The mixed model against closed forms, R's analysis of variance, and planted effects."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import scipy

from sojourn_statistics.mixed.contrasts import AVERAGED, cell_weights, contrasts, terms
from sojourn_statistics.mixed.design import CrossedFactor, Design, DesignRefusedError, design_of, within_degrees
from sojourn_statistics.mixed.fitting import MixedFit, fit_mixed
from sojourn_statistics.mixed.residuals import brown_forsythe, check_residuals, normal_scores

QUEUES, CONTROLS, RATES = ("tail-drop", "CoDel", "FQ-CoDel"), ("cubic", "bbr"), ("1 Mbit/s", "4 Mbit/s")
FACTORS = (CrossedFactor("queue", QUEUES), CrossedFactor("control", CONTROLS), CrossedFactor("rate", RATES))
GOLDEN = json.loads((Path(__file__).parent / "golden" / "mixed.json").read_text())


def complete(blocks: int, repeated: int = 1) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return levels and blocks of a complete design: each cell `repeated` times in each block."""
    cells = list(itertools.product(QUEUES, CONTROLS, RATES))
    return cells * repeated * blocks, [str(block) for block in range(blocks) for _ in range(len(cells) * repeated)]


def drawn(
    random: np.random.Generator, blocks: int, block_deviation: float, deviation: float
) -> tuple[Design, np.ndarray, np.ndarray]:
    """Return a design with values drawn from the model, and the true means of its cells."""
    levels, names = complete(blocks)
    truth = np.asarray([60, 90, 20, 22, 15, 25, 10, 12, 5, 6, 4, 4], dtype=np.float64)
    values = np.tile(truth, blocks) + np.repeat(random.normal(0, block_deviation, blocks), truth.size)
    values += random.normal(0, deviation, values.size)
    return design_of(levels, FACTORS, names, values), values, truth


@pytest.fixture(scope="module")
def balanced() -> MixedFit:
    design, values, _ = drawn(np.random.default_rng(3), 6, 4.0, 2.0)
    return fit_mixed(design, values)


def test_a_balanced_design_has_the_variances_and_differences_of_the_analysis_of_variance(balanced: MixedFit) -> None:
    table = balanced.values.reshape(6, 12)
    means, of_blocks = table.mean(axis=0), table.mean(axis=1)
    residual_mean_square = ((table - means - of_blocks[:, None] + table.mean()) ** 2).sum() / (5 * 11)
    block_mean_square = 12 * of_blocks.var(ddof=1)
    assert balanced.means == pytest.approx(means)
    assert balanced.residual_variance == pytest.approx(residual_mean_square, rel=1e-5)
    assert balanced.block_variance == pytest.approx((block_mean_square - residual_mean_square) / 12, rel=1e-5)
    (difference,) = [
        one
        for one in contrasts(balanced.design)
        if one.level == "FQ-CoDel" and one.at == {"control": "bbr", "rate": "4 Mbit/s"}
    ]
    estimate = balanced.estimate(difference.weights)
    half = scipy.stats.t.ppf(0.975, 55) * np.sqrt(2 * residual_mean_square / 6)
    assert estimate.value == pytest.approx(means[11] - means[3])
    assert estimate.degrees == pytest.approx(55)
    assert (estimate.lower, estimate.upper) == pytest.approx((estimate.value - half, estimate.value + half), rel=1e-6)


def test_a_mean_of_a_balanced_design_has_satterthwaites_degrees_of_freedom(balanced: MixedFit) -> None:
    table = balanced.values.reshape(6, 12)
    residual = ((table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()) ** 2).sum() / 55
    block = 12 * table.mean(axis=1).var(ddof=1)
    variance = block / 12 + 11 / 12 * residual
    degrees = variance**2 / ((block / 12) ** 2 / 5 + (11 / 12 * residual) ** 2 / 55)
    estimate = balanced.estimate(np.eye(12)[0])
    assert estimate.standard_error == pytest.approx(np.sqrt(variance / 6), rel=1e-5)
    assert estimate.degrees == pytest.approx(degrees, rel=1e-4)


def test_terms_of_a_balanced_design_are_the_f_tests_of_the_analysis_of_variance(balanced: MixedFit) -> None:
    table = balanced.values.reshape(6, 3, 2, 2)
    residual = table - table.mean(axis=0) - table.mean(axis=(1, 2, 3), keepdims=True) + table.mean()
    mean_square = (residual**2).sum() / 55
    queue = table.mean(axis=(0, 2, 3))
    control = table.mean(axis=(0, 1, 3))
    both = table.mean(axis=(0, 3))
    interaction = both - queue[:, None] - control[None, :] + table.mean()
    expected = {
        ("queue",): 24 * ((queue - table.mean()) ** 2).sum() / 2,
        ("control",): 36 * ((control - table.mean()) ** 2).sum(),
        ("queue", "control"): 12 * (interaction**2).sum() / 2,
    }
    tested = {term.factors: balanced.test(term.rows) for term in terms(balanced.design)}
    assert len(tested) == 7
    for factors, square in expected.items():
        assert tested[factors].statistic == pytest.approx(square / mean_square, rel=1e-5)
        assert tested[factors].denominator_degrees == pytest.approx(55, rel=1e-6)


def of_npk() -> MixedFit:
    """Return the fit of R's data npk: yields of peas in 6 blocks, N and P crossed; K is left out in both programs."""
    data = GOLDEN["npk"]
    levels = list(zip(map(str, data["N_level"]), map(str, data["P_level"]), strict=True))
    values = np.asarray(data["yield"])
    factors = (CrossedFactor("N", ("0", "1")), CrossedFactor("P", ("0", "1")))
    return fit_mixed(design_of(levels, factors, list(map(str, data["block"])), values), values)


def test_yields_of_peas_are_analysed_as_r_does() -> None:
    fit, golden = of_npk(), GOLDEN["npk"]
    assert fit.residual_variance == pytest.approx(golden["residual_mean_square"], rel=1e-5)
    assert fit.block_variance == pytest.approx(golden["block_variance"], rel=1e-4)
    tested = {"x".join(term.factors): fit.test(term.rows) for term in terms(fit.design)}
    for name in ("N", "P", "NxP"):
        assert tested[name].statistic == pytest.approx(golden[name]["F"], rel=1e-5)
        assert tested[name].p_value == pytest.approx(golden[name]["p"], rel=1e-4)
        assert tested[name].denominator_degrees == pytest.approx(golden["residual_degrees"])


OF_LMER = {  # of the cells N0 P0, N0 P1, N1 P0, N1 P1
    "cell": [1, 0, 0, 0],
    "difference_at_P0": [-1, 0, 1, 0],
    "difference": [-0.5, -0.5, 0.5, 0.5],
    "interaction": [1, -1, -1, 1],
}


@pytest.mark.parametrize("name", sorted(GOLDEN["lmer"]))
def test_estimates_are_those_of_lme4_and_degrees_of_freedom_those_of_lmertest(name: str) -> None:
    golden = GOLDEN["lmer"][name]
    levels = list(zip(golden["N_level"], golden["P_level"], strict=True))
    values = np.asarray(golden["value"])
    factors = (CrossedFactor("N", ("0", "1")), CrossedFactor("P", ("0", "1")))
    fit = fit_mixed(design_of(levels, factors, golden["block"], values), values)
    assert fit.is_singular == golden["is_singular"]
    assert fit.block_variance == pytest.approx(golden["block_variance"], rel=1e-3, abs=1e-9)
    assert fit.residual_variance == pytest.approx(golden["residual_variance"], rel=1e-3)
    for quantity, weights in OF_LMER.items():
        estimate, expected = fit.estimate(weights), golden["estimates"][quantity]
        assert estimate.value == pytest.approx(expected["estimate"], rel=1e-5)
        assert estimate.standard_error == pytest.approx(expected["standard_error"], rel=1e-4)
        if fit.is_singular:
            # lmerTest's variances have no slope where the block variance is 0, so it pools the blocks' degrees.
            assert expected["degrees"] == pytest.approx(values.size - 4)
            assert within_degrees(fit.design) - 2 < estimate.degrees <= expected["degrees"] + 1e-6
        else:
            # lmerTest has the observed information, which is the expected one in a complete design.
            assert estimate.degrees == pytest.approx(expected["degrees"], rel=0.02 if "unbalanced" in name else 1e-3)


def test_an_unbalanced_design_is_the_generalised_least_squares_of_its_covariance_matrix() -> None:
    random = np.random.default_rng(11)
    _, values, _ = drawn(random, 5, 5.0, 2.0)
    kept = np.flatnonzero(random.random(values.size) > 0.15)
    levels, names = complete(5)
    fit = fit_mixed(design_of([levels[k] for k in kept], FACTORS, [names[k] for k in kept], values[kept]), values[kept])
    x, z = np.eye(12)[fit.design.cell], np.eye(5)[fit.design.block]
    weights = np.linalg.inv(fit.residual_variance * np.eye(kept.size) + fit.block_variance * z @ z.T)
    covariance = np.linalg.inv(x.T @ weights @ x)
    assert fit.covariance == pytest.approx(covariance, rel=1e-6)
    assert fit.means == pytest.approx(covariance @ x.T @ weights @ values[kept])

    # No pair of variances near it has a higher restricted likelihood.
    def likelihood(block: float, residual: float) -> float:
        v = residual * np.eye(kept.size) + block * z @ z.T
        inverse = np.linalg.inv(v)
        inner = x.T @ inverse @ x
        left = values[kept] - x @ np.linalg.solve(inner, x.T @ inverse @ values[kept])
        return -float(np.linalg.slogdet(v)[1] + np.linalg.slogdet(inner)[1] + left @ inverse @ left) / 2

    best = likelihood(fit.block_variance, fit.residual_variance)
    for factor, other in itertools.product((0.97, 1.0, 1.03), repeat=2):
        assert likelihood(fit.block_variance * factor, fit.residual_variance * other) <= best + 1e-8


def test_a_block_variance_of_0_is_told_and_keeps_the_blocks_degrees_of_freedom() -> None:
    levels, names = complete(4)
    random = np.random.default_rng(2)
    table = random.normal(50, 3, (4, 12))
    table -= table.mean(axis=1, keepdims=True)
    values = table.ravel() + 50
    fit = fit_mixed(design_of(levels, FACTORS, names, values), values)
    assert fit.is_singular
    assert fit.block_variance == 0.0
    assert fit.residual_variance == pytest.approx(((table - table.mean(axis=0)) ** 2).sum() / (48 - 12))
    assert fit.estimate(next(contrasts(fit.design)).weights).degrees == pytest.approx(33)


def test_a_singular_fit_has_the_estimates_of_the_model_without_blocks_and_no_narrower_intervals() -> None:
    random, seen = np.random.default_rng(41), 0
    for _ in range(20):
        _, values, _ = drawn(random, 4, 0.0, 2.0)
        kept = np.flatnonzero(random.random(values.size) > 0.1)
        levels, names = complete(4)
        design = design_of([levels[k] for k in kept], FACTORS, [names[k] for k in kept], values[kept])
        fit = fit_mixed(design, values[kept])
        if not fit.is_singular:
            continue
        seen += 1
        of_cells = [values[kept][design.cell == place] for place in range(12)]
        squares = sum(float(((part - part.mean()) ** 2).sum()) for part in of_cells)
        residual_variance = squares / (kept.size - 12)
        assert fit.residual_variance == pytest.approx(residual_variance)
        assert fit.means == pytest.approx([part.mean() for part in of_cells])
        for one in contrasts(design):
            estimate = fit.estimate(one.weights)
            error = np.sqrt(residual_variance * sum(w**2 / p.size for w, p in zip(one.weights, of_cells, strict=True)))
            assert estimate.standard_error == pytest.approx(error)
            assert within_degrees(design) - 0.5 < estimate.degrees <= kept.size - 12 + 1e-9
    assert seen >= 5


def test_blocks_that_hardly_differ_are_fitted_and_the_fit_is_the_highest_of_the_likelihood() -> None:
    """statsmodels' optimisers stop short of the maximum in most such studies."""
    random, searched = np.random.default_rng(43), 0
    for _ in range(20):
        design, values, _ = drawn(random, 8, 0.3, 2.0)
        fit = fit_mixed(design, values)
        table = values.reshape(8, 12)
        residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        mean_square = (residual**2).sum() / 77
        between = (12 * table.mean(axis=1).var(ddof=1) - mean_square) / 12
        assert fit.is_singular == (between <= 0)
        assert fit.block_variance == pytest.approx(max(between, 0.0), rel=1e-2, abs=1e-9)
        searched += fit.is_searched and not fit.is_singular
    assert searched >= 1


def test_blocks_beside_which_runs_do_not_vary_are_refused() -> None:
    levels, names = complete(4)
    values = np.repeat([0.0, 1e9, 5e9, 9e9], 12) + np.random.default_rng(3).normal(0, 1e-3, 48)
    design = design_of(levels, FACTORS, names, values)
    with pytest.raises(DesignRefusedError, match="the variance between runs is close to 0"):
        fit_mixed(design, values)


def test_the_unit_changes_numbers_and_nothing_else() -> None:
    design, values, _ = drawn(np.random.default_rng(5), 5, 4.0, 2.0)
    once, scaled = fit_mixed(design, values), fit_mixed(design, 1e6 * values)
    weights = next(contrasts(design)).weights
    assert scaled.estimate(weights).p_value == pytest.approx(once.estimate(weights).p_value, rel=1e-6)
    assert scaled.block_variance == pytest.approx(1e12 * once.block_variance, rel=1e-6)


def test_intervals_contain_planted_effects_as_often_as_they_say() -> None:
    """600 intervals of differences and 200 of means, which are not independent within a study: bounds are wide."""
    random = np.random.default_rng(17)
    studies, difference_hits, mean_hits, intervals = 200, 0, 0, 0
    for _ in range(studies):
        design, values, truth = drawn(random, 5, 3.0, 2.0)
        fit = fit_mixed(design, values)
        for one in itertools.islice(contrasts(design), 0, 9, 3):
            estimate = fit.estimate(one.weights)
            difference_hits += estimate.lower <= one.weights @ truth <= estimate.upper
            intervals += 1
        estimate = fit.estimate(np.eye(12)[4])
        mean_hits += estimate.lower <= truth[4] <= estimate.upper
    assert 0.92 <= difference_hits / intervals <= 0.98
    assert 0.90 <= mean_hits / studies <= 0.99


def test_planted_effects_are_inside_their_intervals_and_no_effect_is_not_found() -> None:
    design, values, truth = drawn(np.random.default_rng(29), 12, 3.0, 1.0)
    fit = fit_mixed(design, values)
    for place in range(truth.size):
        estimate = fit.estimate(np.eye(12)[place], level=0.999)
        assert estimate.lower <= truth[place] <= estimate.upper
    levels, names = complete(12)
    noise = np.random.default_rng(29).normal(0, 1, values.size)
    none = fit_mixed(design_of(levels, FACTORS, names, noise), noise)
    assert all(none.test(term.rows).p_value > 0.01 for term in terms(none.design))


def test_weights_average_over_what_is_not_named() -> None:
    levels, names = complete(2)
    design = design_of(levels, FACTORS, names, np.random.default_rng(1).normal(size=len(levels)))
    assert cell_weights(design, {}) == pytest.approx(np.full(12, 1 / 12))
    assert (
        cell_weights(design, {"queue": "CoDel", "rate": "1 Mbit/s"}).tolist() == [0, 0, 0, 0, 0.5, 0, 0.5, 0] + [0] * 4
    )
    all_contrasts = list(contrasts(design))
    assert all_contrasts[0].at == {"control": AVERAGED, "rate": AVERAGED}
    # Two queues against the first and one of each other factor, averaged and at each combination of the others.
    assert len(all_contrasts) == 2 * (1 + 4) + (1 + 6) + (1 + 6)


@pytest.mark.parametrize(
    ("levels", "blocks", "values", "said"),
    [
        ([("a", "x")] * 4, ["1", "1", "2", "2"], [1, 2, 3, 4], r"no factor varies: all 4 runs have q a, c x; add as"),
        (
            [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x"), ("a", "y"), ("b", "x")],
            ["1", "1", "1", "2", "2", "2"],
            [1, 2, 3, 4, 6, 5],
            r"1 of 4 cells have no run \(b, y\).*add 2 runs of each \(2 in all\)",
        ),
        (
            [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")],
            ["1", "1", "2", "2"],
            [1, 2, 3, 4],
            r"one run per cell.*add a block of 1 run of each of the 4 cells \(4 runs\)",
        ),
        (
            [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] * 2,
            ["1"] * 8,
            [1, 2, 3, 4, 5, 6, 7, 9],
            r"one block \(1\).*1 run of each of the 4 cells \(4 runs\)",
        ),
        (
            [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] * 2,
            [str(n) for n in range(8)],
            [1, 2, 3, 4, 5, 6, 7, 9],
            r"each block has one run.*add 3 runs to each of the 8 blocks",
        ),
        (
            [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] * 2,
            ["1", None, "1", "1", "2", "2", "2", "2"],
            [1, 2, 3, 4, 5, 6, 7, 9],
            r"1 of 8 runs have no block",
        ),
        (
            [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")] * 2,
            ["1"] * 4 + ["2"] * 4,
            [1, 2, 3, 4] * 2,
            r"no variation: within each of the 4 cells all runs have the same value",
        ),
    ],
)  # fmt: skip
def test_a_design_that_cannot_carry_the_model_is_refused_in_one_line_that_says_which_runs_would(
    levels: list[tuple[str, str]], blocks: list[str | None], values: list[float], said: str
) -> None:
    named = [tuple(dict.fromkeys(one[place] for one in levels)) for place in range(2)]
    factors = [CrossedFactor("q", named[0]), CrossedFactor("c", named[1])]
    with pytest.raises(DesignRefusedError, match=said) as refused:
        design_of(levels, factors, blocks, np.asarray(values, dtype=np.float64))
    assert "\n" not in str(refused.value)


def test_degrees_of_freedom_within_cells_and_blocks_count_what_blocks_and_cells_share() -> None:
    levels, names = complete(4)
    design = design_of(levels, FACTORS, names, np.random.default_rng(1).normal(size=len(levels)))
    assert within_degrees(design) == 3 * 11


def test_checks_find_planted_faults_and_pass_what_has_none() -> None:
    design, values, _ = drawn(np.random.default_rng(8), 8, 3.0, 2.0)
    clean = check_residuals(fit_mixed(design, values))
    assert clean.normality.p_value is not None
    assert clean.normality.p_value > 0.05
    assert clean.outliers.size == 0
    spread = values + np.where(design.cell < 2, np.random.default_rng(9).normal(0, 40, values.size), 0)
    uneven = check_residuals(fit_mixed(design, spread))
    assert uneven.equal_variance.p_value is not None
    assert uneven.equal_variance.p_value < 0.01
    assert uneven.deviation_ratio is not None
    assert uneven.deviation_ratio > 5
    shot = values.copy()
    shot[37] += 60
    assert 37 in check_residuals(fit_mixed(design, shot)).outliers.tolist()


def test_brown_forsythe_is_that_of_r_and_refuses_without_variation() -> None:
    groups = [np.asarray(values, dtype=np.float64) for values in GOLDEN["insect_sprays"]["groups"]]
    test = brown_forsythe(groups)
    assert test.statistic == pytest.approx(GOLDEN["insect_sprays"]["F"])
    assert test.p_value == pytest.approx(GOLDEN["insect_sprays"]["p"])
    assert brown_forsythe([np.ones(3), np.ones(3)]).p_null_reason == "no variation within cells"


def test_normal_scores_are_symmetric_and_in_order() -> None:
    scores, ordered, order = normal_scores([3.0, 1.0, 2.0])
    assert ordered.tolist() == [1.0, 2.0, 3.0]
    assert order.tolist() == [1, 2, 0]
    assert scores[1] == pytest.approx(0)
    assert scores[0] == pytest.approx(-scores[2])
