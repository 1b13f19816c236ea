"""A real HTTP server that keeps the API's contract for a few small tables, and remembers what it was asked."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any
from urllib.parse import parse_qsl, urlsplit

MOST_TARGET_BYTES = 16 * 2**10
MOST_FILTER_VALUES = 1_000
CASTS: dict[str, Callable[[str], Any]] = {
    "BIGINT": int,
    "INTEGER": int,
    "DOUBLE": float,
    "VARCHAR": str,
    "BOOLEAN": lambda text: {"true": True, "false": False}[text],
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


class ProblemError(Exception):
    """Becomes a problem+json response."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class Contract:
    """What the server serves, and what it has been asked: change the fields to make it misbehave."""

    def __init__(self) -> None:
        self.build_id = "build-1"
        self.tables: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, list[tuple[str, str]]]] = []
        self.before_rows: Callable[[Contract, dict[str, str]], None] = lambda contract, query: None
        self.alter_page: Callable[[dict[str, Any]], Any] = lambda page: page
        self.url = ""
        self.rows_sent = 0

    def add(self, name: str, columns: dict[str, str], key: list[str], rows: list[dict[str, Any]]) -> None:
        """Serve a table; `columns` gives the DuckDB type of each, key columns are not nullable."""
        self.tables[name] = {"columns": columns, "key": key, "rows": rows}

    def entry(self, name: str) -> dict[str, Any]:
        """Return the catalogue entry of a table."""
        table = self.tables[name]
        return {
            "name": name,
            "description": f"The {name}.",
            "grain": "one row",
            "key": table["key"],
            "rows": len(table["rows"]),
            "columns": [
                {"name": column, "type": kind, "unit": None, "description": "", "nullable": column not in table["key"]}
                for column, kind in table["columns"].items()
            ],
        }

    def row_requests(self) -> list[dict[str, str]]:
        """Return the queries of the requests for rows, in order."""
        return [
            {name.removesuffix("__eq"): value for name, value in query}
            for path, query in self.requests
            if path.endswith("/rows")
        ]

    def answer(self, path: str, query: list[tuple[str, str]]) -> Any:
        """Return the body for a request."""
        parts = path.strip("/").split("/")
        if path == "/healthz":
            return {"status": "ok", "build_id": self.build_id}
        if path == "/v1/datasets":
            return {"build_id": self.build_id, "datasets": [self.entry(name) for name in sorted(self.tables)]}
        if parts[:2] == ["v1", "datasets"] and len(parts) > 2:
            if parts[2] not in self.tables:
                raise ProblemError(404, f"no dataset {parts[2]!r}; there are {', '.join(sorted(self.tables))}")
            if len(parts) == 3:
                return {"build_id": self.build_id, **self.entry(parts[2])}
            return self.rows(parts[2], query)
        raise ProblemError(404, f"nothing at {path}")

    def rows(self, name: str, query: list[tuple[str, str]]) -> Any:
        """Return one page."""
        self.before_rows(self, dict(query))
        table = self.tables[name]
        columns = table["columns"]
        rows = list(table["rows"])
        select, limit, start, order = list(columns), 1000, 0, [(column, False) for column in table["key"]]
        equal: dict[str, list[Any]] = {}
        group: list[str] | None = None
        aggregates: list[str] = []
        for parameter, value in query:
            column, _, operator = parameter.removesuffix("__eq").partition("__")
            if parameter == "select":
                select = value.split(",")
            elif parameter == "group":
                group = value.split(",")
            elif parameter == "aggregate":
                aggregates = value.split(",")
            elif parameter == "unknown_values":
                continue
            elif parameter == "excluded":
                if "exclusion_reason" not in columns:
                    raise ProblemError(422, f"{name} has no runs that are excluded")
            elif parameter == "limit":
                limit = int(value)
            elif parameter == "order":
                named = [part.lstrip("-") for part in value.split(",")]
                if len(set(named)) < len(named):
                    raise ProblemError(422, "order: a name occurs twice in the list")
                order = [(part.lstrip("-"), part.startswith("-")) for part in value.split(",")] + order
            elif parameter == "cursor":
                build, _, position = base64.b64decode(value).decode().partition(" ")
                if build != self.build_id:
                    raise ProblemError(410, "Another build has been published since the first page.")
                start = int(position)
            elif column not in columns:
                raise ProblemError(422, f"unknown parameter {parameter!r}")
            elif not operator:
                equal.setdefault(column, []).append(CASTS[columns[column]](value))
            elif operator == "null":
                rows = [row for row in rows if (row[column] is None) == (value == "true")]
            else:
                bound, compare = CASTS[columns[column]](value), COMPARISONS[operator]
                rows = [row for row in rows if row[column] is not None and compare(row[column], bound)]
        if sum(len(set(values)) for values in equal.values()) > MOST_FILTER_VALUES:
            raise ProblemError(422, f"the filters have more than {MOST_FILTER_VALUES} values; send several requests")
        for column, values in equal.items():
            rows = [row for row in rows if row[column] in values and row[column] is not None]
        if group is not None or aggregates:
            rows, columns = grouped(rows, columns, group or [], aggregates)
            select, order = list(columns), [(column, False) for column in group or []]
        for column, descending in reversed(order):
            # nulls last in both directions, as in the API
            present = sorted((r for r in rows if r[column] is not None), key=lambda r: r[column], reverse=descending)
            rows = present + [row for row in rows if row[column] is None]
        page = rows[start : start + limit]
        self.rows_sent += len(page)
        more = start + limit < len(rows)
        cursor = base64.b64encode(f"{self.build_id} {start + limit}".encode()).decode() if more else None
        return self.alter_page(
            {
                "build_id": self.build_id,
                "dataset": name,
                "columns": [{"name": column, "type": columns[column], "unit": None} for column in select],
                "rows": [{column: row[column] for column in select} for row in page],
                "row_count": len(page),
                "next_cursor": cursor,
            }
        )


