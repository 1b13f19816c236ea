"""How long connections in the wild take: ingest, builds, and the plainest SQL for the same figures in the same run.

``python benchmarks/connection_mart_speed.py --var FOLDER --rows N`` generates a data set, labelled synthetic, and
prints tables and keeps them (raw_results). Each step is a process of its own, whose seconds, CPU seconds and peak
memory are reported. A build includes its tests and the publication. Groupings are measured by what the API runs, over
a published snapshot. What it writes to FOLDER is removed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import combinations
from pathlib import Path

import duckdb
from raw_results import Results

from sojourn_api.distribution_metrics import METRICS
from sojourn_api.queries.distribution_points import described
from sojourn_api.queries.distributions import grouped_histograms
from sojourn_api.queries.execution import QueryRunner
from sojourn_api.requests.distributions import DistributionParameters, distribution_request
from sojourn_api.requests.query_string import RequestContext
from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot
from sojourn_ingest.synthetic.connection_rows import rows_of_day
from sojourn_snapshot.pointer import CURRENT

ROOT = Path(__file__).resolve().parents[1]
SOJOURN = str(Path(sys.executable).parent / "sojourn")
PANDAS_BYTES_A_ROW, POLARS_BYTES_A_ROW = 400, 200
"""What they may need at most; with less they are skipped."""
GROUPINGS = (
    "start_date", "country", "access_technology", "ip_version", "proximity_class", "transfer_size_class",
    "access_technology,proximity_class", "start_month,country", "country,access_technology,ip_version",
    "country,proximity_class", "start_date,access_technology", "start_date,country",
    "start_date,country,access_technology",
)  # fmt: skip
CLASSES = ("country", "access_technology", "ip_version", "proximity_class", "transfer_size_class")
GOAL_MS = 50
ANSWERS = {
    "six quantiles": "statistic=quantiles",
    "three thresholds": "statistic=thresholds&thresholds_ms=100,500,1000",
    "six quantiles, Arrow": "statistic=quantiles&format=arrow",
}

PLAIN_SQL = """
create table measured as
    select dataset, rtt_basis, sample_basis, make_timestamp_ns(start_ns)::date as day, country, asn, access_technology,
        ip_version, client_host_key as host, rtt_min_us, floor(rtt_avg_us)::bigint as rtt_mean_us, rtt_max_us,
        rtt_max_us - rtt_min_us as delay_us,
        case when rtt_min_us <= 20000 then 1 when rtt_min_us <= 100000 then 2 when rtt_min_us <= 200000 then 3
            else 4 end as proximity,
        case when sent_bytes <= 10000 then 1 when sent_bytes <= 100000 then 2 when sent_bytes <= 1000000 then 3
            else 4 end as transfer_size,
        rtt_samples >= 10 and rtt_min_us is not null as counted
    from read_parquet('{files}');
create macro log_bin(us) as case when us < 64 then us else
    64 * (length(bin(us)) - 6) + (us >> (length(bin(us)) - 7)) - 64 end;
create table counts as select day, counted, count(*) as connections from measured group by all;
create table cube as
    select day, country, access_technology, ip_version, proximity, transfer_size, log_bin(delay_us) as bin_index,
        count(*) as connections from measured where counted group by all;
create table cube_hosts as
    select day, country, access_technology, ip_version, proximity, transfer_size, count(distinct host) as hosts
    from measured where counted group by all;
create table systems as
    select date_trunc('month', day) as start_month, asn, country, access_technology, log_bin(delay_us) as bin_index,
        count(*) as connections from measured where counted group by all;
create table systems_hosts as
    select date_trunc('month', day) as start_month, asn, country, access_technology, count(distinct host) as hosts
    from measured where counted group by all;
create table rtt as
    select day, access_technology, 'minimum' as statistic, log_bin(rtt_min_us) as bin_index, count(*) as connections
    from measured where counted group by all
    union all
    select day, access_technology, 'mean', log_bin(rtt_mean_us), count(*) from measured where counted group by all
    union all
    select day, access_technology, 'maximum', log_bin(rtt_max_us), count(*) from measured where counted group by all;
create table rtt_2d as
    select date_trunc('month', day) as start_month, log_bin(rtt_min_us) // 8 as minimum,
        log_bin(rtt_max_us) // 8 as maximum, count(*) as connections from measured where counted group by all;
create table host_day as
    select day, asn, country, access_technology, host, count(*) as connections, max(delay_us) as maximum_us,
        count(*) filter (where delay_us > 100000) as above_1, count(*) filter (where delay_us > 500000) as above_2,
        count(*) filter (where delay_us > 1000000) as above_3
    from measured where counted group by all;
