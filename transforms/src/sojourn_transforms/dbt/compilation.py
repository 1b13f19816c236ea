"""dbt as a compiler: the project's files into statements of an engine, without a connection to a database.

The one place that knows dbt. Who executes the statements reads :mod:`sojourn_transforms.running.statements` alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbt.artifacts.schemas.run import RunExecutionResult
from dbt.cli.main import dbtRunner, dbtRunnerResult

from sojourn_transforms.dbt.columns import ColumnError, read_dictionary
from sojourn_transforms.dbt.dimensions import SOURCES, view_of, with_dimensions
from sojourn_transforms.dbt.generated import write_generated
from sojourn_transforms.mart import MART_LAYER, Mart, MartColumn
from sojourn_transforms.running.compiling import compiling
from sojourn_transforms.running.statements import MINIMUM_HOSTS, EngineName, Kind, ModelError, Statement, Storage

ENGINE_VARIABLE = "SOJOURN_DBT_ENGINE"
ADDS_VARIABLE = "SOJOURN_DBT_ADDS"
WAREHOUSE_VARIABLE = "SOJOURN_WAREHOUSE"
HISTORY = "history"
#: What dbt calls the database of a table that is compiled without one, and how it names a table there.
NO_DATABASE = "__database__"
RELATION = re.compile(rf'"{NO_DATABASE}"\."(\w+)"\."(\w+)"')
PERIODS = ("start_date", "start_month")
_KINDS: Mapping[str, Kind] = {"model": "model", "seed": "seed", "test": "test"}
_STORED: Mapping[str, Storage] = {"table": "table", "view": "view", "incremental": "incremental"}
#: What every statement of this project leaves as it is; a test that sets one would be judged otherwise than dbt does.
_OF_TESTS = {"fail_calc": "count(*)", "warn_if": "!= 0", "error_if": "!= 0", "limit": None}


def compile_project(project: Path, engine: EngineName) -> tuple[list[Statement], list[Mart], dict[str, str]]:
    """Return the statements of a project for an engine, its marts, and the versions of dbt.

    Models that are part of the statements that use them (ephemeral) are not among the statements. Takes half a minute;
    what dbt has parsed is kept in the project's folder ``target``.

    Raises
    ------
    ModelError
        If dbt finds the project at fault, or a model or test is configured in a way that the runner does not know.
    """
    folder = _target(project, engine)
    compiler = {name: version(name) for name in ("dbt-core", f"dbt-{engine}")}
    print(
        f"dbt compiles {project} for {engine}; this takes about a minute, once for each change to its files",
        file=sys.stderr,
    )
    _write_generated(project)
    with _environment(_settings(engine, adds=False)):
        parsed: Any = _invoke(project, folder, ["parse"]).result
        manifest: dict[str, Any] = parsed.to_dict(omit_none=False)
        nodes = _compiled(project, folder, parsed)
    with _environment(_settings(engine, adds=True)):
        incremental = "config.materialized:incremental"
        added = {} if engine == "spark" else _compiled(project, folder, parsed, "--select", incremental)
    read_by = {key: node["depends_on"].get("nodes", []) for key, node in manifest["nodes"].items()}
    written = {key: each.node.alias for key, each in nodes.items() if str(each.node.resource_type) in ("model", "seed")}
    statements = [
        _statement(project, each, *_read(key, read_by, written), added.get(key)) for key, each in nodes.items()
    ]
    marts = mart_nodes(manifest, project)
    statements += _views(marts, {each.relation: each for each in statements if each.kind == "model"})
    return sorted(statements, key=lambda each: (each.path, each.name)), marts_in(marts), compiler


def parsed_manifest(project: Path) -> dict[str, Any]:
    """Return dbt's manifest of a project for DuckDB; what dbt has parsed is kept in the project's folder ``target``.

    Raises
    ------
    ModelError
        If dbt finds the project at fault.
    """
    folder = _target(project, "duckdb")
    with compiling(project), _environment(_settings("duckdb", adds=False)):
        _write_generated(project)
        parsed: Any = _invoke(project, folder, ["parse"]).result
    manifest: dict[str, Any] = json.loads(json.dumps(parsed.to_dict(omit_none=False), default=str))
    return manifest


def one_line(text: str) -> str:
    """Return the first three lines of a message as one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:3])


