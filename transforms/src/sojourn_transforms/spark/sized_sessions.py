"""Two sessions over the same tables: one with settings for much data, one for the many statements over little.

Of a statement over a few thousand rows, Spark spends its time on writing and compiling Java for it, and on making
tasks and jobs of each step. Interpreted, in one task a step, the same statement takes a fraction of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn_ingest.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sojourn_transforms.running.statements import Statement

#: Parquet of at most so many bytes is little: some 50,000 rows.
LITTLE_BYTES = 2 * 2**20
FOR_LITTLE: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Each exchange would be a job of its own, after which the rest is planned again.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}


class SizedSessions:
    """Chooses by the size of what a statement reads; it is told of every table that is written.

    ``lake_bytes`` are the sizes of the lake's tables.
    """

    def __init__(self, session: SparkSession, lake_bytes: Mapping[str, int]) -> None:
        self.usual = session
        self._little = session.newSession()
        for name, value in FOR_LITTLE.items():
            self._little.conf.set(name, value)
        self._lake_bytes = lake_bytes
        self._written_bytes: dict[str, int] = {}

    def session_of(self, *statements: Statement) -> SparkSession:
        """Return the session for statements that are run at once."""
        models = {name for statement in statements for name in statement.after}
        tables = {name for statement in statements for name in statement.lake_tables}
        size = sum(self._written_bytes[name] for name in models) + sum(self._lake_bytes[name] for name in tables)
        return self._little if size <= LITTLE_BYTES else self.usual

    def note(self, statement: Statement) -> None:
        """Keep the size of a table that was written; where its files are out of this process's reach it is much."""
        schema, _, table = statement.relation.partition(".")
        warehouse = str(self.usual.conf.get("spark.sql.warehouse.dir"))
        size = LITTLE_BYTES + 1
        if warehouse.startswith("file:"):
            folder = Path("/" + warehouse.removeprefix("file:").lstrip("/")) / f"{schema}.db" / table
            size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        self._written_bytes[statement.name] = size


def lake_bytes(lake: Lake, tables: Mapping[str, object]) -> dict[str, int]:
    """Return the bytes of the live files of each table."""
    sizes = dict.fromkeys(tables, 0)
    for commit in lake.live():
        for file in commit.files:
            sizes[file.table] = sizes.get(file.table, 0) + file.size_bytes
    return sizes
