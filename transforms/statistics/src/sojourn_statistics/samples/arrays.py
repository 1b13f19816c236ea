"""What every estimator asks of its input, and the one source of random numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SEED = 20261121
"""Seed of every resampling. It does not depend on the data, so the same input gives the same output."""


def generator(stream: int = 0) -> np.random.Generator:
    """Return a new generator in its initial state; different streams are independent of one another."""
    return np.random.Generator(np.random.PCG64([SEED, stream]))


def sample(values: npt.ArrayLike, name: str = "values") -> Reals:
    """Return values as float64, shape (n,).

    Raises
    ------
    ValueError
        When they are not one-dimensional, none, or not all finite: to leave out a missing value is a decision
        of the caller.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {array.ndim}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: nothing to estimate")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; leave missing values out before")
    return array


def level_checked(level: float) -> float:
    """Return a level of confidence.

    Raises
    ------
    ValueError
        When it is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a level of confidence lies between 0 and 1, got {level}")
    return level


def has_ties(values: Reals) -> bool:
    """Return whether two values are equal."""
    return bool(np.unique(values).size < values.size)
