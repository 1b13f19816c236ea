"""Requests are counted, whatever the number of threads that count at the same time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from limits.storage import MemoryStorage

from sojourn_superset.request_limits import CountedOneByOne


class Slowly:
    """A storage that takes a moment before it reads its timer, in which other threads set theirs."""

    STORAGE_SCHEME = None

    @property
    def timer(self) -> threading.Timer:
        """The timer that was set last."""
        time.sleep(0.005)
        timer: threading.Timer = self.__dict__["timer"]
        return timer

    @timer.setter
    def timer(self, timer: threading.Timer) -> None:
        self.__dict__["timer"] = timer


class OneByOne(Slowly, CountedOneByOne):
    """Ours."""


class OfThePackage(Slowly, MemoryStorage):
    """Without a lock."""


def count(storage: MemoryStorage) -> None:
    """Count 16 requests at the same time."""
    time.sleep(0.1)  # until its first timer has ended
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: storage.incr("address", 60), range(16)))


def test_threads_that_count_at_the_same_time_do_not_fail() -> None:
    storage = OneByOne()
    count(storage)
    assert storage.get("address") == 16


def test_those_of_the_package_do() -> None:
    """Fails once the package locks its own counters; then delete CountedOneByOne."""
    with pytest.raises(RuntimeError, match="threads can only be started once"):
        count(OfThePackage())
