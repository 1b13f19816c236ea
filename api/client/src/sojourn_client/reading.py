"""Reads complete results of one build, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sojourn_client.connection import Connection
from sojourn_client.errors import ApiError, BuildChangedError
from sojourn_client.frames import ARROW, joined, table_of
from sojourn_client.parameters import Escape, Query, UnknownValues, query_of

if TYPE_CHECKING:
    import pyarrow as pa

PAGE_RECORDS = 10_000
"""Rows of a page in JSON."""
PAGE_ROWS = 50_000
"""Rows of a page in Arrow. Both stay well below what an operator is likely to allow (SOJOURN_API_MAX_ROWS)."""

_SET_BY_CLIENT = {
    "format": "rows gives pandas, polars.rows Polars, arrow.rows Arrow and records dictionaries",
    "cursor": "all pages are read",
    "limit": "it is an argument of rows, table and records; other results have no pages",
    "unknown_values": "give it to Client()",
    "escape": "give it to Client()",
}
"""Parameters of the API that the client sends itself, and what to do instead of giving them."""

Read = TypeVar("Read")


class Reader:
    """Reads complete results over one connection.

    Parameters
    ----------
    connection : Connection
    page_rows : int, optional
        Rows asked for at once; without it `PAGE_RECORDS` or `PAGE_ROWS`.
    max_rows : int, optional
        A result with more rows is an error.
    unknown_values, escape : optional
        Sent with every request, if they are given.
    """

    def __init__(
        self,
        connection: Connection,
        page_rows: int | None,
        max_rows: int | None,
        unknown_values: UnknownValues | None = None,
        escape: Escape | None = None,
    ) -> None:
        self._connection = connection
        self._page_rows = page_rows
        self._max_rows = max_rows
        self._always = query_of({}, unknown_values=unknown_values, escape=escape)

    def records(self, dataset: str, query: Query, limit: int | None) -> list[dict[str, Any]]:
        """Return all rows of a dataset, or the first `limit` of them, as they came in JSON."""
        completed = self._completed(query)
        return _started_over_once(lambda: self._record_pages(dataset, completed, limit))

    def table(self, dataset: str, query: Query, limit: int | None) -> tuple[pa.Table, str]:
        """Return all rows of a dataset, or the first `limit`, as one Arrow table, and the build that they are of."""
        completed = self._completed(query)
        return _started_over_once(lambda: self._table_pages(dataset, completed, limit))

    def whole(self, path: str, query: Query) -> tuple[pa.Table, str]:
        """Return a result that has no pages, and the build that it is of."""
        response = self._connection.get(path, [*self._completed(query), ("format", "arrow")], ARROW)
        return table_of(response.content), response.headers["X-Sojourn-Build"]

    def _completed(self, query: Query) -> Query:
        for name, _ in query:
            if name in _SET_BY_CLIENT:
                raise ApiError(f"{name} is set by the client: {_SET_BY_CLIENT[name]}")
        return [*query, *self._always]

    def _record_pages(self, dataset: str, query: Query, limit: int | None) -> list[dict[str, Any]]:
        path = f"/v1/datasets/{dataset}/rows"
        page_rows = self._page_rows or PAGE_RECORDS
        rows: list[dict[str, Any]] = []
        build: str | None = None
        cursor: str | None = None
        while limit is None or len(rows) < limit:
            size = page_rows if limit is None else min(page_rows, limit - len(rows))
            page = self._connection.document(path, _page_query(query, size, cursor))
            build = _same_build(build, page["build_id"], dataset)
            if page["row_count"] != len(page["rows"]):
                raise ApiError(
                    f"Sojourn API reported {page['row_count']} rows of {dataset} but sent {len(page['rows'])}"
                )
            rows.extend(page["rows"])
            self._refuse_too_many(dataset, len(rows))
            following = page["next_cursor"]
            if following is None:
                break
            if following == cursor or not page["rows"]:
                raise ApiError(f"Sojourn API's cursor for {dataset} does not advance")
            cursor = following
        return rows if limit is None else rows[:limit]

    def _table_pages(self, dataset: str, query: Query, limit: int | None) -> tuple[pa.Table, str]:
        path = f"/v1/datasets/{dataset}/rows"
        page_rows = self._page_rows or PAGE_ROWS
        pages: list[pa.Table] = []
        rows = 0
        build: str | None = None
        cursor: str | None = None
        while True:
            size = page_rows if limit is None else min(page_rows, limit - rows)
            response = self._connection.get(path, [*_page_query(query, size, cursor), ("format", "arrow")], ARROW)
            build = _same_build(build, response.headers["X-Sojourn-Build"], dataset)
            pages.append(table_of(response.content))
            rows += pages[-1].num_rows
            self._refuse_too_many(dataset, rows)
            following = response.headers.get("X-Sojourn-Next-Cursor")
            if following is None or (limit is not None and rows >= limit):
                break
            if following == cursor or not pages[-1].num_rows:
                raise ApiError(f"Sojourn API's cursor for {dataset} does not advance")
            cursor = following
        return joined(pages), build

    def _refuse_too_many(self, dataset: str, rows: int) -> None:
        if self._max_rows is not None and rows > self._max_rows:
            raise ApiError(
                f"{dataset}: the query needs more than {self._max_rows} rows; filter it, or aggregate at the API"
            )


def record_query(parameters: Iterable[tuple[str, str]], select: Sequence[str], order: Sequence[str]) -> Query:
    """Return filters, columns and order as a query string."""
    query = list(parameters)
    if select:
        query.append(("select", ",".join(select)))
    if order:
        query.append(("order", ",".join(order)))
    return query


def _page_query(query: Query, rows: int, cursor: str | None) -> Query:
    return [*query, ("limit", str(rows)), *([] if cursor is None else [("cursor", cursor)])]


def _same_build(before: str | None, build: str, dataset: str) -> str:
    if before is not None and build != before:
        raise BuildChangedError(f"Sojourn API published build {build} while {dataset} of build {before} was being read")
    return build


def _started_over_once(read: Callable[[], Read]) -> Read:
    try:
        return read()
    except BuildChangedError:
        return read()
