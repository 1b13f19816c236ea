"""Permalinks: a figure named by build, dataset, filter and aggregate, in the query language of the API.

``BUILD/DATASET?QUERY``, where ``DATASET?QUERY`` is what ``/v1/datasets/DATASET/rows?QUERY`` of the API takes. It is the
fragment of the figure's URL on the index page, so the URL ``https://host/index.html#BUILD/DATASET?QUERY`` is
one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import duckdb
import pyarrow as pa

from sojourn_api.catalogue import Catalogue, identifier
from sojourn_api.formats import OutputColumn, as_table
from sojourn_api.problems import ProblemError
from sojourn_api.publication.errors import PublicationError
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.queries.paging import fetch_page
from sojourn_api.queries.rows import rows_relation
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.requests.rows import RowsParameters, rows_request
from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot
from sojourn_process.parquet_sql import parquet_rows

#: A figure is for people: more rows than this are a download, which the Parquet files are.
MOST_ROWS = 10_000
SECONDS = 600.0
_API = "/v1/datasets/"
#: What stays readable in a permalink: these have no meaning of their own in the fragment of a URL.
_READABLE = "/?=&,:._-*"


@dataclass(frozen=True)
class Permalink:
    """A query of rows of a dataset of a build; ``build_id`` is None for a URL of the API, which names none."""

    build_id: str | None
    dataset: str
    query: str

    def __str__(self) -> str:
        return f"{self.build_id}/{self.dataset}{'?' + self.query if self.query else ''}"

    @property
    def fragment(self) -> str:
        """The permalink as the fragment of a URL."""
        return quote(str(self), safe=_READABLE + "%")


def parse_permalink(text: str) -> Permalink:
    """Return the permalink that a text is: its own form, a URL with it as fragment, or a URL of the API.

    Raises
    ------
    PublicationError
        If it is none of them.
    """
    parts = urlsplit(text)
    if _API in parts.path and not parts.fragment:
        name, _, rest = parts.path.partition(_API)[2].partition("/")
        if rest == "rows" and name:
            return Permalink(None, name, parts.query)
    of_build, slash, rest = (text.partition("#")[2] if "#" in text else text).partition("/")
    name, _, query = rest.partition("?")
    if not (slash and of_build.isalnum() and name and "/" not in name):
        raise PublicationError(
            f"{text[:200]!r} is not a permalink; expected BUILD/DATASET?QUERY, such as those of figures.json"
        )
    return Permalink(of_build, unquote(name), query)


@dataclass(frozen=True)
class Answer:
    """The rows that a permalink names, with their columns."""

    columns: tuple[OutputColumn, ...]
    rows: tuple[dict[str, Any], ...]


class Rows:
    """Answers permalinks from Parquet files, with the requests and the SQL of the API.

    ``files`` are those of each dataset, in order. Use it as a context manager.
    """

    def __init__(
        self, build_id: str, catalogue: Catalogue, build: Mapping[str, Any], files: Mapping[str, Iterable[Path]]
    ) -> None:
        self.catalogue = catalogue
        self._settings = Settings(api_max_rows=MOST_ROWS)
        connection = duckdb.connect(config={"autoinstall_known_extensions": False})
        connection.execute("set TimeZone = 'UTC'")
        for dataset in catalogue.datasets:
            rows = parquet_rows(files[dataset.name])
            connection.execute(f"create view {identifier(dataset.name)} as select * from {rows}")
        self._snapshot = Snapshot(build_id, catalogue, dict(build), connection, {}, 1)
        self._runner = QueryRunner(SECONDS, 1)

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self._snapshot.close()

    def answer(self, permalink: Permalink) -> Answer:
        """Return the rows of a permalink.

        Raises
        ------
        PublicationError
            If the dataset is not there, the query is not one of the API, or it has too many rows.
        """
        items = tuple(parse_qsl(permalink.query, keep_blank_values=True))
        by_name = dict(items)
        parameters = {name: by_name[name] for name in RowsParameters.names() if name in by_name}
        context = RequestContext(f"{_API}{permalink.dataset}/rows", items, None)
        try:
            dataset = self.catalogue.dataset(permalink.dataset)
            request = rows_request(dataset, RowsParameters(**parameters), context, self._settings)
            limit = request.limit if "limit" in parameters else MOST_ROWS
            page = fetch_page(self._runner, self._snapshot, rows_relation(request), limit, None)
            columns = rows_relation(request).columns
        except ProblemError as error:
            allowed = error.members.get("allowed") or error.members.get("known")
            more = f"; expected one of {', '.join(map(str, allowed[:12]))}" if allowed else ""
            raise PublicationError(f"{permalink}: {error.detail}{more}") from error
        if page.next_values is not None and "limit" not in parameters:
            raise PublicationError(f"{permalink} has more than {MOST_ROWS} rows; group by fewer columns, or add limit=")
        return Answer(columns, tuple(_plain(as_table(page.rows))))


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    simple = (str, int, float, bool, type(None))
    return [{name: value if isinstance(value, simple) else str(value) for name, value in row.items()} for row in rows]
