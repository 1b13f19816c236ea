"""The lake as Spark's temporary views: each table over exactly what is live, in the declared columns."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake import Lake, open_storage
from sojourn_ingest.lake.live_rows_sql import hidden_rows_sql, live_rows_sql
from sojourn_ingest.lake.storage import FolderStorage
from sojourn_ingest.schema import TABLES, Table
from sojourn_transforms.spark.sized_sessions import LITTLE_BYTES, lake_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The classes by which Spark itself reads a store, by the scheme of a lake there.
HADOOP_CLASSES = {
    "s3a": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "gs": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
    "abfs": "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
    "abfss": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
}


def _spark_reads(session: SparkSession, lake: Lake) -> bool:
    if isinstance(lake.storage, FolderStorage):
        return True
    name = HADOOP_CLASSES.get(lake.storage.uri.partition(":")[0])
    if name is None:
        return False
    from py4j.protocol import Py4JJavaError

    java = session.sparkContext._jvm.java.lang
    try:
        # Classes of spark.jars.packages are known to the loader of Spark's threads, and not to that of the connection.
        java.Class.forName(name, False, java.Thread.currentThread().getContextClassLoader())
    except Py4JJavaError:
        return False
    return True


def _read_by_spark(session: SparkSession, lake: Lake, table: Table, names: list[str]) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    # The declared columns: one that an older decoder's files lack is null in their rows.
    schema = from_arrow_schema(table.arrow_schema())
    return session.read.schema(schema).parquet(*(f"{lake.storage.uri}/{name}" for name in names))


def _read_by_tasks(session: SparkSession, lake: Lake, table: Table, names: list[str]) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    uri, schema = lake.storage.uri, table.arrow_schema()

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        storage = open_storage(uri)
        for batch in batches:
            for name in batch.column("name").to_pylist():
                copy = storage.local(name)
                for group in pq.ParquetFile(copy).iter_batches():
                    yield _as_declared(group, schema)
                copy.unlink()

    listing = session.createDataFrame([(name,) for name in names], "name string").repartition(len(names))
    return listing.mapInArrow(read, from_arrow_schema(schema))


def _as_declared(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        batch.column(column.name).cast(column.type)
        if column.name in batch.schema.names
        else pa.nulls(batch.num_rows, column.type)
        for column in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def lake_frame(session: SparkSession, lake: Lake, table: Table) -> DataFrame:
    """Return the live rows of one lake table.

    Spark reads the files itself where it has the classes of the lake's storage; otherwise its tasks fetch them
    by the same client that ingest writes them with.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    read = _read_by_spark if _spark_reads(session, lake) else _read_by_tasks
    hidden = lake.hidden(table.name)
    whole = [name for name in lake.objects(table.name) if name not in hidden]
    frames = [read(session, lake, table, whole)] if whole else []
    frames += [
        read(session, lake, table, [name]).where(f"not ({hidden_rows_sql(table.name, parts)})")
        for name, parts in hidden.items()
    ]
    if not frames:
        return session.createDataFrame([], from_arrow_schema(table.arrow_schema()))
    return reduce(lambda left, right: left.unionByName(right), frames)


def register_lake(session: SparkSession, lake: Lake, folder: Path | None = None) -> None:
    """Make every lake table the view ``global_temp.<table>``, over what is live now.

    Little tables of a lake in a folder are copied into one file each, below ``folder``, which every worker sees: a
    build reads them hundreds of times, and to open a file takes longer than to read a few rows.
    """
    sizes = lake_bytes(lake, TABLES)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for table in TABLES.values():
        if folder is not None and isinstance(lake.storage, FolderStorage) and sizes[table.name] <= LITTLE_BYTES:
            frame = _read_copy(session, lake, table, folder / f"{table.name}.parquet")
        else:
            frame = lake_frame(session, lake, table)
        frame.createOrReplaceGlobalTempView(table.name)


def _read_copy(session: SparkSession, lake: Lake, table: Table, copy: Path) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    with duckdb.connect() as connection:
        connection.sql(live_rows_sql(table, lake)).write_parquet(str(copy))
    return session.read.schema(from_arrow_schema(table.arrow_schema())).parquet(str(copy))
