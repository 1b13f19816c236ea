"""Runs one query within the limits of the service: turn, time, memory and range."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from sojourn_api.problems import ProblemError
from sojourn_api.queries.deadlines import Deadlines
from sojourn_api.snapshot import Snapshot

logger = logging.getLogger(__name__)


#: Types whose Python values are those of Arrow, one for one.
_PLAIN = {
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "INTEGER": pa.int32(),
    "UBIGINT": pa.uint64(),
    "VARCHAR": pa.string(),
}


def are_plain(types: Iterable[str]) -> bool:
    """Return whether columns of these DuckDB types may be fetched row by row."""
    return all(type_ in _PLAIN for type_ in types)


def _table(rows: Sequence[tuple[Any, ...]], types: Mapping[str, str]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    arrays = [pa.array(values, _PLAIN[type_]) for values, type_ in zip(columns, types.values(), strict=True)]
    return pa.table(arrays, names=list(types))


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

    def run(
        self, snapshot: Snapshot, sql: str, parameters: list[Any], few: Mapping[str, str] | None = None
    ) -> pa.Table:
        """Return the result of a query.

        Parameters
        ----------
        snapshot : Snapshot
        sql : str
        parameters : list
        few : mapping of str to str, optional
            The columns of the result with their DuckDB types, if it is small and `are_plain` holds. It is then fetched
            row by row, which costs half of what Arrow does: that plans a query twice.

        Raises
        ------
        ProblemError
            503 when the turn, the time or the memory does not suffice, 422 when a result does not fit its
            type.
        """
        deadline = time.monotonic() + self._seconds
        if not self._turns.acquire(timeout=self._seconds):
            raise ProblemError(
                "busy", f"The query had no turn within {self._seconds:g} s.", headers={"Retry-After": "5"}
            )
        with self._lock:
            self.running += 1
        try:
            cursor = snapshot.cursor()
            try:
                with self._deadlines.interrupting(cursor, deadline):
                    if few is None:
                        return cursor.sql(sql, params=parameters).to_arrow_table()
                    return _table(cursor.execute(sql, parameters).fetchall(), few)
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
        except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
            logger.warning("a result is out of range: %s", error)
            raise ProblemError(
                "result-out-of-range", "A sum does not fit 64 bits. Filter more, or ask for the mean."
            ) from None
        finally:
            with self._lock:
                self.running -= 1
            self._turns.release()
