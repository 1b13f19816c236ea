"""The dbt project run in this process: every model, seed and data test; or only read, for its manifest."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner, dbtRunnerResult

from sojourn_ingest import named_points
from sojourn_transforms.dbt.fingerprint import minimum_hosts
from sojourn_transforms.dbt.results import DbtError, DbtReport, NodeOutcome, one_line, report_of
from sojourn_transforms.engine_variables import MEMORY_VARIABLE

ENGINE_VARIABLE = "SOJOURN_DBT_ENGINE"
WAREHOUSE_VARIABLE = "SOJOURN_WAREHOUSE"
HISTORY = "tag:history"
FAILURES = frozenset(("error", "fail", "runtime error"))
NOT_MARTS = ("stg_", "int_")
"""How names of models begin that are not of the layer of marts."""


def manifest_path(folder: Path) -> Path:
    """Return where dbt's manifest is after a run."""
    return folder / "target" / "manifest.json"


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set variables: dbt reads its profile's settings from the environment and nowhere else."""
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
    warehouse: Path,
    full_refresh: bool = False,
    select: str | None = None,
    tests: bool = True,
    memory: str | None = None,
) -> DbtReport:
    """Build and test everything on DuckDB; ``folder`` then holds dbt's manifest and log.

    ``select`` narrows it to a selection in dbt's words; without ``tests`` nothing is tested. ``full_refresh``:
    incremental models are built from scratch. Tests tagged ``history`` are omitted unless selected, because they read
    everything ever ingested: what they check holds by construction, and the project's own tests run them.

    What is built is in the file ``warehouse``. DuckDB takes at most ``memory``, such as 8GB, by default four fifths of
    the machine's.

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
            node = event.data.node_info
            # The event's path does not say the layer.
            if node.resource_type == "model" and not node.node_name.startswith(NOT_MARTS):
                named_points.reach("mart.built")

    arguments = [
        # Unit tests try the models on rows of their own: they belong to the project's tests, not to every build.
        "build", "--exclude-resource-type", "unit_test", *([] if tests else ["--exclude-resource-type", "test"]),
        *(["--full-refresh"] if full_refresh else []),
    ]  # fmt: skip
    settings = {
        ENGINE_VARIABLE: "duckdb",
        WAREHOUSE_VARIABLE: str(warehouse),
        **({} if memory is None else {MEMORY_VARIABLE: memory}),
    }
    with environment(**settings):
        try:
            results = results_of(project, folder, arguments, select, [note])
        finally:
            # dbt keeps its connection open in this process, with a configuration of its own.
            DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    return _judge(results)


def results_of(
    project: Path,
    folder: Path,
    command: list[str],
    select: str | None = None,
    callbacks: list[Callable[[Any], None]] | None = None,
) -> list[Any]:
    """Return the results of one command of dbt over a selection of the project; its manifest is then in ``folder``.

    Raises
    ------
    DbtError
        If dbt could not start or stopped.
    """
    target, logs = manifest_path(folder).parent, folder / "logs"
    arguments = [
        "--quiet", "--no-use-colors", "--no-send-anonymous-usage-stats", "--log-path", str(logs), *command,
        "--vars", f"{{minimum_hosts: {minimum_hosts()}}}",
        "--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(target),
        # A test that also looks at models that are not selected would find them as they were, or not at all.
        *(["--select", select, "--indirect-selection", "cautious"] if select else []),
        *([] if select and HISTORY in select else ["--exclude", HISTORY]),
    ]  # fmt: skip
    result: dbtRunnerResult = dbtRunner(callbacks=callbacks).invoke(arguments)
    if result.exception is not None:
        raise DbtError(f"dbt stopped: {one_line(str(result.exception))}") from result.exception
    if not isinstance(result.result, RunExecutionResult):
        raise DbtError(f"dbt gave no results; its log is in {logs}")
    return list(result.result.results)


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
        with environment(**{ENGINE_VARIABLE: "duckdb", WAREHOUSE_VARIABLE: str(Path(folder) / "none.duckdb")}):
            result: dbtRunnerResult = dbtRunner().invoke(arguments)
        if not result.success:
            raise DbtError(f"dbt cannot read {project}: {one_line(str(result.exception))}")
        manifest: dict[str, Any] = json.loads(manifest_path(Path(folder)).read_text(encoding="utf-8"))
    return manifest


def _judge(results: list[Any]) -> DbtReport:
    outcomes = []
    for result in results:
        name, status = result.node.name, str(result.status)
        outcomes.append(
            NodeOutcome(
                name=name,
                kind=str(result.node.resource_type),
                error=one_line(result.message or status) if status in FAILURES else None,
                warnings=result.failures if status == "warn" else 0,
                meta=result.node.config.meta,
                passed=status == "pass",
            )
        )
    return report_of(outcomes)
