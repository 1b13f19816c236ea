"""Requests to the API, retries, and the error if there is no usable response."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx

from sojourn_client.errors import ApiError, BuildChangedError

DEFAULT_URL = "http://127.0.0.1:8000"
JSON = "application/json"
_PROBLEM = "urn:sojourn:problem:"


class Connection:
    """GET requests to one API.

    Parameters
    ----------
    url : str, optional
        URL of the API; without it SOJOURN_API_URL, else `DEFAULT_URL`.
    key : str, optional
        API key, where the service wants one; without it SOJOURN_API_KEY.
    timeout_s : float
        Seconds to wait for one response.
    patience_s : float
        Seconds to wait in total, for one request, where the API returns 503 or 429 and says when to retry
        (Retry-After, RFC 9110 section 10.2.3).

    Raises
    ------
    ApiError
        If the URL is not http:// or https://.
    """

    def __init__(self, url: str | None, key: str | None, timeout_s: float, patience_s: float) -> None:
        self.url = (url or os.environ.get("SOJOURN_API_URL") or DEFAULT_URL).rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ApiError(f"{self.url} is not a URL; expected http://… or https://…")
        secret = key or os.environ.get("SOJOURN_API_KEY")
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self._patience_s = patience_s
        self._http = httpx.Client(headers=headers, timeout=timeout_s, follow_redirects=True)

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def get(self, path: str, query: Sequence[tuple[str, str]] = (), accept: str = JSON) -> httpx.Response:
        """Return the complete response to a request.

        Raises
        ------
        BuildChangedError
            If the query's cursor belongs to a build that is no longer served.
        ApiError
            If there is no response, the response is cut off, or it is a refusal.
        """
        waited_s = 0.0
        while True:
            response = self._once(path, query, accept)
            pause_s = _retry_after_s(response)
            if pause_s is None or waited_s + pause_s > self._patience_s:
                break
            time.sleep(pause_s)
            waited_s += pause_s
        if response.status_code == HTTPStatus.GONE:
            raise BuildChangedError(f"Sojourn API: {_problem(response)}", response.status_code)
        if response.status_code != HTTPStatus.OK:
            message = f"Sojourn API returned {response.status_code} for {path}: {_problem(response)}"
            raise ApiError(message, response.status_code, _kind(response))
        return response

    def document(self, path: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        """Return the JSON object from an endpoint; raises as `get` does, and ApiError for what is not an object."""
        response = self.get(path, query)
        try:
            body = response.json()
        except ValueError as error:
            raise ApiError(f"Sojourn API returned something that is not JSON for {path}: {error}") from error
        if not isinstance(body, dict):
            raise ApiError(f"Sojourn API returned {type(body).__name__}, not an object, for {path}")
        return body

    def _once(self, path: str, query: Sequence[tuple[str, str]], accept: str) -> httpx.Response:
        try:
            # An empty value is a filter too, and the order of parameters is kept.
            return self._http.get(
                f"{self.url}{path}", params=httpx.QueryParams(list(query)), headers={"Accept": accept}
            )
        except httpx.HTTPError as error:
            raise ApiError(f"Sojourn API unreachable at {self.url}: {_reason(error)}") from error


def _retry_after_s(response: httpx.Response) -> float | None:
    """Return after how many seconds the API wants to be asked again, or None when that would not help."""
    if response.status_code not in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        return None
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text)
    # A proxy may give a date.
    try:
        pause_s: float = (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return None
    return max(pause_s, 0.0)


def _problem(response: httpx.Response) -> str:
    """Return what the API's problem (RFC 9457) says, or what there is instead."""
    try:
        body = response.json()
    except ValueError:
        return response.text.strip()[:200] or response.reason_phrase or "no reason given"
    detail = (body.get("detail") or body.get("title")) if isinstance(body, dict) else None
    return str(detail or body)[:600]


def _kind(response: httpx.Response) -> str | None:
    """Return the name at the end of a problem's type, or None if there is no problem of the API."""
    try:
        body = response.json()
    except ValueError:
        return None
    type_ = body.get("type") if isinstance(body, dict) else None
    return type_.removeprefix(_PROBLEM) if isinstance(type_, str) and type_.startswith(_PROBLEM) else None


def _reason(error: httpx.HTTPError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no response in time"
    if isinstance(error, httpx.ConnectError):
        return "no connection (is `sojourn serve` running?)"
    return f"the response was cut off: {error}"
