"""Interrupts queries that take too long: one thread watches the deadlines of all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

_SECONDS_BETWEEN_INTERRUPTS = 0.05
_IDLE_SECONDS = 60.0


class Deadlines:
    """The deadlines of the queries that run now.

    A thread for each query would cost more than many queries do. The one thread starts with the first query.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._deadlines: dict[int, tuple[float, duckdb.DuckDBPyConnection]] = {}
        self._next_look = float("inf")
        self._next_number = 0
        self._watcher: threading.Thread | None = None

    @contextmanager
    def interrupting(self, cursor: duckdb.DuckDBPyConnection, deadline: float) -> Iterator[None]:
        """Interrupt the cursor's query if it still runs at a time.

        Parameters
        ----------
        cursor : duckdb.DuckDBPyConnection
            A connection that runs nothing else.
        deadline : float
            Of `time.monotonic`, in seconds.
        """
        with self._changed:
            number = self._next_number
            self._next_number += 1
            self._deadlines[number] = deadline, cursor
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="sojourn-query-deadlines", daemon=True)
                self._watcher.start()
            elif deadline < self._next_look:
                self._changed.notify()
        try:
            yield
        finally:
            # Under the lock, so that no interrupt reaches a cursor that has gone on to something else.
            with self._changed:
                del self._deadlines[number]

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                self._next_look = self._interrupt_late(now)
                self._changed.wait(self._next_look - now)

    def _interrupt_late(self, now: float) -> float:
        """Interrupt the queries whose time is up, and return when to look again."""
        earliest = now + _IDLE_SECONDS
        for deadline, cursor in self._deadlines.values():
            if deadline > now:
                earliest = min(earliest, deadline)
                continue
            cursor.interrupt()
            # An interrupt that comes just before the query starts is lost, so it is repeated until the query
            # has ended.
            earliest = min(earliest, now + _SECONDS_BETWEEN_INTERRUPTS)
        return earliest
