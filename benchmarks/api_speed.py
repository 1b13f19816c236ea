"""The API under load: repeated and new answers, formats, a new comparison, a switch of builds; ROAPI and Datasette.

The service is one process on the first core, and the load comes from the others. Vegeta sends at a constant rate
whether or not answers have come, and counts a request's time from when it was due: an open loop, in which a slow answer
delays no other request and hides none (coordinated omission). CPU time is of the server's process alone; it bears a
busy machine better than times by the clock.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow.parquet as pq
from api_build import HARM_ROWS, LARGE, cpu_s, serve_build, write_build
from raw_results import Results, Table

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
READY_S = 120
ROWS = "/v1/datasets/run_harm/rows"
REPEATED = tuple(
    f"{ROWS}?{urlencode({'role': role, 'group': group, 'aggregate': aggregate})}"
    for role in ("app", "tcp")
    for group in ("aqm", "aqm,congestion_control", "bandwidth_bps", "rtt_ms,aqm")
    for aggregate in ("median:harm_ratio", "mean:harm_ratio", "count")
)


class Server:
    """A server under test: its address and process."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port = port
        self.process = process

    def cpu_s(self) -> float:
        """Return the CPU time that it has used."""
        return cpu_s(self.process.pid)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], port: int, ready: str, cores: str = "0", **environment: str) -> Iterator[Server]:
    """Run a server on the first core, or on a list of them, until the end of the block."""
    process = subprocess.Popen(
        ["taskset", "--cpu-list", cores, *command],
        env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + READY_S
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if get(port, ready)[0] == 200:
                    break
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"{command[0]} does not answer")
            time.sleep(0.05)
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait()


def at_rest(server: Server) -> None:
    """Wait until the service has loaded what it loads in the background, some seconds after its start."""
    time.sleep(4)
    while True:
        before = server.cpu_s()
        time.sleep(1)
        if server.cpu_s() - before < 0.02:
            return


def get(port: int, address: str, connection: http.client.HTTPConnection | None = None) -> tuple[int, bytes]:
    """Return status and body of an answer; over a connection that stays open, if one is given."""
    used = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    used.request("GET", address, headers={"Accept": "*/*"})
    answer = used.getresponse()
    body = answer.read()
    if connection is None:
        used.close()
    return answer.status, body


