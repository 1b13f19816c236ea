"""The project as statements of an engine that dbt does not talk with: the one place that knows dbt's adapter for it.

dbt reads the project, renders each model and data test in the engine's dialect, and orders them. It opens no
connection. Who runs the statements reads :class:`Statement` alone, so an adapter that is replaced, or another compiler,
is a change of this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sojourn_transforms.dbt.invocation import ENGINE_VARIABLE, environment, results_of
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
    ``after`` names the models and seeds that must have been written. ``path`` is below the project.
    """

    name: str
    kind: Kind
    sql: str
    relation: str
    path: str
    after: frozenset[str]
    columns: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    test: Test = field(default_factory=Test)
    meta: Mapping[str, Any] = field(default_factory=dict)


def compiled_statements(
    project: Path, folder: Path, engine: str, *, select: str | None = None, tests: bool = True
) -> list[Statement]:
    """Return the statements of a project, or of a selection in dbt's words, for an engine.

    ``engine`` is a target of the project's profile. ``folder`` then holds dbt's manifest and log. Models that are part
    of the statements that use them (ephemeral) are not among the statements.

    Raises
    ------
    DbtError
        If dbt finds the project at fault, or a model is to be kept in a way that only dbt knows.
    """
    # Without a look at the database: no statement of this project depends on what is there.
    command = ["compile", "--no-populate-cache", "--no-introspect"]
    with environment(**{ENGINE_VARIABLE: engine}):
        nodes = {result.node.unique_id: result.node for result in results_of(project, folder, command, select)}
    inlined = {key for key, node in nodes.items() if node.config.materialized == "ephemeral"}
    written = {key for key, node in nodes.items() if str(node.resource_type) in ("model", "seed")} - inlined
    return [
        _statement(node, _after(node, nodes, written), project)
        for key, node in nodes.items()
        if key in written or (tests and str(node.resource_type) == "test")
    ]


def _after(node: Any, nodes: Mapping[str, Any], written: set[str]) -> frozenset[str]:
    """Return what is written before a node, also where only what is inlined in it needs it."""
    found: set[str] = set()
    looked_at: set[str] = set()
    open_keys = list(node.depends_on_nodes)
    while open_keys:
        key = open_keys.pop()
        if key in written:
            found.add(nodes[key].name)
        elif key in nodes and key not in looked_at:
            looked_at.add(key)
            open_keys += nodes[key].depends_on_nodes
    return frozenset(found)


def _statement(node: Any, after: frozenset[str], project: Path) -> Statement:
    relation = f"{node.schema}.{node.alias}"
    if str(node.resource_type) == "seed":
        return Statement(
            node.name, "seed", "", relation, node.original_file_path, after,
            columns=dict(node.config.column_types), file=project / node.original_file_path,
        )  # fmt: skip
    if str(node.resource_type) == "model":
        if node.config.materialized != "table":
            raise DbtError(f"{node.name} is materialized as {node.config.materialized}; this engine writes tables only")
        contract = {name: column.data_type for name, column in node.columns.items()}
        columns = contract if node.config.contract.enforced else {}
        return Statement(node.name, "model", node.compiled_code, relation, node.original_file_path, after, columns)
    settings = node.config
    test = Test(
        settings.fail_calc,
        settings.warn_if,
        settings.error_if,
        settings.limit,
        only_warns=settings.severity.lower() == "warn",
    )
    return Statement(
        node.name, "test", node.compiled_code, relation, node.original_file_path, after, test=test, meta=settings.meta
    )
