"""A session of Spark and a warehouse of DuckDB, as the engines of the same runner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.runner import Progress, RunReport, lake_contents_of, run_statements
from sojourn_transforms.running.statements import Statement
from sojourn_transforms.spark.session import SparkSettings, spark_session
from sojourn_transforms.spark.tables import SparkTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class OnEngine:
    """The runner on one engine, over a lake without a row."""

    name: str
    tables: Any
    contents: dict[str, str]
    session: Any = None
    connection: Any = None

    def run(self, *statements: Statement, **options: Any) -> RunReport:
        self.steps: list[Progress] = []
        return run_statements(self.tables, statements, self.contents, self.steps.append, **options)

    def rows(self, relation: str) -> list[tuple[Any, ...]]:
        if self.session is not None:
            return sorted(map(tuple, self.session.table(relation).collect()))
        return sorted(self.connection.sql(f"select * from {relation}").fetchall())


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = SparkSettings("local[2]", {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"})
    with spark_session(Paths(tmp_path_factory.mktemp("spark")), settings) as held:
        yield held


@pytest.fixture
def duckdb_engine(tmp_path: Path) -> Iterator[OnEngine]:
    lake = Lake(tmp_path / "lake")
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
        tables = DuckDbTables(connection, tmp_path)
        yield OnEngine("duckdb", tables, lake_contents_of(lake, TABLES), connection=connection)


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> OnEngine:
    """Return each engine."""
    if request.param == "duckdb":
        on_duckdb: OnEngine = request.getfixturevalue("duckdb_engine")
        return on_duckdb
    session, lake = request.getfixturevalue("session"), Lake(tmp_path / "lake")
    return OnEngine("spark", SparkTables(session, lake, tmp_path), lake_contents_of(lake, TABLES), session=session)
