"""Whole responses kept in memory. A build never changes, so the same request to it has the same bytes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn_api.http.compression import accepted_coding
from sojourn_api.http.conditional import has_already
from sojourn_api.safety.authentication import known_key
from sojourn_api.safety.keys import Key as ApiKey
from sojourn_api.snapshot import ServedBuild, SnapshotStore

_DATA = "/v1/"
# One response may take this part of the memory, so that a few large pages do not push out everything else.
_LARGEST_PART = 8
# What an entry takes beside its body and its key: Python objects and headers, rounded up.
_OVERHEAD_BYTES = 2048
_OF_NOT_MODIFIED = frozenset({b"etag", b"cache-control", b"vary", b"x-sojourn-build"})

Key = tuple[Any, ...]


@dataclass(frozen=True)
class KeptResponse:
    """A complete 200 response: its route, headers as sent, ETag and body as sent, compressed or not."""

    route: Any
    headers: list[tuple[bytes, bytes]]
    etag: str
    body: bytes


class KeptResponses:
    """Responses of one build, within a bound of memory, the least recently used first to go.

    Parameters
    ----------
    limit_bytes : int
        Memory for bodies and keys; 0 keeps nothing.

    Notes
    -----
    Not safe for threads: it belongs to the event loop.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes = 0
        self._build: ServedBuild | None = None
        self._responses: OrderedDict[Key, tuple[KeptResponse, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._responses)

    def get(self, build: ServedBuild, key: Key) -> KeptResponse | None:
        """Return the response to a request, or None when it is not kept."""
        response = self._responses.get(key) if build == self._build else None
        if response is None:
            return None
        self._responses.move_to_end(key)
        return response[0]

    def put(self, build: ServedBuild, key: Key, response: KeptResponse) -> None:
        """Keep a response; those of another build are dropped."""
        if build != self._build:
            self._build = build
            self._responses.clear()
            self.bytes = 0
        size = len(response.body) + len(repr(key)) + _OVERHEAD_BYTES
        if size > self.limit_bytes // _LARGEST_PART:
            return
        replaced = self._responses.pop(key, None)
        self.bytes += size - (replaced[1] if replaced else 0)
        self._responses[key] = (response, size)
        while self.bytes > self.limit_bytes:
            _, (_, dropped) = self._responses.popitem(last=False)
            self.bytes -= dropped


class _Recorder:
    """Passes a response on to the client and remembers it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body: bytes | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        elif self._body is None and not message.get("more_body"):
            self._body = bytes(message.get("body", b""))
        else:
            self._start = None  # sent in parts: not kept
        await self._send(message)

    def response(self, route: Any, build_id: str) -> KeptResponse | None:
        """Return the response if it is a result of this build."""
        if self._start is None or self._body is None or self._start["status"] != 200:
            return None
        headers = Headers(raw=self._start["headers"])
        etag = headers.get("etag")
        if etag is None or headers.get("x-sojourn-build") != build_id:
            return None
        return KeptResponse(route, list(self._start["headers"]), etag, self._body)


class KeptResponsesMiddleware:
    """ASGI middleware that responds to a repeated request from memory, before routing and parsing.

    Requests that are the same but for the order of their parameters are one. Of several at one time the first is
    computed, and the others wait for it.

    Parameters
    ----------
    app : ASGIApp
    store : SnapshotStore
    kept : KeptResponses
    on_kept : callable
        Called for each response that comes from memory.
    """

    def __init__(
        self,
        app: ASGIApp,
        store: SnapshotStore,
        kept: KeptResponses,
        on_kept: Callable[[], None],
    ) -> None:
        self._app = app
        self._store = store
        self._kept = kept
        self._on_kept = on_kept
        self._under_way: dict[tuple[ServedBuild, Key], asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(_DATA):
            await self._app(scope, receive, send)
            return
        reader = known_key(scope)
        if not self._kept.limit_bytes or reader is None:
            # Without a valid key the application refuses.
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        key = _key(scope, headers, reader)
        build = self._store.served_build()
        if build is None:
            await self._record(self._store.published_build(), key, scope, receive, send)
            return
        other = self._under_way.get((build, key))
        if other is not None:
            await other.wait()
        response = self._kept.get(build, key)
        if response is not None:
            self._on_kept()
            await _answer(response, headers, scope, send)
        elif other is not None:
            # The first got no result that can be kept, such as a problem, so each asks for itself.
            await self._app(scope, receive, send)
        else:
            await self._compute(build, key, scope, receive, send)

    async def _compute(self, build: ServedBuild, key: Key, scope: Scope, receive: Receive, send: Send) -> None:
        done = self._under_way[build, key] = asyncio.Event()
        try:
            await self._record(build, key, scope, receive, send)
        finally:
            del self._under_way[build, key]
            done.set()

    async def _record(self, build: ServedBuild | None, key: Key, scope: Scope, receive: Receive, send: Send) -> None:
        recorder = _Recorder(send)
        await self._app(scope, receive, recorder.send)
        # The build must be the same before and after: another one may have been published meanwhile.
        if build is None or build != self._store.served_build():
            return
        response = recorder.response(scope.get("route"), build.build_id)
        if response is not None:
            self._kept.put(build, key, response)


def _key(scope: Scope, headers: Headers, reader: ApiKey) -> Key:
    # As Starlette reads the query string, so that no two requests with different responses have one key.
    items = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return scope["path"], tuple(sorted(items)), headers.get("accept"), accepted_coding(headers), reader.scope


async def _answer(response: KeptResponse, headers: Headers, scope: Scope, send: Send) -> None:
    scope["route"] = response.route  # by which the metrics count
    status, sent, body = 200, response.headers, response.body
    if has_already(headers.get("if-none-match", ""), response.etag):
        status, body = 304, b""
        sent = [item for item in response.headers if item[0] in _OF_NOT_MODIFIED]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
