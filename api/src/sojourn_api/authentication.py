"""Optional API keys. Without SOJOURN_API_KEYS the service is open."""

from __future__ import annotations

from collections.abc import Sequence
from hmac import compare_digest
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr
from starlette.datastructures import Headers

from sojourn_api.problems import ProblemError

_bearer = HTTPBearer(auto_error=False, description="An API key, when the service is guarded")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="An API key, when it is guarded")


def has_key(headers: Headers, keys: Sequence[SecretStr]) -> bool:
    """Return whether the headers of a request have one of the keys."""
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    given = [credentials.strip() if scheme.lower() == "bearer" else None, headers.get("x-api-key")]
    # Every key is compared, and each in constant time, so that the time taken discloses nothing about them.
    matches = [
        compare_digest(offered.encode(), key.get_secret_value().encode())
        for offered in given
        if offered is not None
        for key in keys
    ]
    return any(matches)


def require_key(
    request: Request,
    _bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    _header: Annotated[str | None, Depends(_header)],
) -> None:
    """Refuse a request without a valid key, when keys are set."""
    keys = request.app.state.settings.api_keys
    if keys and not has_key(request.headers, keys):
        raise ProblemError(
            "unauthorized",
            "Send a valid key as 'Authorization: Bearer <key>' or 'X-API-Key: <key>'.",
            headers={"WWW-Authenticate": "Bearer"},
        )
