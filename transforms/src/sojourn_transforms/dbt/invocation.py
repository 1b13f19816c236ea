"""The dbt project run in this process: every model, seed and data test; or only read, for its manifest."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner, dbtRunnerResult

from sojourn_ingest import named_points
from sojourn_transforms.dbt.fingerprint import minimum_hosts
from sojourn_transforms.engine_variables import MEMORY_VARIABLE

ENGINE_VARIABLE = "SOJOURN_DBT_ENGINE"
WAREHOUSE_VARIABLE = "SOJOURN_WAREHOUSE"
HISTORY = "tag:history"
FAILURES = frozenset(("error", "fail", "runtime error"))


class DbtError(RuntimeError):
    """A model or a test failed, or dbt could not start; the message names it."""


@dataclass
class DbtReport:
    """What a run of dbt did."""

    models: int = 0
    tests_passed: int = 0
    warnings: list[str] = field(default_factory=list)


def manifest_path(folder: Path) -> Path:
    """Return where dbt's manifest is after a run."""
    return folder / "target" / "manifest.json"


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    # dbt reads its profile's settings from the environment and nowhere else.
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run_dbt(
    project: Path,
    folder: Path,
    on_step: Callable[[str], None],
    *,
    engine: str = "duckdb",
    warehouse: Path | None = None,
    full_refresh: bool = False,
    select: str | None = None,
    tests: bool = True,
    memory: str | None = None,
) -> DbtReport:
    """Build and test everything; ``folder`` then holds dbt's manifest and log.

    ``select`` narrows it to a selection in dbt's words; without ``tests`` nothing is tested. ``full_refresh``:
    incremental models are built from scratch. Tests tagged ``history`` are omitted unless selected, because they read
    everything ever ingested: what they check holds by construction, and the project's own tests run them.

    ``engine`` is a target of the project's profile. DuckDB builds in the file ``warehouse`` with at most
    ``memory``, such as 8GB, by default four fifths of the machine's; Spark builds in the
    session that this process holds.

    Raises
    ------
    DbtError
        If dbt could not start, or a model or test failed.
    """
    done = 0

    def note(event: Any) -> None:
        nonlocal done
        if event.info.name == "NodeFinished":
            done += 1
            on_step(f"dbt: {done} models and tests done, last {event.data.node_info.node_name}")
            if event.data.node_info.node_path.startswith("marts/"):
                named_points.reach("mart.built")

    target, logs = manifest_path(folder).parent, folder / "logs"
    arguments = [
        "--quiet", "--no-use-colors", "--no-send-anonymous-usage-stats", "--log-path", str(logs),
        # Unit tests try the models on rows of their own: they belong to the project's tests, not to every build.
        "build", "--exclude-resource-type", "unit_test", *([] if tests else ["--exclude-resource-type", "test"]),
        "--vars", f"{{minimum_hosts: {minimum_hosts()}}}",
        "--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(target),
        *(["--full-refresh"] if full_refresh else []),
        # A test that also looks at models that are not selected would find them as they were, or not at all.
        *(["--select", select, "--indirect-selection", "cautious"] if select else []),
        *([] if select and HISTORY in select else ["--exclude", HISTORY]),
    ]  # fmt: skip
    settings = {
        ENGINE_VARIABLE: engine,
        **({} if warehouse is None else {WAREHOUSE_VARIABLE: str(warehouse)}),
        **({} if memory is None else {MEMORY_VARIABLE: memory}),
    }
    with _environment(**settings):
        try:
            result: dbtRunnerResult = dbtRunner(callbacks=[note]).invoke(arguments)
        finally:
            # dbt keeps its connection open in this process, with a configuration of its own.
            DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    if result.exception is not None:
        raise DbtError(f"dbt stopped: {_one_line(str(result.exception))}") from result.exception
    if not isinstance(result.result, RunExecutionResult):
        raise DbtError(f"dbt gave no results; its log is in {logs}")
    return _judge(result.result.results)


def parsed_manifest(project: Path) -> dict[str, Any]:
    """Return dbt's manifest of a project as it is, without building anything or writing into the project.

    Takes some 8 s: dbt reads every model and macro.

    Raises
    ------
    DbtError
        If dbt finds the project at fault.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = manifest_path(Path(folder)).parent
        arguments = [
            "--quiet", "--no-use-colors", "--no-send-anonymous-usage-stats", "--log-path", str(Path(folder) / "logs"),
            "parse", "--no-partial-parse",
            "--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(target),
        ]  # fmt: skip
        with _environment(**{ENGINE_VARIABLE: "duckdb", WAREHOUSE_VARIABLE: str(Path(folder) / "none.duckdb")}):
            result: dbtRunnerResult = dbtRunner().invoke(arguments)
        if not result.success:
            raise DbtError(f"dbt cannot read {project}: {_one_line(str(result.exception))}")
        manifest: dict[str, Any] = json.loads(manifest_path(Path(folder)).read_text(encoding="utf-8"))
    return manifest


def _judge(results: Any) -> DbtReport:
    report = DbtReport()
    failures = []
    for result in results:
        name, status = result.node.name, str(result.status)
        if status in FAILURES:
            failures.append(f"{name}: {_one_line(result.message or status)}")
        elif status == "warn":
            # A test that only warns says in its configuration what it counts and what to do.
            meta = result.node.config.meta
            report.warnings.append(f"{meta['warning']}: {result.failures}; {meta['advice']}")
        if result.node.resource_type == "model":
            report.models += 1
        elif status == "pass":
            report.tests_passed += 1
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise DbtError(f"{failures[0]}{more}")
    return report


def _one_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:3])
