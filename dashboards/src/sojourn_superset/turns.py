"""Which request gets Superset's next thread: each user has a few at a time, and further requests wait without one.

A chart of a large table takes a thread for seconds, and a dashboard asks for many. None of them is refused: a browser
asks six at a time, and several people may share a login. Waiting requests take no thread, so that other users and
`/health` are answered meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from ipaddress import ip_address, ip_network
from typing import Any

from waitress.task import ThreadedTaskDispatcher

THREADS_OF_A_USER = 3
"""Most threads of a user. With more, Python works on the same charts no faster, and holds more of them in memory."""
THREADS_FOR_OTHERS = 2
"""Threads that only a user who has none may get, so that two users with slow requests cannot hold all of them."""
FREE_THREADS = 2
"""Threads that are kept for what belongs to nobody: `/health` and static files."""
NOBODYS_SHARE = 0.5
"""Most threads for that, of all: anyone may ask for it, any number of times."""
LONGEST_FREE_HEAD = 4_096
"""Bytes of the head of such a request; a longer one counts for its address."""
MOST_SESSIONS = 20
"""Cookies of a request that are tried as the session's. One is; a browser sends no more."""
MOST_SCHEMES = 10
"""Parts of a header of authorization that are looked at."""
WITH_PORT = re.compile(r"\[([^]]*)\](?::[0-9]+)?|([^:]*):[0-9]+")
"""An address with a port, or within brackets, as some proxies write it."""
NO_ADDRESS = "no address"
"""What counts as one client, because its sender may write another one each time."""
LONG_S = 1.0
"""What took so long may have held hundreds of MB, which the allocator keeps for the thread unless it is asked."""

#: Returns freed memory to the system (glibc).
_trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
#: The user or the address that a request counts for; None if for nobody.
Whose = Callable[[Any], Hashable | None]


def give_back() -> None:
    """Free the answer's tables, which refer to each other, and return their memory to the system."""
    gc.collect()
    if _trim is not None:
        _trim(0)


class Turns(deque[Any]):
    """Waiting requests, as waitress's queue. Of those that may have a thread, that of the user with the fewest is next.

    Parameters
    ----------
    threads
        Threads there are.
    """

    def __init__(self, threads: int) -> None:
        super().__init__()
        self._of_users = max(1, threads - FREE_THREADS)
        self._of_nobody = max(1, int(threads * NOBODYS_SHARE))
        self._under_way: Counter[Hashable] = Counter()

    def __bool__(self) -> bool:
        """Return whether a request may have a thread now."""
        return self._next() is not None

    def popleft(self) -> Turn:
        """Give a thread to a request; the caller holds the dispatcher's lock, as waitress's does."""
        turn: Turn | None = self._next()
        if turn is None:
            raise IndexError("no request may have a thread now")
        self.remove(turn)
        self._under_way[turn.whose] += 1
        return turn

    def end(self, turn: Turn) -> None:
        """Take the thread back."""
        self._under_way[turn.whose] -= 1
        # Without those that have none.
        self._under_way += Counter()

    def _next(self) -> Any:
        left = self._of_users - (self._under_way.total() - self._under_way[None])
        of_a_user = THREADS_OF_A_USER if left > THREADS_FOR_OTHERS else min(left, 1)
        may = (
            each
            for each in self
            if self._under_way[each.whose] < (self._of_nobody if each.whose is None else of_a_user)
        )
        return min(may, key=lambda each: (self._under_way[each.whose], not each.is_urgent), default=None)


class Turn:
    """A connection whose request waits for a thread or has one."""

    def __init__(
        self, channel: Any, whose: Hashable | None, dispatcher: Dispatcher, *, is_urgent: bool = False
    ) -> None:
        self.whose = whose
        self.is_urgent = is_urgent
        self._channel = channel
        self._dispatcher = dispatcher

    def service(self) -> None:
        """Answer the request. The thread then looks for the next one itself, so none needs to be woken up."""
        began = time.monotonic()
        try:
            self._channel.service()
        finally:
            if time.monotonic() - began > LONG_S:
                give_back()
            with self._dispatcher.lock:
                self._dispatcher.queue.end(self)

    def cancel(self) -> None:
        """Close the connection."""
        self._channel.cancel()


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc] # waitress has no types
    """Waitress's own threads, which take requests in turns.

    Parameters
    ----------
    threads
        How many.
    whose
        What a connection's request counts for.
    """

    def __init__(self, threads: int, whose: Whose) -> None:
        super().__init__()
        self.queue = Turns(threads)
        self._whose = whose
        self.set_thread_count(threads)

    def add_task(self, channel: Any) -> None:
        """Take a connection with a request that has arrived."""
        try:
            whose = self._whose(channel)
        except Exception:
            # Without a turn, the request would never be answered and its connection never closed.
            self.logger.exception("cannot tell which user a request is of")
            whose = by_address(channel)
        channel.whose = whose
        is_health = getattr(channel.requests[0], "path", "") == "/health"
        super().add_task(Turn(channel, whose, self, is_urgent=is_health))


