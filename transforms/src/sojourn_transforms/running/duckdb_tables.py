"""DuckDB as the engine of the runner: tables in a file, or in memory for one look."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sojourn_transforms.running.data_tests import counts_sql, groups_of_tests
from sojourn_transforms.running.runner import Built, Task
from sojourn_transforms.running.statements import ModelError, Statement

Columns = dict[str, str]
"""DuckDB's names of the types of columns, by name and in order."""
LAYERS = ("staging", "intermediate", "marts")
NOTES = "runner.built"
"""The table that describes the tables of a warehouse."""
NO_ROWS = "0 "
"""How the content of a table without rows begins."""


class DuckDbTables:
    """The tables of a DuckDB database, whose schema ``lake`` has the lake.

    ``project`` is where the CSV files of seeds are. What stands is described in the table ``runner.built`` of the same
    database, which is written in the transaction that makes a table, so that a kill at any time leaves both or neither.
    """

    workers = max(2, os.cpu_count() or 2)

    def __init__(self, connection: duckdb.DuckDBPyConnection, project: Path) -> None:
        self._connection = connection
        self._project = project
        self._of_thread = threading.local()
        self._types: dict[str, str] = {}
        for layer in ("runner", *LAYERS):
            connection.execute(f"create schema if not exists {layer}")
        connection.execute(
            f"create table if not exists {NOTES} (name varchar, key varchar, definition varchar, content varchar,"
            " seconds double, warnings varchar, duckdb_version varchar)"
        )
        self._kinds = self._relations()
        self._noted = {name for (name,) in connection.execute(f"select name from {NOTES}").fetchall()}
        self._empty: set[str] = set()

    def standing(self) -> dict[str, Built]:
        """Return what the database holds, and remove relations that are not described or whose description is gone.

        Hashes of rows differ between releases of DuckDB: of another release nothing stands.
        """
        rows = self._connection.execute(
            f"select name, key, definition, content, seconds, warnings from {NOTES} where duckdb_version = ?",
            [duckdb.__version__],
        ).fetchall()
        self._kinds = self._relations()
        standing = {
            name: Built(key, definition, content, seconds, json.loads(warnings))
            for name, key, definition, content, seconds, warnings in rows
        }
        named = {relation.partition(".")[2] for relation in self._kinds}
        self._connection.execute(f"delete from {NOTES} where duckdb_version != ?", [duckdb.__version__])
        for relation, kind in list(self._kinds.items()):
            if relation.partition(".")[2] not in standing:
                self._drop(relation, kind)
        return {name: built for name, built in standing.items() if name in named or not built.definition}

    def write(self, task: Task) -> Built:
        """Make a table or view in one transaction with its description; see :class:`Tables`."""
        begun = time.monotonic()
        statement, cursor = task.statement, self._cursor()
        cursor.execute("begin")
        try:
            if task.adds:
                content = self._add(cursor, statement)
            else:
                columns = self.make(statement)
                content = task.key if statement.storage == "view" else _content(cursor, statement.relation, columns)
            built = Built(task.key, task.definition, content, time.monotonic() - begun)
            self._note(cursor, statement.name, built)
            cursor.execute("commit")
            self._noted.add(statement.name)
            (self._empty.add if content.startswith(NO_ROWS) else self._empty.discard)(statement.relation)
        except duckdb.Error as error:
            _roll_back(cursor)
            raise ModelError(f"{statement.name}: {first_lines(error)}") from error
        except BaseException:
            _roll_back(cursor)
            raise
        return built

    def failures(self, tests: list[Statement]) -> list[int]:
        """Return the number of rows at which each data test fails."""
        counts = [0] * len(tests)
        for sql, numbers in counts_sql(tests, self._empty):
            try:
                (row,) = self._cursor().execute(sql).fetchall()
            except duckdb.Error as error:
                names = ", ".join(tests[number].name for number in numbers)
                raise ModelError(f"{names}: {first_lines(error)}") from error
            for number, count in zip(numbers, row, strict=True):
                counts[number] = count
        return counts

    def rows(self, test: Statement, most: int) -> list[dict[str, Any]]:
        """Return some rows at which a data test fails."""
        result = self._cursor().execute(f"select * from ({test.sql}) limit {most}")
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def keep(self, results: Mapping[str, Built]) -> None:
        """Keep the results of groups of data tests."""
        if not results:
            return
        rows = pa.Table.from_pylist([{"name": name, **vars(built)} for name, built in results.items()])
        warnings = pa.array([json.dumps(dict(built.warnings)) for built in results.values()])
        self._connection.register("results", rows.drop_columns("warnings").append_column("warnings", warnings))
        self._connection.execute("begin")
        self._connection.execute(f"delete from {NOTES} where name in (select name from results)")
        self._connection.execute(
            f"insert into {NOTES} by name select *, ? as duckdb_version from results", [duckdb.__version__]
        )
        self._connection.execute("commit")
        self._connection.unregister("results")

    def keep_only(self, statements: Iterable[Statement]) -> None:
        """Remove the tables and results of what the project no longer has."""
        listed = list(statements)
        names = {each.name for each in listed if each.kind != "test"}
        names |= {name for name, _ in groups_of_tests(each for each in listed if each.kind == "test")}
        for relation, kind in list(self._kinds.items()):
            if relation.partition(".")[2] not in names:
                self._drop(relation, kind)
        self._connection.execute(f"delete from {NOTES} where not list_contains(?, name)", [sorted(names)])

    def _note(self, cursor: duckdb.DuckDBPyConnection, name: str, built: Built) -> None:
        if name in self._noted:
            cursor.execute(f"delete from {NOTES} where name = ?", [name])
        cursor.execute(
            f"insert into {NOTES} values (?, ?, ?, ?, ?, ?, ?)",
            [
                name, built.key, built.definition, built.content, built.seconds, json.dumps(dict(built.warnings)),
                duckdb.__version__,
            ],
        )  # fmt: skip

    def _relations(self) -> dict[str, str]:
        """Return what information_schema calls each table and view, by relation."""
        rows = self._connection.execute(
            "select table_schema || '.' || table_name, table_type from information_schema.tables"
            f" where table_catalog = current_database() and table_schema in {LAYERS}"
        ).fetchall()
        return dict(rows)

    def _drop(self, relation: str, kind: str) -> None:
        del self._kinds[relation]
        self._connection.execute(f"drop {'view' if kind == 'VIEW' else 'table'} if exists {relation}")

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """Return the connection of this thread: each has one transaction at a time."""
        if not hasattr(self._of_thread, "cursor"):
            self._of_thread.cursor = self._connection.cursor()
        cursor: duckdb.DuckDBPyConnection = self._of_thread.cursor
        return cursor

    def make(self, statement: Statement) -> Columns:
        """Make a table or view as it is from scratch, and nothing that describes it; return its columns.

        Raises
        ------
        ModelError
            If its columns are not those of the contract.
        duckdb.Error
            If the statement fails.
        """
        cursor, relation = self._cursor(), statement.relation
        kind = "VIEW" if statement.storage == "view" else "BASE TABLE"
        if self._kinds.get(relation, kind) != kind:
            cursor.execute(f"drop {'table' if kind == 'VIEW' else 'view'} {relation}")
        if statement.kind == "seed":
            self._load(cursor, statement)
        elif statement.kind == "statistic":
            # SciPy takes a second to import, and not every build computes a statistic.
            from sojourn_transforms.statistics_marts import computed

            table = computed(statement.name, lambda sql: cursor.sql(sql).to_arrow_table())
            cursor.register("computed", table)
            cursor.execute(f"create or replace table {relation} as select * from computed")
            cursor.unregister("computed")
        else:
            listed = ", ".join(f'"{name}"' for name in statement.columns) or "*"
            made = "view" if kind == "VIEW" else "table"
            try:
                cursor.execute(f"create or replace {made} {relation} as select {listed} from (\n{statement.sql}\n)")
            except duckdb.BinderException:
                # A column of the contract that the statement lacks is named below, and an error of its own as it is.
                _roll_back(cursor)
                self._check_contract(cursor, statement, _columns(cursor, f"({statement.sql})"))
                raise
        columns = _columns(cursor, relation)
        if statement.kind not in ("seed", "statistic"):
            self._check_contract(cursor, statement, columns)
        self._kinds[relation] = kind
        return columns

    def _check_contract(self, cursor: duckdb.DuckDBPyConnection, statement: Statement, columns: Columns) -> None:
        if not statement.columns:
            return
        expected = {name: self._type(cursor, kind) for name, kind in statement.columns.items()}
        if columns != expected:
            differing = sorted(set(columns.items()) ^ set(expected.items()))
            listed = ", ".join(
                f"{name} {kind} ({'given' if (name, kind) in columns.items() else 'declared'})"
                for name, kind in differing
            )
            raise ModelError(f"{statement.name}: the columns differ from the contract: {listed}")

    def _type(self, cursor: duckdb.DuckDBPyConnection, declared: str) -> str:
        if declared not in self._types:
            (row,) = cursor.execute(f"select typeof(null::{declared})").fetchall()
            self._types[declared] = str(row[0])
        return self._types[declared]

    def _load(self, cursor: duckdb.DuckDBPyConnection, statement: Statement) -> None:
        declared = ", ".join(f"'{name}': '{kind}'" for name, kind in statement.columns.items())
        options = f", types = {{{declared}}}" if declared else ""
        # As dbt reads them: a column without a declared type is guessed, and an empty field is null.
        cursor.execute(
            f"create or replace table {statement.relation} as select * from"
            f" read_csv(?, header = true, delim = ',', quote = '\"', nullstr = ''{options})",
            [str(self._project / statement.path)],
        )

    def _add(self, cursor: duckdb.DuckDBPyConnection, statement: Statement) -> str:
        """Insert what an incremental table lacks, and return its new content: the hash of a sum needs no other rows."""
        relation = statement.relation
        (before,) = cursor.execute(f"select content from {NOTES} where name = ?", [statement.name]).fetchall()
        text, _, form = before[0].partition(" of ")
        content = _Content.of_text(text)
        names = _columns(cursor, relation)

        def delete() -> _Content:
            if not statement.outdated:
                return _Content()
            gone = _Content.of_query(cursor, names, f"from {relation} where {statement.outdated}")
            if gone.rows:
                cursor.execute(f"delete from {relation} where {statement.outdated}")
            return gone

        if not statement.outdated_after:
            content -= delete()
        new = f"_new_{statement.name}"
        cursor.execute(f"create or replace temp table {new} as {statement.added_sql}")
        added = _Content.of_query(cursor, names, f"from {new}")
        if added.rows:
            cursor.execute(f"insert into {relation} by name select * from {new}")
            content += added
        cursor.execute(f"drop table {new}")
        if statement.outdated_after:
            content -= delete()
        return f"{content} of {form}"