def _write_generated(project: Path) -> None:
    try:
        write_generated(project)
    except ColumnError as error:
        raise ModelError(str(error)) from error
    except OSError as error:
        raise ModelError(f"the models in {project} cannot be compiled there: {error}") from error


def _target(project: Path, engine: EngineName) -> Path:
    # dbt takes a relative path as one below the project.
    return project.resolve() / "target" / f"dbt-{engine}"


def _settings(engine: EngineName, adds: bool) -> dict[str, str]:
    # Always the same values: dbt parses a file again if a variable that it reads has changed.
    return {
        ENGINE_VARIABLE: engine,
        WAREHOUSE_VARIABLE: f"{NO_DATABASE}.duckdb",
        ADDS_VARIABLE: "yes" if adds else "no",
    }


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
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


def _invoke(project: Path, folder: Path, command: list[str], manifest: Any = None) -> dbtRunnerResult:
    # Without a log: on a full disk each line of it would be a traceback of its handler. What fails is in the result.
    arguments = [
        "--quiet", "--no-use-colors", "--no-send-anonymous-usage-stats", "--log-level", "none", "--log-level-file",
        "none",
        "--no-write-json", *command,
        "--vars", json.dumps({"minimum_hosts": MINIMUM_HOSTS}),
        "--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(folder),
    ]  # fmt: skip
    result = dbtRunner(manifest=manifest).invoke(arguments)
    if not result.success:
        reasons = [each.message for each in getattr(result.result, "results", []) if str(each.status) == "error"]
        raise ModelError(f"dbt cannot compile {project}: {one_line(str(result.exception or '; '.join(reasons)))}")
    return result


@dataclass(frozen=True)
class _Compiled:
    """A node of dbt's, which another compilation changes, and its SQL of this one."""

    node: Any
    sql: str


def _compiled(project: Path, folder: Path, manifest: Any, *selection: str) -> dict[str, _Compiled]:
    # Without a look at the database: no statement of this project depends on what is there. In one thread: those of dbt
    # share one interpreter.
    command = ["compile", "--no-populate-cache", "--no-introspect", "--threads", "1", *selection]
    result = _invoke(project, folder, command, manifest).result
    if not isinstance(result, RunExecutionResult):
        raise ModelError(f"dbt compiled nothing of {project}: {one_line(str(result))}")
    nodes: list[Any] = [each.node for each in result.results]
    # Results have inlined models where a selection names them. No statement writes these.
    return {
        node.unique_id: _Compiled(node, RELATION.sub(r"\1.\2", node.compiled_code or ""))
        for node in nodes
        if str(node.resource_type) in _KINDS and node.config.materialized != "ephemeral"
    }


