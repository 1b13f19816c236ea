"""Connections of clients that are slow or send without end, by intent or not.

Uvicorn waits for ever for the rest of a request, keeps all of its head, and keeps a response in memory for as long as
its client does not read it. Here a request has to be whole within some seconds, its head is bounded while it comes, and
a client that reads has to take what was written before more is written to it.
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
from sojourn_api.safety.admission import MOST_HEADERS

logger = logging.getLogger(__name__)

#: A larger body is written in pieces of this size, each when the one before was taken.
PIECE_BYTES = 128 * 1024
#: Bytes of a request from the end of the one before: empty lines, its head, and a body, which no request has.
MOST_REQUEST_BYTES = 64 * 1024
#: What came is parsed in pieces of this size, by which a request may exceed its bound.
PARSED_BYTES = 4 * 1024
#: What a refused client still sends is read and dropped for this time: closing on unread bytes is a reset, which may
#: overtake the refusal.
DROPPING_SECONDS = 1.0
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
        For the client to take a chunk of the response.
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
        "x-content-type-options: nosniff",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class _TooManyHeadersError(Exception):
    """Stops the parser."""


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's connection with a bound of the request's head and times for the client."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits: ConnectionLimits | None = self.app_state.get(STATE)
        self._request_timer: asyncio.TimerHandle | None = None
        self._stalled_timer: asyncio.TimerHandle | None = None
        self._is_in_body = False
        self._request_bytes = 0
        self._header_count = 0
        self._is_refused = False
        self._ends_with_answer = False

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
        for start in range(0, len(data), PARSED_BYTES):
            if self._is_refused or self.transport.is_closing():
                return
            piece = data[start : start + PARSED_BYTES]
            # The parser tells of a header when it is whole, and keeps what it has of it until then; of empty lines and
            # of extensions of chunks (RFC 9112, sections 2.2 and 7.1.1) it tells nothing.
            self._request_bytes += len(piece)
            super().data_received(piece)
            if self._request_bytes > MOST_REQUEST_BYTES and self._is_in_body:
                self._drop_body()
            elif self._request_bytes > MOST_REQUEST_BYTES:
                self._refuse_head(f"the head of the request is longer than {MOST_REQUEST_BYTES} bytes")
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._expect_request()

    def on_message_begin(self) -> None:
        """Start the time of a request that follows another one."""
        super().on_message_begin()
        self._header_count = 0
        self._expect_request()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or stop the parser at one too many.

        Raises
        ------
        _TooManyHeadersError
        """
        self._header_count += 1
        if self._header_count > MOST_HEADERS:
            raise _TooManyHeadersError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Respond to the request; one in chunks, whose trailers would be kept as headers are, ends its connection."""
        super().on_headers_complete()
        # Not before: there the parser stops at an invalid target, such as that of CONNECT, and nothing responds to it.
        self._is_in_body = True
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            self._ends_with_answer = True

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser did not take; a body is refused already, whatever is wrong with it."""
        if self._is_in_body:
            self._drop_body()
        elif self._header_count > MOST_HEADERS:
            self._refuse_head(f"the request has more than {MOST_HEADERS} headers")
        else:
            self._refuse("invalid-request", "400 Bad Request", "the request is not valid HTTP/1.1")

    def on_message_complete(self) -> None:
        """End the time of a request with its last byte."""
        self._stop_request_timer()
        self._is_in_body, self._request_bytes = False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, or end a connection after what is still to come of a body."""
        super().on_response_complete()
        if self._ends_with_answer and self.cycle.response_complete and not self.transport.is_closing():
            self._is_refused = True
            self._end_reading()

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

    def _refuse_head(self, detail: str) -> None:
        self._refuse("too-many-headers", "431 Request Header Fields Too Large", detail)

    def _refuse(self, kind: str, status: str, detail: str) -> None:
        self._is_refused = True
        self._stop_request_timer()
        if self.cycle is not None and not self.cycle.response_complete:
            # Of the request before; nothing can be written into its response.
            self._ends_with_answer = True
            return
        self.transport.write(_refusal(kind, status, detail))
        self._end_reading()

    def _end_reading(self) -> None:
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(DROPPING_SECONDS, self.transport.close)

    def _drop_body(self) -> None:
        """Read no more of a request that is refused, or was, for having a body: the refusal ends the connection."""
        self._is_refused = self._ends_with_answer = True
        self._stop_request_timer()
        if self.cycle.response_complete:
            self._end_reading()

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
            logger.info("a client received too little of its response in %g s", self._limits.stalled_seconds)
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
