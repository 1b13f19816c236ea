"""SQLite's `median` and percentiles, with a bound on time and memory.

SQLite sorts the values of each in one call, which nothing interrupts, by a method that takes time with the square of
their number for some orders: 250,000 values take 20 s.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from typing import Any

import apsw
import numpy
from shillelagh.exceptions import ProgrammingError

#: Name to number of arguments, the largest fraction, and whether the result is one of the values.
PERCENTILES = {
    "median": (1, 1.0, False),
    "percentile": (2, 100.0, False),
    "percentile_cont": (2, 1.0, False),
    "percentile_disc": (2, 1.0, True),
}
#: Largest difference between the fractions of two rows, in parts of the largest, that counts as none.
SAME_FRACTION = 0.001


class Percentile:
    """A percentile of one group, as SQLite's extension `percentile` has it.

    Parameters
    ----------
    name
        One of `PERCENTILES`.
    count
        Called for each value that is kept; raises if there are too many.

    Raises
    ------
    ProgrammingError
        By `step`, if a value is not a finite number, or the fraction is not one of its range or differs between rows.
    """

    def __init__(self, name: str, count: Callable[[], None]) -> None:
        self.name, self.count = name, count
        _, self.largest, self.discrete = PERCENTILES[name]
        self.fraction: float | None = None
        self.values = array("d")

    def step(self, *arguments: Any) -> None:
        """Take the value of a row, and the fraction if it is not the median."""
        value, *fraction = arguments
        share = self._share(*fraction) if fraction else 0.5
        if self.fraction is None:
            self.fraction = share
        elif abs(share - self.fraction) > SAME_FRACTION:
            raise ProgrammingError(f"the fraction of {self.name} is not the same for all rows")
        if value is None:
            return
        if not isinstance(value, int | float) or math.isinf(value):
            raise ProgrammingError(f"{self.name} takes finite numbers; a value is {str(value)[:20]!r}")
        self.count()
        self.values.append(value)

    def _share(self, fraction: Any) -> float:
        if not isinstance(fraction, int | float) or not 0 <= fraction <= self.largest:
            raise ProgrammingError(f"the fraction of {self.name} is a number between 0 and {self.largest:g}")
        return fraction / self.largest

    def final(self) -> float | None:
        """Return the percentile, or None without any value."""
        if not self.values or self.fraction is None:
            return None
        place = self.fraction * (len(self.values) - 1)
        lower = int(place)
        upper = lower if self.discrete or lower == place else lower + 1
        # Takes time with their number, in any order.
        parted = numpy.partition(numpy.frombuffer(self.values), (lower, upper))
        below, above = float(parted[lower]), float(parted[upper])
        return below + (above - below) * (place - lower) if upper > lower else below


def bound_percentiles(sqlite: apsw.Connection, count: Callable[[], None]) -> None:
    """Replace SQLite's percentiles in a connection; `count` as of `Percentile`."""

    def one(name: str) -> Callable[[], Percentile]:
        return lambda: Percentile(name, count)

    for name, (arguments, _, _) in PERCENTILES.items():
        sqlite.create_aggregate_function(name, one(name), arguments, flags=apsw.SQLITE_INNOCUOUS)
