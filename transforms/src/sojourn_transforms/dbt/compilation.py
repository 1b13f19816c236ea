"""The project as statements of an engine that dbt does not talk with: the one place that knows dbt's adapter for it.

dbt reads the project, renders each model and data test in the engine's dialect, and orders them. It opens no
connection. Who runs the statements reads :class:`Statement` alone, so an adapter that is replaced, or another compiler,
is a change of this module.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

from sojourn_transforms.dbt.fingerprint import models_fingerprint
from sojourn_transforms.dbt.invocation import ENGINE_VARIABLE, environment, manifest_path, results_of
from sojourn_transforms.dbt.results import DbtError

Kind = Literal["model", "seed", "test"]


@dataclass(frozen=True)
class Test:
    """When the rows that a test's statement selects are a failure or a warning, as expressions of SQL."""

    count: str = "count(*)"
    warn_if: str = "!= 0"
    error_if: str = "!= 0"
    limit: int | None = None
    only_warns: bool = False


@dataclass(frozen=True)
class Statement:
    """One model, seed or data test.

    ``sql`` selects the model's rows, or the rows at which a test fails; a seed's are in the CSV file ``file``, with the
    types of ``columns``. Of a model, ``columns`` are those of its contract, in their order; empty if it has none.
    ``after`` names the models and seeds that it reads, which are written before, and ``lake_tables`` those of the lake.
    ``path`` is below the project.
    """

    name: str
    kind: Kind
    sql: str
    relation: str
    path: str
    after: frozenset[str]
    lake_tables: frozenset[str]
    columns: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    test: Test = field(default_factory=Test)
    meta: Mapping[str, Any] = field(default_factory=dict)


def compiled_statements(
    project: Path, folder: Path, engine: str, *, select: str | None = None, tests: bool = True
) -> list[Statement]:
    """Return the statements of a project, or of a selection in dbt's words, for an engine.

    ``engine`` is a target of the project's profile. ``folder`` then holds dbt's manifest and log, and the statements:
    dbt is asked again when the project, its settings or dbt itself changed. Models that are part
    of the statements that use them (ephemeral) are not among the statements.

    Raises
    ------
    DbtError
        If dbt finds the project at fault, or a model is to be kept in a way that only dbt knows.
    """
    adapters = [f"{name} {version(name)}" for name in ("dbt-core", f"dbt-{engine}")]
    told = json.dumps([models_fingerprint(project), engine, select, tests, *adapters])
    kept = folder / f"{engine}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.json"
    if kept.exists() and manifest_path(folder).exists():
        listed = json.loads(kept.read_text(encoding="utf-8"))
        return [_from_text(item, project) for item in listed]
    statements = _compile(project, folder, engine, select, tests)
    for outdated in folder.glob(f"{engine}-*.json"):
        outdated.unlink(missing_ok=True)
    written = kept.with_name(f".{kept.name}.{os.getpid()}")
    written.write_text(json.dumps([_to_text(statement) for statement in statements]), encoding="utf-8")
    written.replace(kept)
    return statements


def _compile(project: Path, folder: Path, engine: str, select: str | None, tests: bool) -> list[Statement]:
    # Without a look at the database: no statement of this project depends on what is there.
    command = ["compile", "--no-populate-cache", "--no-introspect"]
    with environment(**{ENGINE_VARIABLE: engine}):
        results = results_of(project, folder, command, select)
    # Results have inlined models where a selection names them. No statement writes these.
    nodes = {each.node.unique_id: each.node for each in results if each.node.config.materialized != "ephemeral"}
    manifest = json.loads(manifest_path(folder).read_text(encoding="utf-8"))["nodes"]
    read_by = {key: node["depends_on"].get("nodes", []) for key, node in manifest.items()}
    written = {key: node.name for key, node in nodes.items() if str(node.resource_type) in ("model", "seed")}
    return [
        _statement(node, *_read(key, read_by, written), project)
        for key, node in nodes.items()
        if key in written or (tests and str(node.resource_type) == "test")
    ]


def _to_text(statement: Statement) -> dict[str, Any]:
    lists = {"after": sorted(statement.after), "lake_tables": sorted(statement.lake_tables)}
    return asdict(replace(statement, file=None)) | lists


def _from_text(item: dict[str, Any], project: Path) -> Statement:
    sets = {name: frozenset(item[name]) for name in ("after", "lake_tables")}
    file = project / item["path"] if item["kind"] == "seed" else None
    return Statement(**(item | sets | {"file": file, "test": Test(**item["test"])}))


def _read(
    key: str, read_by: Mapping[str, list[str]], written: Mapping[str, str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the models and seeds that a node reads, and the lake's tables, also where an inlined model reads them."""
    models: set[str] = set()
    tables: set[str] = set()
    looked_at: set[str] = set()
    open_keys = list(read_by.get(key, []))
    while open_keys:
        key = open_keys.pop()
        if key in written:
            models.add(written[key])
        elif key.startswith("source."):
            tables.add(key.rpartition(".")[2])
        elif key not in looked_at:
            looked_at.add(key)
            open_keys += read_by.get(key, [])
    return frozenset(models), frozenset(tables)


def _statement(node: Any, after: frozenset[str], lake_tables: frozenset[str], project: Path) -> Statement:
    kind = str(node.resource_type)
    columns: dict[str, str] = {}
    file = None
    test = Test()
    if kind == "seed":
        columns, file = dict(node.config.column_types), project / node.original_file_path
    elif kind == "model":
        if node.config.materialized != "table":
            raise DbtError(f"{node.name} is materialized as {node.config.materialized}; this engine writes tables only")
        if node.config.contract.enforced:
            columns = {name: column.data_type for name, column in node.columns.items()}
    else:
        settings = node.config
        test = Test(
            settings.fail_calc,
            settings.warn_if,
            settings.error_if,
            settings.limit,
            only_warns=settings.severity.lower() == "warn",
        )
    return Statement(
        name=node.name,
        kind=cast("Kind", kind),
        sql="" if file else node.compiled_code,
        relation=f"{node.schema}.{node.alias}",
        path=node.original_file_path,
        after=after,
        lake_tables=lake_tables,
        columns=columns,
        file=file,
        test=test,
        meta=node.config.meta,
    )