def _read(
    key: str, read_by: Mapping[str, list[str]], written: Mapping[str, str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the models and seeds that a node reads, and the lake's tables, also where an inlined model reads them."""
    models: set[str] = set()
    tables: set[str] = set()
    seen: set[str] = set()
    pending = list(read_by.get(key, []))
    while pending:
        key = pending.pop()
        if key in written:
            models.add(written[key])
        elif key.startswith("source."):
            tables.add(key.rpartition(".")[2])
        elif key not in seen:
            seen.add(key)
            pending += read_by.get(key, [])
    return frozenset(models), frozenset(tables)


def _statement(
    project: Path, compiled: _Compiled, after: frozenset[str], lake_tables: frozenset[str], added: _Compiled | None
) -> Statement:
    node = compiled.node
    kind, config = _KINDS[str(node.resource_type)], node.config
    fields: dict[str, Any] = {"sql": compiled.sql}
    if kind == "seed":
        content = (project / node.original_file_path).read_bytes()
        fields = {"sql": "", "columns": dict(config.column_types), "digest": hashlib.sha256(content).hexdigest()}
    elif kind == "model":
        if config.materialized not in _STORED:
            raise ModelError(f"{node.name} is materialized as {config.materialized}; expected {', '.join(_STORED)}")
        fields["storage"] = _STORED[config.materialized]
        if config.contract.enforced:
            fields["columns"] = {name: column.data_type for name, column in node.columns.items()}
        if added is not None:
            fields |= {
                "added_sql": added.sql,
                "outdated": config.meta.get("outdated", ""),
                "outdated_after": config.meta.get("outdated_after", False),
            }
    else:
        set_otherwise = [name for name, usual in _OF_TESTS.items() if getattr(config, name) != usual]
        if set_otherwise:
            raise ModelError(f"test {node.name} sets {', '.join(set_otherwise)}, which the runner does not know")
        fields |= {
            "only_warns": config.severity.lower() == "warn",
            "of_history": HISTORY in config.tags,
            "meta": {name: config.meta[name] for name in ("warning", "advice") if name in config.meta},
        }
    return Statement(
        name=node.name if kind == "test" else node.alias,
        kind=kind,
        relation=f"{node.schema}.{node.alias}",
        path=node.original_file_path,
        after=after,
        lake_tables=lake_tables,
        **fields,
    )


def _views(marts: list[dict[str, Any]], models: Mapping[str, Statement]) -> Iterator[Statement]:
    """Yield the marts that are views over a table of measures; ``models`` are the statements of models by relation."""
    by_name = {node["name"]: node for node in marts}
    for node in marts:
        group = _meta(node).get("dimensions")
        if group is not None:
            yield view_of(node, models[f"{node['schema']}.{node['alias']}"], by_name[SOURCES[group]])


def _meta(node: dict[str, Any]) -> dict[str, Any]:
    return dict(node.get("config", {}).get("meta") or node.get("meta") or {})


def _is_required(column: dict[str, Any]) -> bool:
    return any(constraint.get("type") == "not_null" for constraint in column.get("constraints") or [])


def mart_nodes(manifest: dict[str, Any], project: Path) -> list[dict[str, Any]]:
    """Return the nodes of a dbt manifest that are marts, with all columns that the marts have.

    Raises
    ------
    ModelError
        If a mart names dimensions that there are not, or states them itself.
    """
    models = (node for node in manifest["nodes"].values() if node["resource_type"] == "model")
    marts = {
        node["name"]: node
        for node in models
        if node["schema"] == MART_LAYER and node["config"].get("materialized") != "ephemeral"
    }
    if not any(_meta(node).get("dimensions") for node in marts.values()):
        return list(marts.values())
    try:
        dictionary = read_dictionary(project)
        return [
            node if _meta(node).get("dimensions") is None else with_dimensions(node, marts, dictionary)
            for node in marts.values()
        ]
    except ColumnError as error:
        raise ModelError(str(error)) from error


def marts_in(nodes: list[dict[str, Any]]) -> list[Mart]:
    """Return the marts that nodes of a dbt manifest declare, by name; see :func:`mart_nodes`.

    Raises
    ------
    ModelError
        If a mart lacks its grain or its key, or has another period than a day or a month.
    """
    marts = []
    for node in nodes:
        meta = _meta(node)
        if not meta.get("grain") or not meta.get("key"):
            raise ModelError(f"mart {node['name']}: config.meta needs grain and key")
        if meta.get("period") not in (None, *PERIODS):
            raise ModelError(f"mart {node['name']}: config.meta.period is one of {', '.join(PERIODS)}")
        columns = [
            MartColumn(
                name=column["name"],
                unit=_meta(column).get("unit"),
                description=" ".join(column["description"].split()),
                nullable=not (column["name"] in meta["key"] or _is_required(column)),
            )
            for column in node["columns"].values()
        ]
        marts.append(
            Mart(
                name=node["name"],
                description=" ".join(node["description"].split()),
                grain=meta["grain"],
                key=tuple(meta["key"]),
                columns=tuple(columns),
                period=meta.get("period"),
                subject=Path(node["path"]).parts[0],
            )
        )
    return sorted(marts, key=lambda mart: mart.name)
