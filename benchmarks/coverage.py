"""How often the 95 % intervals contain the truth, over simulated studies with known truth.

``python benchmarks/coverage.py docs/statistics.md`` writes the tables between their
marks, and keeps them below ``benchmarks/results/coverage``.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from sojourn_statistics.correlation.coefficients import spearman_replicates
from sojourn_statistics.histogram import log_linear
from sojourn_statistics.intervals.cluster import cluster_mean_bootstrap_bounds, cluster_mean_bounds
from sojourn_statistics.intervals.order_statistics import mean_bounds, quantile_ranks
from sojourn_statistics.intervals.proportions import proportion, rate_ratio
from sojourn_statistics.intervals.quantile_bootstrap import quantile_difference_bounds
from sojourn_statistics.samples.arrays import Reals
from sojourn_statistics.samples.resampling import RESAMPLES, percentile_bounds, resample_counts
from sojourn_statistics.significance.multiplicity import CORRECTIONS, corrected
from sojourn_statistics.significance.paired import paired_shift_bounds
from sojourn_statistics.significance.rank_distributions import EXACT_LARGEST_PRODUCT, mann_whitney_cdf
from sojourn_statistics.significance.several_samples import dunn
from sojourn_statistics.significance.two_samples import dominance_bounds, shift_bounds

BEGIN, END = "<!-- coverage: written by make bench-coverage -->", "<!-- coverage: end -->"
STUDIES = 10_000
BATCH = 250
SIZES = (10, 30, 100)
LEVEL = 0.95
SHIFT_MS = 5.0
FAMILY_TESTS = 20
SEED = 4711

Hits = list[bool] | np.ndarray


@dataclass(frozen=True)
class World:
    """Where the values of a simulated study come from: by the inverse of the CDF, and its truths."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Reals]
    cdf: Callable[[Reals], Reals]
    ppf: Callable[[Reals], Reals]
    mean: float


def _bimodal_draw(random: np.random.Generator, shape: tuple[int, ...]) -> Reals:
    upper = random.random(shape) < 0.4
    return np.where(upper, random.normal(100, 10, shape), random.normal(20, 3, shape))


def _bimodal_cdf(x: Reals) -> Reals:
    return 0.6 * stats.norm.cdf(x, 20, 3) + 0.4 * stats.norm.cdf(x, 100, 10)


def _bimodal_ppf(u: Reals) -> Reals:
    grid = np.linspace(0, 160, 400_001)
    return np.interp(u, _bimodal_cdf(grid), grid)


HOSTS = stats.norm(50, math.hypot(10, 10 / math.sqrt(5)))
"""Mean of the five connections of a host: the host's own level and what varies within it."""

WORLDS = {
    "normal": World(
        "normal",
        lambda random, shape: random.normal(50, 10, shape),
        lambda x: stats.norm.cdf(x, 50, 10),
        lambda u: stats.norm.ppf(u, 50, 10),
        50.0,
    ),
    "log-normal": World(
        "log-normal",
        lambda random, shape: random.lognormal(3.5, 1.0, shape),
        lambda x: stats.lognorm.cdf(x, 1.0, scale=math.exp(3.5)),
        lambda u: stats.lognorm.ppf(u, 1.0, scale=math.exp(3.5)),
        math.exp(4.0),
    ),
    "bimodal": World("bimodal", _bimodal_draw, _bimodal_cdf, _bimodal_ppf, 0.6 * 20 + 0.4 * 100),
    "clustered": World(
        "clustered",
        lambda random, shape: random.normal(50, 10, shape) + random.normal(0, 10, (*shape, 5)).mean(axis=-1),
        HOSTS.cdf,
        HOSTS.ppf,
        50.0,
    ),
}


def batches(random: np.random.Generator, studies: int) -> Iterator[tuple[np.random.Generator, int]]:
    """Yield the generator and the number of studies to simulate at once."""
    for start in range(0, studies, BATCH):
        yield random, min(BATCH, studies - start)


def within(bounds: tuple[Reals, Reals], truth: float) -> np.ndarray:
    """Return whether each interval contains the truth, its ends included."""
    return (bounds[0] <= truth) & (truth <= bounds[1])


Simulation = Callable[[World, int, np.random.Generator, int], Hits | None]


def of_mean(world: World, n: int, random: np.random.Generator, studies: int) -> Hits:
    """Return the hits of the t interval of the mean."""
    return within(mean_bounds(world.draw(random, (studies, n)), LEVEL), world.mean)


