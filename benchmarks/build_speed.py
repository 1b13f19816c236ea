"""How long a build takes: from nothing, after one input more, and with nothing new.

``python benchmarks/build_speed.py --folder FOLDER --sources …`` ingests what ``make build`` does, and times ``sojourn
build`` as a process of its own, several times each, from copies of the same installation. It prints medians of
seconds, CPU seconds and peak memory, and keeps them (raw_results).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from raw_results import ROOT, Results

SOJOURN = str(Path(sys.executable).with_name("sojourn"))
RUN = "1000k_rtt50_codel_bbr_video_appfirst_rep1"
PACKETS = 500


@dataclass(frozen=True)
class Measured:
    """What one build took, the load before it, and the last line that it printed."""

    seconds: float
    cpu_seconds: float
    peak_mb: int
    load: float
    said: str


def sojourn(var: Path, *arguments: str | Path) -> None:
    """Run a command below ``var``; stop if it fails."""
    subprocess.run([SOJOURN, *map(str, arguments), "--var", str(var)], check=True, stdout=subprocess.DEVNULL)


def measured_build(var: Path, *options: str) -> Measured:
    """Build below ``var``; stop if it fails."""
    load, started = os.getloadavg()[0], time.monotonic()
    process = subprocess.Popen([SOJOURN, "build", "--var", str(var), *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read().strip().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    if status:
        raise SystemExit(f"sojourn build --var {var} failed")
    # Where the checkout is belongs in no kept result.
    last = said[-1].replace(f"{ROOT}/", "")
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, load, last)


def small_capture(folder: Path) -> Path:
    """Write a capture of :data:`PACKETS` packets of UDP."""
    header = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000")
    packets = []
    for number in range(PACKETS):
        udp = bytes.fromhex("c000 2328 0108 0000") + bytes(256)
        address = bytes.fromhex("c0000201 c0000202")
        ip = bytes.fromhex("4500 011c 0000 4000 4011 0000") + address
        frame = bytes(12) + b"\x08\x00" + ip + udp
        seconds, micro = divmod(number * 20_000, 1_000_000)
        times = (1_700_000_000 + seconds).to_bytes(4, "little") + micro.to_bytes(4, "little")
        packets.append(times + len(frame).to_bytes(4, "little") * 2 + frame)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.pcap").write_bytes(header + b"".join(packets))
    return folder


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="folder for generated files; emptied first")
    parser.add_argument("--sources", type=Path, nargs="+", required=True, help="what make build ingests")
    parser.add_argument("--runs", type=int, default=3, help="builds of each row")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    base, copy = folder / "base", folder / "copy"
    sojourn(base, "ingest", *(source for source in arguments.sources if RUN not in str(source)))
    results = Results("build")
    table = results.table(
        "Builds, medians",
        {"work": "", "seconds": ".1f", "CPU seconds": ".1f", "peak MB": ",", "load before": ".1f", "printed": ""},
    )

    def row(work: str, runs: list[Measured]) -> None:
        median = [statistics.median(getattr(run, name) for run in runs) for name in ("seconds", "cpu_seconds")]
        load = max(run.load for run in runs)
        table.row(work, *median, max(run.peak_mb for run in runs), load, runs[-1].said)

    from_nothing = []
    for _ in range(arguments.runs):
        shutil.rmtree(base / "warehouse", ignore_errors=True)
        shutil.rmtree(base / "snapshots", ignore_errors=True)
        from_nothing.append(measured_build(base))
    row("from nothing", from_nothing)
    another = folder / "run"
    shutil.copytree(ROOT / "ingest" / "sample" / "runs" / RUN, another / RUN)
    for work, source in (("one small capture more", small_capture(folder / "capture")), ("one run more", another)):
        runs = []
        for _ in range(arguments.runs):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(base, copy)
            sojourn(copy, "ingest", source)
            runs.append(measured_build(copy))
        row(work, runs)
    row("nothing new", [measured_build(base) for _ in range(arguments.runs)])
    row("everything, --force", [measured_build(base, "--force") for _ in range(arguments.runs)])
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
