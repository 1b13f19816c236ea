"""A day of passive RTT of an access network: ingest and build by number of samples, and what 10⁹ would take.

Samples are generated as ePPing writes them, labelled synthetic. CPU time and peak memory are of whole processes, from
the system's accounting. What is said of 10⁹ samples is an extrapolation: the cost of each further sample between the
two largest sizes, times 10⁹, plus what does not grow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from raw_results import Results

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
TARGET = 1_000_000_000
DAY_S = 86_400
CORES = 4
#: Two runs of the same command differ by about as much, as a share of their CPU time.
SPREAD = 0.1


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    seconds: float
    cpu_s: float
    peak_mib: float


def cost_of(words: list[str], environment: dict[str, str]) -> Cost:
    """Return the cost of one command; raise RuntimeError if it fails."""
    clock = time.perf_counter()
    process = subprocess.Popen(
        [SOJOURN, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    messages = process.stderr.read() if process.stderr is not None else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"sojourn {words} ended with {process.returncode}: {messages}")
    return Cost(time.perf_counter() - clock, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder for generated files; emptied first")
    parser.add_argument("--samples", type=int, default=10_000_000, help="largest number of samples of the day")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of samples, instead of three up to the largest")
    parser.add_argument("--circuits", type=int, default=20_000)
    parser.add_argument("--sites", type=int, default=100)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    results = Results("passive-rtt")
    columns = {
        "samples": ",d", "step": "", "seconds": ".1f", "CPU s": ".1f", "CPU µs per sample": ".1f", "peak MiB": ",.0f",
        "MiB read or kept": ",.0f",
    }  # fmt: skip
    table = results.table(
        f"One day of ePPing's samples, {arguments.circuits:,} circuits at {arguments.sites} sites, a file per hour",
        columns,
    )
    largest_size = arguments.samples
    sizes = sorted(arguments.sizes or [max(1, largest_size // 10), max(2, 3 * largest_size // 10), largest_size])
    costs: dict[str, list[Cost]] = {"ingest": [], "build": []}
    for samples in sizes:
        isp, var = folder / "isp", folder / "var"
        made = ["--samples", str(samples), "--circuits", str(arguments.circuits), "--sites", str(arguments.sites)]
        environment = {**os.environ, "SOJOURN_VAR": str(var)}
        generated = cost_of(["generate", "passive-rtt", "--out", str(isp), *made], environment)
        table.row(samples, "generate", *_cells(generated, samples), _mib(isp / "pping"))
        look_ups = ["--circuits", str(isp / "ShapedDevices.csv"), "--prefix-table", str(isp / "prefixes.csv")]
        for step, words, kept in (
            ("ingest", ["ingest", str(isp / "pping"), *look_ups], var / "lake"),
            ("build", ["build"], var / "snapshots"),
        ):
            costs[step].append(cost_of(words, environment))
            table.row(samples, step, *_cells(costs[step][-1], samples), _mib(kept))
        shutil.rmtree(isp)
        shutil.rmtree(var)
    if len(sizes) == 1:
        return
    extrapolated = results.table(
        "Extrapolated to 10⁹ samples of one day, from the two largest sizes",
        {"step": "", "CPU µs per further sample": ".1f", "CPU hours": ".1f", "share of a day on 1 core": ".0%",
         f"share of a day on {CORES} cores": ".0%"},
    )  # fmt: skip
    for step, measured in costs.items():
        middle, largest = measured[-2:]
        each_s = (largest.cpu_s - middle.cpu_s) / (sizes[-1] - sizes[-2])
        total_s = max(0.0, largest.cpu_s - each_s * sizes[-1]) + each_s * TARGET
        extrapolated.row(step, each_s * 1e6, total_s / 3600, total_s / DAY_S, total_s / DAY_S / CORES)
        if largest.cpu_s - middle.cpu_s < SPREAD * largest.cpu_s:
            results.note(
                f"Do not use what is extrapolated for the {step}: {largest.cpu_s - middle.cpu_s:.1f} CPU s between the "
                "two largest sizes are within the spread of one measurement. Measure more samples."
            )
    results.note(
        f"Load of {os.cpu_count()} cores at the end: {os.getloadavg()[0]:.1f}. The reader is Python, so threads of one "
        "ingest share one core: count it against one core, or run the ingest with --engine spark. Rows by host and "
        "hour grow with hosts and hours and not with samples, rows of connections with flows: here four of a host."
    )


def _cells(cost: Cost, samples: int) -> tuple[float, float, float, float]:
    return cost.seconds, cost.cpu_s, cost.cpu_s / samples * 1e6, cost.peak_mib


def _mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


if __name__ == "__main__":
    main()