create table shares as
    with hosts as (
        select day::varchar as period, access_technology, host, max(maximum_us) as maximum_us,
            sum(connections) as connections, sum(above_1) as a1, sum(above_2) as a2, sum(above_3) as a3
        from host_day group by all
        union all
        select strftime(day, '%Y-%m'), access_technology, host, max(maximum_us), sum(connections), sum(above_1),
            sum(above_2), sum(above_3)
        from host_day group by all
        union all
        select 'all', access_technology, host, max(maximum_us), sum(connections), sum(above_1), sum(above_2),
            sum(above_3)
        from host_day group by all
    )
    select period, access_technology, log_bin(maximum_us) as bin_index, count(*) as hosts,
        sum(connections) as connections, count(*) filter (where a1 > 0) as hosts_1,
        count(*) filter (where a2 > 0) as hosts_2,
        count(*) filter (where a3 > 0) as hosts_3, sum(a1) as above_1, sum(a2) as above_2, sum(a3) as above_3
    from hosts group by all;
"""

PLAIN = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute(sys.argv[2])
"""

POLARS = """
import sys, polars as pl
delay = pl.col('rtt_max_us') - pl.col('rtt_min_us')
rows = (
    pl.scan_parquet(sys.argv[1])
    .filter(pl.col('rtt_samples') >= 10, pl.col('rtt_min_us').is_not_null())
    .select('start_ns', 'country', 'access_technology', 'ip_version', 'client_host_key', delay.alias('delay_us'))
    .with_columns((pl.col('start_ns') // 86400000000000).alias('day'))
)
log = pl.col('delay_us').clip(1).log(2).mul(64).floor().cast(pl.Int32).alias('bin')
cube = rows.group_by('day', 'country', 'access_technology', 'ip_version', log).len()
hosts = rows.group_by('day', 'access_technology', 'client_host_key').agg(pl.col('delay_us').max(), pl.len())
print(cube.collect(engine='streaming').height, hosts.collect(engine='streaming').height)
"""

PANDAS = """
import sys, numpy as np, pandas as pd
columns = ['start_ns', 'country', 'access_technology', 'ip_version', 'client_host_key', 'rtt_samples', 'rtt_min_us']
rows = pd.read_parquet(sys.argv[1], columns=[*columns, 'rtt_max_us'], dtype_backend='pyarrow')
rows = rows[(rows.rtt_samples >= 10) & rows.rtt_min_us.notna()]
rows['day'] = rows.start_ns // 86400000000000
rows['delay_us'] = rows.rtt_max_us - rows.rtt_min_us
rows['bin'] = np.floor(64 * np.log2(rows.delay_us.clip(lower=1).astype('float64'))).astype('int32')
cube = rows.groupby(['day', 'country', 'access_technology', 'ip_version', 'bin']).size()
hosts = rows.groupby(['day', 'access_technology', 'client_host_key']).delay_us.agg(['max', 'size'])
print(len(cube), len(hosts))
"""


@dataclass(frozen=True)
class Measured:
    """What a process took."""

    seconds: float
    cpu_seconds: float
    peak_mb: int


