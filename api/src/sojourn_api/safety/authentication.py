"""Optional API keys. Without SOJOURN_API_KEYS the service is open."""

from __future__ import annotations

import hashlib
import re
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

HASHED = re.compile(r"sha256:(?P<digest>[0-9a-f]{64})")


def digest_of(setting: str) -> bytes:
    """Return the SHA-256 of a key, which the setting may hold instead of the key: ``sha256:`` and 64 hex digits.

    Keys are random and long, so that a plain hash of one cannot be reversed; a password needs a slow hash.
    """
    hashed = HASHED.fullmatch(setting)
    return bytes.fromhex(hashed["digest"]) if hashed else hashlib.sha256(setting.encode()).digest()


def has_key(headers: Headers, keys: Sequence[SecretStr]) -> bool:
    """Return whether the headers of a request have one of the keys."""
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    given = [credentials.strip() if scheme.lower() == "bearer" else None, headers.get("x-api-key")]
    # Every key is compared, and each in constant time, so that the time taken discloses nothing about them. Of what was
    # sent only the hash is compared: sending a hash that was read at rest opens nothing.
    matches = [
        compare_digest(hashlib.sha256(offered.encode()).digest(), digest_of(key.get_secret_value()))
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
