"""Spark as the engine of the runner: each table is Parquet in the session's warehouse."""

from __future__ import annotations

import csv
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sojourn_ingest.lake import Lake
from sojourn_ingest.schema import TABLES
from sojourn_transforms.comparison_mart import COMPARISON
from sojourn_transforms.running.data_tests import counts_sql
from sojourn_transforms.running.runner import Built, Task
from sojourn_transforms.running.statements import ModelError, Statement
from sojourn_transforms.spark.session import SparkError
from sojourn_transforms.spark.shared_ctes import frame_of
from sojourn_transforms.spark.sized_sessions import SizedSessions, lake_bytes
from sojourn_transforms.spark.standard_comparisons import standard_comparisons
from sojourn_transforms.statistics_marts import computed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LAYERS = ("staging", "intermediate", "marts")
MARKER = ".sojourn-tables"
"""A file in the folder of a database that Sojourn made, without which it is not removed."""


def warehouse_of(session: SparkSession) -> Path:
    """Return the folder in which a session keeps tables.

    Raises
    ------
    SparkError
        If it is none that this machine sees.
    """
    location = session.conf.get("spark.sql.warehouse.dir") or ""
    path = location.removeprefix("file://").removeprefix("file:")
    if not path.startswith("/"):
        raise SparkError(
            f"Spark setting spark.sql.warehouse.dir is {location}; set it to a folder that this machine sees"
        )
    return Path(path)


def _make(folder: Path) -> None:
    """Make the folder of a database, which has the marker when it appears."""
    draft = folder.with_name(f".{folder.name}.new")
    draft.mkdir(parents=True, exist_ok=True)
    (draft / MARKER).touch()
    draft.rename(folder)


def empty_warehouse(session: SparkSession) -> None:
    """Remove the tables of an earlier build.

    Raises
    ------
    SparkError
        If a folder has the name of one of ours, and no marker of it.
    """
    # The catalogue lives in the session's memory; tables of an earlier build are files that nothing refers to.
    databases = {row[0] for row in session.sql("show databases").collect()}
    for schema in LAYERS:
        folder = warehouse_of(session) / f"{schema}.db"
        if not folder.exists():
            continue
        if not (folder / MARKER).exists():
            raise SparkError(
                f"{folder} has no {MARKER}, as tables of sojourn build have; remove it, or set spark.sql.warehouse.dir "
                "to another folder"
            )
        if schema in databases:
            session.sql(f"drop database {schema} cascade")
        shutil.rmtree(folder, ignore_errors=True)


class SparkTables:
    """The tables of a Spark session, in which the tables of ``lake`` are views.

    A build on Spark writes every table: the catalogue lives in the session's memory, and to hash the rows of each
    table would be a job more for each. ``project`` is where the CSV files of seeds are.
    """

    #: Small statements wait for the driver's planning more than for a core.
    workers = 4

    def __init__(self, session: SparkSession, lake: Lake, project: Path) -> None:
        self._sessions = SizedSessions(session, lake_bytes(lake, TABLES))
        self._project = project
        for schema in LAYERS:
            folder = warehouse_of(session) / f"{schema}.db"
            if not folder.exists():
                _make(folder)
            session.sql(f"create database if not exists {schema}")

    def standing(self) -> dict[str, Built]:
        """Return nothing: no table outlives a session."""
        return {}

    def write(self, task: Task) -> Built:
        """Write a table; see :class:`~sojourn_transforms.running.runner.Tables`."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        begun, statement = time.monotonic(), task.statement
        session = self._sessions.session_of(statement)
        try:
            if statement.kind == "seed":
                self._write(statement, self._seed(session, statement))
            elif statement.kind == "statistic":
                self._write(statement, self._statistic(statement))
            elif statement.kind == "mart":
                session.sql(f"create or replace view {statement.relation} as {statement.sql}")
                self._sessions.note(statement)
            else:
                with frame_of(session, statement.sql, reads_little=session is not self._sessions.usual) as frame:
                    self._write(statement, frame)
        except (PySparkException, Py4JError) as error:
            raise ModelError(f"{statement.name}: {_one_line(error)}") from error
        return Built(task.key, task.definition, "", time.monotonic() - begun)

    def failures(self, tests: list[Statement]) -> list[int]:
        """Return the number of rows at which each data test fails."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        counts = [0] * len(tests)
        for sql, numbers in counts_sql(tests):
            try:
                (row,) = self._sessions.session_of(*tests).sql(sql).collect()
            except (PySparkException, Py4JError) as error:
                if len(tests) == 1:
                    raise ModelError(f"{tests[0].name}: {_one_line(error)}") from error
                # Each by itself, so that the one at fault has a name.
                return [count for test in tests for count in self.failures([test])]
            for number, count in zip(numbers, row, strict=True):
                counts[number] = count
        return counts

    def rows(self, test: Statement, most: int) -> list[dict[str, Any]]:
        """Return some rows at which a data test fails."""
        frame = self._sessions.session_of(test).sql(f"select * from ({test.sql}) limit {most}")
        return [row.asDict() for row in frame.collect()]

    def keep(self, results: Mapping[str, Built]) -> None:
        """Keep nothing: the tests of a session are those of one build."""

    def _write(self, statement: Statement, frame: DataFrame) -> None:
        if statement.kind == "model" and statement.columns:
            types = {column.name: column.dataType.simpleString() for column in frame.schema}
            if types != dict(statement.columns):
                differing = sorted(set(types.items()) ^ set(statement.columns.items()))
                listed = ", ".join(" ".join(pair) for pair in differing)
                raise ModelError(f"{statement.name}: the columns differ from the contract: {listed}")
            frame = frame.select(*statement.columns)
        frame.write.mode("overwrite").format("parquet").saveAsTable(statement.relation)
        self._sessions.note(statement)

    def _seed(self, session: SparkSession, statement: Statement) -> DataFrame:
        file = self._project / statement.path
        with file.open(newline="", encoding="utf-8") as handle:
            rows = [{name: value or None for name, value in row.items()} for row in csv.DictReader(handle)]
        if not rows:
            raise ModelError(f"{file} has no rows")
        if untyped := rows[0].keys() - statement.columns.keys():
            raise ModelError(f"{file} has columns without a declared type: {', '.join(sorted(untyped))}")
        texts = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in rows[0]]))
        columns = (f"cast({name} as {statement.columns[name]}) as {name}" for name in rows[0])
        return session.createDataFrame(texts).selectExpr(*columns)

    def _statistic(self, statement: Statement) -> DataFrame:
        session = self._sessions.usual
        if statement.name == COMPARISON.name:
            return standard_comparisons(session)
        from pyspark.sql.pandas.types import from_arrow_schema

        table = computed(statement.name, lambda sql: session.sql(sql).toArrow())
        return session.createDataFrame(table, from_arrow_schema(table.schema))


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