class _Content:
    """An order-independent hash of rows: their number, and the sum of their hashes."""

    def __init__(self, rows: int = 0, total: int = 0) -> None:
        self.rows = rows
        self.total = total

    @classmethod
    def of_text(cls, text: str) -> _Content:
        rows, total = text.split()
        return cls(int(rows), int(total))

    @classmethod
    def of_query(cls, cursor: duckdb.DuckDBPyConnection, columns: Iterable[str], source: str) -> _Content:
        listed = ", ".join(f'"{name}"' for name in columns)
        (row,) = cursor.execute(f"select count(*), coalesce(sum(hash({listed})::hugeint), 0) {source}").fetchall()
        return cls(*row)

    def __add__(self, other: _Content) -> _Content:
        return _Content(self.rows + other.rows, self.total + other.total)

    def __sub__(self, other: _Content) -> _Content:
        return _Content(self.rows - other.rows, self.total - other.total)

    def __str__(self) -> str:
        return f"{self.rows} {self.total}"


def _columns(cursor: duckdb.DuckDBPyConnection, relation: str) -> Columns:
    return {name: str(kind) for name, kind, *_ in cursor.execute(f"select * from {relation} limit 0").description or ()}


def _content(cursor: duckdb.DuckDBPyConnection, relation: str, columns: Columns) -> str:
    """Return the content of a table: an order-independent hash of its rows, and the names and types of its columns."""
    form = hashlib.sha256("\0".join(f"{name} {kind}" for name, kind in columns.items()).encode()).hexdigest()[:16]
    return f"{_Content.of_query(cursor, columns, f'from {relation}')} of {form}"


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    # The failure itself may have ended the transaction.
    with suppress(duckdb.TransactionException):
        cursor.execute("rollback")


def first_lines(error: duckdb.Error) -> str:
    """Return what an error says, without the statement."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
