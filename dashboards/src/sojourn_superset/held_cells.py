"""How much of the API's rows a statement holds: SQLite reads each table that it joins from rows that are held whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_CELLS = 4_000_000
"""Rows × columns of all tables that a statement reads at a time. A cell takes some 90 bytes."""


class _Count:
    cells = 0


class _Counts(threading.local):
    """A statement stays in its thread; what it leaves behind may be freed in another."""

    def __init__(self) -> None:
        self.own = _Count()


_COUNTS = _Counts()


def rows_left(columns: int) -> int:
    """Return how many more rows of so many columns the statement of this thread may hold."""
    return max(0, MOST_CELLS - _COUNTS.own.cells) // max(1, columns)


@contextmanager
def held(cells: int) -> Iterator[None]:
    """Count cells while they are held."""
    count = _COUNTS.own
    count.cells += cells
    try:
        yield
    finally:
        count.cells -= cells
