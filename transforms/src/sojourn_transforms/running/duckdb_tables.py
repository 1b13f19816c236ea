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

LAYERS = ("staging", "intermediate", "marts")
NOTES = "runner.built"
"""The table that describes the tables of a warehouse."""


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

    def standing(self) -> dict[str, Built]:
        """Return what the database holds, and remove relations that are not described or whose description is gone.

        Hashes of rows differ between releases of DuckDB: of another release nothing stands.
        """
        found = self._connection.execute(
            f"select name, key, definition, content, seconds, warnings from {NOTES} where duckdb_version = ?",
            [duckdb.__version__],
        ).fetchall()
        relations = {f"{schema}.{name}": kind for schema, name, kind in self._relations()}
        standing = {
            name: Built(key, definition, content, seconds, json.loads(warnings))
            for name, key, definition, content, seconds, warnings in found
        }
        named = {relation.partition(".")[2] for relation in relations}
        self._connection.execute(f"delete from {NOTES} where duckdb_version != ?", [duckdb.__version__])
        for relation, kind in relations.items():
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
                self.make(statement)
                content = task.key if statement.storage == "view" else _content(cursor, statement.relation)
            built = Built(task.key, task.definition, content, time.monotonic() - begun)
            _note(cursor, statement.name, built)
            cursor.execute("commit")
        except duckdb.Error as error:
            _roll_back(cursor)
            raise ModelError(f"{statement.name}: {_first_lines(error)}") from error
        except BaseException:
            _roll_back(cursor)
            raise
        return built

    def failures(self, tests: list[Statement]) -> list[int]:
        """Return the number of rows at which each data test fails."""
        counts = [0] * len(tests)
        for sql, numbers in counts_sql(tests):
            try:
                (row,) = self._cursor().execute(sql).fetchall()
            except duckdb.Error as error:
                names = ", ".join(tests[number].name for number in numbers)
                raise ModelError(f"{names}: {_first_lines(error)}") from error
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
        for schema, name, kind in self._relations():
            if name not in names:
                self._drop(f"{schema}.{name}", kind)
        self._connection.execute(f"delete from {NOTES} where not list_contains(?, name)", [sorted(names)])

    def _relations(self) -> list[tuple[str, str, str]]:
        return self._connection.execute(
            "select table_schema, table_name, table_type from information_schema.tables"
            f" where table_catalog = current_database() and table_schema in {LAYERS}"
        ).fetchall()

    def _drop(self, relation: str, kind: str) -> None:
        self._connection.execute(f"drop {'view' if kind == 'VIEW' else 'table'} if exists {relation}")

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """Return the connection of this thread: each has one transaction at a time."""
        if not hasattr(self._of_thread, "cursor"):
            self._of_thread.cursor = self._connection.cursor()
        cursor: duckdb.DuckDBPyConnection = self._of_thread.cursor
        return cursor

    def make(self, statement: Statement) -> None:
        """Make a table or view as it is from scratch, and nothing that describes it.

        Raises
        ------
        ModelError
            If its columns are not those of the contract.
        duckdb.Error
            If the statement fails.
        """
        cursor, relation = self._cursor(), statement.relation
        schema = relation.partition(".")[0]
        other = "table" if statement.storage == "view" else "view"
        is_other = cursor.execute(
            f"select 1 from duckdb_{other}s() where database_name = current_database()"
            f" and schema_name = ? and {other}_name = ?",
            [schema, statement.name],
        ).fetchone()
        if is_other:
            cursor.execute(f"drop {other} {relation}")
        if statement.kind == "seed":
            self._load(cursor, statement)
            return
        if statement.kind == "statistic":
            # SciPy takes a second to import, and not every build computes a statistic.
            from sojourn_transforms.statistics_marts import computed

            table = computed(statement.name, lambda sql: cursor.sql(sql).to_arrow_table())
            cursor.register("computed", table)
            cursor.execute(f"create or replace table {relation} as select * from computed")
            cursor.unregister("computed")
            return
        kind = "view" if statement.storage == "view" else "table"
        columns = ", ".join(f'"{name}"' for name in statement.columns) or "*"
        try:
            cursor.execute(f"create or replace {kind} {relation} as select {columns} from (\n{statement.sql}\n)")
        except duckdb.BinderException:
            # A column of the contract that the statement lacks is named below, and an error of its own as it is.
            _roll_back(cursor)
            self._check_contract(cursor, statement, f"({statement.sql})")
            raise
        self._check_contract(cursor, statement, relation)

    def _check_contract(self, cursor: duckdb.DuckDBPyConnection, statement: Statement, relation: str) -> None:
        if not statement.columns:
            return
        described = cursor.execute(f"select * from {relation} limit 0").description or ()
        given = {column[0]: str(column[1]) for column in described}
        expected = {name: self._type(cursor, kind) for name, kind in statement.columns.items()}
        if given != expected:
            differing = sorted(set(given.items()) ^ set(expected.items()))
            listed = ", ".join(
                f"{name} {kind} ({'given' if (name, kind) in given.items() else 'declared'})"
                for name, kind in differing
            )
            raise ModelError(f"{statement.name}: the columns differ from the contract: {listed}")

    def _type(self, cursor: duckdb.DuckDBPyConnection, declared: str) -> str:
        if declared not in self._types:
            (found,) = cursor.execute(f"select typeof(null::{declared})").fetchall()
            self._types[declared] = str(found[0])
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
        names = [column[0] for column in cursor.execute(f"select * from {relation} limit 0").description or ()]

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
        (found,) = cursor.execute(f"select count(*), coalesce(sum(hash({listed})::hugeint), 0) {source}").fetchall()
        return cls(*found)

    def __add__(self, other: _Content) -> _Content:
        return _Content(self.rows + other.rows, self.total + other.total)

    def __sub__(self, other: _Content) -> _Content:
        return _Content(self.rows - other.rows, self.total - other.total)

    def __str__(self) -> str:
        return f"{self.rows} {self.total}"


def _content(cursor: duckdb.DuckDBPyConnection, relation: str) -> str:
    """Return the content of a table: an order-independent hash of its rows, and the names and types of its columns."""
    described = cursor.execute(f"select * from {relation} limit 0").description or ()
    form = hashlib.sha256("\0".join(f"{name} {kind}" for name, kind, *_ in described).encode()).hexdigest()[:16]
    return f"{_Content.of_query(cursor, [name for name, *_ in described], f'from {relation}')} of {form}"


def _note(cursor: duckdb.DuckDBPyConnection, name: str, built: Built) -> None:
    cursor.execute(f"delete from {NOTES} where name = ?", [name])
    cursor.execute(
        f"insert into {NOTES} values (?, ?, ?, ?, ?, ?, ?)",
        [
            name, built.key, built.definition, built.content, built.seconds, json.dumps(dict(built.warnings)),
            duckdb.__version__,
        ],
    )  # fmt: skip


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    # The failure itself may have ended the transaction.
    with suppress(duckdb.TransactionException):
        cursor.execute("rollback")


def _first_lines(error: duckdb.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
