"""Two counting jobs over the connections of one day on 1, 2 and 4 executors, with task slots and memory held equal.

They are what dominates a build over many connections, with the project's own macros: ``bins`` is the log-linear
histogram of queuing delay by data set, AS and day; ``hosts`` finds the cells (data set, AS, hour) that have too few
hosts, and how much detail they lose. The rows are synthetic. Those of shape ``even`` are skewed as measured ones are:
the largest AS has a hundredth of all connections. In shape ``skewed`` one AS has half of all connections, and one host,
alone in its AS, a million.

What is told depends little on other work on the machine: processor time, bytes read, shuffled and spilled, from Spark's
event log, and the memory of the processes. The rows are compared with DuckDB's::

    python benchmarks/spark_scale.py --rows 50000000 --shape skewed
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from raw_results import Results
from spark_speed import Macros, ProcessWatch, check_equal, cluster_of, spark_program

#: Tasks that run at a time, and MiB of memory, in all executors together.
SLOTS = 4
MEMORY_MIB = 4096
ROWS_A_FILE = 10_000_000
HOUR_NS = 3_600_000_000_000
#: Connections of the host that has most, in the skewed shape.
OF_ONE_HOST = 1_000_000
ROWS_A_HOST = 40
ROWS = """
    select
        'synthetic-' || (i % 2) as dataset,
        {asn} as asn,
        cast(1700006400000000000 + hash(i, 2) % 86400000000000 as bigint) as start_ns,
        cast(5000 + hash(i, 3) % 80000 as bigint) as srtt_min_us,
        srtt_min_us + cast(
            exp(4 + 9 * (hash(i, 4) % 1000003) / 1000003.0 * (hash(i, 5) % 1000003) / 1000003.0) as bigint
        ) as srtt_max_us,
        cast(5 + hash(i, 6) % 90 as bigint) as rtt_samples,
        cast(hash({host}) >> 1 as bigint) as host_hash
    from range({start}, {end}) as numbers(i)
"""
AS_OF_MANY = "cast(exp(ln(500) * (hash(i, 1) % 1000003) / 1000003.0) as bigint)"
HOST_OF_MANY = "1 + hash(i, 7) % {hosts}"
#: Numbers of AS, and hosts.
SHAPES = {
    "even": (AS_OF_MANY, HOST_OF_MANY),
    "skewed": (
        f"case when i < {OF_ONE_HOST} then 1001 when hash(i, 8) % 2 = 0 then 1000 else {AS_OF_MANY} end",
        f"case when i < {OF_ONE_HOST} then 0 else {HOST_OF_MANY} end",
    ),
}
HOSTS_JOB = """
    with binned as (
        select dataset, asn, {hour} as hour, {host_bits} as host_bits
        from connections
        where rtt_samples >= 10
        group by dataset, asn, hour
    ),
    {doubtful},
    hosts as (
        select dataset, asn, {hour} as hour, host_hash
        from connections
        where rtt_samples >= 10
    ),
    {details}
    select dataset, asn, hour, detail_level from details
