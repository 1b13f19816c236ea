"""Compresses whole responses with zstd for clients that accept it; gzip is Starlette's own middleware."""

from __future__ import annotations

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MINIMUM_BYTES = 1000
_LEVEL = 3


def _accepts_zstd(header: str) -> bool:
    for part in header.split(","):
        coding, _, quality = part.partition(";")
        if coding.strip().lower() == "zstd":
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def accepted_coding(headers: Headers) -> str:
    """Return the coding that a response to these headers has where it is large enough: zstd, gzip or identity."""
    accepted = headers.get("accept-encoding", "")
    if _accepts_zstd(accepted):
        return "zstd"
    return "gzip" if "gzip" in accepted else "identity"  # as Starlette's own middleware decides


def _compress(body: bytes) -> bytes:
    return bytes(pa.Codec("zstd", compression_level=_LEVEL).compress(body, asbytes=True))


class ZstdMiddleware:
    """ASGI middleware; responses sent in parts, and small ones, pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not _accepts_zstd(Headers(scope=scope).get("accept-encoding", "")):
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def compressing_send(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is None:
                await send(message)
                return
            body = message.get("body", b"")
            headers = MutableHeaders(raw=start["headers"])
            whole = not message.get("more_body")
            if whole and len(body) >= MINIMUM_BYTES and "content-encoding" not in headers:
                # In a thread, because tens of megabytes would keep every other request waiting.
                message = {**message, "body": await run_in_threadpool(_compress, body)}
                headers["Content-Encoding"] = "zstd"
                headers["Content-Length"] = str(len(message["body"]))
                headers.add_vary_header("Accept-Encoding")
            await send(start)
            start = None
            await send(message)

        await self._app(scope, receive, compressing_send)
