"""Superset's cache of chart data, by build: what was computed of one build is never shown of another.

A chart's figures change when a build is published and at no other time. So they are kept under the id of the build
that the API serves, which is asked for at every look-up (`/healthz`), and all of them are dropped when it changes.

What is kept is bounded in bytes: a single question may have an answer of 50 MB, and a user may ask any number of them.
"""

from __future__ import annotations

import functools
import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

from cachetools import LRUCache
from flask_caching.backends.simplecache import SimpleCache

from sojourn_client import ApiError, Client

ANSWERED_WITHIN_S = 5.0
MOST_BYTES = 256 * 2**20
"""Most that is kept; what was not used for longest goes first."""
LARGEST_BYTES = 16 * 2**20
"""Largest entry: two million numbers. A chart of more is asked for again."""
BYTES_OF_AN_ENTRY = 1_000
"""What an entry counts for beside its value: its key and places in tables."""


class BuildCache(SimpleCache):
    """A cache in memory that forgets everything when the API serves another build.

    Without a response of the API nothing is found and nothing is kept: the chart then asks the API itself, and says
    what is wrong.

    Parameters
    ----------
    imported
        File of the last import (`imported.json`), whose `api` is the URL that charts use.
    threshold, default_timeout, ignore_errors
        As of SimpleCache: ignored, because bytes count here; seconds; whether `delete_many` goes on after an error.
    """

    def __init__(
        self, imported: str, threshold: int = 500, default_timeout: int = 300, ignore_errors: bool = False
    ) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            threshold=threshold, default_timeout=default_timeout, ignore_errors=ignore_errors
        )
        entries: LRUCache[str, Any] = LRUCache(MOST_BYTES, getsizeof=lambda entry: len(entry[1]) + BYTES_OF_AN_ENTRY)
        self._cache = entries  # type: ignore[assignment] # what SimpleCache does with its dictionary, this does too
        self._imported = Path(imported)
        self._build: tuple[str, str] | None = None
        self._missed = threading.local()

    def get(self, key: str) -> Any:
        """Return the value of a key, or None if there is none of the build that is served."""
        build = self._current()
        value = super().get(key) if build else None
        if value is None and build:
            self._missed_keys()[key] = build
        return value

    def set(self, key: str, value: Any, timeout: int | timedelta | None = None) -> bool | None:
        """Keep a value if one build was served from the look-up of its key in this thread until now.

        A value that was computed while a build was published may be of either. One that is too large is not kept.
        """
        since = self._missed_keys().pop(key, None)
        if since is None or since != self._current():
            return False
        content = self.serializer.dumps(value)
        if content is None or len(content) > LARGEST_BYTES:
            return False
        with self._lock:
            if self._build != since:
                return False
            # Without `_prune`, which reads all entries if there are many: then none is the one not used for longest.
            self._cache[key] = (self._normalize_timeout(timeout), content)
            return True

    def _missed_keys(self) -> dict[str, tuple[str, str]]:
        """Return the keys that this thread did not find, each with the build that was served then."""
        try:
            keys: dict[str, tuple[str, str]] = self._missed.keys
        except AttributeError:
            keys = self._missed.keys = {}
        return keys

    def _current(self) -> tuple[str, str] | None:
        """Return the URL of the API and the id of its build, or None; drop what is of another build."""
        try:
            address = str(json.loads(self._imported.read_text(encoding="utf-8"))["api"])
            build = (address, _client(address).health())
        except (FileNotFoundError, KeyError, ValueError, ApiError):
            # No import yet, one of an older version, or no answer: no build, of which nothing is kept.
            return None
        with self._lock:
            if build != self._build:
                self.clear()
                self._missed_keys().clear()
                self._build = build
        return build


@functools.cache
def _client(address: str) -> Client:
    return Client(address, timeout_s=ANSWERED_WITHIN_S, patience_s=0.0)
