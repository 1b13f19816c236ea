"""The same counting job on DuckDB, on Spark in one process, and on one and two workers of a standalone cluster.

The job is what dominates a build over many connections: the log-linear histogram of queuing delay by data set, AS
and day, over the lake table ``srtt_connection``, here made of synthetic rows. Writes a table for docs/performance.md::

    python transforms/benchmarks/spark_speed.py --rows 50000000
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]
SYNTHETIC = """
    select
        'synthetic-' || (i % 4) as dataset,
        (i * 7919) % 500 as asn,
        cast(1700000000000000000 + (i % 30) * 86400000000000 as bigint) as start_ns,
        cast(5000 + (i * 104729) % 80000 as bigint) as srtt_min_us,
        cast(5000 + (i * 104729) % 80000 + (i * 15485863) % 3000000 as bigint) as srtt_max_us,
        cast(10 + i % 90 as bigint) as rtt_samples
    from {numbers}
"""
#: Portable: integer arithmetic only; the bin is that of the macro log_linear_bin.
JOB = """
    with delays as (
        select dataset, asn, {day} as day, srtt_max_us - srtt_min_us as delay_us
        from connections
        where rtt_samples >= 10
    ),
    binned as (
        select
            dataset, asn, day,
            case
                when delay_us < 64 then delay_us
                else 64 * (length(bin(delay_us)) - 6)
                    + {shift} - 64
            end as bin_index
        from delays
    )
    select dataset, asn, day, bin_index, count(*) as connections
    from binned
    group by dataset, asn, day, bin_index