def site(address: str) -> str:
    """Return what counts for an address: of IPv4 itself, of IPv6 its /64, all of which one computer may have."""
    if with_port := WITH_PORT.fullmatch(address):
        address = with_port[1] or with_port[2] or ""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return NO_ADDRESS
    # A proxy that listens for both writes one within the other.
    known = getattr(known, "ipv4_mapped", None) or known
    return str(known) if known.version == 4 else str(ip_network((known, 64), strict=False))


def _client(channel: Any, proxies: int) -> str:
    """Return the address of a client, which the outermost of these proxies has written (as werkzeug's `ProxyFix`)."""
    if proxies:
        # The client may have written others before it. To parse them all, as werkzeug does, takes too long.
        written = getattr(channel.requests[0], "headers", {}).get("X_FORWARDED_FOR", "").rsplit(",", proxies)
        if len(written) >= proxies and (address := written[-proxies].strip(' \t"')):
            return str(address)
    return str(channel.addr[0])


def by_address(channel: Any, proxies: int = 0) -> Hashable | None:
    """Count a request for the address that it comes from, except for what costs next to nothing.

    Parameters
    ----------
    channel
        The connection.
    proxies
        How many proxies there are before Superset, each of which adds an address to `X-Forwarded-For`.
    """
    request = channel.requests[0]
    # What is no request has no path.
    path = getattr(request, "path", "")
    is_cheap = path == "/health" or path.startswith("/static/")
    is_read = getattr(request, "command", "") in ("GET", "HEAD") and getattr(request, "body_rcv", None) is None
    # A part of a file is copied, and the whole is not. Some headers are parsed.
    is_part = "RANGE" in getattr(request, "headers", {})
    is_short = getattr(request, "header_bytes_received", 0) <= LONGEST_FREE_HEAD
    return None if is_cheap and is_read and is_short and not is_part else ("address", site(_client(channel, proxies)))


def by_user(application: Any) -> Whose:
    """Return what counts a request for the user of its session or token, and for the address if it has neither.

    Parameters
    ----------
    application
        Superset, which signed the session and the token, and whose settings say whether it is behind proxies.
    """
    from flask_jwt_extended import decode_token
    from flask_jwt_extended.exceptions import JWTExtendedException
    from itsdangerous import BadData
    from jwt import PyJWTError

    signed = application.session_interface.get_signing_serializer(application)
    proxies = application.config["PROXY_FIX_CONFIG"]["x_for"] if application.config.get("ENABLE_PROXY_FIX") else 0
    # To parse all cookies of a header of 32 KiB takes 30 ms, during which no other request is taken.
    session = re.compile(rf'(?:^|;)\s*{re.escape(application.config["SESSION_COOKIE_NAME"])}\s*=\s*"?([^;"]*)')

    def of_session(headers: Any) -> Any:
        # Within the quotes of another cookie, what looks like a session is none.
        for cookie in itertools.islice(session.finditer(headers.get("COOKIE", "")), MOST_SESSIONS):
            with contextlib.suppress(BadData):
                return signed.loads(cookie[1].strip()).get("_user_id")
        return None

    def of_token(headers: Any) -> Any:
        # Other schemes may come before and after it, as Superset allows. It takes the first, and to read one costs.
        parts = [part.split() for part in headers.get("AUTHORIZATION", "").split(",", MOST_SCHEMES)]
        token = next((words[1] for words in parts if len(words) == 2 and words[0] == "Bearer"), None)
        if token is not None:
            with application.app_context(), contextlib.suppress(PyJWTError, JWTExtendedException):
                return decode_token(token)["sub"]
        return None

    def whose(channel: Any) -> Hashable | None:
        address = by_address(channel, proxies)
        if address is None:
            return None
        headers = channel.requests[0].headers
        # Superset looks at the token only if the session has no user.
        user = of_session(headers) or of_token(headers)
        return ("user", str(user)) if user else address

    return whose
