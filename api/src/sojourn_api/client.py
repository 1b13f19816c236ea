"""A small reader of the HTTP API for notebooks and scripts: one call is one data frame, never half an answer.

>>> from sojourn_api.client import Client
>>> api = Client("http://127.0.0.1:8000")
>>> harm = api.rows("run_harm", role="app", aqm=["codel", "fq_codel"], select=["run_id", "harm_ratio"])
>>> harm.attrs["units"]["harm_ratio"]
'ratio'

Needs pandas (``pip install 'sojourn-api[client]'``) and nothing of the server.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from email.message import Message
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_URL = "http://127.0.0.1:8000"
PAGE_ROWS = 50_000

LISTS = frozenset(("select", "group", "aggregate", "order", "quantiles", "thresholds_ms"))
"""Parameters whose values the API takes comma-separated; a list for any other name is a filter on any of its values."""

Value = str | int | float | bool


class ApiError(RuntimeError):
    """The API could not be reached, or refused: the message is its problem's detail, `status` the HTTP status."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def _text(name: str, value: Value) -> str:
    if value is None:
        raise TypeError(f"{name} is None: ask for nulls with {name}__null=True")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _query(parameters: dict[str, Value | Sequence[Value]]) -> list[tuple[str, str]]:
    items: list[tuple[str, str]] = []
    for name, value in parameters.items():
        values = [value] if isinstance(value, str | int | float) or value is None else list(value)
        texts = [_text(name, one) for one in values]
        if name in LISTS:
            items.append((name, ",".join(texts)))
        else:
            items += [(name, text) for text in texts]
    return items


class Client:
    """Reads one Sojourn API.

    Parameters
    ----------
    url : str, optional
        Where the API answers; without it SOJOURN_API_URL, else http://127.0.0.1:8000.
    key : str, optional
        API key, where the service wants one; without it SOJOURN_API_KEY.
    timeout_s : float
        Seconds to wait for one response.
    page_rows : int
        Rows asked for at once.
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, timeout_s: float = 60.0, page_rows: int = PAGE_ROWS
    ) -> None:
        self.url = (url or os.environ.get("SOJOURN_API_URL") or DEFAULT_URL).rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ApiError(f"{self.url} is no address of an API: it starts with http:// or https://")
        self._key = key or os.environ.get("SOJOURN_API_KEY")
        self._timeout_s = timeout_s
        self._page_rows = page_rows

    def rows(self, dataset: str, /, **parameters: Value | Sequence[Value]) -> pd.DataFrame:
        """Return all rows of a dataset under filters, or with `group` and `aggregate` one row a group.

        Every parameter of ``/v1/datasets/{name}/rows`` but `limit`, `cursor` and `format` (docs/api.md). All
        pages are read, from one build: when another is published between two pages, ApiError says so.
        """
        pages = list(self._pages(f"/v1/datasets/{dataset}/rows", _query(parameters)))
        return self._frame(pages)

    def distribution(self, metric: str, /, **parameters: Value | Sequence[Value]) -> pd.DataFrame:
        """Return a distribution: the parameters of ``/v1/distributions/{metric}``."""
        return self._frame([self._table(f"/v1/distributions/{metric}", _query(parameters))[:2]])

    def comparisons(self, metric: str, /, **parameters: Value | Sequence[Value]) -> pd.DataFrame:
        """Return comparisons of configurations: the parameters of ``/v1/comparisons/{metric}``."""
        return self._frame([self._table(f"/v1/comparisons/{metric}", _query(parameters))[:2]])

    def document(self, address: str) -> dict[str, Any]:
        """Return a JSON document, such as ``/v1/studies``, ``/v1/datasets`` or ``/v1/builds``."""
        body, _ = self._get(address, [], "application/json")
        return dict(json.loads(body))

    def _pages(self, address: str, query: list[tuple[str, str]]) -> Iterator[tuple[pa.Table, str]]:
        cursor: str | None = None
        while True:
            following = [] if cursor is None else [("cursor", cursor)]
            table, build_id, cursor = self._table(address, [*query, ("limit", str(self._page_rows)), *following])
            yield table, build_id
            if cursor is None:
                return

    def _table(self, address: str, query: list[tuple[str, str]]) -> tuple[pa.Table, str, str | None]:
        body, headers = self._get(address, [*query, ("format", "arrow")], "application/vnd.apache.arrow.stream")
        return pa.ipc.open_stream(body).read_all(), headers["X-Sojourn-Build"], headers.get("X-Sojourn-Next-Cursor")

    def _frame(self, pages: list[tuple[pa.Table, str]]) -> pd.DataFrame:
        table = pa.concat_tables([page for page, _ in pages])
        frame: pd.DataFrame = table.to_pandas()
        frame.attrs["build_id"] = pages[0][1]
        frame.attrs["units"] = {
            field.name: (field.metadata or {}).get(b"unit", b"").decode() or None for field in table.schema
        }
        return frame

    def _get(self, address: str, query: list[tuple[str, str]], accept: str) -> tuple[bytes, Message]:
        headers = {"Accept": accept} | ({"X-API-Key": self._key} if self._key else {})
        request = urllib.request.Request(f"{self.url}{address}?{urlencode(query)}", headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as response:  # noqa: S310
                return response.read(), response.headers
        except urllib.error.HTTPError as error:
            raise ApiError(f"{address}: {_problem(error)}", error.code) from error
        except urllib.error.URLError as error:
            raise ApiError(f"no answer from {self.url}: {error.reason} (is `sojourn serve` running?)") from error


def _problem(error: urllib.error.HTTPError) -> str:
    """Return what the API's problem (RFC 9457) says, or what there is instead."""
    body = error.read()
    try:
        problem = json.loads(body)
    except ValueError:
        return f"{error.code} {error.reason}"
    return str(problem.get("detail") or problem.get("title")) if isinstance(problem, dict) else str(problem)
