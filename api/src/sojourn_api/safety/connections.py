"""Connections of clients that are slow, by intent or not: each has a time to send its request and to take its answer.

Uvicorn waits for ever for the rest of a request, and keeps an answer in memory for as long as its client does not
read it. Here a request has to be whole within some seconds, and a client that reads has to take what was written before
more is written to it.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sojourn_api.problems import KINDS

logger = logging.getLogger(__name__)

#: A larger body is written in pieces of this size, each when the one before was taken.
PIECE_BYTES = 128 * 1024
#: Name of the limits in the state of the application, by which the server hands them to connections.
STATE = "connection_limits"
#: Files that the process needs beside its connections: datasets, libraries, logs.
OTHER_FILES = 256
MOST_FILES = 65_536


@dataclass(frozen=True)
class ConnectionLimits:
    """How long a client may take, and how many connections a worker holds.

    Parameters
    ----------
    request_seconds : float
        From the first byte of a request, or from the connection, to its last byte.
    stalled_seconds : float
        For a piece of the answer to be taken.
    connections : int
    """

    request_seconds: float
    stalled_seconds: float
    connections: int


def connections_that_fit(most: int) -> int:
    """Return how many connections may be open, after the process was allowed as many files as it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(1, min(most, soft - OTHER_FILES))


def _refusal(kind: str, status: str, detail: str, *headers: str) -> bytes:
    body = (
        f'{{"type":"urn:sojourn:problem:{kind}","title":"{KINDS[kind].title}","status":{KINDS[kind].status},'
        f'"detail":"{detail}","instance":""}}'
    ).encode()
    lines = [
        f"HTTP/1.1 {status}",
        "content-type: application/problem+json",
        f"content-length: {len(body)}",
        "connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class TimedProtocol(HttpToolsProtocol):
    """Uvicorn's connection with times for the client."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits: ConnectionLimits | None = self.app_state.get(STATE)
        self._request_timer: asyncio.TimerHandle | None = None
        self._stalled_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, or refuse one connection too many."""
        super().connection_made(transport)
        if self._limits is None:
            return
        if len(self.connections) > self._limits.connections:
            detail = f"{self._limits.connections} connections are open; connect again later"
            transport.write(_refusal("busy", "503 Service Unavailable", detail, "retry-after: 5"))
            transport.close()
            return
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the times."""
        self._stop_request_timer()
        self._stop_stalled_timer()
        # Uvicorn leaves this timer, and with it the connection, if the connection broke.
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; what is no beginning of a request, such as empty lines, does not keep a connection either."""
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._expect_request()

    def on_message_begin(self) -> None:
        """Start the time of a request that follows another one."""
        super().on_message_begin()
        self._expect_request()

    def on_message_complete(self) -> None:
        """End the time of a request with its last byte."""
        self._stop_request_timer()
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Start the time in which the client has to take what was written."""
        super().pause_writing()
        if self._limits is not None and self._stalled_timer is None:
            self._stalled_timer = self.loop.call_later(self._limits.stalled_seconds, self._on_stalled)

    def resume_writing(self) -> None:
        """End that time."""
        self._stop_stalled_timer()
        super().resume_writing()

    def _expect_request(self) -> None:
        if self._limits is not None and self._request_timer is None:
            self._request_timer = self.loop.call_later(self._limits.request_seconds, self._on_slow_request)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _stop_stalled_timer(self) -> None:
        if self._stalled_timer is not None:
            self._stalled_timer.cancel()
            self._stalled_timer = None

    def _on_slow_request(self) -> None:
        self._request_timer = None
        if self._limits is None or self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            detail = f"the request was not whole after {self._limits.request_seconds:g} s"
            self.transport.write(_refusal("slow-request", "408 Request Timeout", detail))
        self.transport.close()

    def _on_stalled(self) -> None:
        self._stalled_timer = None
        if self._limits is not None:
            logger.info("a client took too little of its answer for %g s", self._limits.stalled_seconds)
        # Without waiting for what it does not take.
        self.transport.abort()


class PiecesMiddleware:
    """ASGI middleware that sends a large body in pieces, so that the server waits for the client between them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            if message["type"] != "http.response.body" or len(body) <= PIECE_BYTES:
                await send(message)
                return
            view = memoryview(body)
            for start in range(0, len(view), PIECE_BYTES):
                more = start + PIECE_BYTES < len(view) or message.get("more_body", False)
                await send({**message, "body": view[start : start + PIECE_BYTES], "more_body": more})

        await self._app(scope, receive, send_pieces)