def measured(command: Sequence[str]) -> Measured:
    """Run a command and return its time and memory; stop if it fails."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)[:200]}")
    return Measured(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)


def python(script: str, *arguments: str | Path, interpreter: Path | None = None) -> Measured:
    """Run Python code as a process of its own."""
    return measured([str(interpreter or sys.executable), "-c", script, *map(str, arguments)])


def available_bytes() -> int:
    """Return the memory that is free now, or holds nothing but copies of files."""
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))
    return 1024 * int(line.split()[1])


def number(database: Path, sql: str) -> int:
    """Return the whole number that a query of one value gives."""
    with duckdb.connect(str(database), read_only=True) as connection:
        (value,) = connection.execute(sql).fetchone() or (0,)
    return int(value)


@dataclass(frozen=True)
class Grouping:
    """What a grouping took: CPU, minimum and median milliseconds of some runs."""

    group: str
    of: str
    rows: int
    groups: int
    cpu_ms: float
    least_ms: float
    median_ms: float


def grouping(snapshot: Snapshot, group: str, runs: int) -> Grouping:
    """Measure a grouping, from its query to six quantiles of each group, as a request does it without HTTP."""
    metric, runner = METRICS["connection_queuing_delay"], QueryRunner(600, 1)
    context = RequestContext(f"/v1/distributions/{metric.name}", (("group", group),) if group else (), None)
    request = distribution_request(metric, snapshot.catalogue, DistributionParameters(group=group or None), context)
    dataset = request.dataset
    taken, cpu, groups = [], [], 0
    for _ in range(runs):
        started, started_cpu = time.perf_counter(), time.process_time()
        _, histograms, grouped = grouped_histograms(runner, snapshot, request)
        described(histograms, grouped, request.statistic, request.arguments, sys.maxsize)
        taken.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (time.process_time() - started_cpu))
        groups = len(grouped)
    of = dataset.name.removeprefix("connection_queuing_delay_")
    return Grouping(
        group, of, dataset.rows, groups, statistics.median(cpu), min(taken), statistics.median(taken)
    )  # fmt: skip


def measure_groupings(results: Results, folder: Path, threads: int = 1) -> None:
    """Measure what some groupings take, rows read each time and histograms held, and the slowest of all groupings."""
    read = Snapshot.open(folder, Settings(api_threads=threads, api_cells_bytes=0))
    started = time.perf_counter()
    held = Snapshot.open(folder, Settings(api_threads=threads))
    opened = time.perf_counter() - started
    columns = {"groups": ",", "CPU ms": ".0f", "minimum ms": ".0f", "median ms": ".0f"}
    table = results.table(
        "Groupings, rows read each time against histograms held",
        {"grouping": "", "of": "", "rows": ",", "read: CPU ms": ".0f", **columns},
    )
    for group in GROUPINGS:
        before, after = grouping(read, group, 3), grouping(held, group, 7)
        table.row(
            group.replace(",", ", "), after.of, after.rows, before.cpu_ms,
            after.groups, after.cpu_ms, after.least_ms, after.median_ms,
        )  # fmt: skip
    every = [
        grouping(held, ",".join((*when, *classes)), 5)
        for when in ((), ("start_month",), ("start_date",))
        for size in range(len(CLASSES) + 1)
        for classes in combinations(CLASSES, size)
    ]
    slowest = sorted(every, key=lambda one: one.cpu_ms, reverse=True)
    quick = [
        sum(cpu_ms < GOAL_MS for cpu_ms in of) for of in zip(*((o.cpu_ms, o.least_ms) for o in every), strict=True)
    ]
    results.note(
        f"Of all {len(every)} groupings {quick[0]} took less than {GOAL_MS} ms of CPU time, {quick[1]} of them by the "
        f"clock in the best of five runs. The snapshot took {opened:.1f} s to open."
    )
    table = results.table("The slowest groupings", {"grouping": "", **columns})
    for one in slowest[:10]:
        table.row(one.group.replace(",", ", "), one.groups, one.cpu_ms, one.least_ms, one.median_ms)
    read.close()
    held.close()
    measure_answers(results, folder.parent)


@contextmanager
def served(snapshots: Path) -> Iterator[tuple[HTTPConnection, int]]:
    """Serve a folder of snapshots by a process of its own, and give a connection to it and its number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environment = {**os.environ, "SOJOURN_SNAPSHOTS": str(snapshots)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([SOJOURN, "serve", "--port", str(port)], env=environment, **quiet)
    try:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            try:
                connection.connect()
                break
            except OSError:
                if server.poll() is not None:
                    raise SystemExit("the service did not start") from None
                time.sleep(0.1)
        yield connection, server.pid
        connection.close()
    finally:
        server.terminate()
        server.wait()


def cpu_ms_of(process: int) -> float:
    """Return the processor time of a running process on Linux, in ticks of mostly 10 ms."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_answers(results: Results, snapshots: Path, runs: int = 20) -> None:
    """Measure what answers over HTTP take: CPU time of the service, and minimum time from request to last byte."""
    table = results.table(
        "Answers over HTTP", {"grouping": "", "answer": "", "CPU ms": ".0f", "minimum ms": ".0f", "KiB": ",.0f"}
    )
    with served(snapshots) as (connection, process):
        for group in GROUPINGS:
            for answer, query in ANSWERS.items():
                taken, content, before = [], b"", cpu_ms_of(process)
                for _ in range(runs):
                    started = time.perf_counter()
                    connection.request("GET", f"/v1/distributions/connection_queuing_delay?group={group}&{query}")
                    response = connection.getresponse()
                    content = response.read()
                    taken.append(1000 * (time.perf_counter() - started))
                    if response.status != 200:
                        raise SystemExit(content.decode())
                cpu = (cpu_ms_of(process) - before) / runs
                table.row(group.replace(",", ", "), answer, cpu, min(taken), len(content) / 1024)


def main() -> None:
    """Measure, print tables in Markdown, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--var", type=Path, required=True, help="folder to work in, removed afterwards")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--polars-python", type=Path, help="Python that has Polars; without it Polars is skipped")
    arguments = parser.parse_args()
    if arguments.rows < arguments.days + 1:
        parser.error("give --rows at least one connection a day")
    shutil.rmtree(arguments.var, ignore_errors=True)
    try:
        compare(arguments.var.resolve(), arguments.rows, arguments.days, arguments.polars_python)
    finally:
        shutil.rmtree(arguments.var, ignore_errors=True)


