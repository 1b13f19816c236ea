"""One Spark session for one command: on this machine by default, on a cluster where a master is named."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn_ingest.engine_error import EngineError
from sojourn_ingest.memory import memory_bytes
from sojourn_ingest.paths import Paths
from sojourn_process.own_folder import own_folder
from sojourn_transforms.engine_variables import MASTER_VARIABLE
from sojourn_transforms.spark.class_archive import archives_folder, class_archive
from sojourn_transforms.spark.java_options import SMALLEST_PART_MIB, executor_options, local_options, part_mib
from sojourn_transforms.spark.java_runtime import JavaMissingError, java_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

CONF_VARIABLE = "SOJOURN_SPARK_CONF"
LOCAL_MASTER = "local[*]"
#: Most that the driver of one machine takes, in MiB; half of a smaller machine's memory.
LOCAL_DRIVER_MIB = 4096
#: Most that Java takes to end; it may write an archive of its classes then.
END_S = 600
LOGGING = Path(__file__).with_name("log4j2.properties")


class SparkError(EngineError):
    """Spark cannot be used or has failed; the message says what to do."""


@dataclass(frozen=True)
class SparkSettings:
    """Which cluster, and what of Spark's own settings differs from ours.

    Under spark-submit both stay empty: what was submitted holds.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, master: str | None, conf: list[str]) -> SparkSettings:
        """Return the settings of a command line; ``conf`` are texts such as ``spark.executor.memory=4g``.

        Those of $SOJOURN_SPARK_CONF, separated by spaces, come first.

        Raises
        ------
        SparkError
            If a text is not a setting of Spark.
        """
        pairs = {}
        for text in (*os.environ.get(CONF_VARIABLE, "").split(), *conf):
            key, equals, value = text.partition("=")
            if not equals or not key.startswith("spark."):
                raise SparkError(f"Spark setting {text}: write spark.SETTING=VALUE")
            pairs[key.strip()] = value.strip()
        return cls(master or os.environ.get(MASTER_VARIABLE) or None, pairs)


def _defaults(paths: Paths, scratch: Path) -> dict[str, str]:
    return {
        "spark.app.name": "sojourn",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        # Times are nanoseconds since 1970 everywhere; no column has a time zone, and none may be given one.
        "spark.sql.session.timeZone": "UTC",
        # A cast that does not fit is an error, as in DuckDB, never a null.
        "spark.sql.ansi.enabled": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.parquet.compression.codec": "zstd",
        # Bins by network and day are a tenth of the connections: a first map of few groups is soon full and in the way.
        "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
        # Parquet without the marker files of a job's success: a folder then contains only facts.
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        "spark.speculation.task.duration.threshold": "10min",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (paths.spark / "warehouse").as_uri(),
    }


def _local_defaults(conf: SparkConf) -> dict[str, str]:
    """On one machine a task costs more than what is in most tables, so few are made.

    The driver computes everything there. Spark's own default of 1 GiB is not enough for the plans of all models.

    Raises
    ------
    SparkError
        If the driver's memory is not a size.
    """
    driver_mib = max(1024, min(LOCAL_DRIVER_MIB, memory_bytes() // 2**21))
    memory = conf.get("spark.driver.memory", f"{driver_mib}m") or ""
    cores = _cores(conf.get("spark.master", "") or "")
    try:
        # A Java that runs already, or is described elsewhere, may have less memory than we would give it.
        largest_mib = SMALLEST_PART_MIB if is_set_elsewhere() else part_mib(memory, cores)
    except ValueError as error:
        raise SparkError(f"Spark setting spark.driver.memory: {error}") from error
    options = local_options(conf.get("spark.driver.extraJavaOptions", "") or "")
    return {
        "spark.driver.memory": memory,
        **({} if is_set_elsewhere() else {"spark.driver.defaultJavaOptions": options}),
        "spark.sql.shuffle.partitions": str(max(2, cores)),
        "spark.sql.files.maxPartitionBytes": f"{largest_mib}m",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
        # A job that lists files is for stores in which listing takes time.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    }


def _cores(master: str) -> int:
    """Return the tasks that run at a time on this machine: ``local[2]`` says two."""
    if master == "local":
        return 1
    match = re.match(r"local\[(\d+)", master)
    return int(match[1]) if match else os.cpu_count() or 1


def _is_submitted() -> bool:
    # spark-submit hands its settings over by a gateway whose port it names here.
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_set_elsewhere() -> bool:
    """Return whether Spark may have settings that are not seen here: what was submitted, or a spark-defaults.conf."""
    return _is_submitted() or any(name in os.environ for name in ("SPARK_CONF_DIR", "SPARK_HOME"))


def _end(session: SparkSession) -> None:
    from pyspark import SparkContext

    session.stop()
    gateway = SparkContext._gateway
    if gateway is not None and not _is_submitted():
        # Stopping leaves the Java process and the threads that talk with it until this process ends.
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=END_S)
        SparkContext._gateway = SparkContext._jvm = None


def _conf_of(paths: Paths, settings: SparkSettings, scratch: Path) -> SparkConf:
    """Return what was asked for, then what was set elsewhere, then what we set; ``scratch`` is for shuffles and spills.

    Raises
    ------
    SparkError
        If the driver's memory is not a size.
    """
    from pyspark import SparkConf

    conf = SparkConf()
    for key, value in {**_defaults(paths, scratch), **settings.conf}.items():
        if key in settings.conf or not conf.contains(key):
            conf.set(key, value)
    if settings.master is not None:
        conf.setMaster(settings.master)
    elif not conf.contains("spark.master"):
        conf.setMaster(LOCAL_MASTER)
    if conf.get("spark.master", "").startswith("local"):
        for key, value in _local_defaults(conf).items():
            if not conf.contains(key):
                conf.set(key, value)
        # The machine's own name may resolve to an address that nothing listens on.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    elif not is_set_elsewhere():
        options = executor_options(conf.get("spark.executor.extraJavaOptions", "") or "")
        conf.setIfMissing("spark.executor.defaultJavaOptions", options)
    return conf


@contextmanager
def spark_session(paths: Paths, settings: SparkSettings, keeps_classes: bool = False) -> Iterator[SparkSession]:
    """Hold a Spark session, and end it.

    Where this process already has one (a notebook, a test) it is used and left as it is. ``keeps_classes``: what Java
    loads is kept for later sessions, if nothing is kept yet.

    Raises
    ------
    SparkError
        If PySpark or Java is missing.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkError(
            "PySpark is not installed: pip install 'sojourn[spark]', or `make setup-spark` in a checkout"
        ) from error
    # What a statement failed of is in its exception.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    archive: AbstractContextManager[str] = nullcontext("")
    if not _is_submitted():
        try:
            java = java_home(paths.spark / "java")
        except JavaMissingError as error:
            raise SparkError(str(error)) from error
        os.environ["JAVA_HOME"] = str(java)
        archive = class_archive(java, archives_folder(), is_written=keeps_classes)
    # Tasks run the Python of this command, with the decoder in it.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    local = paths.spark / "local"
    local.mkdir(parents=True, exist_ok=True)
    # Java writes nothing more into the scratch folder when it is removed.
    with own_folder("session-", local) as scratch, archive as options:
        conf = _conf_of(paths, settings, scratch)
        conf.set("spark.driver.extraJavaOptions", f"{conf.get('spark.driver.extraJavaOptions', '')} {options}".strip())
        session = SparkSession.builder.config(conf=conf).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            _end(session)
