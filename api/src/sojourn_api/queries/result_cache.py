"""Results that take long, kept for as long as their build is served."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
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

    def get(self, build_id: str, key: Any, compute: Callable[[], pa.Table]) -> pa.Table:
        """Return the result of a key, computed unless it is known."""
        with self._lock:
            if self._build_id == build_id and key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        result = compute()
        with self._lock:
            if self._build_id != build_id:
                self._build_id = build_id
                self._results.clear()
            self._results[key] = result
            while len(self._results) > self._kept:
                self._results.popitem(last=False)
        return result