def grouped(
    rows: list[dict[str, Any]], columns: dict[str, str], group: list[str], aggregates: list[str]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the groups and the types of their columns, as the API does."""
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "count": len, "min": min, "max": max, "sum": sum, "mean": lambda v: sum(v) / len(v), "median": median,
    }  # fmt: skip
    rows_by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if group else {(): []}
    for row in rows:
        rows_by_key.setdefault(tuple(row[column] for column in group), []).append(row)
    types = {column: columns[column] for column in group} | {"n": "BIGINT"}
    result: list[dict[str, Any]] = [
        {**dict(zip(group, key, strict=True)), "n": len(of)} for key, of in rows_by_key.items()
    ]
    for aggregate in aggregates:
        function, _, column = aggregate.partition(":")
        if not column:
            continue  # `count` alone is n
        label = f"{function}_{column}"
        types[label] = (
            columns[column] if function in ("min", "max", "sum") else "BIGINT" if function == "count" else "DOUBLE"
        )
        types[f"{label}_n"] = "BIGINT"
        for row, of in zip(result, rows_by_key.values(), strict=True):
            values = [each[column] for each in of if each[column] is not None]
            row[label] = functions[function](values) if values or function == "count" else None
            row[f"{label}_n"] = len(values)
    return result, types


@contextmanager
def serving(contract: Contract) -> Iterator[Contract]:
    """Serve the contract on a free port of the loopback address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: apart, each answer would wait 40 ms for an acknowledgement

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qsl(parts.query, keep_blank_values=True)
            contract.requests.append((parts.path, query))
            status, kind = 200, "application/json"
            try:
                if len(self.path) > MOST_TARGET_BYTES:
                    raise ProblemError(414, f"path and query string are longer than {MOST_TARGET_BYTES} bytes")
                body = contract.answer(parts.path, query)
            except ProblemError as problem:
                status, kind = problem.status, "application/problem+json"
                body = {"type": "about:blank", "title": "Refused", "status": status, "detail": problem.detail}
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Keep the test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    contract.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield contract
    finally:
        server.shutdown()
        server.server_close()
