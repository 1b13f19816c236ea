"""What a command costs before it does its work: CPU time of several processes, and of `sojourn serve` until it answers.

CPU time is of the process and its children, from the system's accounting. The smallest of several runs is the figure
nearest to a quiet machine; the median shows how much the load disturbs. The time by the clock is only of the service.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from raw_results import ROOT, Results

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
READY_S = 60


def cpu_s() -> float:
    """Return the CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(command: list[str], environment: dict[str, str], status: int) -> float:
    """Return the CPU time of one run; raise RuntimeError if its status is another."""
    before = cpu_s()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr}")
    return cpu_s() - before


def until_healthy(environment: dict[str, str]) -> tuple[float, float]:
    """Return seconds by the clock until /healthz answers, and CPU seconds of the whole process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    before, clock = cpu_s(), time.perf_counter()
    server = subprocess.Popen(
        [SOJOURN, "serve", "--port", str(port)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=READY_S).read()
                break
            except OSError:
                if time.perf_counter() - clock > READY_S or server.poll() is not None:
                    raise RuntimeError("sojourn serve does not answer") from None
                time.sleep(0.01)
        answered = time.perf_counter() - clock
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    return answered, cpu_s() - before


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=Path, required=True, help="runs to build the snapshot from")
    parser.add_argument("--folder", type=Path, required=True, help="folder for generated files; emptied first")
    parser.add_argument("--runs", type=int, default=9, help="processes of each row")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    small = sorted(arguments.sample.resolve().glob("*/queue_bpftrace.txt.xz"))[0]
    environment = {**os.environ, "SOJOURN_VAR": str(folder / "served")}
    results = Results("start")
    columns = {"command": "", "CPU s, smallest": ".3f", "CPU s, median": ".3f", "goal": ".2f"}
    table = results.table(f"CPU time of {arguments.runs} processes each", columns)
    for words, status, goal in (
        (["--help"], 0, 0.25),
        (["nonsense"], 2, 0.25),
        (["ingest", "--nonsense"], 2, 0.25),
        (["build", "--nonsense"], 2, 0.25),
    ):
        taken = [cpu_of([SOJOURN, *words], environment, status) for _ in range(arguments.runs)]
        table.row(f"sojourn {' '.join(words)}", min(taken), statistics.median(taken), goal)
    taken = []
    for number in range(arguments.runs):
        command = [SOJOURN, "ingest", str(small), "--var", str(folder / f"lake-{number}")]
        taken.append(cpu_of(command, environment, 0))
    name = f"sojourn ingest, one queue log of {small.stat().st_size} bytes"
    table.row(name, min(taken), statistics.median(taken), 0.6)
    python = [cpu_of([sys.executable, "-c", "import numpy, pyarrow.parquet"], environment, 0) for _ in taken]
    table.row("for comparison: Python, import numpy, pyarrow.parquet", min(python), statistics.median(python), None)
    for words in (["ingest", str(arguments.sample.resolve())], ["build"]):
        cpu_of([SOJOURN, *words], environment, 0)
    served = [until_healthy(environment) for _ in range(arguments.runs)]
    clock = {"clock s, smallest": ".2f", "clock s, median": ".2f"}
    table = results.table(
        "sojourn serve until /healthz answers", {"command": "", **clock, "CPU s, smallest": ".2f", "goal": ".1f"}
    )
    clocks = [one for one, _ in served]
    table.row("sojourn serve", min(clocks), statistics.median(clocks), min(cpu for _, cpu in served), 1.5)
    sample = os.path.relpath(arguments.sample.resolve(), ROOT)
    results.note(f"Load of {os.cpu_count()} cores at the end: {os.getloadavg()[0]:.1f}. The service serves {sample}.")


if __name__ == "__main__":
    main()
