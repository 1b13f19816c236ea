"""The client: rows, distributions, outcomes, comparisons and the catalogue of one API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sojourn_client.answers import Answers
from sojourn_client.catalogue import Build, Dataset, build_from, dataset_from
from sojourn_client.connection import Connection
from sojourn_client.errors import ApiError
from sojourn_client.frames import arrow_of, frame_of, polars_of
from sojourn_client.parameters import Escape, Filter, Query, UnknownValues, query_of
from sojourn_client.reading import Reader, record_query

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    AnswersOfPandas = Answers[pd.DataFrame]
else:
    # The same class, of which pandas need not be installed.
    AnswersOfPandas = Answers


class Client(AnswersOfPandas):
    """Reads one Sojourn API; closed by `close`, or at the end of a ``with``.

    `rows`, `distribution`, `outcomes` and `comparisons` return data frames of pandas. The same methods of `polars` and
    of `arrow` return those of Polars and Arrow tables.

    Parameters
    ----------
    url : str, optional
        URL of the API; without it SOJOURN_API_URL, else http://127.0.0.1:8000.
    key : str, optional
        API key, where the service wants one; without it SOJOURN_API_KEY.
    timeout_s : float
        Seconds to wait for one response.
    page_rows : int, optional
        Rows asked for at once; without it `PAGE_RECORDS` or `PAGE_ROWS`.
    max_rows : int, optional
        A result with more rows is an error, and is never cut: a chart of the first N rows would be a wrong
        chart that looks right.
    patience_s : float
        Seconds to wait in total where the API says that it is busy and when to come again (status 503 or 429 with
        Retry-After).
    unknown_values : optional
        ``"allow"`` for a result without rows if no row has the value of a filter; otherwise, that raises an ApiError of
        the kind ``unknown-value``.
    escape : optional
        ``"formulas"`` for tables that are opened in a spreadsheet later: an apostrophe stands before each text that it
        would compute.

    Raises
    ------
    ApiError
        By every method: unreachable, a refusal, a response that contradicts itself, more than `max_rows` rows, or a
        parameter that the client sets itself, such as ``format``.
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
        unknown_values: UnknownValues | None = None,
        escape: Escape | None = None,
    ) -> None:
        self._connection = Connection(url, key, timeout_s, patience_s)
        super().__init__(Reader(self._connection, page_rows, max_rows, unknown_values, escape), frame_of)

    @property
    def url(self) -> str:
        """The URL of the API."""
        return self._connection.url

    @property
    def polars(self) -> Answers[pl.DataFrame]:
        """The same results as Polars data frames; needs the extra ``polars``."""
        return Answers(self._reader, polars_of)

    @property
    def arrow(self) -> Answers[pa.Table]:
        """The same results as Arrow tables, whose fields have their units as metadata; needs the extra ``arrow``."""
        return Answers(self._reader, arrow_of)

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

    def text(self, address: str) -> str:
        """Return a text, such as ``/metrics``."""
        return self._connection.get(address, accept="text/plain").text

    def health(self) -> str:
        """Return the id of the build that is served."""
        return str(self.document("/healthz")["build_id"])

    def build(self) -> Build:
        """Return which build is served, of which studies, and since when."""
        return build_from(self.document("/v1/builds"))

    def studies(self) -> list[dict[str, Any]]:
        """Return the studies of the build: the rows of the dataset ``study``."""
        return self._listed("/v1/studies", "studies")

    def dataset(self, name: str) -> Dataset:
        """Return the catalogue entry of one dataset."""
        return dataset_from(self.document(f"/v1/datasets/{name}"))

    def datasets(self) -> list[Dataset]:
        """Return the whole catalogue."""
        return [dataset_from(entry) for entry in self._listed("/v1/datasets", "datasets")]

    def table(self, dataset: str, /, *, limit: int | None = None, **parameters: Filter) -> pa.Table:
        """Return what ``arrow.rows`` returns; other parameters and filters need not be told apart."""
        return self._reader.table(dataset, query_of(parameters), limit)[0]

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
        query: Query = record_query(parameters, select, order)
        return self._reader.records(dataset, query, limit)

    def _listed(self, address: str, name: str) -> list[dict[str, Any]]:
        entries = self.document(address).get(name)
        if not isinstance(entries, list):
            raise ApiError(f"Sojourn API returned no list of {name} for {address}")
        return entries
