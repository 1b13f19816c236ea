"""Single models of the dbt project, computed without dbt in a database that is thrown away.

dbt takes seconds to read the project before it computes anything, and then builds everything. Here the same files are
rendered by the same template engine, and a model is computed when it, or one that selects from it, is first asked for.
So a definition is written once, and what is computed here equals what a build publishes.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import yaml

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.schema import TABLES

#: Tests of data, and what asks dbt whether a table is there; they use what only dbt knows.
NOT_MACROS = ("generic_tests", "is_incremental.sql")
SCHEMA = "models"


class UnknownModelError(LookupError):
    """The project has no model, seed or lake table of a name."""


class ModelsInMemory:
    """Models of a dbt project over the live facts of one lake, each computed at most once, on DuckDB.

    ``project`` is the folder of the dbt project. Nothing is written to disk.
    """

    def __init__(self, project: Path, lake: Lake) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"create schema lake; create schema {SCHEMA}")
        self._lake = lake
        self._made: set[str] = set()
        self._project = project
        self._models = {path.stem: path for layer in _LAYERS for path in (project / layer).rglob("*.sql")}
        self._seeds = {path.stem: path for path in (project / "seeds").rglob("*.csv")}
        self._types: dict[str, Mapping[str, str]] | None = None
        self._environment = _environment(self._relation, self._source)
        _add_macros(project, self._environment)

    def table(self, name: str) -> str:
        """Return the name of a relation that holds a model or seed, after computing it with all that it needs.

        Raises
        ------
        UnknownModelError
            If the project has none of this name.
        """
        return self._relation(name)

    def rows(self, name: str, where: str = "true", order: str = "all") -> list[dict[str, Any]]:
        """Return the rows of a model as dictionaries, in the order of ``order``."""
        result = self.connection.execute(f"select * from {self.table(name)} where {where} order by {order}")
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def select(self, statement: str, *models: str) -> list[dict[str, Any]]:
        """Return the rows of a statement over relations ``{name}``, each a model that is computed first."""
        relations = {name: self.table(name) for name in models}
        result = self.connection.execute(statement.format(**relations))
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def layer(self, name: str) -> str:
        """Return the folder that a model is in: staging, intermediate or marts; of a seed, seeds."""
        path = self._models.get(name) or self._seeds[name]
        return path.relative_to(self._project).parts[0]

    def close(self) -> None:
        """Give the database's memory back."""
        self.connection.close()

    def _relation(self, name: str) -> str:
        relation = f'{SCHEMA}."{name}"'
        if name in self._made:
            return relation
        if name in self._models:
            path = self._models[name]
            statement = self._environment.from_string(path.read_text(encoding="utf-8")).render()
            # Staging renames what the lake has: a copy would hold every packet in memory.
            kind = "view" if self.layer(name) == "staging" else "table"
            self.connection.execute(f"create {kind} {relation} as {statement}")
        elif name in self._seeds:
            self._load_seed(relation, name, self._seeds[name])
        else:
            raise UnknownModelError(f"{self._project} has no model or seed {name!r}")
        self._made.add(name)
        return relation

    def _source(self, schema: str, name: str) -> str:
        if name not in TABLES:
            raise UnknownModelError(f"the lake has no table {name!r}")
        if f"{schema}.{name}" not in self._made:
            self.connection.execute(f'create view lake."{name}" as {live_rows_sql(TABLES[name], self._lake)}')
            self._made.add(f"{schema}.{name}")
        return f'lake."{name}"'

    def _load_seed(self, relation: str, name: str, path: Path) -> None:
        if self._types is None:
            self._types = _column_types(self._project / "seeds")
        types = self._types.get(name, {})
        with path.open(newline="", encoding="utf-8") as handle:
            header = next(csv.reader(handle))
        # As dbt does: a column without a declared type is guessed.
        declared = ", ".join(f"'{column}': '{types[column]}'" for column in header if column in types)
        options = f", types = {{{declared}}}" if declared else ""
        self.connection.execute(
            f"create table {relation} as select * from read_csv(?, header = true, delim = ',', quote = '\"'"
            f", nullstr = ''{options})",
            [str(path)],
        )


_LAYERS = ("staging", "intermediate", "marts")


class _Adapter:
    """What macros ask dbt for: the macro of this engine."""

    def __init__(self, environment: jinja2.Environment) -> None:
        self._environment = environment

    def dispatch(self, name: str, package: str) -> Any:
        """Return the macro of DuckDB, which is the default of each macro of this project."""
        found = self._environment.globals
        return found.get(f"duckdb__{name}") or found[f"default__{name}"]


class _Target:
    type = "duckdb"


def _environment(ref: Callable[[str], str], source: Callable[[str, str], str]) -> jinja2.Environment:
    environment = jinja2.Environment(
        extensions=["jinja2.ext.do"],
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - what is rendered is SQL
    )
    environment.globals |= {
        "ref": ref,
        "source": source,
        "adapter": _Adapter(environment),
        "target": _Target(),
        "is_incremental": lambda: False,
        "config": lambda **_settings: "",
        "var": lambda _name, default=None: default,
        "return": _return,
    }
    return environment


def _add_macros(project: Path, environment: jinja2.Environment) -> None:
    """Make every macro of the project a global, as it is in dbt, so that each finds those of other files."""
    for path in sorted((project / "macros").rglob("*.sql")):
        if _is_left_out(path):
            continue
        template = environment.from_string(path.read_text(encoding="utf-8"))
        # Shared, so that a macro sees globals that later files add.
        module = template.make_module(environment.globals, shared=True)
        for name, value in vars(module).items():
            if isinstance(value, jinja2.runtime.Macro):
                environment.globals[name] = _Returning(value)


class _Returned(Exception):  # noqa: N818 - not an error: what `return` of a macro hands to its caller
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Returning:
    """A macro whose ``return`` gives a value instead of its text, as in dbt."""

    def __init__(self, macro: Callable[..., Any]) -> None:
        self._macro = macro

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        try:
            return self._macro(*arguments, **named)
        except _Returned as returned:
            return returned.value


def _return(value: Any) -> None:
    raise _Returned(value)


def _is_left_out(path: Path) -> bool:
    return any(part in NOT_MACROS for part in path.parts)


def _column_types(seeds: Path) -> dict[str, Mapping[str, str]]:
    types = {}
    for path in seeds.rglob("*.yml"):
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
        for seed in document.get("seeds", []):
            types[seed["name"]] = seed.get("config", {}).get("column_types", {})
    return types
