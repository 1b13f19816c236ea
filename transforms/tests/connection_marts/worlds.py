"""Worlds of known truth, ingested and built into the marts of connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_ingest.session import IngestSession, files_below
from sojourn_ingest.synthetic.connection_files import FIRST_DAY, FORMAT_KEY, FORMAT_VERSION, write_world
from sojourn_ingest.synthetic.connection_rows import connection_schema, day_batches
from sojourn_ingest.synthetic.connection_world import ConnectionWorld
from sojourn_transforms.mart import MART_LAYER
from sojourn_transforms.mart_files import Origin
from sojourn_transforms.publishing import publish_snapshot
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.runner import RunReport, definitions_of, lake_contents_of, run_statements
from sojourn_transforms.running.statements import Compiled
from sojourn_transforms.warehouse import open_warehouse, parts_by_day, register_lake

CONNECTION_MARTS = "marts/connection"


@dataclass
class Installation:
    """A lake with its warehouse, in which only the marts of connections are built."""

    paths: Paths
    project: Path
    models: tuple[str, ...] = ()
    """What is built with all that it needs; the marts of connections if none is named."""

    def ingest(self, *sources: Path, enrichment: Enrichment | None = None) -> None:
        lake = Lake(self.paths.lake)
        pseudonymiser = Pseudonymiser(b"key", "pseudonymise")
        session = IngestSession(lake, pseudonymiser, enrichment=enrichment or Enrichment())
        with lake.writing():
            attempts = session.run(files_below(sources), lambda _: None)
        assert [a.commit.status for a in attempts] == ["ok"] * len(attempts)

    @property
    def compiled(self) -> Compiled:
        compiled = compiled_project(self.project, "duckdb")
        return compiled.of(self.models) if self.models else compiled.below(CONNECTION_MARTS)

    def build(self, full: bool = False, models: tuple[str, ...] | None = None) -> RunReport:
        """Build the marts of connections, or only some models without their tests."""
        statements = list(self.compiled.statements)
        if models is not None:
            statements = [each for each in self.compiled.of(models).statements if each.kind != "test"]
        lake = Lake(self.paths.lake)
        with open_warehouse(self.paths.warehouse, None) as connection:
            tables = DuckDbTables(connection, self.project)
            contents = lake_contents_of(lake, TABLES)
            register_lake(connection, lake, contents)
            return run_statements(tables, statements, contents, lambda _: None, from_scratch=full)

    def check_history(self) -> None:
        """Run the data tests that builds omit because they read everything."""
        tests = [each for each in self.compiled.statements if each.of_history]
        assert len(tests) > 5
        with open_warehouse(self.paths.warehouse, None) as connection:
            failures = DuckDbTables(connection, self.project).failures(tests)
        assert {test.name: n for test, n in zip(tests, failures, strict=True) if n} == {}

    def publish(self, full: bool = False) -> str:
        """Publish the marts of connections and return the build id, a hash of their bytes."""
        chosen = {each.name for each in self.compiled.statements if each.path.startswith(CONNECTION_MARTS)}
        marts = [mart for mart in self.compiled.marts if mart.name in chosen]
        assert len(marts) >= 11
        definitions = definitions_of(self.compiled.statements)
        origins = {mart.name: Origin(definition=definitions[mart.name]) for mart in marts}
        parts = parts_by_day(self.paths.warehouse)
        build_id, _ = publish_snapshot(
            self.paths.warehouse, MART_LAYER, marts, {}, self.paths.snapshots, origins=origins, parts=parts, full=full
        )
        return build_id

    @contextmanager
    def warehouse(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect(str(self.paths.warehouse), read_only=True) as connection:
            yield connection

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with self.warehouse() as connection:
            rows: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
        return rows

    def value(self, sql: str) -> Any:
        (row,) = self.rows(sql)
        (value,) = row.values()
        return value


def write_day(path: Path, seed: int, day: int, rows: int, dataset: str) -> None:
    """Write one more file of connections of a day, as from another server."""
    batches = list(day_batches(ConnectionWorld(rows, seed), dataset, FIRST_DAY, day, rows))
    schema = connection_schema().with_metadata({FORMAT_KEY: FORMAT_VERSION})
    table = pa.Table.from_batches(batches).replace_schema_metadata(schema.metadata)
    pq.write_table(table, path)


def day_file(folder: Path, day: int) -> Path:
    return folder / f"connections-{FIRST_DAY + timedelta(days=day)}.parquet"


def day_of(number: int) -> date:
    return FIRST_DAY + timedelta(days=number)


def world_installation(var: Path, project: Path, world: ConnectionWorld, days: int) -> Installation:
    """Return an installation with a world in its lake, not built yet."""
    installation = Installation(Paths(var), project)
    write_world(world, days, var / "world", 2, lambda _: None)
    installation.ingest(var / "world")
    return installation
