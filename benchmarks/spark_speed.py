"""The same counting job on DuckDB, on Spark in one process, and on one and two workers of a standalone cluster.

The job is what dominates a build over many connections: the log-linear histogram of queuing delay by data set, AS
and day, over the lake table ``connection``, here made of synthetic rows, with the bins as the project's macros compute
them for each engine. Every engine has two cores, and is run several times, in turn. In each run it does the job twice:
cold, in a process that has just started, and warm. Prints medians, what dominates, and Spark's plan, and keeps them::

    python benchmarks/spark_speed.py --rows 50000000
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jinja2
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
#: Memory of all executors together, in MiB.
EXECUTORS_MIB = 2048
DUCKDB = "DuckDB, 2 threads"
LOCAL = "Spark `local[2]`"
JOB = """
    with delays as (
        select dataset, asn, {day} as day, srtt_max_us - srtt_min_us as delay_us
        from connections
        where rtt_samples >= 10
    ),
    binned as (
        select dataset, asn, day, {bin} as bin_index
        from delays
    )
    select dataset, asn, day, bin_index, count(*) as connections
    from binned
    group by dataset, asn, day, bin_index
"""
DAY_NS = 86_400_000_000_000
MACROS = ("integer_arithmetic.sql", "log_linear_bin.sql", "connection/small_count_suppression.sql")


class Macros:
    """The project's macros in the dialect of one engine."""

    def __init__(self, engine: str) -> None:
        text = "".join((ROOT / "models" / "macros" / name).read_text(encoding="utf-8") for name in MACROS)
        # What is rendered is SQL.
        template = jinja2.Environment(autoescape=False).from_string(text)
        self._engine = engine
        values = {"adapter": self, "target": {"type": engine}, "var": lambda name, default: default}
        self.module: Any = template.make_module(values)

    def dispatch(self, name: str, package: str) -> Callable[..., str]:
        """Return the engine's macro, or the default one."""
        macro: Callable[..., str] = getattr(
            self.module, f"{self._engine}__{name}", getattr(self.module, f"default__{name}", None)
        )
        return macro

    def job(self) -> str:
        """Return the job."""
        return JOB.format(
            day=self.module.integer_divide("start_ns", DAY_NS), bin=self.module.log_linear_bin("delay_us")
        )


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
    """Run the job twice on two threads of DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("set threads = 2")
        connection.execute(f"create view connections as select * from read_parquet('{folder}/*.parquet')")
        statement = f"copy ({Macros('duckdb').job()}) to '{output}' (format parquet, compression zstd)"
        cold, warm = (_timed(lambda: connection.execute(statement), os.getpid()) for _ in range(2))
    return {"cold": cold, "warm": warm}


def _timed(job: Callable[[], object], process: int) -> dict[str, float]:
    """Return seconds, and the processor time that a process spent meanwhile."""
    started, spent = time.perf_counter(), _cpu_s(process)
    job()
    return {"s": time.perf_counter() - started, "cpu_s": _cpu_s(process) - spent}


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def run_spark(folder: Path, output: Path, master: str, workers: int, plan: Path) -> dict[str, Any]:
    """Run the job on a master with some workers; session start and job are timed apart."""
    from sojourn_ingest.paths import Paths
    from sojourn_transforms.spark.session import SparkSettings, spark_session

    conf = {
        "spark.ui.enabled": "true", "spark.ui.port": "0",
        # On one machine the memory that a build has there: up to 4 GiB.
        **({} if master.startswith("local") else {
            "spark.sql.shuffle.partitions": "4", "spark.executor.memory": f"{EXECUTORS_MIB // workers}m",
        }),
    }  # fmt: skip
    started = time.perf_counter()
    with spark_session(Paths(output.parent / "var"), SparkSettings(master, conf)) as session:
        session_s = time.perf_counter() - started
        session.read.parquet(str(folder)).createOrReplaceTempView("connections")
        java = int(session._jvm.java.lang.ProcessHandle.current().pid())
        job = Macros("spark").job()
        cold = _timed(lambda: session.sql(job).write.mode("overwrite").parquet(str(output)), java)
        metrics = _metrics(session)
        warm = _timed(lambda: session.sql(job).write.mode("overwrite").parquet(str(output)), java)
        counted = session.sql(job)
        plan.write_text(session._jvm.PythonSQLUtils.explainString(counted._jdf.queryExecution(), "simple"))
        return {"session_s": session_s, "cold": cold, "warm": warm, **metrics}


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


def spark_program(name: str) -> Any:
    """Return one of the programs of infra/spark as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "infra" / "spark" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cluster_of(folder: Path, workers: int, cores: int, memory: str = "1500m") -> Any:
    """Return a standalone cluster of this machine, not yet started."""
    return spark_program("standalone_cluster").StandaloneCluster(folder, workers=workers, cores=cores, memory=memory)


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
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--without-cluster", action="store_true", help="leave the standalone cluster out")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    rows = folder / f"rows-{options.rows}"
    if options.engine == "duckdb":
        print(json.dumps(run_duckdb(rows, folder / "duckdb.parquet")))
        return
    if options.engine:
        output, plan = folder / options.engine, folder / f"{options.engine}.plan"
        print(json.dumps(run_spark(rows, output, options.master, options.workers, plan)))
        return
    if not rows.exists():
        make_rows(rows, options.rows)

    def child(name: str, master: str = "", workers: int = 0, sessions: tuple[int, ...] = ()) -> dict[str, Any]:
        command = [sys.executable, __file__, "--engine", name, "--master", master, "--workers", str(workers)]
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

    by_engine: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _ in range(options.repetitions):
        by_engine[DUCKDB].append(child("duckdb"))
        by_engine[LOCAL].append(child("local", "local[2]"))
        counted = check_equal(folder / "duckdb.parquet", folder / "local")
        for workers, cores in () if options.without_cluster else ((1, 2), (2, 1)):
            shutil.rmtree(folder / "cluster", ignore_errors=True)
            name = f"{workers} worker{'s' if workers > 1 else ''} of {cores} core{'s' if cores > 1 else ''}"
            memory = f"{EXECUTORS_MIB // workers + 512}m"
            with cluster_of(folder / "cluster", workers, cores, memory) as cluster:
                spark = child(f"workers{workers}", cluster.master_url, workers, cluster.process_ids)
                by_engine[f"Spark, {name}"].append(spark)
            check_equal(folder / "duckdb.parquet", folder / f"workers{workers}")
    keep(options.rows, counted, by_engine, (folder / "local.plan").read_text())
    shutil.rmtree(rows)


