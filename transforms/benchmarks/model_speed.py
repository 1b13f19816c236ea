"""How long the models take: over the sample with the reference data, and over a generated lake of many flows.

``python transforms/benchmarks/model_speed.py --shared FOLDER`` prints seconds, CPU seconds and peak
memory: the table of docs/performance.md. Each build is a process of its own, `sojourn build` as anyone runs it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from synthetic_lake import generate

ROOT = Path(__file__).resolve().parents[2]
SOJOURN = Path(sys.executable).parent / "sojourn"
INPUTS = (
    ROOT / "ingest" / "sample" / "runs",
    Path("data/testbed"),
    Path("data/public/laurenzfg__instant-messaging-meets-video-conferencing/data"),
)


def measured_build(var: Path) -> tuple[float, float, int]:
    """Return wall seconds, CPU seconds and peak memory in MB of a build below ``var``."""
    started = time.monotonic()
    process = subprocess.Popen([SOJOURN, "build", "--var", str(var)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    if status:
        raise SystemExit(f"sojourn build --var {var} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def main() -> None:
    """Measure, and print a row for each lake."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, help="folder of reference data; without it only the generated lake")
    parser.add_argument("--var", type=Path, required=True, help="folder for the lakes, removed afterwards")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--flows", type=int, default=10_000_000)
    arguments = parser.parse_args()
    if not arguments.flows >= 2 * arguments.runs > 0:
        parser.error("a run has two flows at least: give --flows twice --runs or more")
    print("| lake | seconds | CPU seconds | peak MB |\n| --- | --- | --- | --- |", flush=True)
    shutil.rmtree(arguments.var, ignore_errors=True)
    try:
        if arguments.shared:
            inputs = [str(arguments.shared / path) for path in INPUTS]
            studies = arguments.var / "studies"
            subprocess.run([SOJOURN, "ingest", *inputs, "--var", str(studies)], check=True, stdout=subprocess.DEVNULL)
            _print("sample, testbed and TMA'23", measured_build(studies))
        generated = arguments.var / "generated"
        generate(generated / "lake", arguments.runs, arguments.flows)
        _print(f"generated: {arguments.flows:,} flows in {arguments.runs:,} runs", measured_build(generated))
    finally:
        shutil.rmtree(arguments.var, ignore_errors=True)


def _print(name: str, measured: tuple[float, float, int]) -> None:
    wall, cpu, memory = measured
    print(f"| {name} | {wall:.0f} | {cpu:.0f} | {memory:,} |", flush=True)


if __name__ == "__main__":
    main()
