"""The shillelagh adapter `sojourn`: each dataset of the API is a table of that name.

`SELECT queue_label, harm_ratio FROM run_harm WHERE role = 'app' AND exclusion_reason IS NULL` becomes
`GET /v1/datasets/run_harm/rows?role__eq=app&exclusion_reason__null=true&select=queue_label,harm_ratio`.
Pushed down: =, <>, <, <=, >, >=, IN (in several requests if one does not take all values), IS [NOT] NULL, ORDER BY,
LIMIT, OFFSET and the choice of columns. Functions and joins happen in SQLite, on the rows that the API sent.

A name with a question is a table of groups: `run_harm?group=queue_label&aggregate=median:harm_ratio&role__eq=app` has
the columns `queue_label`, `rows of the group` and `median of harm_ratio`. `sojourn_superset.pushdown` writes such
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

from shillelagh.adapters.base import Adapter
from shillelagh.exceptions import OperationalError
from shillelagh.fields import Field, Order
from shillelagh.filters import Filter
from shillelagh.typing import RequestedOrder, Row

from sojourn_client import ApiError, BuildChangedError, Client, Dataset
from sojourn_superset.catalogue_memory import remembered_dataset
from sojourn_superset.conditions import Conditions
from sojourn_superset.fields import INTEGERS, ROWS_OF_GROUP, BigInteger, Other, Real, aggregate_name, field_of
from sojourn_superset.held_cells import held, rows_left
from sojourn_superset.read_only import DEFAULT_TIMEOUT_S, install_read_only
from sojourn_superset.readable_tables import refuse_hidden
from sojourn_superset.request_size import Parameters, shared_out
from sojourn_superset.security import ForbiddenDatabaseError, api_url, refuse_another_api
from sojourn_superset.service import TABLES
from sojourn_superset.virtual_table import install_virtual_table, rows_have_keys

DEFAULT_PAGE_SIZE = 10_000
DEFAULT_MAX_ROWS = 200_000

TABLE = re.compile(r"(?!sqlite_|pragma_)[a-z][a-z0-9_]*")

install_virtual_table()
install_read_only()


@contextmanager
def _errors_of_sql() -> Iterator[None]:
    """Raise what the client says as the error that SQL users of the table expect (PEP 249)."""
    try:
        yield
    except (ApiError, ForbiddenDatabaseError) as error:
        raise OperationalError(str(error)) from error


class SojournAPI(Adapter):  # type: ignore[misc]
    """One dataset of the Sojourn API as a table.

    Parameters
    ----------
    table
        The dataset's name.
    base_url, page_size, max_rows, timeout_s
        `url`, `page_rows`, `max_rows` and `timeout_s` of `sojourn_client.Client`; from the database's
        `engine_params.adapter_kwargs.sojourn`. Only the API that SOJOURN_API_URL names is asked: whoever edits a
        database must not learn the API's key.

    Raises
    ------
    OperationalError
        By the constructor and `get_data`, where the client raises ApiError.
    """

    # reads only HTTP, from the one address that the operator configured: no file of the server is in reach
    safe = True

    supports_limit = True
    supports_offset = True
    supports_requested_columns = True

    @staticmethod
    def supports(uri: str, fast: bool = True, **kwargs: Any) -> bool | None:
        """Take every plain lower-case name; whether there is such a dataset is for the API to say."""
        return TABLE.fullmatch(uri.partition("?")[0]) is not None

    @staticmethod
    def parse_uri(uri: str) -> tuple[str]:
        """Return the dataset's name."""
        return (uri,)

    def __init__(
        self,
        table: str,
        base_url: str | None = None,
        page_size: int = DEFAULT_PAGE_SIZE,
        max_rows: int = DEFAULT_MAX_ROWS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        # Not super().__init__(): it registers each instance with atexit, and Superset makes one per query.
        self.table, _, question = table.partition("?")
        self.max_rows = max_rows
        self.question = parse_qsl(question, keep_blank_values=True)
        with _errors_of_sql():
            if base_url is not None:
                refuse_another_api(base_url)
            # As in SQL, a condition that no row meets gives no rows.
            self.client = Client(
                api_url(), page_rows=page_size, max_rows=max_rows, timeout_s=timeout_s, unknown_values="allow"
            )
            # What the API says of itself is not in the catalogue of the build that it serves.
            self.dataset = TABLES[table][0] if table in TABLES else remembered_dataset(self.client, self.table)
        #: Each column, and what the API calls it.
        self.columns = {column.name: field_of(column) for column in self.dataset.columns}
        self.labels = {name: name for name in self.columns}
        self.key = self.dataset.key or list(self.columns)
        if self.question:
            self.columns, self.labels = grouped_columns(self.dataset, dict(self.question))
            self.key = [name for name in self.columns if name in dict(self.question).get("group", "").split(",")]

    def get_columns(self) -> dict[str, Field[Any, Any]]:
        """Return the columns as the catalogue has them."""
        return self.columns

    def get_metadata(self) -> dict[str, Any]:
        """Return what the catalogue says about the dataset (SQL: `SELECT GET_METADATA('run_harm')`)."""
        refuse_hidden(self.table)
        return {"description": self.dataset.description, "grain": self.dataset.grain, "key": list(self.dataset.key)}

    def get_data(
        self,
        bounds: dict[str, Filter],
        order: list[tuple[str, RequestedOrder]],
        limit: int | None = None,
        offset: int | None = None,
        requested_columns: set[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[Row]:
        """Yield the rows that match, after all of them have been read from one build.

        Raises
        ------
        ProgrammingError
            If the user of the request may not read the table.
        """
        refuse_hidden(self.table)
        conditions: dict[str, Conditions] = dict(bounds)
        if any(condition.impossible for condition in conditions.values()):
            return
        if self.question:
            yield from self._groups(conditions, order, limit, offset)
            return
        if self.table in TABLES:
            with _errors_of_sql():
                rows = TABLES[self.table][1](self.client)
            yield from self._chosen(rows, conditions, order, limit, offset)
            return
        alone: Parameters = []
        lists: list[Parameters] = []
        complete = True
        for column, condition in conditions.items():
            sent, listed, all_of_it = condition.parameters(column, self.columns[column])
            alone += sent
            lists.append(listed)
            complete = complete and all_of_it
        requests, all_of_it = shared_out(alone, lists)
        complete = complete and all_of_it
        # ORDER BY may name a column twice, of which only the first counts; the API refuses the second
        first: dict[str, RequestedOrder] = {}
        for name, way in order:
            first.setdefault(name, way)
        order = list(first.items())
        wanted = set(requested_columns or ()) | set(conditions) | {name for name, _ in order}
        wanted |= set(self.key if rows_have_keys() else ())
        select = [name for name in self.columns if name in wanted] or [next(iter(self.columns))]
        ordered = all(self._api_orders(name, way) for name, way in order)

        # SQLite's LIMIT -1 is "no limit"; the API has no offset, so the skipped rows are read and passed over
        skip = max(offset or 0, 0)
        end = None if limit is None or limit < 0 else skip + limit
        with _errors_of_sql():
            rows = self._records(
                requests, select, order if ordered else (), limit=end if complete and ordered else None
            )
        if not complete:
            rows = [row for row in rows if all(test.check(row[name]) for name, test in conditions.items())]
        if not ordered or len(requests) > 1:
            _sort(rows, order, self.columns)
        with held(len(rows) * len(select)):
            for place, row in enumerate(rows[skip:end]):
                yield self._numbered(row, place)

    def _records(
        self,
        requests: list[Parameters],
        select: Sequence[str] = (),
        order: Sequence[tuple[str, RequestedOrder]] = (),
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the rows of each request, all of one build; of each the first ones, if there is a limit."""
        columns = len(select or self.columns)
        most = min(self.max_rows, rows_left(columns))
        excess = ApiError(
            f"{self.table}: the query needs more than {most:,} rows of {columns} column{'s' * (columns > 1)}; "
            "filter further, select fewer columns, or join fewer tables"
        )
        options: dict[str, Any] = {
            "select": select,
            "order": [f"-{name}" if way is Order.DESCENDING else name for name, way in order],
            # One more than may be held tells that there are too many.
            "limit": min(most + 1, most + 1 if limit is None else limit),
        }
        if len(requests) == 1:
            rows = self.client.records(self.table, requests[0], **options)
            if len(rows) > most:
                raise excess
            return rows
        for _ in range(2):
            build, rows = self.client.health(), []
            for parameters in requests:
                rows += self.client.records(self.table, parameters, **options)
                if len(rows) > most and limit is not None:
                    _sort(rows, order, self.columns)
                    del rows[limit:]
                if len(rows) > most:
                    raise excess
            if self.client.health() == build:
                return rows
        raise BuildChangedError(f"Sojourn API published another build while {self.table} was being read")

    def _groups(
        self,
        conditions: dict[str, Conditions],
        order: list[tuple[str, RequestedOrder]],
        limit: int | None,
        offset: int | None,
    ) -> Iterator[Row]:
        """Yield the groups that the table's name asks for; SQLite's own conditions are few rows' work, done here."""
        query = list(self.question)
        if any(column.name == "exclusion_reason" for column in self.dataset.columns):
            # SQL counts every row that its conditions do not leave out.
            query.append(("excluded", "include"))
        # A condition on a column that groups may be met before grouping.
        group = set(dict(self.question).get("group", "").split(","))
        free = group - {name.removesuffix("__eq") for name, _ in self.question}
        lists = [test.listed(name, self.columns[name])[0] for name, test in conditions.items() if name in free]
        requests, _ = shared_out(query, lists)
        with _errors_of_sql():
            groups = self._records(requests)
        rows = [{name: row[label] for name, label in self.labels.items()} for row in groups]
        yield from self._chosen(rows, conditions, order, limit, offset)

    def _chosen(
        self,
        rows: list[dict[str, Any]],
        conditions: dict[str, Conditions],
        order: list[tuple[str, RequestedOrder]],
        limit: int | None,
        offset: int | None,
    ) -> Iterator[Row]:
        """Yield those of a few rows that SQLite asks for."""
        rows = [row for row in rows if all(test.check(row[name]) for name, test in conditions.items())]
        _sort(rows, order, self.columns)
        skip = max(offset or 0, 0)
        end = None if limit is None or limit < 0 else skip + limit
        with held(len(rows) * len(self.columns)):
            for place, row in enumerate(rows[skip:end]):
                yield self._numbered({name: row[name] for name in self.columns}, place)

    def _numbered(self, row: Row, place: int) -> Row:
        """Return a row with the number by which SQLite knows it."""
        row["rowid"] = hash(repr([row[name] for name in self.key])) if rows_have_keys() else place
        return row

    def _api_orders(self, name: str, way: RequestedOrder) -> bool:
        """Whether the API's order is SQLite's: it puts nulls last in both directions, SQLite first when ascending."""
        column = next(column for column in self.dataset.columns if column.name == name)
        return not isinstance(self.columns[name], Other) and (way is Order.DESCENDING or not column.nullable)

    def close(self) -> None:
        """Close the connections to the API."""
        self.client.close()


def grouped_columns(dataset: Dataset, question: dict[str, str]) -> tuple[dict[str, Field[Any, Any]], dict[str, str]]:
    """Return the columns of a table of groups, and what the API calls them: keys, the number of rows, aggregates."""
    columns = {column.name: column for column in dataset.columns}
    group = [name for name in question.get("group", "").split(",") if name]
    if unknown := [name for name in group if name not in columns]:
        raise OperationalError(f"{dataset.name} has no column {unknown[0]!r}")
    fields = {name: field_of(columns[name]) for name in group}
    labels = {name: name for name in group}
    fields[ROWS_OF_GROUP] = BigInteger(filters=[Conditions], order=Order.ANY, exact=False)
    labels[ROWS_OF_GROUP] = "n"
    for aggregate in question.get("aggregate", "").split(","):
        function, _, name = aggregate.partition(":")
        if not name:
            continue
        if name not in columns:
            raise OperationalError(f"{dataset.name} has no column {name!r}")
        is_whole = function == "count" or (function == "sum" and columns[name].type.upper() in INTEGERS)
        number = BigInteger if is_whole else Real
        labels[aggregate_name(function, name)] = f"{function}_{name}"
        fields[aggregate_name(function, name)] = (
            field_of(columns[name])
            if function in ("min", "max")
            else number(filters=[Conditions], order=Order.ANY, exact=False)
        )
    return fields, labels


def _sort(
    rows: list[dict[str, Any]], order: Sequence[tuple[str, RequestedOrder]], columns: dict[str, Field[Any, Any]]
) -> None:
    """Sort as SQLite would: a null is smaller than anything."""

    def rank(row: dict[str, Any], name: str) -> tuple[bool, Any]:
        value = columns[name].parse(row[name])
        return (value is not None, 0 if value is None else value)

    for name, way in reversed(order):
        rows.sort(key=lambda row: rank(row, name), reverse=way is Order.DESCENDING)