"""
KEPT = ["dataset"]
LEVELS = [["hour"], ["asn"]]


def jobs_of(engine: str) -> dict[str, str]:
    """Return the statements of an engine by their names."""
    macros = Macros(engine)
    module = macros.module
    hosts = HOSTS_JOB.format(
        hour=module.integer_divide("start_ns", HOUR_NS),
        host_bits=module.host_bits("host_hash"),
        doubtful=module.doubtful_cells("binned", KEPT, LEVELS),
        details=module.cell_details("hosts", KEPT, LEVELS),
    )
    return {"bins": macros.job(), "hosts": hosts}


def make_rows(folder: Path, rows: int, shape: str) -> None:
    """Write the synthetic rows as Parquet files."""
    import duckdb

    folder.mkdir(parents=True)
    asn, host = SHAPES[shape]
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = false")
        for number, start in enumerate(range(0, rows, ROWS_A_FILE)):
            statement = ROWS.format(
                asn=asn, host=host.format(hosts=max(1, rows // ROWS_A_HOST)), start=start,
                end=min(start + ROWS_A_FILE, rows),
            )  # fmt: skip
            connection.execute(f"copy ({statement}) to '{folder}/{number}.parquet' (format parquet, compression zstd)")


def run_duckdb(folder: Path, output: Path) -> dict[str, Any]:
    """Run the jobs on two threads of DuckDB."""
    import duckdb

    jobs = {}
    with duckdb.connect() as connection:
        connection.execute(f"set threads = 2; set temp_directory = '{output}/spilled'")
        connection.execute(f"create view connections as select * from read_parquet('{folder}/*.parquet')")
        for name, statement in jobs_of("duckdb").items():
            started, spent = time.perf_counter(), time.process_time()
            connection.execute(f"copy ({statement}) to '{output}/{name}.parquet' (format parquet)")
            jobs[name] = {"s": time.perf_counter() - started, "cpu_s": time.process_time() - spent}
    return jobs


def run_spark(folder: Path, output: Path, master: str, executors: int) -> dict[str, Any]:
    """Run the jobs on a cluster as a build runs its statements, and leave an event log."""
    from sojourn_ingest.paths import Paths
    from sojourn_transforms.spark.session import SparkSettings, spark_session
    from sojourn_transforms.spark.shared_ctes import frame_of

    log = output / "events"
    log.mkdir(parents=True)
    conf = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": f"{MEMORY_MIB // executors}m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        # Bytes that several reads fetch at once are not counted.
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    }
    jobs = {}
    with spark_session(Paths(output / "var"), SparkSettings(master, conf)) as session:
        session.read.parquet(str(folder)).createOrReplaceTempView("connections")
        for name, statement in jobs_of("spark").items():
            session.sparkContext.setJobDescription(name)
            started = time.perf_counter()
            with frame_of(session, statement, reads_little=False) as frame:
                frame.write.mode("overwrite").parquet(str(output / name))
            jobs[name] = {"s": time.perf_counter() - started}
    return jobs


def child(options: argparse.Namespace, engine: str, master: str = "", sessions: tuple[int, ...] = ()) -> dict[str, Any]:
    """Run the jobs in a process of its own; return what it told, its peak memory and the processor time of all."""
    command = [sys.executable, __file__, "--engine", engine, "--master", master, "--rows", str(options.rows)]
    arguments = ["--shape", options.shape, "--folder", str(options.folder)]
    with ProcessWatch() as watch:
        process = subprocess.Popen(
            [*command, *arguments], env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}, stdout=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        watch.sessions = {process.pid, *sessions}
        printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{engine} ended with status {process.returncode}")
    return {"jobs": json.loads(printed.splitlines()[-1]), "peak_mib": watch.peak_mib, "cpu_s": watch.cpu_s}


def main() -> None:
    """Run the jobs on every number of executors, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--shape", choices=SHAPES, default="even")
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--folder", type=Path, default=Path("var/bench-spark-scale"))
    parser.add_argument("--keep", action="store_true", help="keep the synthetic rows for the next run")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    rows = options.folder / f"{options.shape}-{options.rows}"
    if options.engine:
        output = options.folder / options.engine
        if options.engine == "duckdb":
            print(json.dumps(run_duckdb(rows, output)))
        else:
            print(json.dumps(run_spark(rows, output, options.master, int(options.engine))))
        return
    if not rows.exists():
        make_rows(rows, options.rows, options.shape)
    size = sum(path.stat().st_size for path in rows.iterdir())
    results = Results("spark-scale")
    table = results.table(
        f"{options.rows:,} synthetic connections of one day, {options.shape}, {size / 2**20:,.0f} MiB of Parquet; "
        f"{SLOTS} tasks at a time and {MEMORY_MIB} MiB in all executors together",
        {
            "job": "", "executors": "d", "wall s": ".1f", "CPU s in tasks": ".1f", "CPU s of all": ".1f", "tasks": ",d",
            "read MiB": ",.0f", "shuffled MiB": ",.1f", "spilled MiB": ",.1f", "longest task / median": ".1f",
            "most of one task, MiB shuffled in": ".1f", "peak execution memory of a task, MiB": ",.0f",
            "peak memory of all, MiB": ",.0f", "load": ".1f",
        },
    )  # fmt: skip
    duckdb = options.folder / "duckdb"
    shutil.rmtree(duckdb, ignore_errors=True)
    duckdb.mkdir(parents=True)
    report = child(options, "duckdb")
    for name, job in report["jobs"].items():
        table.row(
            f"{name}, DuckDB on 2 threads", 0, job["s"], job["cpu_s"], report["cpu_s"], None, None, None, None, None,
            None, None, report["peak_mib"], os.getloadavg()[0],
        )  # fmt: skip
    stages_of = spark_program("event_log").stages
    for executors in options.executors:
        output, cluster = options.folder / str(executors), options.folder / "cluster"
        for folder in (output, cluster):
            shutil.rmtree(folder, ignore_errors=True)
        with cluster_of(cluster, executors, SLOTS // executors, f"{MEMORY_MIB // executors}m") as running:
            report = child(options, str(executors), running.master_url, running.process_ids)
        (log,) = (output / "events").iterdir()
        stages = stages_of(log)
        for name, job in report["jobs"].items():
            check_equal(duckdb / f"{name}.parquet", output / name)
            of_job = [stage for stage in stages.values() if stage.description == name]
            # Of stages of seconds; the median of a hundred empty partitions says nothing.
            long = [stage for stage in of_job if sum(stage.run_s) > 5]
            table.row(
                name, executors, job["s"], sum(stage.cpu_s for stage in of_job), report["cpu_s"],
                sum(len(stage.run_s) for stage in of_job), sum(stage.read_bytes for stage in of_job) / 2**20,
                sum(stage.shuffled_out_bytes for stage in of_job) / 2**20,
                sum(stage.spilled_disk_bytes for stage in of_job) / 2**20,
                max((stage.skew for stage in long), default=1.0),
                max((size for stage in of_job for size in stage.shuffled_in_bytes), default=0) / 2**20,
                max(stage.peak_execution_bytes for stage in of_job) / 2**20, report["peak_mib"], os.getloadavg()[0],
            )  # fmt: skip
    if not options.keep:
        shutil.rmtree(rows)


if __name__ == "__main__":
    main()