def keep(rows: int, counted: int, found_by_engine: dict[str, list[dict[str, Any]]], plan: str) -> None:
    """Print and keep the tables."""
    results = Results("spark")
    runs = len(found_by_engine[DUCKDB])
    engines = results.table(
        f"{rows:,} rows into {counted:,} bins, the same rows from every engine; medians of {runs} runs",
        {
            "engine": "", "cold s": ".1f", "warm s": ".1f", "CPU s of all": ".1f", "cold against DuckDB": ".1f",
            "warm against DuckDB": ".1f", "CPU against DuckDB": ".1f", "session start s": ".1f", "peak MiB": ",.0f",
            "shuffled MiB": ",.1f", "spilled MiB": ",.1f",
        },
    )  # fmt: skip

    def middle(name: str, value: Callable[[dict[str, Any]], float]) -> float:
        return statistics.median(value(run) for run in found_by_engine[name])

    def cold(run: dict[str, Any]) -> float:
        return float(run["cold"]["s"])

    def warm(run: dict[str, Any]) -> float:
        return float(run["warm"]["s"])

    def cpu(run: dict[str, Any]) -> float:
        return float(run["cpu_s"])

    for name in found_by_engine:
        engines.row(
            name, middle(name, cold), middle(name, warm), middle(name, cpu), *(
                middle(name, value) / middle(DUCKDB, value) for value in (cold, warm, cpu)
            ),
            middle(name, lambda run: run.get("session_s", 0.0)), middle(name, lambda run: run["memory_mib"]),
            middle(name, lambda run: run.get("shuffle_bytes", 0) / 2**20),
            middle(name, lambda run: run.get("spilled_bytes", 0) / 2**20),
        )  # fmt: skip
    each = results.table(
        "Each run",
        {"engine": "", "run": "d", "cold s": ".1f", "warm s": ".1f", "cold CPU s": ".1f", "warm CPU s": ".1f"},
    )
    for name, runs_of_engine in found_by_engine.items():
        for number, run in enumerate(runs_of_engine, start=1):
            each.row(name, number, cold(run), warm(run), run["cold"]["cpu_s"], run["warm"]["cpu_s"])
    stages = results.table(
        f"What dominates in {LOCAL}, cold, in the last run",
        {
            "stage": "", "tasks": ",", "running s": ".1f", "CPU s": ".1f", "garbage collection s": ".1f",
            "read MiB": ",.1f", "shuffled in MiB": ",.1f", "shuffled out MiB": ",.1f",
        },
    )  # fmt: skip
    for stage in found_by_engine[LOCAL][-1]["stages"]:
        stages.row(*stage.values())
    final = plan.partition("== Initial Plan ==")[0].splitlines()
    operators = [re.sub(r"#\d+L?", "", line).rstrip()[:118] for line in final if line.strip(" +-:*()")]
    results.note("The plan:\n\n```text\n" + "\n".join(operators) + "\n```")


if __name__ == "__main__":
    main()
