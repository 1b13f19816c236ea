"""HEAD: the status and the headers of a response to GET, by which clients look before they fetch."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class HeadMiddleware:
    """ASGI middleware that takes HEAD for GET; the server sends no body for it (RFC 9110, section 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            # A copy: by its own the server knows that there is no body to send.
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
