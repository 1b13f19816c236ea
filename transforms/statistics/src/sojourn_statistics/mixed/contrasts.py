"""Cells, differences and terms of a fitted mixed model, as weights of its cells' means."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sojourn_statistics.mixed.design import Design
from sojourn_statistics.samples.arrays import Reals

AVERAGED = "mean of all"
"""What a contrast says of a factor that it is averaged over: each level with the same weight."""


@dataclass(frozen=True)
class Contrast:
    """One level of a factor minus its baseline, at levels of the others or averaged over all of them.

    `at` has a level, or `AVERAGED`, for each factor of the design but the compared one. `weights` is float, shape (c,).
    """

    factor: str
    level: str
    baseline: str
    at: dict[str, str]
    weights: Reals


@dataclass(frozen=True)
class Term:
    """A main effect or an interaction: the names of its factors, and linear functions that are 0 without it (q, c)."""

    factors: tuple[str, ...]
    rows: Reals


def cell_weights(design: Design, levels: dict[str, str]) -> Reals:
    """Return the weights that average the cells with these levels; factors that are not named are averaged over."""
    chosen = np.asarray(
        [
            all(level == levels.get(factor.name, level) for factor, level in zip(design.factors, cell, strict=True))
            for cell in design.cells
        ],
        dtype=np.float64,
    )
    weights: Reals = chosen / chosen.sum()
    return weights


def contrasts(design: Design) -> Iterator[Contrast]:
    """Yield for each factor every level minus the baseline: averaged over the other factors, then at each of theirs."""
    for factor in design.factors:
        others = [one for one in design.factors if one is not factor]
        settings: list[dict[str, str]] = [dict.fromkeys((one.name for one in others), AVERAGED)]
        if others:
            settings += [
                dict(zip((one.name for one in others), combination, strict=True))
                for combination in itertools.product(*(one.levels for one in others))
            ]
        baseline = factor.levels[0]
        for at in settings:
            named = {name: level for name, level in at.items() if level != AVERAGED}
            for level in factor.levels[1:]:
                weights = cell_weights(design, named | {factor.name: level}) - cell_weights(
                    design, named | {factor.name: baseline}
                )
                yield Contrast(factor.name, level, baseline, at, weights)


def terms(design: Design) -> Iterator[Term]:
    """Yield main effects, then interactions: each marginal to the others, with equal weights of all levels (type III).

    The rows of a term are differences in its own factors and averages over the others.
    """
    for size in range(1, len(design.factors) + 1):
        for chosen in itertools.combinations(design.factors, size):
            rows = np.ones((1, 1))
            for factor in design.factors:
                k = len(factor.levels)
                part = np.hstack([-np.ones((k - 1, 1)), np.eye(k - 1)]) if factor in chosen else np.full((1, k), 1 / k)
                rows = np.kron(rows, part)
            yield Term(tuple(factor.name for factor in chosen), rows)
