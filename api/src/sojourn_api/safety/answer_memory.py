"""Memory of the responses that are being written and sent, bounded: many large ones at a time do not end the service.

DuckDB bounds its own memory, and nothing bounds what is made of its results: a page of 100,000 rows is a table of Arrow
and two texts of 70 MB, of which one is kept until the client has read it.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import pyarrow as pa
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sojourn_api.problems import ProblemError

#: Responses of so many bytes together are worth giving their memory back: to look for it takes some milliseconds.
LARGE_BYTES = 64_000_000
#: Of the forty threads that handle requests, so many may wait here; the others handle small requests meanwhile.
MOST_WAITING = 16


def give_back() -> None:
    """Give freed memory back to the system: Arrow and the C library keep it for what comes next."""
    pa.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)


#: glibc's, which other C libraries lack.
_trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)


class AnswerMemory:
    """What all responses may take together; when the last of large ones has ended, their memory is given back.

    Parameters
    ----------
    limit_bytes : int
    seconds : float
        How long a request waits for others to end.
    """

    def __init__(self, limit_bytes: int, seconds: float) -> None:
        self.limit_bytes = limit_bytes
        self._seconds = seconds
        self._changed = threading.Condition()
        self._held_bytes = 0
        self._most_held_bytes = 0
        self._waiting = 0

    @property
    def held_bytes(self) -> int:
        """What responses under way take now."""
        return self._held_bytes

    def hold(self, expected_bytes: int) -> Held:
        """Return a share for one response, of which only an estimate is known.

        An estimate above the limit waits for all of it: the response may turn out to be smaller.

        Raises
        ------
        ProblemError
            503 if others took it for too long.
        """
        held = Held(self)
        held.change_to(min(expected_bytes, self.limit_bytes))
        return held

    def change(self, from_bytes: int, to_bytes: int) -> None:
        """Give one response another share; see `Held.change_to`."""
        if to_bytes > self.limit_bytes:
            raise ProblemError(
                "query-memory",
                f"The response needs about {to_bytes / 1e6:,.0f} MB; the limit is {self.limit_bytes / 1e6:,.0f} MB. "
                "Filter more, select fewer columns or request a smaller page.",
            )
        more = to_bytes - from_bytes
        with self._changed:
            if more > 0 and self._held_bytes + more > self.limit_bytes:
                self._wait_for(more)
            self._held_bytes += more
            self._most_held_bytes = max(self._most_held_bytes, self._held_bytes)
            if more < 0:
                self._changed.notify_all()
            if not self._held_bytes:
                if self._most_held_bytes >= LARGE_BYTES:
                    # In a thread: the one that releases a response is that of the event loop.
                    threading.Thread(target=give_back, name="memory", daemon=True).start()
                self._most_held_bytes = 0

    def _wait_for(self, more: int) -> None:
        # Each that waits takes one of the threads that handle requests.
        if self._waiting >= MOST_WAITING:
            raise _busy(f"{self._waiting} other requests wait until large responses are sent.")
        deadline = time.monotonic() + self._seconds
        self._waiting += 1
        try:
            while self._held_bytes + more > self.limit_bytes:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise _busy(f"Large responses held the memory for {self._seconds:g} s.")
        finally:
            self._waiting -= 1


def _busy(what: str) -> ProblemError:
    return ProblemError("busy", f"{what} Retry, or request a smaller page.", headers={"Retry-After": "5"})


class Held:
    """The share of one response, from before its query until it is sent."""

    def __init__(self, memory: AnswerMemory) -> None:
        self._memory = memory
        self._bytes = 0

    def change_to(self, size_bytes: int) -> None:
        """Take more or give back.

        Raises
        ------
        ProblemError
            503 if a response can never be as large, or if others took the memory for too long.
        """
        self._memory.change(self._bytes, size_bytes)
        self._bytes = size_bytes

    def release(self) -> None:
        """Give everything back; a second time does nothing."""
        self.change_to(0)


class HeldResponse(Response):
    """A response whose memory is given back when it was sent, or when its client is gone."""

    def __init__(self, content: bytes, held: Held, headers: dict[str, str], media_type: str) -> None:
        super().__init__(content, headers=headers, media_type=media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._held.release()
