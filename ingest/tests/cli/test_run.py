"""`sojourn run`: its steps are processes, which end when it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn_ingest.cli.run import ingest_arguments, run_step


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for_child(pid: int) -> int:
    deadline = time.monotonic() + 300
    while not (pids := children(pid)):
        assert time.monotonic() < deadline, "no step was started"
        time.sleep(0.01)
    return pids[0]


def is_alive(pid: int) -> bool:
    # What has ended and was not waited for yet is a zombie.
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_whoever_ends_run_ends_its_step(tmp_path: Path, sample: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "sojourn_ingest.cli", "run", str(sample), "--var", str(tmp_path / "var")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    step = wait_for_child(process.pid)
    process.send_signal(number)
    assert process.wait(timeout=300) == 128 + number
    assert not is_alive(step)


def test_a_step_s_status_is_that_of_run() -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    assert run_step([sys.executable, "-c", "raise SystemExit(3)"], os.environ) == 3
    assert run_step([sys.executable, "-c", "pass"], os.environ) == 0
    assert (
        run_step([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], os.environ) == 137
    )
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == handlers


def test_a_step_that_ends_well_in_spite_of_the_signal_is_the_last() -> None:
    # A step may end by itself between the signal and its arrival: the next must not begin then.
    code = """
import os, signal, sys
from sojourn_ingest.cli.run import run_step
step = "import os, signal, time\\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\\nimport sys\\n" \\
       "os.kill(os.getppid(), signal.SIGTERM)\\ntime.sleep(20)"
print(run_step([sys.executable, "-c", step], os.environ))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == str(128 + signal.SIGTERM), done.stderr


def test_paths_of_the_sample_name_no_folder_of_the_machine() -> None:
    command, option, root, *parts = ingest_arguments(None)
    assert (command, option) == ("ingest", "--root")
    assert len(parts) > 2
    assert all(Path(part).is_relative_to(root) for part in parts)
    assert ingest_arguments(["a.pcap"]) == ["ingest", "a.pcap"]
