"""Results that take long: kept for as long as their build is served, and computed once for all who wait."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pyarrow as pa

RESULTS_KEPT = 64


class ResultCache:
    """Results of the build being served, least recently used first to go.

    A snapshot never changes, so a result is valid as long as its build is served; those of another build are
    dropped when the first of a new one comes in.
    """

    def __init__(self, kept: int = RESULTS_KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._build_id = ""
        self._results: OrderedDict[Any, pa.Table] = OrderedDict()
        self._under_way: dict[tuple[str, Any], Future[pa.Table]] = {}

    def get(self, build_id: str, key: Any, compute: Callable[[], pa.Table]) -> pa.Table:
        """Return the result of a key, computed unless it is known or another thread computes it now.

        Threads that wait for another get its result, or its error.
        """
        with self._lock:
            if self._build_id == build_id and key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
            waited_for = self._under_way.get((build_id, key))
            if waited_for is None:
                mine = self._under_way[build_id, key] = Future()
        if waited_for is not None:
            return waited_for.result()
        try:
            result = compute()
        except BaseException as error:
            self._finish(build_id, key)
            mine.set_exception(error)
            raise
        with self._lock:
            if self._build_id != build_id:
                self._build_id = build_id
                self._results.clear()
            self._results[key] = result
            while len(self._results) > self._kept:
                self._results.popitem(last=False)
        self._finish(build_id, key)
        mine.set_result(result)
        return result

    def _finish(self, build_id: str, key: Any) -> None:
        with self._lock:
            del self._under_way[build_id, key]
