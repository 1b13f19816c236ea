"""How long Superset works on a request. Beyond that, an exception ends it, whatever Python does just then."""

from __future__ import annotations

import ctypes
import math
import re
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from types import FrameType
from typing import Any

from sojourn_superset.log_handlers import RequestEndedError

LONGEST_S = 20.0
"""Time of a request. An import holds Superset's database meanwhile, and nobody else writes into it."""
LONGEST_QUERY_S = 70.0
"""Time of a request that may query the API: a statement may take 60 s."""
LOOK_EACH_S = 0.5
"""How often the times are looked at."""
AGAIN_AFTER_S = 1.0
"""When a request gets the exception again, if something has caught it; half the time after each further one."""
SOON_S = 0.01
"""The least of these times, and when one is looked at again that did not get it because it was just taking a lock."""
LOCKING = frozenset({"acquire", "release", "__enter__", "__exit__"})
"""Functions with these names, and those that call them by name, are not ended: their locks would stay locked."""
QUERIES = re.compile(
    r"(GET|POST|PUT) (/api/v1/(chart/([0-9]+/)?(data|warm_up_cache)|datasource/|sqllab/)|/datasource/|/superset/)"
    r"|(POST|PUT) /api/v1/dataset/(?!import/)"
)


def bound_request_time(app: Any) -> TimeBound:
    """Have Superset keep the bound, and answer 422 beyond it. Nothing ends what it does after that, to undo changes."""
    # Superset's own modules can be imported only now that it is configured.
    from flask import request
    from superset.commands.exceptions import CommandInvalidError

    class TooLongError(CommandInvalidError, RequestEndedError):  # type: ignore[misc] # Superset has no types
        """As the error of a command, Superset undoes what the request has changed, and shows the message."""

        message = f"a request takes at most {LONGEST_S:g} s, or {LONGEST_QUERY_S:g} s if it queries data; split it"

    bound, answer = TimeBound(TooLongError), app.full_dispatch_request

    def answer_in_words() -> Any:
        response = answer()
        # What has caught the exception, or SQLite's, knows no reason.
        if bound.has_ended() and response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return app.make_response(({"message": TooLongError.message}, HTTPStatus.UNPROCESSABLE_ENTITY))
        return response

    app.full_dispatch_request = lambda: bound.run(answer_in_words, longest_s(request.method, request.path))
    return bound


def longest_s(method: str, path: str) -> float:
    """Return how long a request by a method for a path may take, in s."""
    return LONGEST_QUERY_S if QUERIES.match(f"{method} {path}") else LONGEST_S


class TimeBound:
    """A bound on what threads do.

    Parameters
    ----------
    error
        What is raised in what takes too long; made without arguments.
    """

    def __init__(self, error: type[RequestEndedError]) -> None:
        self._error = error
        #: Thread to the time at which it gets the exception, and in how many s again.
        self._ends: dict[int, tuple[float, float]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._look, daemon=True).start()

    def run(self, work: Callable[[], Any], most_s: float) -> Any:
        """Return what a function does in this thread; raises the error if it takes longer than ``most_s``."""
        thread = threading.get_ident()
        ends, lock, error = self._ends, self._lock, self._error
        try:
            with lock:
                ends[thread] = time.monotonic() + most_s, AGAIN_AFTER_S
            return work()
        finally:
            # The exception may come as late as here, and after this it must not.
            while thread in ends:
                try:
                    with lock:
                        _raise_in(thread, None)
                        ends.pop(thread, None)
                except error:
                    continue

    def is_late(self) -> bool:
        """Return whether this thread does not come to raise the exception that it got."""
        end, _ = self._ends.get(threading.get_ident(), (math.inf, math.inf))
        return self.has_ended() and time.monotonic() > end

    def has_ended(self) -> bool:
        """Return whether this thread got the exception."""
        _, pause_s = self._ends.get(threading.get_ident(), (math.inf, math.inf))
        return pause_s < AGAIN_AFTER_S

    def _look(self) -> None:
        while True:
            with self._lock:
                first = min((end for end, _ in self._ends.values()), default=math.inf)
            time.sleep(min(max(first - time.monotonic(), SOON_S), LOOK_EACH_S))
            for thread in list(self._ends):
                with self._lock:
                    end, pause_s = self._ends.get(thread, (math.inf, 0.0))
                    if (now := time.monotonic()) < end:
                        continue
                    # No other thread runs between these lines: one that waits for its turn does so for 5 ms and more.
                    if not _is_between(sys._current_frames().get(thread)):
                        _raise_in(thread, self._error)
                        self._ends[thread] = now + pause_s, max(pause_s / 2, SOON_S)


def _is_between(frame: FrameType | None) -> bool:
    """Return whether a thread is where an exception would do harm: about to lock or unlock, or at its end anyway."""
    if frame is None:
        return True
    code = frame.f_code
    return code is TimeBound.run.__code__ or code.co_name in LOCKING or not LOCKING.isdisjoint(code.co_names)


def _raise_in(thread: int, error: type[Exception] | None) -> None:
    """Have a thread raise the error where it goes on; None takes back what it has not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error and ctypes.py_object(error))