def post(port: int, address: str, body: str, connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    """Return status and body of the answer to a request with a body."""
    connection.request("POST", address, body=body, headers={"Accept": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def attack(vegeta: str, port: int, addresses: tuple[str, ...], rate: int, seconds: int) -> dict[str, Any]:
    """Send addresses in turn at a constant rate and return Vegeta's report; times in ns."""
    targets = "".join(f"GET http://127.0.0.1:{port}{address}\n" for address in addresses)
    others = f"1-{(os.cpu_count() or 2) - 1}"
    command = ["taskset", "--cpu-list", others, vegeta, "attack", f"-rate={rate}/1s", f"-duration={seconds}s"]
    sent = subprocess.run(command, input=targets.encode(), capture_output=True, check=True).stdout
    report = subprocess.run([vegeta, "report", "-type=json"], input=sent, capture_output=True, check=True).stdout
    measured: dict[str, Any] = json.loads(report)
    return measured


def under_load(table: Table, name: str, server: Server, vegeta: str, rate: int, seconds: int) -> dict[str, Any]:
    """Add a row of one attack with repeated addresses."""
    before = server.cpu_s()
    report = attack(vegeta, server.port, REPEATED, rate, seconds)
    used = server.cpu_s() - before
    requests = report["requests"]
    succeeded = report["status_codes"].get("200", 0)
    times = (report["latencies"][point] / 1e6 for point in ("50th", "99th", "max"))
    table.row(name, requests, requests - succeeded, round(report["rate"]), *times, used / requests * 1e3)
    return report


def one_by_one(server: Server, send: Callable[[int], tuple[int, bytes]], count: int) -> tuple[float, float]:
    """Send requests one after another and return the median ms by the clock, and the CPU ms of the server for each."""
    send(0)
    times, before = [], server.cpu_s()
    for number in range(1, count + 1):
        started = time.perf_counter()
        status, body = send(number)
        times.append((time.perf_counter() - started) * 1e3)
        if status != 200 or not body:
            raise RuntimeError(f"status {status}: {body[:300]!r}")
    return statistics.median(times), (server.cpu_s() - before) / count * 1e3


def sql_of(number: int) -> str:
    """Return the aggregate that all three servers compute; each number is another request."""
    return (
        "select aqm, count(*) as n, avg(harm_ratio) as mean_harm_ratio from run_harm "
        f"where role = 'app' and harm_ratio > {number * 1e-9:.9f} group by aqm order by aqm"
    )


def new_aggregates(table: Table, server: Server, folder: Path, arguments: argparse.Namespace) -> None:
    """Add a row for each server that answers the same aggregate, a different one at each request."""
    count = arguments.requests
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for name, aggregate in (("mean", "mean:harm_ratio"), ("median", "median:harm_ratio")):
        query = {"role": "app", "group": "aqm", "aggregate": aggregate}
        address = f"{ROWS}?{urlencode(query)}&harm_ratio__gt="
        taken = one_by_one(server, lambda n, a=address: get(0, f"{a}{n * 1e-9:.9f}", connection), count)  # type: ignore[misc]
        table.row(f"Sojourn, {name}", count, *taken)
    parquet = folder / "a" / "run_harm.parquet"
    port = free_port()
    command = [arguments.roapi, "--table", f"run_harm={parquet}", "--addr-http", f"127.0.0.1:{port}"]
    with running(command, port, "/api/schema") as roapi:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        taken = one_by_one(roapi, lambda n: post(0, "/api/sql", sql_of(n), connection), count)
        table.row("ROAPI 0.12.7, mean", count, *taken)
    database = folder / "run_harm.db"
    rows = pq.read_table(parquet)
    with contextlib.closing(sqlite3.connect(database)) as made:
        made.execute(f"create table run_harm ({', '.join(rows.column_names)})")
        marks = ", ".join("?" * rows.num_columns)
        made.executemany(f"insert into run_harm values ({marks})", zip(*rows.to_pydict().values(), strict=True))
        made.commit()
    port = free_port()
    command = [arguments.datasette, "serve", "--immutable", str(database), "--port", str(port)]
    with running(command, port, "/-/versions.json") as datasette:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        address = "/run_harm.json?_shape=array&sql="
        taken = one_by_one(datasette, lambda n: get(0, address + quote(sql_of(n)), connection), count)
        table.row("Datasette 0.65, mean", count, *taken)


def large(table: Table, server: Server, count: int) -> None:
    """Add rows of group-bys over the large mart, and of pages of 100,000 rows in JSON and Arrow."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=READY_S)
    address = f"/v1/datasets/{LARGE}/rows?"
    for name, query in (
        ("group by aqm: count", {"group": "aqm", "aggregate": "count"}),
        ("group by aqm: sum of whole numbers", {"group": "aqm", "aggregate": "sum:packet_bytes"}),
        ("group by aqm: median", {"group": "aqm", "aggregate": "median:queuing_delay_ms"}),
    ):
        address_of_rows = f"{address}{urlencode(query)}&row_number__ge="
        table.row(name, count, *one_by_one(server, lambda n, a=address_of_rows: get(0, f"{a}{n}", connection), count))  # type: ignore[misc]
    for name in ("json", "arrow"):
        address_of_rows = f"{address}{urlencode({'limit': 100_000, 'format': name})}&row_number__ge="
        table.row(
            f"100,000 rows as {name}",
            count,
            *one_by_one(server, lambda n, a=address_of_rows: get(0, f"{a}{n}", connection), count),
        )  # type: ignore[misc]


def new_comparisons(table: Table, server: Server) -> None:
    """Add rows of one client and of four that ask for the same new comparison at the same time."""
    for clients, margin in ((1, "0.1"), (4, "0.2")):
        address = f"/v1/comparisons/harm?factor=aqm&baseline=tail-drop&margin={margin}"
        before, started = server.cpu_s(), time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            statuses = [status for status, _ in pool.map(get, [server.port] * clients, [address] * clients)]
        took = time.perf_counter() - started
        if statuses != [200] * clients:
            raise RuntimeError(f"a comparison was answered with {statuses}")
        table.row(clients, took * 1e3, (server.cpu_s() - before) * 1e3)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder for generated files; emptied first")
    parser.add_argument("--vegeta", required=True, help="the load generator")
    parser.add_argument("--roapi", required=True)
    parser.add_argument("--datasette", required=True)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large mart")
    parser.add_argument("--rate", type=int, default=1000, help="requests per second of the load")
    parser.add_argument("--seconds", type=int, default=30, help="length of each load")
    parser.add_argument("--requests", type=int, default=300, help="new requests, one after another")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    for number, build_id in enumerate(("a", "b")):
        write_build(folder, build_id, arguments.rows, seed=number)
    serve_build(folder, "a")
    results = Results("api")
    port = free_port()
    command = [SOJOURN, "serve", "--port", str(port)]
    clock = {"requests": ",", "median ms": ".1f", "CPU ms per request": ".2f"}
    with running(
        command, port, "/healthz", SOJOURN_SNAPSHOTS=str(folder), SOJOURN_API_CLIENT_REQUESTS="1000"
    ) as server:
        columns = {"load": "", "requests": ",", "failed": ",", "per second": ",", "p50 ms": ".1f", "p99 ms": ".1f"}
        table = results.table(
            f"{arguments.rate} requests a second of {len(REPEATED)} answers that repeat, one core",
            {**columns, "maximum ms": ".1f", "CPU ms per request": ".3f"},
        )
        get(port, "/v1/comparisons/harm?factor=aqm&baseline=tail-drop&level=0.99")
        attack(arguments.vegeta, port, REPEATED, 50, 2)  # computes each answer once
        at_rest(server)
        quiet = under_load(table, "one build", server, arguments.vegeta, arguments.rate, arguments.seconds)
        switch = threading.Timer(arguments.seconds / 2, serve_build, (folder, "b"))
        switch.start()
        busy = under_load(
            table, "a switch of builds in the middle", server, arguments.vegeta, arguments.rate, arguments.seconds
        )
        switch.join()
        if json.loads(get(port, "/healthz")[1])["build_id"] != "b":
            raise RuntimeError("the other build was not served")
        ratio = busy["latencies"]["99th"] / quiet["latencies"]["99th"]
        results.note(
            f"p99 with the switch is {ratio:.1f} times that without. Goals: p99 under 10 ms, 0 failed, 3 times."
        )
        table = results.table(f"An aggregate of {HARM_ROWS:,} rows, a new one at each request", {"server": "", **clock})
        new_aggregates(table, server, folder, arguments)
        table = results.table(f"New requests to a mart of {arguments.rows:,} rows, one core", {"request": "", **clock})
        large(table, server, 5)
        table = results.table(
            "Clients that ask for the same new comparison at once", {"clients": ",", "ms": ".0f", "CPU ms": ".0f"}
        )
        new_comparisons(table, server)
    port, cores = free_port(), os.cpu_count() or 1
    with running(
        [SOJOURN, "serve", "--port", str(port)], port, "/healthz", cores=f"0-{cores - 1}",
        SOJOURN_SNAPSHOTS=str(folder), SOJOURN_API_CLIENT_REQUESTS="1000", SOJOURN_API_THREADS=str(cores),
    ) as server:  # fmt: skip
        at_rest(server)
        table = results.table(f"The same, {cores} cores and SOJOURN_API_THREADS={cores}", {"request": "", **clock})
        large(table, server, 5)
    results.note(f"Load of {os.cpu_count()} cores at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
