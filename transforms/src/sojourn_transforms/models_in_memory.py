"""Single models of the project over one lake, each computed when it is first asked for, in a database in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from sojourn_ingest.lake import Lake
from sojourn_ingest.schema import TABLES
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.running.duckdb_tables import DuckDbTables, first_lines
from sojourn_transforms.running.statements import ModelError
from sojourn_transforms.warehouse import LAKE_SCHEMA, lake_view_sql


class UnknownModelError(LookupError):
    """The project has no model or seed of a name."""


class ModelsInMemory:
    """Models of a project over the live facts of one lake, each computed at most once, by the runner's DuckDB.

    ``project`` is the folder of the dbt project. Nothing of the lake is written to disk.
    """

    def __init__(self, project: Path, lake: Lake) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"create schema {LAKE_SCHEMA}")
        self._tables = DuckDbTables(self.connection, project)
        self._lake = lake
        self._project = project
        self._statements = {
            each.name: each for each in compiled_project(project, "duckdb").statements if each.kind != "test"
        }
        self._made: set[str] = set()
        self._lake_views: set[str] = set()

    def table(self, name: str) -> str:
        """Return the name of a relation that holds a model or seed, after computing it with all that it needs.

        Raises
        ------
        UnknownModelError
            If the project has none of this name.
        ModelError
            If DuckDB cannot compute it.
        """
        if name not in self._statements:
            raise UnknownModelError(f"{self._project} has no model or seed {name!r}")
        statement = self._statements[name]
        if name not in self._made:
            for read in sorted(statement.after):
                self.table(read)
            for table in statement.lake_tables - self._lake_views:
                self.connection.execute(lake_view_sql(TABLES[table], self._lake))
                self._lake_views.add(table)
            try:
                self._tables.make(statement)
            except duckdb.Error as error:
                raise ModelError(f"{name}: {first_lines(error)}") from error
            self._made.add(name)
        return statement.relation

    def put(self, name: str, select: str) -> None:
        """Give a model the rows of a statement instead of computing it."""
        self.connection.execute(f"create table {self._statements[name].relation} as {select}")
        self._made.add(name)

    def rows(self, name: str, where: str = "true", order: str = "all") -> list[dict[str, Any]]:
        """Return the rows of a model as dictionaries, in the order of ``order``."""
        return self._rows(f"select * from {self.table(name)} where {where} order by {order}")

    def select(self, statement: str, *models: str) -> list[dict[str, Any]]:
        """Return the rows of a statement over relations ``{name}``, each a model that is computed first."""
        return self._rows(statement.format(**{name: self.table(name) for name in models}))

    def layer(self, name: str) -> str:
        """Return the folder that a model is in: staging, intermediate or marts; of a seed, seeds."""
        return self._statements[name].layer

    def close(self) -> None:
        """Give the database's memory back."""
        self.connection.close()

    def _rows(self, sql: str) -> list[dict[str, Any]]:
        result = self.connection.execute(sql)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