"""
DUCKDB_PARTS = {"day": "start_ns // 86400000000000", "shift": "(delay_us >> greatest(length(bin(delay_us)) - 7, 0))"}
SPARK_PARTS = {
    "day": "start_ns div 86400000000000",
    "shift": "shiftright(delay_us, cast(greatest(length(bin(delay_us)) - 7, 0) as int))",
}


def make_rows(folder: Path, rows: int) -> None:
    """Write the synthetic rows as Parquet files of 5 million."""
    import duckdb

    folder.mkdir(parents=True)
    with duckdb.connect() as connection:
        for number, start in enumerate(range(0, rows, 5_000_000)):
            numbers = f"range({start}, {min(start + 5_000_000, rows)}) as numbers(i)"
            statement = SYNTHETIC.format(numbers=numbers)
            connection.execute(f"copy ({statement}) to '{folder}/{number}.parquet' (format parquet, compression zstd)")


def run_duckdb(folder: Path, output: Path) -> dict[str, Any]:
    """Run the job on two threads of DuckDB."""
    import duckdb

    started = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute("set threads = 2")
        connection.execute(f"create view connections as select * from read_parquet('{folder}/*.parquet')")
        connection.execute(f"copy ({JOB.format(**DUCKDB_PARTS)}) to '{output}' (format parquet, compression zstd)")
    seconds = time.perf_counter() - started
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"job_s": seconds, "memory_mib": memory_mib, "shuffle_bytes": 0}


def _metrics(session: Any) -> dict[str, float]:
    # Spark's own REST interface, which its web interface stands on.
    base = f"{session.sparkContext.uiWebUrl}/api/v1/applications/{session.sparkContext.applicationId}"
    with httpx.Client(timeout=30) as client:
        stages = client.get(f"{base}/stages").json()
        executors = client.get(f"{base}/executors").json()
    peak = sum((item.get("peakMemoryMetrics") or {}).get("JVMHeapMemory", 0) for item in executors)
    return {
        "shuffle_bytes": sum(stage["shuffleWriteBytes"] for stage in stages),
        "spilled_bytes": sum(stage["diskBytesSpilled"] for stage in stages),
        "executor_s": sum(stage["executorRunTime"] for stage in stages) / 1000,
        "memory_mib": peak / 2**20,
    }


def run_spark(folder: Path, output: Path, master: str, plan: Path) -> dict[str, Any]:
    """Run the job on a master; session start and job are timed apart."""
    from sojourn_ingest.paths import Paths
    from sojourn_transforms.spark.session import SparkSettings, spark_session

    conf = {
        "spark.ui.enabled": "true", "spark.ui.port": "0", "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "2g", "spark.executor.memory": "1g", "spark.executor.processTreeMetrics.enabled": "true",
    }  # fmt: skip
    started = time.perf_counter()
    with spark_session(Paths(output.parent / "var"), SparkSettings(master, conf)) as session:
        session_s = time.perf_counter() - started
        started = time.perf_counter()
        session.read.parquet(str(folder)).createOrReplaceTempView("connections")
        counted = session.sql(JOB.format(**SPARK_PARTS))
        counted.write.mode("overwrite").parquet(str(output))
        job_s = time.perf_counter() - started
        plan.write_text(session._jvm.PythonSQLUtils.explainString(counted._jdf.queryExecution(), "simple"))
        return {"session_s": session_s, "job_s": job_s, **_metrics(session)}


def _cluster(folder: Path, workers: int) -> Any:
    path = ROOT / "infra" / "spark" / "standalone_cluster.py"
    spec = importlib.util.spec_from_file_location("standalone_cluster", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.StandaloneCluster(folder, workers=workers, cores=1)


def check_equal(left: Path, right: Path) -> int:
    """Return the rows of both results; raise where they differ."""
    import duckdb

    with duckdb.connect() as connection:
        one, other = (f"select * from read_parquet('{path}')" for path in (left, f"{right}/*.parquet"))
        differing = connection.execute(f"select count(*) from (({one}) except all ({other}))").fetchone()
        rows = connection.execute(f"select count(*) from ({one})").fetchone()
    if differing is None or rows is None or differing[0]:
        raise RuntimeError(f"{right} differs from DuckDB's result in {differing} rows")
    return int(rows[0])


def main() -> None:
    """Run every engine in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--folder", type=Path, default=Path("var/bench-spark"))
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    rows = folder / f"rows-{options.rows}"
    if options.engine == "duckdb":
        print(json.dumps(run_duckdb(rows, folder / "duckdb.parquet")))
        return
    if options.engine:
        print(json.dumps(run_spark(rows, folder / options.engine, options.master, folder / f"{options.engine}.plan")))
        return
    if not rows.exists():
        make_rows(rows, options.rows)

    def child(name: str, master: str = "") -> dict[str, Any]:
        command = [sys.executable, __file__, "--engine", name, "--master", master]
        arguments = ["--rows", str(options.rows), "--folder", str(folder)]
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        done = subprocess.run([*command, *arguments], env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))

    results = {"DuckDB, 2 threads": child("duckdb"), "Spark local[2]": child("local", "local[2]")}
    check_equal(folder / "duckdb.parquet", folder / "local")
    for workers in (1, 2):
        shutil.rmtree(folder / "cluster", ignore_errors=True)
        with _cluster(folder / "cluster", workers) as cluster:
            results[f"Spark, {workers} worker{'s' if workers > 1 else ''} of 1 core"] = child(
                f"workers{workers}", cluster.master_url
            )
        counted = check_equal(folder / "duckdb.parquet", folder / f"workers{workers}")
    print(f"{options.rows:,} rows into {counted:,} bins; load of the machine at the end {os.getloadavg()[0]:.1f}\n")
    print("| engine | job | against DuckDB | session start | memory | shuffled | spilled |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    base = results["DuckDB, 2 threads"]["job_s"]
    for name, found in results.items():
        print(
            f"| {name} | {found['job_s']:.1f} s | {found['job_s'] / base:.1f} | {found.get('session_s', 0):.1f} s "
            f"| {found['memory_mib']:,.0f} MiB | {found['shuffle_bytes'] / 2**20:,.1f} MiB "
            f"| {found.get('spilled_bytes', 0) / 2**20:,.1f} MiB |"
        )


if __name__ == "__main__":
    main()
