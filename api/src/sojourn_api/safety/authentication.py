"""Whether a request has a key, where keys are set. Without SOJOURN_API_KEYS the service is open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sojourn_api.problems import ProblemError, problem_response
from sojourn_api.safety.keys import OPEN, Key, Rates, key_of

_bearer = HTTPBearer(auto_error=False, description="An API key, when the service is guarded")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="An API key, when it is guarded")
_STATE = "sojourn_key"


class KeyMiddleware:
    """ASGI middleware that finds the key of a request once, and refuses one that comes too often.

    Parameters
    ----------
    app : ASGIApp
    keys : sequence of Key
        None of them: everyone reads everything.
    """

    def __init__(self, app: ASGIApp, keys: Sequence[Key]) -> None:
        self._app = app
        self._keys = tuple(keys)
        self._rates = Rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http":
            key = key_of(Headers(scope=scope), self._keys) if self._keys else OPEN
            scope.setdefault("state", {})[_STATE] = key
            wait_s = 0 if key is None else self._rates.wait_s(key, time.monotonic())
            if key is not None and wait_s:
                detail = f"this key has {key.per_minute} requests per minute; ask again in {wait_s} s"
                error = ProblemError("rate-exceeded", detail, headers={"Retry-After": str(wait_s)})
                await problem_response(Request(scope), error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def known_key(scope: Scope) -> Key | None:
    """Return the key that the middleware has found, or None."""
    state: dict[str, Any] = scope.get("state", {})
    key: Key | None = state.get(_STATE)
    return key


def reading_key(request: Request) -> Key:
    """Return the key of a request that `require_key` has let pass."""
    key = known_key(request.scope)
    assert key is not None, "the endpoint lacks the dependency require_key"
    return key


# Not blocking, and therefore of the event loop: a change of threads costs more than all that these do.
async def require_key(
    request: Request,
    _bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    _header: Annotated[str | None, Depends(_header)],
) -> None:
    """Refuse a request without a valid key, when keys are set."""
    if known_key(request.scope) is None:
        raise ProblemError(
            "unauthorized",
            "Send a valid key as 'Authorization: Bearer <key>' or 'X-API-Key: <key>'.",
            headers={"WWW-Authenticate": "Bearer"},
        )


async def require_whole_key(request: Request) -> None:
    """Refuse a key that does not read everything: for what is of no dataset. Comes after `require_key`."""
    if not reading_key(request).reads_everything:
        raise ProblemError(
            "forbidden", "this key has access to only some studies or datasets, but this endpoint describes all of them"
        )
