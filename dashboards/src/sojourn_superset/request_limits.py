"""Where the limits of requests count: in memory, one request at a time; and what a request counts for."""

from __future__ import annotations

import threading
from typing import Any

from flask_limiter.util import get_remote_address
from limits.storage import MemoryStorage

from sojourn_superset.turns import site


def by_site() -> str:
    """Count a request for its address, and for IPv6 for its /64, as threads and connections do."""
    return site(get_remote_address())


class CountedOneByOne(MemoryStorage):
    """The memory of the package limits, behind a lock.

    That package starts a timer as it counts. Of two threads that count at the same time, one starts the timer of the
    other a second time, and its request fails.
    """

    STORAGE_SCHEME = ["counted-one-by-one"]  # noqa: RUF012 - as the package has it

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._one_by_one = threading.Lock()
        super().__init__(*arguments, **options)

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count a request, and return how many the key has."""
        with self._one_by_one:
            return int(super().incr(key, expiry, amount))
