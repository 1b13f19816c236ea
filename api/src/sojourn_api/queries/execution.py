"""Runs one query within the limits of the service: turn, time, memory and range."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from sojourn_api.formats import FewRows
from sojourn_api.problems import ProblemError
from sojourn_api.queries.deadlines import Deadlines
from sojourn_api.snapshot import Snapshot

logger = logging.getLogger(__name__)


class QueryRunner:
    """Runs queries, a limited number at a time and each for a limited time.

    Parameters
    ----------
    seconds : float
        Time that a query may take, the wait for its turn included.
    concurrent : int
        Queries that may run at one time.
    """

    def __init__(self, seconds: float, concurrent: int) -> None:
        self._seconds = seconds
        self._turns = threading.BoundedSemaphore(concurrent)
        self._lock = threading.Lock()
        self._deadlines = Deadlines()
        self.running = 0

    def run(self, snapshot: Snapshot, sql: str, parameters: list[Any]) -> pa.Table:
        """Return the result of a query.

        Raises
        ------
        ProblemError
            503 when the turn, the time or the memory does not suffice, or a file of the build is gone or damaged, 422
            when a result does not fit its type.
        """
        with self._turn(snapshot) as cursor:
            return cursor.sql(sql, params=parameters).to_arrow_table()

    def run_few(
        self, snapshot: Snapshot, sql: str, parameters: list[Any], columns: tuple[tuple[str, str], ...]
    ) -> FewRows:
        """Return a small result, which costs half of what `run` does: Arrow plans a query twice.

        Parameters
        ----------
        snapshot : Snapshot
        sql : str
        parameters : list
        columns : tuple of (name, type)
            The columns of the result with their DuckDB types, for which `are_plain` holds.

        Raises
        ------
        ProblemError
            As `run`.
        """
        with self._turn(snapshot) as cursor:
            return FewRows(columns, cursor.execute(sql, parameters).fetchall())

    @contextmanager
    def _turn(self, snapshot: Snapshot) -> Iterator[duckdb.DuckDBPyConnection]:
        deadline = time.monotonic() + self._seconds
        if not self._turns.acquire(timeout=self._seconds):
            raise ProblemError(
                "busy",
                f"The query waited {self._seconds:g} s for other queries to finish, and was cancelled.",
                headers={"Retry-After": "5"},
            )
        with self._lock:
            self.running += 1
        try:
            cursor = snapshot.cursor()
            try:
                with self._deadlines.interrupting(cursor, deadline):
                    yield cursor
            finally:
                cursor.close()
        except duckdb.InterruptException:
            raise ProblemError(
                "query-timeout",
                f"The query was stopped after {self._seconds:g} s. Filter more, or group by fewer columns.",
            ) from None
        except duckdb.OutOfMemoryException:
            logger.warning("a query ran out of memory", exc_info=True)
            raise ProblemError(
                "query-memory", "Filter more, group by fewer columns or ask for a smaller page."
            ) from None
        except duckdb.IOException as error:
            logger.error("a file of the served build cannot be read: %s", str(error).splitlines()[0])  # noqa: TRY400
            raise ProblemError(
                "no-snapshot",
                "A file of the served build cannot be read; the service's log has the cause.",
                headers={"Retry-After": "5"},
            ) from None
        except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
            logger.warning("a result is out of range: %s", error)
            raise ProblemError(
                "result-out-of-range", "A sum does not fit 64 bits. Filter more, or ask for the mean."
            ) from None
        finally:
            with self._lock:
                self.running -= 1
            self._turns.release()
