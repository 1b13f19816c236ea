"""Commands as processes of their own, which tests of faults watch, stop and kill, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sojourn_ingest.lake import Lake

SOJOURN = Path(sys.executable).parent / "sojourn"
#: Generous: the machine may have other work.
WAIT_S = 900
SHORT_LIVED = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"


def environment(var: Path) -> dict[str, str]:
    """Return the environment of a command with a folder of its own."""
    return {
        **os.environ,
        "SOJOURN_VAR": str(var),
        "SOJOURN_ADDRESS_KEY": "one key for all",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def start(var: Path, *arguments: str | Path, **settings: str) -> subprocess.Popen[str]:
    """Start a command of sojourn as the leader of a session."""
    return subprocess.Popen(
        [str(SOJOURN), *map(str, arguments)], env=environment(var) | settings, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a command to succeed, and return what it printed."""
    printed, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, printed
    return printed


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for what happens while a command runs."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def stopped_at(file: Path, process: subprocess.Popen[str]) -> int:
    """Wait for a process of a command to pause at its named point, and return its id."""
    wait_until(lambda: file.exists() and file.read_text() != "", process)
    return int(file.read_text())


def end(process_id: int) -> None:
    """Kill a process that pauses, if what it belonged to has not taken it along."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process_id, signal.SIGKILL)


def spark_options(master: str, settings: dict[str, str]) -> list[str]:
    """Return the options with which a command runs on a cluster."""
    pairs = [part for name, value in settings.items() for part in ("--spark-conf", f"{name}={value}")]
    return ["--engine", "spark", "--master", master, *pairs]


def assert_same_lake(left: Path, right: Path) -> None:
    """Make sure that two folders have the same rows, and that the second has no file that no commit names."""
    compared = finish(start(left, "compare-builds", left, right))
    assert ": equal" in compared, compared
    lake = Lake(right / "lake")
    named = {lake.place_of(file) for commit in lake.live() for file in commit.files}
    names = {str(path.relative_to(lake.root)) for path in (lake.root / "data").rglob("*") if path.is_file()}
    assert names == named
    assert list(lake.root.rglob("*.tmp")) == []
