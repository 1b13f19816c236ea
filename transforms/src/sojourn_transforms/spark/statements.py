"""The statements of the project run in a Spark session: each after the tables that it reads, several at a time."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import pyarrow as pa

from sojourn_ingest import named_points
from sojourn_ingest.lake import Lake
from sojourn_ingest.schema import TABLES
from sojourn_transforms.dbt.compilation import Statement
from sojourn_transforms.dbt.results import DbtError, DbtReport, NodeOutcome, one_line, report_of
from sojourn_transforms.spark.shared_ctes import frame_of
from sojourn_transforms.spark.sized_sessions import SizedSessions, lake_bytes
from sojourn_transforms.spark.tests_at_once import asked_at_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

#: Small statements wait for the driver's planning more than for a core.
THREADS = 4
#: Most tests that one statement asks at once.
TESTS_AT_ONCE = 40


def run_statements(
    session: SparkSession, lake: Lake, statements: Iterable[Statement], on_step: Callable[[str], None]
) -> DbtReport:
    """Write every model and seed as a table, and run every test.

    Tests of the same tables are one statement. Nothing more is begun after a failure. The tables of ``lake`` are views
    of the session.

    Raises
    ------
    DbtError
        If a model or a test failed.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    listed = list(statements)
    for schema in sorted({statement.relation.partition(".")[0] for statement in listed if statement.kind != "test"}):
        session.sql(f"create database if not exists {schema}")
    sessions = SizedSessions(session, lake_bytes(lake, TABLES))
    jobs, order = _jobs(listed)
    outcomes: list[NodeOutcome] = []

    def run(job: list[Statement]) -> list[NodeOutcome]:
        try:
            return _run(sessions, job)
        except (PySparkException, Py4JError) as error:
            if len(job) > 1:
                # Asked one by one, the test at fault has a name.
                return [outcome for statement in job for outcome in run([statement])]
            return [NodeOutcome(job[0].name, job[0].kind, error=one_line(str(error)))]

    order.prepare()
    with ThreadPoolExecutor(THREADS) as pool:
        running: dict[Future[list[NodeOutcome]], str] = {}
        while order.is_active():
            for key in order.get_ready():
                running[pool.submit(run, jobs[key])] = key
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                key = running.pop(future)
                outcomes += future.result()
                if any(outcome.error is not None for outcome in outcomes):
                    pool.shutdown(wait=True, cancel_futures=True)
                    return report_of(outcomes)
                order.done(key)
                on_step(f"Spark: {len(outcomes)} models and tests done, last {jobs[key][-1].name}")
                if jobs[key][0].kind == "model" and jobs[key][0].path.startswith("marts/"):
                    named_points.reach("mart.built")
    return report_of(outcomes)


def _jobs(statements: list[Statement]) -> tuple[dict[str, list[Statement]], TopologicalSorter[str]]:
    """Return what is run at once, by a key, and the order of the keys."""
    jobs: dict[str, list[Statement]] = {}
    order: TopologicalSorter[str] = TopologicalSorter()
    tests: dict[frozenset[str], list[Statement]] = defaultdict(list)
    for statement in statements:
        if statement.kind == "test":
            tests[statement.after].append(statement)
        else:
            jobs[statement.name] = [statement]
            order.add(statement.name, *statement.after)
    for after, asked in tests.items():
        for start in range(0, len(asked), TESTS_AT_ONCE):
            part = asked[start : start + TESTS_AT_ONCE]
            key = f"test {part[0].name}"
            jobs[key] = part
            order.add(key, *after)
    return jobs, order


def _run(sessions: SizedSessions, job: list[Statement]) -> list[NodeOutcome]:
    session = sessions.session_of(*job)
    if job[0].kind == "test":
        return _ask(session, job)
    (statement,) = job
    if statement.kind == "seed":
        return [_written(sessions, statement, _seed(session, statement))]
    with frame_of(session, statement.sql, reads_little=session is not sessions.usual) as frame:
        return [_written(sessions, statement, frame)]


def _written(sessions: SizedSessions, statement: Statement, frame: DataFrame) -> NodeOutcome:
    if statement.kind == "model" and statement.columns:
        given = {column.name: column.dataType.simpleString() for column in frame.schema}
        if given != dict(statement.columns):
            differing = sorted(set(given.items()) ^ set(statement.columns.items()))
            error = f"the columns differ from the contract in {', '.join(' '.join(pair) for pair in differing)}"
            return NodeOutcome(statement.name, "model", error=error)
        frame = frame.select(*statement.columns)
    frame.write.mode("overwrite").format("parquet").saveAsTable(statement.relation)
    sessions.note(statement)
    return NodeOutcome(statement.name, statement.kind)


def _seed(session: SparkSession, statement: Statement) -> DataFrame:
    """Return a seed's rows; an empty field is null.

    Raises
    ------
    DbtError
        If the seed is empty, or a column has no declared type.
    """
    if statement.file is None:
        raise DbtError(f"{statement.name} has no file")
    with statement.file.open(newline="", encoding="utf-8") as handle:
        rows = [{name: value or None for name, value in row.items()} for row in csv.DictReader(handle)]
    if not rows:
        raise DbtError(f"{statement.file} has no rows")
    if untyped := rows[0].keys() - statement.columns.keys():
        raise DbtError(f"{statement.file} has columns without a declared type: {', '.join(sorted(untyped))}")
    texts = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in rows[0]]))
    columns = (f"cast({name} as {statement.columns[name]}) as {name}" for name in rows[0])
    return session.createDataFrame(texts).selectExpr(*columns)


def _ask(session: SparkSession, tests: list[Statement]) -> list[NodeOutcome]:
    answers = {row.number: row for row in session.sql(asked_at_once(tests)).collect()}
    return [_outcome(statement, answers[number]) for number, statement in enumerate(tests)]


def _outcome(statement: Statement, answer: Row) -> NodeOutcome:
    error = None
    if answer.is_failed and not statement.test.only_warns:
        error = f"Got {answer.failures} results, configured to fail if {statement.test.error_if}"
    warned = answer.failures if error is None and answer.is_warned else 0
    return NodeOutcome(statement.name, "test", error, warned, statement.meta, passed=error is None and not warned)
