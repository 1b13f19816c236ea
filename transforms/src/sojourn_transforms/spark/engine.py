"""A build on Spark: the same dbt project in a session of this process, the marts as Parquet in Spark's warehouse."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_ingest.schema import TABLES
from sojourn_process.parquet_sql import path_pattern
from sojourn_transforms.engine import OnProgress, with_statistics
from sojourn_transforms.mart import MART_LAYER
from sojourn_transforms.mart_files import Parts
from sojourn_transforms.running.runner import RunReport, lake_contents_of, run_statements
from sojourn_transforms.running.statements import Compiled, EngineName
from sojourn_transforms.spark.java_options import names_collector, of_this_machine
from sojourn_transforms.spark.lake_views import register_lake
from sojourn_transforms.spark.session import SparkSettings, is_set_elsewhere, spark_session
from sojourn_transforms.spark.sized_sessions import lake_bytes

#: Lakes of less are built in minutes, in which Java's second compiler and a collector of many threads gain nothing.
SMALL_LAKE_BYTES = 256 * 2**20
SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=512m"
SIMPLE_COLLECTOR = "-XX:+UseSerialGC"

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _of_a_small_lake(settings: Mapping[str, str]) -> dict[str, str]:
    if is_set_elsewhere():
        return {}
    has_collector = names_collector(of_this_machine(settings.get("spark.driver.extraJavaOptions", "")))
    return {
        "spark.driver.defaultJavaOptions": SHORT_LIVED_JAVA + ("" if has_collector else f" {SIMPLE_COLLECTOR}"),
        # Each map of groups, sort and broadcast takes at least a page: Spark's 64 MiB are for much data, and fill the
        # heap.
        "spark.buffer.pageSize": "1m",
    }


class SparkEngine:
    """One machine or a cluster: Spark reads the lake and builds the marts, which are published from this machine."""

    name: EngineName = "spark"
    memory: str | None = None

    def __init__(self, paths: Paths, settings: SparkSettings) -> None:
        self._paths = paths
        self._settings = settings
        self._session: SparkSession | None = None

    @property
    def session(self) -> SparkSession:
        """The session of this build; only within ``running()``."""
        if self._session is None:
            raise RuntimeError("the engine is not running")
        return self._session

    @property
    def marts_file(self) -> Path:
        """A DuckDB file of views over the Parquet files that Spark wrote."""
        return self._paths.spark / "exposed.duckdb"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold a Spark session; over a small lake, whose build ends soon, with a Java that compiles quickly."""
        settings = self._settings
        if sum(lake_bytes(self._paths.open_lake(), TABLES).values()) <= SMALL_LAKE_BYTES:
            settings = replace(settings, conf={**_of_a_small_lake(settings.conf), **settings.conf})
        with spark_session(self._paths, settings, keeps_classes=True) as session:
            self._session = session
            try:
                yield
            finally:
                self._session = None
                # Rows of the lake, which a host that is forgotten must not outlive.
                shutil.rmtree(self._paths.spark / "little", ignore_errors=True)

    def build_marts(self, compiled: Compiled, lake: Lake, on_progress: OnProgress, force: bool) -> RunReport:
        """Run the compiled project over views of the lake's live files, and make its tables readable for DuckDB.

        Everything is built, whether ``force`` says so or not.
        """
        from sojourn_transforms.spark.tables import SparkTables, empty_warehouse

        register_lake(self.session, lake, self._paths.spark / "little")
        empty_warehouse(self.session)
        tables = SparkTables(self.session, lake, compiled.project)
        contents = lake_contents_of(lake, TABLES)
        report = run_statements(tables, with_statistics(compiled), contents, on_progress, force=force)
        self._expose_marts(compiled)
        return report

    @property
    def is_full(self) -> bool:
        """Always: every build on Spark counts all connections."""
        return True

    def parts_by_day(self) -> Parts:
        """Return none: each mart is one file, and a new one at every build."""
        return {}

    def _expose_marts(self, compiled: Compiled) -> None:
        from sojourn_transforms.spark.tables import warehouse_of

        layer = warehouse_of(self.session) / f"{MART_LAYER}.db"
        self.marts_file.parent.mkdir(parents=True, exist_ok=True)
        self.marts_file.unlink(missing_ok=True)
        with duckdb.connect(str(self.marts_file)) as connection:
            connection.execute(f"create schema {MART_LAYER}")
            for folder in sorted(path for path in layer.iterdir() if path.is_dir()):
                pattern = f"{path_pattern(folder)}/*.parquet".replace("'", "''")
                rows = f"read_parquet('{pattern}', hive_partitioning = false)"
                connection.execute(f'create view {MART_LAYER}."{folder.name}" as select * from {rows}')
            for statement in compiled.statements:
                if statement.kind == "mart":
                    connection.execute(f"create view {statement.relation} as {statement.sql}")
