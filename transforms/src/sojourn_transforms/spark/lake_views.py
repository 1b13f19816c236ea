"""The lake as Spark's temporary views: each table over exactly the files that are live, in the declared columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn_ingest.lake import Lake
from sojourn_ingest.schema import TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def lake_frame(session: SparkSession, lake: Lake, table: Table) -> DataFrame:
    """Return one lake table; a column that an older decoder's files lack is null in their rows."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(table.arrow_schema())
    files = [str(path) for path in lake.files(table.name)]
    return session.read.schema(schema).parquet(*files) if files else session.createDataFrame([], schema)


def register_lake(session: SparkSession, lake: Lake) -> None:
    """Make every lake table the view ``global_temp.<table>``, over the files that are live now."""
    for table in TABLES.values():
        lake_frame(session, lake, table).createOrReplaceGlobalTempView(table.name)
