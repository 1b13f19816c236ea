"""How long the models take: over the sample with the reference data, and over generated lakes of many flows.

One generated lake has runs with manifests, the other captures without any.

``python benchmarks/model_speed.py --shared FOLDER`` prints seconds, CPU seconds and peak memory, and what
took longest, and keeps them (raw_results). Each build is a process of its own, `sojourn build` as anyone runs it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from raw_results import Results, Table
from synthetic_captures import generate_captures
from synthetic_lake import generate

from sojourn_transforms.running.duckdb_tables import NOTES

ROOT = Path(__file__).resolve().parents[1]
SOJOURN = Path(sys.executable).parent / "sojourn"
INPUTS = (
    ROOT / "ingest" / "sample" / "runs",
    Path("data/testbed"),
    ROOT / "ingest" / "sample" / "tma23" / "data",
)


SLOWEST = 15


@dataclass(frozen=True)
class Measured:
    """What one build took: seconds, those of all threads' CPU, and the most memory in MB."""

    wall: float
    cpu: float
    peak_mb: int
    load: float
    slowest: list[tuple[float, str]]


def measured_build(var: Path) -> Measured:
    """Build below ``var`` and return what it took; ``load`` is the machine's load average of the last minute of it."""
    started = time.monotonic()
    process = subprocess.Popen([SOJOURN, "build", "--var", str(var)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    if status:
        raise SystemExit(f"sojourn build --var {var} failed")
    with duckdb.connect(str(var / "warehouse" / "warehouse.duckdb"), read_only=True) as warehouse:
        slowest = warehouse.execute(f"select seconds, name from {NOTES} order by seconds desc").fetchmany(SLOWEST)
    return Measured(
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss // 1024,
        load=os.getloadavg()[0],
        slowest=slowest,
    )


def main() -> None:
    """Measure, and print a row for each lake, then the slowest models and tests of the last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, help="folder of reference data; without it only the generated lake")
    parser.add_argument("--var", type=Path, required=True, help="folder for the lakes, removed afterwards")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--flows", type=int, default=10_000_000, help="flows of the lake of runs; 0 for none")
    parser.add_argument(
        "--capture-flows", type=int, default=10_000_000, help="flows of the lake of captures alone; 0 for none"
    )
    arguments = parser.parse_args()
    if arguments.flows and not arguments.flows >= 2 * arguments.runs > 0:
        parser.error("a run has two flows at least: give --flows twice --runs or more")
    results = Results("models")
    builds = results.table(
        "Builds",
        {"lake": "", "seconds": ".0f", "CPU seconds": ".0f", "peak MB": ",", "load": ".1f"},
    )
    slowest: list[tuple[str, Measured]] = []
    shutil.rmtree(arguments.var, ignore_errors=True)
    try:
        if arguments.shared:
            inputs = [str(arguments.shared / path) for path in INPUTS]
            studies = arguments.var / "studies"
            subprocess.run([SOJOURN, "ingest", *inputs, "--var", str(studies)], check=True, stdout=subprocess.DEVNULL)
            _add(builds, "sample, testbed and TMA'23", measured_build(studies))
        if arguments.flows:
            generated = arguments.var / "generated"
            _in_own_process(generate, generated / "lake", arguments.runs, arguments.flows)
            slowest.append(("the generated lake", measured_build(generated)))
            _add(builds, f"generated: {arguments.flows:,} flows in {arguments.runs:,} runs", slowest[-1][1])
            shutil.rmtree(generated)
        if arguments.capture_flows:
            captures = arguments.var / "captures"
            _in_own_process(generate_captures, captures / "lake", arguments.capture_flows)
            slowest.append(("the captures alone", measured_build(captures)))
            _add(builds, f"generated: {arguments.capture_flows:,} flows of captures alone", slowest[-1][1])
        for lake, measured in slowest:
            table = results.table(f"The slowest {SLOWEST} of {lake}", {"table or tests": "", "seconds": ".1f"})
            for seconds, name in measured.slowest:
                table.row(name, seconds)
    finally:
        shutil.rmtree(arguments.var, ignore_errors=True)


def _in_own_process(generator: Callable[..., None], *arguments: Path | int) -> None:
    # A child begins with the peak memory of the process that starts it.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(generator, arguments)


def _add(table: Table, name: str, measured: Measured) -> None:
    table.row(name, measured.wall, measured.cpu, measured.peak_mb, measured.load)


if __name__ == "__main__":
    main()