def of_quantile(probability: float) -> Simulation:
    """Return the simulation of the order-statistic interval of a quantile."""

    def simulate(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
        ranks = quantile_ranks(n, probability, LEVEL)
        if ranks is None:
            return None
        ordered = np.sort(world.draw(random, (studies, n)), axis=-1)
        truth = float(world.ppf(np.array(probability)))
        return within((ordered[:, ranks[0] - 1], ordered[:, ranks[1] - 1]), truth)

    return simulate


def of_histogram_median(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
    """Return the hits of the interval of a median from bins of whole microseconds."""
    ranks = quantile_ranks(n, 0.5, LEVEL)
    if ranks is None:
        return None
    microseconds = np.maximum(np.floor(1000 * world.draw(random, (studies, n))), 0).astype(np.int64)
    bins = np.sort(log_linear.bin_index(microseconds), axis=-1)
    lower = log_linear.bin_lower_us(bins[:, ranks[0] - 1]).astype(float)
    upper = log_linear.bin_upper_us(bins[:, ranks[1] - 1]).astype(float) - 1
    return within((lower, upper), math.floor(1000 * float(world.ppf(np.array(0.5)))))


def of_shift(world: World, n: int, random: np.random.Generator, studies: int) -> Hits:
    """Return the hits of the interval of the shift of two samples."""
    bounds = shift_bounds(world.draw(random, (studies, n)) + SHIFT_MS, world.draw(random, (studies, n)), LEVEL)
    assert bounds is not None
    return within(bounds, SHIFT_MS)


def of_paired_shift(world: World, n: int, random: np.random.Generator, studies: int) -> Hits:
    """Return the hits of the interval of the shift within pairs."""
    common = random.normal(0, 30, (studies, n))
    treatment = common + world.draw(random, (studies, n)) + SHIFT_MS
    bounds = paired_shift_bounds(treatment - common - world.draw(random, (studies, n)), LEVEL)
    assert bounds is not None
    return within(bounds, SHIFT_MS)


def of_cliff(world: World, n: int, random: np.random.Generator, studies: int) -> Hits:
    """Return the hits of the interval of Cliff's delta."""
    u = (np.arange(200_000) + 0.5) / 200_000
    truth = 2 * float(world.cdf(world.ppf(u) + SHIFT_MS).mean()) - 1
    treatment, baseline = world.draw(random, (studies, n)) + SHIFT_MS, world.draw(random, (studies, n))
    _, lower, upper = dominance_bounds(treatment, baseline, LEVEL)
    return within((lower, upper), truth)


def of_median_difference(world: World, n: int, random: np.random.Generator, studies: int) -> Hits:
    """Return the hits of the bootstrap interval of a difference of medians."""
    treatment = np.sort(world.draw(random, (studies, n)) + SHIFT_MS, axis=-1)
    baseline = np.sort(world.draw(random, (studies, n)), axis=-1)
    return within(quantile_difference_bounds(treatment, baseline, 0.5, LEVEL), SHIFT_MS)


def correlated(world: World, n: int, random: np.random.Generator, studies: int) -> tuple[Reals, Reals, float, float]:
    """Return two correlated quantities of a population, and their true linear and rank correlations."""
    shape, rho = (studies, n), 0.6
    if world.name == "bimodal":
        upper = random.random(shape) < 0.4
        x = np.where(upper, random.normal(100, 10, shape), random.normal(20, 3, shape))
        y = np.where(upper, random.normal(100, 10, shape), random.normal(20, 3, shape))
        between, inside = 0.24 * 80**2, 0.6 * 9 + 0.4 * 100
        return x, y, between / (between + inside), 12 * 0.24 * 0.25
    z = random.normal(size=shape)
    w = rho * z + math.sqrt(1 - rho**2) * random.normal(size=shape)
    rank = 6 / math.pi * math.asin(rho / 2)
    if world.name == "log-normal":
        return np.exp(z), np.exp(w), (math.exp(rho) - 1) / (math.e - 1), rank
    return z, w, rho, rank


def of_pearson(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
    """Return the hits of Fisher's z interval."""
    if world.name == "clustered":
        return None
    x, y, truth, _ = correlated(world, n, random, studies)
    bounds = stats.pearsonr(x, y, axis=-1).confidence_interval(LEVEL)
    return within((bounds.low, bounds.high), truth)


def of_spearman(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
    """Return the hits of the bootstrap interval of the rank correlation."""
    if world.name == "clustered":
        return None
    xs, ys, _, truth = correlated(world, n, random, studies)
    counts = resample_counts(n, RESAMPLES)
    replicates = np.stack([spearman_replicates(x, y, counts) for x, y in zip(xs, ys, strict=True)])
    return within(percentile_bounds(replicates, n, LEVEL), truth)


def connections(n: int, random: np.random.Generator, studies: int) -> tuple[Reals, np.ndarray]:
    """Return n hosts' sums and numbers of connections: 1 to 9 each, which share their host's level."""
    sizes = random.integers(1, 10, (studies, n))
    sums = sizes * random.normal(50, 10, (studies, n)) + np.sqrt(sizes) * random.normal(0, 10, (studies, n))
    return sums, sizes


def clustered_only(bounds: Callable[[Reals, np.ndarray], tuple[Reals, Reals]]) -> Simulation:
    """Return the simulation of an interval from totals of clusters, in the clustered population."""

    def simulate(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
        if world.name != "clustered":
            return None
        return within(bounds(*connections(n, random, studies)), 50.0)

    return simulate


def of_pooled_connections(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
    """Return the hits of the t interval that takes the connections of a host for independent."""
    if world.name != "clustered":
        return None
    values = random.normal(50, 10, (studies, n, 1)) + random.normal(0, 10, (studies, n, 5))
    return within(mean_bounds(values.reshape(studies, -1), LEVEL), 50.0)


def of_proportion(world: World, n: int, random: np.random.Generator, studies: int) -> Hits:
    """Return the hits of Wilson's interval of the share above a threshold."""
    above = (world.draw(random, (studies, n)) > world.ppf(np.array(0.8))).sum(axis=-1)
    by_count = [proportion(k, n).interval for k in range(n + 1)]
    return [i is not None and i.lower <= 0.2 <= i.upper for i in (by_count[k] for k in above)]


def of_rate_ratio(world: World, n: int, random: np.random.Generator, studies: int) -> Hits | None:
    """Return the hits of the interval of a ratio of Poisson rates."""
    if world.name != "normal":
        return None
    events, baseline = random.poisson(1.5 * n, studies), random.poisson(n, studies)
    intervals = [rate_ratio(int(a), 1.0, int(b), 1.0).interval for a, b in zip(events, baseline, strict=True)]
    return [i is not None and i.lower <= 1.5 <= i.upper for i in intervals]


EXACT = "exact"
APPROXIMATE = "approximate"
ESTIMATORS: dict[str, tuple[str, Simulation]] = {
    "median, order statistics": (EXACT, of_quantile(0.5)),
    "quantile 0.75, order statistics": (EXACT, of_quantile(0.75)),
    "median of a histogram": (EXACT, of_histogram_median),
    "Hodges-Lehmann shift": (EXACT, of_shift),
    "Hodges-Lehmann shift of pairs": (EXACT, of_paired_shift),
    "rate ratio, exact conditional": (EXACT, of_rate_ratio),
    "mean, t": (APPROXIMATE, of_mean),
    "proportion 0.2, Wilson": (APPROXIMATE, of_proportion),
    "Pearson, Fisher's z": (APPROXIMATE, of_pearson),
    "Spearman, bootstrap": (APPROXIMATE, of_spearman),
    "Cliff's delta": (APPROXIMATE, of_cliff),
    "difference of medians, exact bootstrap": (APPROXIMATE, of_median_difference),
    "mean, cluster-robust": (APPROXIMATE, clustered_only(lambda s, k: cluster_mean_bounds(s, k, LEVEL))),
    "mean, cluster bootstrap": (APPROXIMATE, clustered_only(lambda s, k: cluster_mean_bootstrap_bounds(s, k, LEVEL))),
    "*mean, t, of all connections as if independent*": ("wrong on purpose", of_pooled_connections),
}


def coverage(name: str, world: World, n: int, studies: int) -> float | None:
    """Return the share of studies whose interval contains the truth, or None if there is no interval."""
    simulate = ESTIMATORS[name][1]
    stream = [SEED, list(ESTIMATORS).index(name), list(WORLDS).index(world.name), n]
    hits = 0
    for random, count in batches(np.random.Generator(np.random.PCG64(stream)), studies):
        simulated_intervals = simulate(world, n, random, count)
        if simulated_intervals is None:
            return None
        hits += int(np.sum(simulated_intervals))
    return hits / studies


def coverage_table(studies: int) -> Iterator[str]:
    """Yield the lines of the coverage table."""
    yield "| interval | kind | " + " | ".join(WORLDS) + " |"
    yield "| --- | --- |" + " --- |" * len(WORLDS)
    for name, (kind, _) in ESTIMATORS.items():
        started, cells = time.monotonic(), []
        for world in WORLDS.values():
            shares = [coverage(name, world, n, studies) for n in SIZES]
            has_share = any(share is not None for share in shares)
            cells.append(" / ".join("–" if s is None else f"{100 * s:.1f}" for s in shares) if has_share else "")
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        yield f"| {name} | {kind} | " + " | ".join(cells) + " |"


def any_rejected(p_values: Reals, correction: str) -> bool:
    """Return whether a family has a false finding at 5 %."""
    return any(p is not None and p <= 0.05 for p in corrected(list(p_values), correction))


def mann_whitney_p_values(x: Reals, y: Reals) -> Reals:
    """Return the p-values of `mann_whitney` without ties, for samples along the last axis."""
    m, n = x.shape[-1], y.shape[-1]
    if m * n > EXACT_LARGEST_PRODUCT:
        p_values: Reals = stats.mannwhitneyu(x, y, axis=-1, method="asymptotic").pvalue
        return p_values
    u = (x[:, :, None] > y[:, None, :]).sum(axis=(1, 2))
    return np.minimum(1.0, 2 * mann_whitney_cdf(m, n)[np.minimum(u, m * n - u)])


def family_table(studies: int) -> Iterator[str]:
    """Yield the lines of the table of families in which nothing differs."""
    yield "| family without any true difference | Holm | Benjamini-Hochberg | not corrected |"
    yield "| --- | --- | --- | --- |"
    world = WORLDS["log-normal"]
    for n in SIZES:
        random = np.random.Generator(np.random.PCG64([SEED, 99, n]))
        rejected = dict.fromkeys([*CORRECTIONS, "none"], 0)
        for generator, count in batches(random, studies):
            x, y = (world.draw(generator, (count * FAMILY_TESTS, n)) for _ in range(2))
            p_values = mann_whitney_p_values(x, y).reshape(count, FAMILY_TESTS)
            for family in p_values:
                rejected["none"] += bool(family.min() <= 0.05)
                for correction in CORRECTIONS:
                    rejected[correction] += any_rejected(family, correction)
        print(f"families of n = {n}", file=sys.stderr)
        cells = " | ".join(f"{100 * rejected[name] / studies:.1f}" for name in rejected)
        yield f"| {FAMILY_TESTS} Mann-Whitney tests, n = {n} | {cells} |"
    for n in SIZES:
        random = np.random.Generator(np.random.PCG64([SEED, 100, n]))
        rejected = dict.fromkeys([*CORRECTIONS, "none"], 0)
        for _ in range(studies):
            groups = {name: world.draw(random, (n,)) for name in ("a", "b", "c", "d")}
            p_values = np.array([pair.p_value for pair in dunn(groups)])
            rejected["none"] += bool(p_values.min() <= 0.05)
            for correction in CORRECTIONS:
                rejected[correction] += any_rejected(p_values, correction)
        print(f"Dunn of n = {n}", file=sys.stderr)
        cells = " | ".join(f"{100 * rejected[name] / studies:.1f}" for name in rejected)
        yield f"| Dunn, 4 groups of n = {n} | {cells} |"


def report(studies: int) -> Iterator[str]:
    """Yield the generated part of docs/statistics.md."""
    error = 100 * math.sqrt(0.95 * 0.05 / studies)
    sizes = " / ".join(map(str, SIZES))
    yield f"The table shows the coverage in % over {studies:,} simulated studies for n = {sizes}. Three standard errors"
    yield f"of the simulation are {3 * error:.2f}. A dash means that the estimator refuses this n. An empty cell means"
    yield "that it does not apply."
    yield ""
    yield from coverage_table(studies)
    yield ""
    yield f"This table shows the share of {studies:,} simulated families with a false finding at the 5 % level, in %:"
    yield ""
    yield from family_table(studies)


def main() -> int:
    """Write the tables into a document, between the marks, and keep them."""
    # Found beside this script; tests load the simulation without it.
    from coverage_document import write_tables

    title = "Coverage of intervals and families of tests"
    return write_tables("coverage", title, (BEGIN, END), report, STUDIES, str(__doc__))


if __name__ == "__main__":
    sys.exit(main())
