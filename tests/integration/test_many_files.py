"""Many small captures: one ingest, the same again, a compaction and a build, with their time and memory.

``SOJOURN_MANY_FILES`` is how many (10,000), ``SOJOURN_MANY_FILES_IN`` a folder for them and what is made of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.verification import verify
from sojourn_snapshot.pointer import read_pointer

from .conftest import SOJOURN
from .small_captures import capture_of

MANY = int(os.environ.get("SOJOURN_MANY_FILES") or 10_000)
FLOWS = 2

pytestmark = [pytest.mark.integration, pytest.mark.long]


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    printed: str


def cost_of(var: Path, *arguments: str) -> Cost:
    """Run a command to its end, which must be good."""
    environment = {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": "one", "SOJOURN_FORGET_KEY": "two"}
    printed = var.with_name("printed")
    started = time.monotonic()
    with printed.open("wb") as out:
        process = subprocess.Popen([str(SOJOURN), *arguments], env=environment, stdout=out, stderr=subprocess.STDOUT)
        peak_kib = 0
        while True:
            # The kernel's own figure for a process that has ended counts what its parent had before it.
            state = Path(f"/proc/{process.pid}/status").read_text()
            peak_kib = max([peak_kib, *(int(line.split()[1]) for line in state.splitlines() if "VmHWM" in line)])
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(0.2)
        process.returncode = os.waitstatus_to_exitcode(status)
    text = printed.read_text(errors="replace")
    assert process.returncode == 0, text[-3000:]
    assert "Traceback" not in text
    cost = Cost(time.monotonic() - started, used.ru_utime + used.ru_stime, peak_kib / 1024, text)
    shown = {"wall_s": round(cost.wall_s), "cpu_s": round(cost.cpu_s), "peak_mib": round(cost.peak_mib)}
    print(
        json.dumps(
            {
                "command": " ".join(arguments[:2]) if arguments[0] == "maintain" else arguments[0],
                "files": MANY,
                **shown,
                "load": os.getloadavg()[0],
            }
        ),
        flush=True,
    )
    return cost


def test_many_small_captures(tmp_path: Path) -> None:
    base = Path(os.environ.get("SOJOURN_MANY_FILES_IN") or tmp_path)
    folder, var = base / "inputs", base / "var"
    for number in range(MANY):
        path = folder / f"{number % 100:02}" / f"host{number}.pcap"
        if number < 100:
            path.parent.mkdir(parents=True)
        client = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        path.write_bytes(capture_of(client, "192.168.0.1", 1_700_000_000 + number))
    cost_of(var, "ingest", str(folder))
    lake = Lake(var / "lake")
    assert len(lake.live()) == MANY
    assert {commit.status for commit in lake.live()} == {"ok"}
    fingerprint = lake.fingerprint()
    again = cost_of(var, "ingest", str(folder))
    assert "unchanged" in again.printed
    assert Lake(var / "lake").fingerprint() == fingerprint
    cost_of(var, "maintain", "compact")
    compacted = Lake(var / "lake")
    assert compacted.fingerprint() == fingerprint
    assert verify(compacted, full=True).damages == ()
    assert sum(pq.read_metadata(path).num_rows for path in compacted.files("flow")) == FLOWS * MANY
    assert list((var / "lake" / "commits").iterdir()) == []
    cost_of(var, "build")
    served = read_pointer(var / "snapshots")
    assert served is not None
    outcomes = list((var / "snapshots" / served.build_id).rglob("ingest_outcome*.parquet"))
    assert sum(pq.read_metadata(path).num_rows for path in outcomes) == MANY
    print(sys.version.split()[0], json.dumps({"lake_files": verify(compacted, full=False).files}))
