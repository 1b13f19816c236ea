"""The same counting job on DuckDB, on Spark in one process, and on one and two workers of a standalone cluster.

The job is what dominates a build over many connections: the log-linear histogram of queuing delay by data set, AS
and day, over the lake table ``connection``, here made of synthetic rows. Every engine has two cores. Prints
the table, what dominates, and Spark's plan, and keeps them::

    python benchmarks/spark_speed.py --rows 50000000
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from raw_results import Results

ROOT = Path(__file__).resolve().parents[1]
#: AS numbers and delays are skewed as measured ones are: a few networks have most connections, most delays are short.
SYNTHETIC = """
    select
        'synthetic-' || (i % 2) as dataset,
        cast(exp(ln(500) * (hash(i, 1) % 1000003) / 1000003.0) as bigint) as asn,
        cast(1700000000000000000 + (i % 7) * 86400000000000 + hash(i, 2) % 86400000000000 as bigint) as start_ns,
        cast(5000 + hash(i, 3) % 80000 as bigint) as srtt_min_us,
        srtt_min_us + cast(
            exp(4 + 9 * (hash(i, 4) % 1000003) / 1000003.0 * (hash(i, 5) % 1000003) / 1000003.0) as bigint
        ) as srtt_max_us,
        cast(5 + hash(i, 6) % 90 as bigint) as rtt_samples
    from {numbers}
"""
DUCKDB = "DuckDB, 2 threads"
LOCAL = "Spark `local[2]`"
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
    return {"job_s": time.perf_counter() - started}


def _metrics(session: Any) -> dict[str, Any]:
    # Spark's own REST interface, which its web interface uses.
    base = f"{session.sparkContext.uiWebUrl}/api/v1/applications/{session.sparkContext.applicationId}"
    with httpx.Client(timeout=30) as client:
        stages = client.get(f"{base}/stages", params={"status": "complete"}).json()
    described = [
        {
            "name": f"stage {stage['stageId']}",
            "tasks": stage["numCompleteTasks"],
            "run_s": stage["executorRunTime"] / 1000,
            "cpu_s": stage["executorCpuTime"] / 1e9,
            "gc_s": stage["jvmGcTime"] / 1000,
            "read_mib": stage["inputBytes"] / 2**20,
            "shuffled_in_mib": stage["shuffleReadBytes"] / 2**20,
            "shuffled_out_mib": stage["shuffleWriteBytes"] / 2**20,
        }
        for stage in sorted(stages, key=lambda stage: stage["stageId"])
    ]
    return {
        "shuffle_bytes": sum(stage["shuffleWriteBytes"] for stage in stages),
        "spilled_bytes": sum(stage["diskBytesSpilled"] for stage in stages),
        "stages": described,
    }


def run_spark(folder: Path, output: Path, master: str, plan: Path) -> dict[str, Any]:
    """Run the job on a master; session start and job are timed apart."""
    from sojourn_ingest.paths import Paths
    from sojourn_transforms.spark.session import SparkSettings, spark_session

    conf = {
        "spark.ui.enabled": "true", "spark.ui.port": "0", "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "2g", "spark.executor.memory": "1g",
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


class ProcessWatch:
    """Peak memory and processor time of some sessions of processes, looked at several times a second."""

    def __init__(self) -> None:
        self.sessions: set[int] = set()
        self.peak_mib = 0.0
        self._cpu_ticks: dict[int, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ProcessWatch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """Processor time of every process seen, up to when it was last seen."""
        return sum(self._cpu_ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self._look()

    def _look(self) -> None:
        pages = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(") ")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[3]) in self.sessions:
                self._cpu_ticks[int(path.parent.name)] = int(fields[11]) + int(fields[12])
                pages += int(fields[21])
        self.peak_mib = max(self.peak_mib, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


def _cluster(folder: Path, workers: int, cores: int) -> Any:
    path = ROOT / "infra" / "spark" / "standalone_cluster.py"
    spec = importlib.util.spec_from_file_location("standalone_cluster", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.StandaloneCluster(folder, workers=workers, cores=cores)


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
    parser.add_argument("--without-cluster", action="store_true", help="leave the standalone cluster out")
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

    def child(name: str, master: str = "", sessions: tuple[int, ...] = ()) -> dict[str, Any]:
        command = [sys.executable, __file__, "--engine", name, "--master", master]
        arguments = ["--rows", str(options.rows), "--folder", str(folder)]
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        with ProcessWatch() as watch:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            watch.sessions = {process.pid, *sessions}
            printed, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{name} ended with status {process.returncode}")
        return {**json.loads(printed.splitlines()[-1]), "memory_mib": watch.peak_mib, "cpu_s": watch.cpu_s}

    results = {DUCKDB: child("duckdb"), LOCAL: child("local", "local[2]")}
    counted = check_equal(folder / "duckdb.parquet", folder / "local")
    for workers, cores in () if options.without_cluster else ((1, 2), (2, 1)):
        shutil.rmtree(folder / "cluster", ignore_errors=True)
        name = f"{workers} worker{'s' if workers > 1 else ''} of {cores} core{'s' if cores > 1 else ''}"
        with _cluster(folder / "cluster", workers, cores) as cluster:
            results[f"Spark, {name}"] = child(f"workers{workers}", cluster.master_url, cluster.process_ids)
        check_equal(folder / "duckdb.parquet", folder / f"workers{workers}")
    keep(options.rows, counted, results, (folder / "local.plan").read_text())
    shutil.rmtree(rows)


def keep(rows: int, counted: int, found_by_engine: dict[str, dict[str, Any]], plan: str) -> None:
    """Print and keep the tables."""
    results = Results("spark")
    engines = results.table(
        f"{rows:,} rows into {counted:,} bins, the same rows from every engine",
        {
            "engine": "", "job s": ".1f", "CPU s with its start": ".1f", "job against DuckDB": ".1f",
            "CPU against DuckDB": ".1f", "session start s": ".1f", "peak MiB": ",.0f", "shuffled MiB": ",.1f",
            "spilled MiB": ",.1f",
        },
    )  # fmt: skip
    base = found_by_engine[DUCKDB]
    for name, found in found_by_engine.items():
        engines.row(
            name, found["job_s"], found["cpu_s"], found["job_s"] / base["job_s"], found["cpu_s"] / base["cpu_s"],
            found.get("session_s", 0.0), found["memory_mib"], found.get("shuffle_bytes", 0) / 2**20,
            found.get("spilled_bytes", 0) / 2**20,
        )  # fmt: skip
    stages = results.table(
        f"What dominates in {LOCAL}",
        {
            "stage": "", "tasks": ",", "running s": ".1f", "CPU s": ".1f", "garbage collection s": ".1f",
            "read MiB": ",.1f", "shuffled in MiB": ",.1f", "shuffled out MiB": ",.1f",
        },
    )  # fmt: skip
    for stage in found_by_engine[LOCAL]["stages"]:
        stages.row(*stage.values())
    final = plan.partition("== Initial Plan ==")[0].splitlines()
    operators = [re.sub(r"#\d+L?", "", line).rstrip()[:118] for line in final if line.strip(" +-:*()")]
    results.note("The plan:\n\n```text\n" + "\n".join(operators) + "\n```")


if __name__ == "__main__":
    main()
