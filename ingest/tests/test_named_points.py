"""A process stops exactly at the point that is named, and nowhere without the setting."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_ingest.named_points import FAULT, FAULTS, POINTS, WRITES, point_of

PROGRAM = """
from sojourn_ingest import named_points
for point in ("facts.written", "commit.published", "facts.written", "commit.published"):
    print(point, flush=True)
    named_points.reach(point)
print("end", flush=True)
"""


def start(fault: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, FAULT: fault}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)


def test_without_the_setting_nothing_stops() -> None:
    printed, _ = start().communicate()
    assert printed.split() == ["facts.written", "commit.published", "facts.written", "commit.published", "end"]


@pytest.mark.parametrize(("at", "passed"), [("commit.published", 2), ("facts.written:2", 3), ("commit.published:2", 4)])
def test_a_process_is_killed_at_the_point_and_time(at: str, passed: int) -> None:
    process = start(f"kill@{at}")
    printed, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(printed.split()) == passed


def test_of_two_processes_the_first_pauses_and_goes_on_when_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "stopped"
    first = start(f"pause@facts.written,{file}")
    _, status = os.waitpid(first.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert file.read_text() == str(first.pid)
    second, _ = start(f"pause@facts.written,{file}").communicate()
    assert second.endswith("end\n")
    os.kill(first.pid, signal.SIGCONT)
    printed, _ = first.communicate()
    assert printed.endswith("end\n")
    assert [path.name for path in tmp_path.iterdir()] == ["stopped"]


@pytest.mark.parametrize(
    "fault",
    [
        "kill", "kill@x", "kill@x:1", "kill@commit", "kill@commit.published:0", "kill@commit.published:x",
        "boom@facts.written", "eio@facts.written", "torn@commit.published", "@", "pause@facts.written",
        "pause@facts.written,", "kill@facts.written,file",
    ],
)  # fmt: skip
def test_a_fault_that_cannot_happen_is_an_error(fault: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        point_of({FAULT: fault})


def test_faults_are_raised_at_the_point_and_time(tmp_path: Path) -> None:
    for kind, number in (("eio", errno.EIO), ("enospc", errno.ENOSPC)):
        reach = point_of({FAULT: f"{kind}@data.flushing:2"})
        reach("data.flushing", tmp_path)
        reach("facts.writing", tmp_path)
        with pytest.raises(OSError, match=str(tmp_path)) as raised:
            reach("data.flushing", tmp_path)
        assert raised.value.errno == number
        reach("data.flushing", tmp_path)
    assert set(FAULTS) == {"kill", "pause", "eio", "enospc", "torn", "slow"}
    assert set(POINTS) > set(WRITES)


def test_a_torn_write_leaves_half_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "written"
    file.write_bytes(bytes(100))
    program = (
        "from pathlib import Path; from sojourn_ingest import named_points; "
        f"named_points.reach('data.flushing', Path({str(file)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, FAULT: "torn@data.flushing"}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert file.stat().st_size == 50


def test_every_point_is_come_to_somewhere(repository: Path) -> None:
    folders = (repository / package / "src" for package in ("ingest", "transforms"))
    sources = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    reached = {point for point in POINTS if any(f'named_points.reach("{point}"' in text for text in sources)}
    assert reached == set(POINTS)