def compare(var: Path, rows: int, days: int, polars: Path | None) -> None:
    """Measure each step below ``var``."""
    # The last day is kept back, to come as the next day's data.
    world, last = var / "world", var / "last"
    generated = measured(
        [SOJOURN, "generate", "connections", "--rows", str(rows), "--days", str(days), "--out", str(world)]
    )
    last.mkdir()
    newest = max(world.iterdir())
    newest.rename(last / newest.name)
    last_rows = rows_of_day(rows, days, days - 1)
    results = Results("connections")
    results.note(
        f"{rows:,} synthetic connections over {days} days, {rows / generated.seconds:,.0f} generated a second."
    )
    steps = results.table(
        "Steps", {"step": "", "seconds": ".1f", "CPU seconds": ".1f", "peak MB": ",", "rows a second": ",.0f"}
    )

    home, plain = var / "var", var / "plain.duckdb"
    warehouse = home / "warehouse" / "warehouse.duckdb"

    def say(name: str, measured: Measured, of: int = 0) -> Measured:
        steps.row(name, measured.seconds, measured.cpu_seconds, measured.peak_mb, of / measured.seconds if of else None)
        return measured

    def build(*options: str) -> Measured:
        return measured([SOJOURN, "build", "--var", str(home), *options])

    say("ingest", measured([SOJOURN, "ingest", "--var", str(home), str(world)]), rows - last_rows)
    shutil.rmtree(world)
    say(f"build of {days - 1} days", build(), rows - last_rows)
    say("one day more: ingest", measured([SOJOURN, "ingest", "--var", str(home), str(last)]), last_rows)
    say("one day more: build", build(), last_rows)
    # With nothing left to count, what remains is every table that is not kept by day or month, and every test.
    say("nothing more: build --force", build("--force"))
    built = say("everything counted again: build --full", build("--full"), rows)
    ours = number(warehouse, "select sum(connections)::bigint from marts.connection_count where outcome = 'counted'")
    # Both databases together may be more than the disk has.
    warehouse_bytes = warehouse.stat().st_size
    warehouse.unlink()
    lake = f"{home}/lake/data/connection/*.parquet"
    baseline = say("plain SQL", python(PLAIN, plain, PLAIN_SQL.replace("{files}", lake)), rows)
    theirs = number(plain, "select sum(connections)::bigint from cube")
    if ours != theirs:
        raise SystemExit(f"the marts count {ours:,} connections, the plain SQL {theirs:,}")
    plain.unlink()
    smaller = "a smaller cube and the hosts of a day"
    if polars is None:
        steps.row("Polars, not given", None, None, None, None)
    elif available_bytes() < POLARS_BYTES_A_ROW * rows:
        steps.row("Polars, not enough memory", None, None, None, None)
    else:
        say(f"Polars, {smaller}", python(POLARS, lake, interpreter=polars), rows)
    if available_bytes() < PANDAS_BYTES_A_ROW * rows:
        steps.row("pandas, not enough memory", None, None, None, None)
    else:
        say(f"pandas, {smaller}", python(PANDAS, home / "lake" / "data" / "connection"), rows)
    results.note(
        f"All marts took {built.seconds / baseline.seconds:.2f} times the plain SQL (goal: 1.3), "
        f"{built.cpu_seconds / baseline.cpu_seconds:.2f} times its CPU time, tests and publication included; "
        f"both count {ours:,}."
    )
    snapshots = home / "snapshots"
    measure_groupings(results, snapshots / json.loads((snapshots / CURRENT).read_text())["build_id"])
    of_lake = sum(path.stat().st_size for path in (home / "lake").rglob("*") if path.is_file())
    results.note(f"Lake {of_lake // 2**20:,} MiB, warehouse {warehouse_bytes // 2**20:,} MiB.")


if __name__ == "__main__":
    main()
