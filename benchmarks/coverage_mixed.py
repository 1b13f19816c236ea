"""How often the 95 % intervals of mixed models contain the planted effect, over simulated studies of a known model.

``python benchmarks/coverage_mixed.py docs/statistics.md`` writes the table between its marks, and keeps it below
``benchmarks/results/coverage_mixed``.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sojourn_statistics.mixed.contrasts import cell_weights
from sojourn_statistics.mixed.design import CrossedFactor, DesignRefusedError, design_of
from sojourn_statistics.mixed.fitting import fit_mixed
from sojourn_statistics.samples.arrays import Reals

BEGIN, END = "<!-- coverage of mixed models: written by make bench-coverage-mixed -->", "<!-- mixed: end -->"
STUDIES = 500
BLOCKS = (3, 6, 12)
SEED = 4711
FACTORS = (
    CrossedFactor("queue", ("tail-drop", "CoDel", "FQ-CoDel")),
    CrossedFactor("congestion control", ("cubic", "bbr")),
    CrossedFactor("rate", ("1 Mbit/s", "4 Mbit/s")),
)
CELLS = list(itertools.product(*(factor.levels for factor in FACTORS)))

Draw = Callable[[np.random.Generator, int], Reals]


@dataclass(frozen=True)
class World:
    """A model with a truth: the deviation between blocks in units of that between runs, and what else is so."""

    name: str
    between_blocks: float
    errors: Draw
    missing_ratio: float = 0.0


def _normal(random: np.random.Generator, runs: int) -> Reals:
    return random.normal(size=runs)


def _skewed(random: np.random.Generator, runs: int) -> Reals:
    """Return exponential values of mean 0 and deviation 1: runs with a long tail, as delays have."""
    return random.exponential(size=runs) - 1


WORLDS = (
    World("normal, blocks do not differ", 0.0, _normal),
    World("normal, standard deviation of blocks equal to that of runs", 1.0, _normal),
    World("normal, standard deviation of blocks 3 times that of runs", 3.0, _normal),
    World("normal, standard deviation of blocks equal to that of runs, a tenth of the runs missing", 1.0, _normal, 0.1),
    World("exponential, standard deviation of blocks equal to that of runs", 1.0, _skewed),
)
QUANTITIES = {
    "difference averaged over the other factors": {"queue": "CoDel"},
    "difference at one level of each other factor": {"queue": "CoDel", "congestion control": "bbr", "rate": "4 Mbit/s"},
}


@dataclass(frozen=True)
class Study:
    """Which intervals of one study contain the truth, by quantity, and whether the block variance is estimated as 0."""

    hits: dict[str, bool]
    is_singular: bool


def simulated(world: World, blocks: int, random: np.random.Generator) -> Study | None:
    """Return of one study what is known of the intervals of two differences of queues, and of the mean of a cell.

    None if the fit is refused, as `sojourn report` refuses it. A study of which a cell or a block lost all runs but one
    is drawn again: `sojourn report` refuses it.
    """
    truth = np.arange(len(CELLS), dtype=np.float64)
    cell = np.tile(np.arange(len(CELLS)), blocks)
    block = np.repeat(np.arange(blocks), len(CELLS))
    while True:
        kept = random.random(len(cell)) >= world.missing_ratio
        counts = np.zeros((blocks, len(CELLS)), dtype=np.int64)
        np.add.at(counts, (block[kept], cell[kept]), 1)
        if counts.sum(axis=0).min() >= 1 and counts.sum(axis=1).min() >= 2:
            break
    drift = world.between_blocks * random.normal(size=blocks)
    values = truth[cell] + drift[block] + world.errors(random, len(cell))
    levels = [CELLS[one] for one in cell[kept]]
    try:
        design = design_of(levels, FACTORS, [f"{one}" for one in block[kept]], values[kept])
        fit = fit_mixed(design, values[kept])
    except DesignRefusedError:
        return None
    weights = {
        name: cell_weights(design, levels) - cell_weights(design, levels | {"queue": "tail-drop"})
        for name, levels in QUANTITIES.items()
    }
    weights["mean of a cell"] = cell_weights(design, dict(zip((f.name for f in FACTORS), CELLS[0], strict=True)))
    estimates = {name: fit.estimate(used) for name, used in weights.items()}
    hits = {name: bool(one.lower <= weights[name] @ truth <= one.upper) for name, one in estimates.items()}
    return Study(hits, fit.is_singular)


def percentage(part: int, whole: int) -> str:
    """Return a share in %; a dash of nothing."""
    return f"{100 * part / whole:.1f}" if whole else "–"


def report(studies: int) -> Iterator[str]:
    """Yield the generated part of docs/statistics.md."""
    error = 100 * math.sqrt(0.95 * 0.05 / studies)
    yield (
        f"The table shows the coverage in % over {studies:,} simulated studies of {len(CELLS)} cells for "
        f"{' / '.join(map(str, BLOCKS))} blocks. Three standard errors of the simulation are {3 * error:.1f}. "
        "Figures in brackets cover only the studies whose block variance is estimated as 0. The last column has the "
        "share of these studies and the share of refused studies, in %."
    )
    yield ""
    names = [*QUANTITIES, "mean of a cell"]
    yield f"| runs and blocks | {' | '.join(names)} | variance 0, refused |"
    yield "| --- |" + " --- |" * (len(names) + 1)
    for number, world in enumerate(WORLDS):
        cells: dict[str, list[str]] = {name: [] for name in names}
        counts = []
        for blocks in BLOCKS:
            random = np.random.default_rng([SEED, number, blocks])
            studied = [simulated(world, blocks, random) for _ in range(studies)]
            fitted = [one for one in studied if one is not None]
            singular = [one for one in fitted if one.is_singular]
            refused = percentage(studies - len(fitted), studies)
            counts.append(f"{percentage(len(singular), studies)}, {refused}")
            for name in names:
                of_all, of_singular = (
                    percentage(sum(one.hits[name] for one in part), len(part)) for part in (fitted, singular)
                )
                cells[name].append(f"{of_all} ({of_singular})")
            print(f"{world.name}, {blocks} blocks", file=sys.stderr)
        columns = " | ".join(" / ".join(cells[name]) for name in names)
        yield f"| {world.name} | {columns} | {' / '.join(counts)} |"


def main() -> int:
    """Write the table into a document, between the marks, and keep it."""
    # Found beside this script; tests load the simulation without it.
    from coverage_document import write_tables

    title = "Coverage of the intervals of mixed models"
    return write_tables("coverage_mixed", title, (BEGIN, END), report, STUDIES, str(__doc__))


if __name__ == "__main__":
    sys.exit(main())
