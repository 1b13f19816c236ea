"""A small client of the Sojourn API that never returns half an answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import requests
from shillelagh.exceptions import OperationalError

DEFAULT_URL = "http://127.0.0.1:8000"
DEFAULT_PAGE_SIZE = 10_000
DEFAULT_MAX_ROWS = 200_000
DEFAULT_TIMEOUT_S = 60.0
CATALOGUE_SECONDS = 10.0
"""How long a dataset's columns are remembered: one drawing of a dashboard, not the life of a build."""

Parameters = Sequence[tuple[str, str]]


class ApiError(OperationalError):  # type: ignore[misc]
    """The API could not be reached, refused, or could not answer in full."""


class BuildChangedError(ApiError):
    """A new build was published between two pages of one answer."""


@dataclass(frozen=True)
class Column:
    """One column as the catalogue describes it; `type` is DuckDB's name."""

    name: str
    type: str
    unit: str | None = None
    description: str | None = None
    nullable: bool = True


@dataclass(frozen=True)
class Dataset:
    """One catalogue entry."""

    name: str
    description: str
    grain: str
    key: tuple[str, ...]
    rows: int
    columns: tuple[Column, ...]


class SojournClient:
    """Reads the catalogue and rows of one Sojourn API.

    Parameters
    ----------
    base_url
        Where the API answers; without it SOJOURN_API_URL, else http://127.0.0.1:8000.
    page_size
        Rows asked for at once. The API's own maximum is a setting of its operator, so this stays well below.
    max_rows
        An answer with more rows is an error, never a truncated answer: a chart of the first N rows would be
        a wrong chart that looks right.
    timeout_s
        Seconds to wait for one response.
    """

    def __init__(
        self,
        base_url: str | None = None,
        page_size: int = DEFAULT_PAGE_SIZE,
        max_rows: int = DEFAULT_MAX_ROWS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.base_url = (base_url or os.environ.get("SOJOURN_API_URL") or DEFAULT_URL).rstrip("/")
        self.page_size = page_size
        self.max_rows = max_rows
        self.timeout_s = timeout_s
        self._session = requests.Session()
        if key := os.environ.get("SOJOURN_API_KEY"):
            self._session.headers["Authorization"] = f"Bearer {key}"

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def get(self, path: str, parameters: Parameters = ()) -> dict[str, Any]:
        """Return the JSON object at `path`; anything else raises ApiError with the reason that the API gave."""
        url = f"{self.base_url}{path}"
        try:
            response = self._session.get(
                url,
                params=list(parameters),
                headers={"Accept": "application/json"},
                timeout=self.timeout_s,
            )
        except requests.RequestException as error:
            raise ApiError(f"Sojourn API unreachable at {self.base_url}: {_reason(error)}") from error
        if response.status_code == requests.codes.gone:
            raise BuildChangedError(f"Sojourn API: {_problem(response)}")
        if response.status_code != requests.codes.ok:
            raise ApiError(f"Sojourn API answered {response.status_code} to {path}: {_problem(response)}")
        try:
            body = response.json()
        except requests.JSONDecodeError as error:
            raise ApiError(f"Sojourn API answered {path} with something that is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise ApiError(f"Sojourn API answered {path} with {type(body).__name__}, not an object")
        return body

    def health(self) -> str:
        """Return the build id that is being served."""
        return str(self.get("/healthz")["build_id"])

    def dataset(self, name: str) -> Dataset:
        """Return the catalogue entry of one dataset."""
        return _dataset(self.get(f"/v1/datasets/{name}"))

    def datasets(self) -> list[Dataset]:
        """Return the whole catalogue."""
        return [_dataset(entry) for entry in self.get("/v1/datasets")["datasets"]]

    def rows(
        self,
        dataset: str,
        parameters: Iterable[tuple[str, str]] = (),
        select: Sequence[str] = (),
        order: Sequence[str] = (),
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return all rows that match, from one build.

        The pages are read to the end before the first row is handed on, because rows already given away
        cannot be taken back when a later page comes from another build.

        Raises
        ------
        ApiError
            Unreachable, an error status, an answer that contradicts itself, or more than `max_rows` rows.
        BuildChangedError
            A new build was published while paging, twice in a row.
        """
        query = list(parameters)
        if select:
            query.append(("select", ",".join(select)))
        if order:
            query.append(("order", ",".join(order)))
        try:
            return self._pages(dataset, query, limit)
        except BuildChangedError:
            forget_catalogue()
        return self._pages(dataset, query, limit)

    def _pages(self, dataset: str, query: list[tuple[str, str]], limit: int | None) -> list[dict[str, Any]]:
        path = f"/v1/datasets/{dataset}/rows"
        rows: list[dict[str, Any]] = []
        build: str | None = None
        cursor: str | None = None
        while limit is None or len(rows) < limit:
            size = self.page_size if limit is None else min(self.page_size, limit - len(rows))
            page_query = [*query, ("limit", str(size))]
            if cursor is not None:
                page_query.append(("cursor", cursor))
            page = self.get(path, page_query)
            if build is not None and page["build_id"] != build:
                raise BuildChangedError(
                    f"Sojourn API published build {page['build_id']} while {dataset} of build {build} was being read"
                )
            build = page["build_id"]
            if page["row_count"] != len(page["rows"]):
                raise ApiError(f"Sojourn API says {page['row_count']} rows of {dataset} but sent {len(page['rows'])}")
            rows.extend(page["rows"])
            if len(rows) > self.max_rows:
                raise ApiError(
                    f"{dataset}: the query needs more than {self.max_rows} rows; filter it, or aggregate at the API"
                )
            following = page["next_cursor"]
            if following is None:
                break
            if following == cursor or not page["rows"]:
                raise ApiError(f"Sojourn API's cursor for {dataset} does not advance")
            cursor = following
        return rows if limit is None else rows[:limit]


_catalogue: dict[tuple[str, str], tuple[float, Dataset]] = {}
_catalogue_lock = threading.Lock()


def remembered_dataset(client: SojournClient, name: str) -> Dataset:
    """Return the catalogue entry, asking the API at most once in CATALOGUE_SECONDS.

    shillelagh builds its virtual tables anew for every query, so a dashboard would otherwise ask for the
    same columns once per chart.
    """
    key = (client.base_url, name)
    now = time.monotonic()
    with _catalogue_lock:
        if (known := _catalogue.get(key)) and now - known[0] < CATALOGUE_SECONDS:
            return known[1]
    entry = client.dataset(name)
    with _catalogue_lock:
        _catalogue[key] = (now, entry)
    return entry


def forget_catalogue() -> None:
    """Ask the API again for every dataset."""
    with _catalogue_lock:
        _catalogue.clear()


def _dataset(entry: dict[str, Any]) -> Dataset:
    return Dataset(
        name=entry["name"],
        description=entry.get("description") or "",
        grain=entry.get("grain") or "",
        key=tuple(entry.get("key") or ()),
        rows=int(entry.get("rows") or 0),
        columns=tuple(
            Column(
                name=column["name"],
                type=column["type"],
                unit=column.get("unit"),
                description=column.get("description"),
                nullable=column.get("nullable", True),
            )
            for column in entry["columns"]
        ),
    )


def _problem(response: requests.Response) -> str:
    """Return what the API's problem detail says, or what there is instead."""
    try:
        body = response.json()
    except requests.JSONDecodeError:
        return response.text.strip()[:200] or response.reason or "no reason given"
    detail = body.get("detail") if isinstance(body, dict) else None
    return str(detail or (body.get("title") if isinstance(body, dict) else None) or body)[:600]


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection (is `sojourn serve` running?)"
    return str(error)
