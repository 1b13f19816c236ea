"""The runner: every model, seed and data test of the project, in order, on any engine; only what changed is executed.

A table has a key: the hash of its statement, of its contract, and of the content of what it reads. The content of a
lake table is its live facts, that of a view its key, and that of a table an order-independent hash of its rows, which
is kept when they are written. Where a table was built with the same key, it stands, and so do the results of its tests:
nothing else decides. A change stops at the first tables whose rows it leaves as they were.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any, Protocol

from sojourn_ingest import named_points
from sojourn_ingest.lake import Lake
from sojourn_transforms.running.data_tests import AtFault, groups_of_tests
from sojourn_transforms.running.statements import ModelError, Statement

#: Rows at which a data test failed that its message shows.
SHOWN_ROWS = 5


@dataclass(frozen=True)
class Built:
    """A table as it stands: its key, the hash of all that it is defined by, its content, and what it took.

    Of a group of data tests, ``warnings`` are the rows that tests only warn of, by test.
    """

    key: str
    definition: str
    content: str
    seconds: float = 0.0
    warnings: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What an engine is to write: a model or seed, from scratch or by what it adds, and how it will be known."""

    statement: Statement
    adds: bool
    key: str
    definition: str


class Tables(Protocol):
    """Where statements become tables: all that an engine adds to the runner."""

    workers: int
    """Statements that are executed at a time."""

    def standing(self) -> dict[str, Built]:
        """Return what earlier builds left, by name; a table that is named here exists as it is described."""

    def write(self, task: Task) -> Built:
        """Make the table or view of a model or seed, and keep what is returned together with it.

        Raises
        ------
        ModelError
            If the statement fails, or its columns are not those of the contract.
        """

    def failures(self, tests: list[Statement]) -> list[int]:
        """Return the number of rows at which each data test fails.

        Raises
        ------
        ModelError
            If a statement fails.
        """

    def rows(self, test: Statement, most: int) -> list[dict[str, Any]]:
        """Return some rows at which a data test fails."""

    def keep(self, results: Mapping[str, Built]) -> None:
        """Keep the results of groups of data tests, by their names."""


@dataclass
class RunReport:
    """What a run of the project did."""

    models: int = 0
    built: list[str] = field(default_factory=list)
    tests_passed: int = 0
    warnings: list[str] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)
    """The content of each table."""
    definitions: dict[str, str] = field(default_factory=dict)
    """The hash of what each table is defined by: its own statement and those of all that it reads."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: tables and groups of tests done of all, and the seconds that the rest will take, if known."""

    done: int
    total: int
    last: str
    seconds_left: float | None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {_duration(self.seconds_left)} left"
        return f"{self.done:,} of {self.total:,} tables and groups of tests{left}; last {self.last}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run_statements(
    tables: Tables,
    statements: Iterable[Statement],
    lake_contents: Mapping[str, str],
    on_progress: Callable[[Progress], None],
    *,
    salt: str = "",
    force: bool = False,
    from_scratch: bool = False,
) -> RunReport:
    """Build every model and seed whose key is not the one that was built, and test what changed.

    ``lake_contents`` has the content of each table of the lake; see :func:`lake_contents_of`. With ``force`` everything
    is executed; with ``from_scratch`` also incremental models do not continue from what they hold. Tests of history are
    omitted. ``salt`` is a part of every definition: with another one nothing is continued. Nothing more is begun after
    a failure.

    Raises
    ------
    ModelError
        If a model or a test failed; with the rows at which it did.
    """
    wanted = [each for each in statements if not each.of_history]
    return _Run(tables, wanted, lake_contents, on_progress, salt, force or from_scratch, from_scratch).run()


def lake_contents_of(lake: Lake, tables: Iterable[str], salt: str = "") -> dict[str, str]:
    """Return what identifies the live rows of each lake table: the statements of the commits that have facts in it.

    Where the facts lie is no part of it, so a lake that was compacted has the same content. ``salt`` is what the rows
    follow from beside.
    """
    stated: dict[str, list[str]] = {table: [] for table in tables}
    for commit in lake.live():
        statement = commit.statement()
        for table in {file.table for file in commit.files}:
            if table in stated:
                stated[table].append(statement)
    return {table: _hash([salt, *sorted(hashes)]) for table, hashes in stated.items()}


def definitions_of(statements: Iterable[Statement], salt: str = "") -> dict[str, str]:
    """Return, by name, a hash of what a model, seed or statistic is defined by: itself, and all that it reads."""
    by_name = {each.name: each for each in statements if each.kind != "test"}
    order = TopologicalSorter({name: each.after for name, each in by_name.items()})
    definitions: dict[str, str] = {}
    for name in order.static_order():
        each = by_name[name]
        definitions[name] = _hash([salt, _own(each), *(f"{read} {definitions[read]}" for read in sorted(each.after))])
    return definitions


