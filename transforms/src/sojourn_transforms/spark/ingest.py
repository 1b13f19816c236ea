"""The engine ``spark`` of ``sojourn ingest``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_ingest.session import Runner
from sojourn_transforms.spark.ingest_runner import SparkRunner
from sojourn_transforms.spark.session import SparkSettings, spark_session


@contextmanager
def spark_runner(paths: Paths, lake: Lake, master: str | None, conf: list[str]) -> Iterator[Runner]:
    """Hold a Spark session for one ingest into ``lake``, which the caller holds for writing.

    When it ends no task is left, so whatever no commit names is removed.

    Raises
    ------
    SparkError
        If Spark cannot be used, or a job failed for another reason than a file's content.
    """
    try:
        with spark_session(paths, SparkSettings.from_options(master, conf)) as session:
            yield SparkRunner(session)
    finally:
        lake.remove_leftovers()
