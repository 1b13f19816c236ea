"""The client: rows, distributions and comparisons of one API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sojourn_client.catalogue import Dataset, dataset_from
from sojourn_client.connection import Connection
from sojourn_client.errors import ApiError, BuildChangedError
from sojourn_client.frames import ARROW, frame_of, joined, table_of
from sojourn_client.parameters import Query, Value, query_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PAGE_RECORDS = 10_000
"""Rows of a page in JSON."""
PAGE_ROWS = 50_000
"""Rows of a page in Arrow. Both stay well below what an operator is likely to allow (SOJOURN_API_MAX_ROWS)."""

Read = TypeVar("Read")


class Client:
    """Reads one Sojourn API; closed by `close`, or at the end of a ``with``.

    Parameters
    ----------
    url : str, optional
        Where the API answers; without it SOJOURN_API_URL, else http://127.0.0.1:8000.
    key : str, optional
        API key, where the service wants one; without it SOJOURN_API_KEY.
    timeout_s : float
        Seconds to wait for one response.
    page_rows : int, optional
        Rows asked for at once; without it `PAGE_RECORDS` or `PAGE_ROWS`.
    max_rows : int, optional
        An answer with more rows is an error, never a shorter answer: a chart of the first N rows would be a wrong
        chart that looks right.
    patience_s : float
        Seconds to wait in total where the API says that it is busy and when to come again.

    Raises
    ------
    ApiError
        By every method: unreachable, a refusal, an answer that contradicts itself, or more than `max_rows` rows.
    BuildChangedError
        By methods that read pages: another build was published meanwhile, and again when it was started over.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        timeout_s: float = 60.0,
        page_rows: int | None = None,
        max_rows: int | None = None,
        patience_s: float = 30.0,
    ) -> None:
        self._connection = Connection(url, key, timeout_s, patience_s)
        self._page_rows = page_rows
        self._max_rows = max_rows

    @property
    def url(self) -> str:
        """Where the API answers."""
        return self._connection.url

    def close(self) -> None:
        """Give the connections back."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def document(self, address: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        """Return a JSON document, such as ``/v1/studies``, ``/v1/datasets`` or ``/v1/builds``; one page of rows."""
        return self._connection.document(address, query)

    def health(self) -> str:
        """Return the id of the build that is served."""
        return str(self.document("/healthz")["build_id"])

    def dataset(self, name: str) -> Dataset:
        """Return the catalogue entry of one dataset."""
        return dataset_from(self.document(f"/v1/datasets/{name}"))

    def datasets(self) -> list[Dataset]:
        """Return the whole catalogue."""
        return [dataset_from(entry) for entry in self.document("/v1/datasets")["datasets"]]

    def rows(self, dataset: str, /, **parameters: Value | Sequence[Value]) -> pd.DataFrame:
        """Return all rows of a dataset under filters, or with `group` and `aggregate` one row a group.

        Every parameter of ``/v1/datasets/{name}/rows`` but `limit`, `cursor` and `format` (docs/api.md).
        """
        return frame_of(*self._table(dataset, query_of(parameters)))

    def table(self, dataset: str, /, **parameters: Value | Sequence[Value]) -> pa.Table:
        """Return what `rows` returns, as an Arrow table whose fields carry their units."""
        return self._table(dataset, query_of(parameters))[0]

    def distribution(self, metric: str, /, **parameters: Value | Sequence[Value]) -> pd.DataFrame:
        """Return a distribution: the parameters of ``/v1/distributions/{metric}``."""
        return self._whole(f"/v1/distributions/{metric}", query_of(parameters))

    def comparisons(self, metric: str, /, **parameters: Value | Sequence[Value]) -> pd.DataFrame:
        """Return comparisons of configurations: the parameters of ``/v1/comparisons/{metric}``."""
        return self._whole(f"/v1/comparisons/{metric}", query_of(parameters))

    def records(
        self,
        dataset: str,
        parameters: Iterable[tuple[str, str]] = (),
        select: Sequence[str] = (),
        order: Sequence[str] = (),
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return all rows that match, or the first `limit` of them, as they came in JSON; needs no extra.

        The pages are read to the end before the first row is handed on, because rows already given away cannot be
        taken back when a later page comes from another build.
        """
        query = list(parameters)
        if select:
            query.append(("select", ",".join(select)))
        if order:
            query.append(("order", ",".join(order)))
        return _started_over_once(lambda: self._record_pages(dataset, query, limit))

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
                raise ApiError(f"Sojourn API says {page['row_count']} rows of {dataset} but sent {len(page['rows'])}")
            rows.extend(page["rows"])
            self._refuse_too_many(dataset, len(rows))
            following = page["next_cursor"]
            if following is None:
                break
            if following == cursor or not page["rows"]:
                raise ApiError(f"Sojourn API's cursor for {dataset} does not advance")
            cursor = following
        return rows if limit is None else rows[:limit]

    def _table(self, dataset: str, query: Query) -> tuple[pa.Table, str]:
        return _started_over_once(lambda: self._table_pages(dataset, query))

    def _table_pages(self, dataset: str, query: Query) -> tuple[pa.Table, str]:
        path = f"/v1/datasets/{dataset}/rows"
        pages: list[pa.Table] = []
        rows = 0
        build: str | None = None
        cursor: str | None = None
        while True:
            asked = _page_query(query, self._page_rows or PAGE_ROWS, cursor)
            response = self._connection.get(path, [*asked, ("format", "arrow")], ARROW)
            build = _same_build(build, response.headers["X-Sojourn-Build"], dataset)
            pages.append(table_of(response.content))
            rows += pages[-1].num_rows
            self._refuse_too_many(dataset, rows)
            following = response.headers.get("X-Sojourn-Next-Cursor")
            if following is None:
                break
            if following == cursor or not pages[-1].num_rows:
                raise ApiError(f"Sojourn API's cursor for {dataset} does not advance")
            cursor = following
        return joined(pages), build

    def _whole(self, path: str, query: Query) -> pd.DataFrame:
        response = self._connection.get(path, [*query, ("format", "arrow")], ARROW)
        return frame_of(table_of(response.content), response.headers["X-Sojourn-Build"])

    def _refuse_too_many(self, dataset: str, rows: int) -> None:
        if self._max_rows is not None and rows > self._max_rows:
            raise ApiError(
                f"{dataset}: the query needs more than {self._max_rows} rows; filter it, or aggregate at the API"
            )


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
