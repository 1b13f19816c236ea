"""Which runs lie in which cell and block, and whether a mixed model can be fitted to them.

A cell is one combination of the levels of all factors. A block is a set of runs that share what drifts between sets:
one repetition of each cell in a randomised complete block design [1]_, or the two runs of a pair.

References
----------
.. [1] R. A. Fisher, "The design of experiments", 1935, sections 26 to 28.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sojourn_statistics.samples.arrays import Integers, Reals, sample

NAMED = 4
"""Cells that a refusal names; the others are counted."""


class DesignRefusedError(ValueError):
    """The runs cannot carry the model; the message is one line and says which runs would."""


@dataclass(frozen=True)
class CrossedFactor:
    """A factor with its levels in order; the first one is the baseline of contrasts."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """Runs as cells and blocks: `cell` and `block` are indexes, int64, shape (n,).

    Cells are numbered in the order of `itertools.product` over the levels of `factors`, all of which have at least two.
    """

    factors: tuple[CrossedFactor, ...]
    cell: Integers
    block: Integers
    blocks: tuple[str, ...]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The combinations of levels, in the order of their numbers."""
        return list(itertools.product(*(factor.levels for factor in self.factors)))

    @property
    def counts(self) -> Integers:
        """Runs of each block (rows) in each cell (columns), shape (b, c)."""
        counted = np.zeros((len(self.blocks), len(self.cells)), dtype=np.int64)
        np.add.at(counted, (self.block, self.cell), 1)
        return counted


def _named(cells: Sequence[tuple[str, ...]]) -> str:
    shown = "; ".join(", ".join(cell) for cell in cells[:NAMED])
    return shown + (f"; and {len(cells) - NAMED} more" if len(cells) > NAMED else "")


def _runs(number: int) -> str:
    return f"{number} run" if number == 1 else f"{number} runs"


def design_of(
    levels: Sequence[Sequence[str]], factors: Sequence[CrossedFactor], blocks: Sequence[str | None], values: Reals
) -> Design:
    """Return the design of runs, or refuse it.

    Parameters
    ----------
    levels : sequence of n sequences of str
        For each run its level of each of `factors`. A factor with one level stays out of the model.
    factors : sequence of CrossedFactor
    blocks : sequence of n str or None
        The block of each run; None if it is not known.
    values : float, shape (n,)

    Returns
    -------
    Design

    Raises
    ------
    DesignRefusedError
        If no factor varies, a cell has no run, a run has no block, there is one block, each cell has one run, each
        block has one run, blocks and cells leave no degree of freedom, or the values do not vary within cells. The
        message says how many runs of which cells would be enough.
    """
    values = sample(values)
    varying = [place for place, factor in enumerate(factors) if len(factor.levels) > 1]
    if not varying:
        held = ", ".join(f"{factor.name} {factor.levels[0]}" for factor in factors)
        raise DesignRefusedError(
            f"no factor varies: all {_runs(len(values))} have {held}; "
            f"add as many runs with a second {' or '.join(factor.name for factor in factors)}"
        )
    chosen = tuple(factors[place] for place in varying)
    cells = list(itertools.product(*(factor.levels for factor in chosen)))
    number = {cell: place for place, cell in enumerate(cells)}
    cell = np.asarray([number[tuple(one[place] for place in varying)] for one in levels], dtype=np.int64)
    runs = np.bincount(cell, minlength=len(cells))
    _check_cells(cells, runs)
    without = sum(block is None for block in blocks)
    if without:
        raise DesignRefusedError(
            f"{without} of {len(values)} runs have no block; a block is a set of runs that were made together, "
            "such as one repetition of each cell"
        )
    names = sorted({block for block in blocks if block is not None}, key=_natural)
    place = {name: index for index, name in enumerate(names)}
    block = np.asarray([place[name] for name in blocks if name is not None], dtype=np.int64)
    design = Design(chosen, cell, block, tuple(names))
    _check_blocks(design)
    within = values - (np.bincount(cell, weights=values) / runs)[cell]
    if np.abs(within).max() <= 1e-12 * max(1.0, float(np.abs(values).max())):
        raise DesignRefusedError(
            f"no variation: within each of the {len(cells)} cells all runs have the same value, so the spread "
            "of repetitions is not known; choose another metric"
        )
    return design


def _natural(name: str) -> tuple[int, float, str]:
    """Return a key that orders numbers by value and texts after them."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def _check_cells(cells: list[tuple[str, ...]], runs: Integers) -> None:
    missing = [cell for cell, count in zip(cells, runs, strict=True) if not count]
    if missing:
        usual = max(2, int(np.median(runs[runs > 0])))
        raise DesignRefusedError(
            f"{len(missing)} of {len(cells)} cells have no run ({_named(missing)}): their interaction cannot be "
            f"estimated; add {_runs(usual)} of each ({usual * len(missing)} in all), or leave out a level"
        )
    if int(runs.max()) == 1:
        raise DesignRefusedError(
            f"one run per cell: the spread of repetitions is not known; add a block of 1 run of each of the "
            f"{len(cells)} cells ({_runs(len(cells))}), preferably four such blocks"
        )


def _check_blocks(design: Design) -> None:
    counts, cells = design.counts, design.cells
    if len(design.blocks) == 1:
        raise DesignRefusedError(
            f"one block ({design.blocks[0]}): the spread of blocks is not known; add a block of 1 run of each of the "
            f"{len(cells)} cells ({_runs(len(cells))}), preferably four such blocks"
        )
    if int(counts.sum(axis=1).max()) == 1:
        raise DesignRefusedError(
            "each block has one run: blocks cannot be told from runs; a block needs a run of each of the "
            f"{len(cells)} cells, so add {_runs(len(cells) - 1)} to each of the {len(design.blocks)} blocks"
        )
    if within_degrees(design) < 1:
        raise DesignRefusedError(
            f"{len(design.cell)} runs leave no degree of freedom beside {len(cells)} cells and {len(design.blocks)} "
            f"blocks; add a block of 1 run of each cell ({_runs(len(cells))})"
        )


def within_degrees(design: Design) -> int:
    """Return the degrees of freedom within cells and blocks: runs minus the rank of both together."""
    blocks = np.eye(len(design.blocks))[design.block]
    cells = np.eye(len(design.cells))[design.cell]
    # The rank of n rows is that of their c + b sums of products.
    both = np.hstack([cells, blocks])
    return len(design.cell) - int(np.linalg.matrix_rank(both.T @ both, hermitian=True))