def _own(statement: Statement) -> str:
    parts = [
        statement.sql, statement.added_sql, statement.outdated, statement.outdated_after, statement.relation,
        statement.storage, statement.digest, list(statement.columns.items()), statement.only_warns,
    ]  # fmt: skip
    return json.dumps(parts)


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()[:32]


Job = list[Statement]
"""A model or seed, or data tests of the same tables."""


class _Run:
    def __init__(
        self,
        tables: Tables,
        statements: list[Statement],
        lake_contents: Mapping[str, str],
        on_progress: Callable[[Progress], None],
        salt: str,
        force: bool,
        from_scratch: bool,
    ) -> None:
        self._tables = tables
        self._lake_contents = lake_contents
        self._on_progress = on_progress
        self._force = force
        self._from_scratch = from_scratch
        self._jobs: dict[str, Job] = {each.name: [each] for each in statements if each.kind != "test"}
        order = {name: job[0].after for name, job in self._jobs.items()}
        for name, tests in groups_of_tests(each for each in statements if each.kind == "test"):
            self._jobs[name] = tests
            order[name] = tests[0].after
        self._order = TopologicalSorter(order)
        self._before = tables.standing()
        self._report = RunReport(definitions=definitions_of(statements, salt))
        self._begun = time.monotonic()
        self._expected = {name: self._before[name].seconds for name in self._jobs if name in self._before}
        self._spent = 0.0
        self._results: dict[str, Built] = {}

    def run(self) -> RunReport:
        self._order.prepare()
        pool = ThreadPoolExecutor(self._tables.workers)
        try:
            self._run(pool)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            self._tables.keep(self._results)
        self._report.warnings.sort()
        return self._report

    def _run(self, pool: ThreadPoolExecutor) -> None:
        running: dict[Future[Built], str] = {}
        done = 0
        while self._order.is_active():
            for name in self._order.get_ready():
                key = self._key(name)
                before = self._before.get(name)
                if before is not None and before.key == key and not self._force:
                    done += 1
                    self._stands(name, before)
                    self._order.done(name)
                else:
                    running[pool.submit(self._execute, name, key)] = name
            # What stands may have made more ready without anything running.
            if not running:
                continue
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                name = running.pop(future)
                built = future.result()
                done += 1
                self._note(name, built)
                self._order.done(name)
                self._on_progress(Progress(done, len(self._jobs), name, self._seconds_left(done)))
                if self._jobs[name][0].layer == "marts" and self._jobs[name][0].kind == "model":
                    named_points.reach("mart.built")

    def _key(self, name: str) -> str:
        job = self._jobs[name]
        read = sorted({read for each in job for read in each.after})
        contents = [f"{each} {self._report.contents[each]}" for each in read]
        tables = sorted({table for each in job for table in each.lake_tables})
        contents += [f"lake.{table} {self._lake_contents[table]}" for table in tables]
        return _hash([*map(_own, job), *contents])

    def _execute(self, name: str, key: str) -> Built:
        job = self._jobs[name]
        if job[0].kind == "test":
            return self._test(job, key)
        definition = self._report.definitions[name]
        before = self._before.get(name)
        is_kept = before is not None and before.definition == definition and not self._from_scratch
        return self._tables.write(Task(job[0], job[0].storage == "incremental" and is_kept, key, definition))

    def _test(self, tests: Job, key: str) -> Built:
        begun = time.monotonic()
        warnings = {}
        failed = []
        for test, count in zip(tests, self._tables.failures(tests), strict=True):
            if count and test.only_warns:
                warnings[test.name] = count
            elif count:
                failed.append((test, count))
        if failed:
            test, count = failed[0]
            raise ModelError(str(AtFault(test, count, self._tables.rows(test, SHOWN_ROWS), len(failed) - 1)))
        return Built(key, "", "", time.monotonic() - begun, warnings)

    def _stands(self, name: str, built: Built) -> None:
        self._expected.pop(name, None)
        self._describe(name, built)

    def _note(self, name: str, built: Built) -> None:
        if self._jobs[name][0].kind == "test":
            self._results[name] = built
        self._spent += built.seconds
        self._expected.pop(name, None)
        if self._jobs[name][0].kind != "test":
            self._report.built.append(name)
        self._describe(name, built)

    def _describe(self, name: str, built: Built) -> None:
        job = self._jobs[name]
        if job[0].kind != "test":
            self._report.contents[name] = built.content
            self._report.models += job[0].kind == "model"
            return
        by_name = {test.name: test for test in job}
        self._report.tests_passed += len(job) - len(built.warnings)
        for test, count in built.warnings.items():
            meta = by_name[test].meta
            self._report.warnings.append(f"{meta['warning']}: {count}; {meta['advice']}")

    def _seconds_left(self, done: int) -> float | None:
        elapsed = time.monotonic() - self._begun
        if elapsed < 1 or not self._spent:
            return None
        rest = len(self._jobs) - done
        if len(self._expected) >= rest * 0.9:
            # As long as last time, by the pace of this run.
            return sum(self._expected.values()) * elapsed / self._spent
        return elapsed * rest / done
