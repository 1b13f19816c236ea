"""A process stops exactly at the point that is named, and nowhere without the setting."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_ingest.named_points import FAULT, FAULTS, POINTS, STOP_AT, STOP_FILE, WRITES, point_of

PROGRAM = """
from sojourn_ingest import named_points
for point in ("facts.written", "commit.published", "facts.written", "commit.published"):
    print(point, flush=True)
    named_points.reach(point)
print("end", flush=True)
"""


def start(**settings: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name not in (STOP_AT, STOP_FILE)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment | settings, stdout=subprocess.PIPE, text=True
    )


def test_without_the_setting_nothing_stops() -> None:
    printed, _ = start().communicate()
    assert printed.split() == ["facts.written", "commit.published", "facts.written", "commit.published", "end"]


@pytest.mark.parametrize(("at", "passed"), [("commit.published", 2), ("facts.written:2", 3), ("commit.published:2", 4)])
def test_a_process_is_killed_at_the_point_and_time(at: str, passed: int) -> None:
    process = start(SOJOURN_STOP_AT=at)
    printed, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(printed.split()) == passed


def test_of_two_processes_the_first_pauses_and_goes_on_when_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "stopped"
    first = start(SOJOURN_STOP_AT="facts.written", SOJOURN_STOP_FILE=str(file))
    _, status = os.waitpid(first.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert file.read_text() == str(first.pid)
    second, _ = start(SOJOURN_STOP_AT="facts.written", SOJOURN_STOP_FILE=str(file)).communicate()
    assert second.endswith("end\n")
    os.kill(first.pid, signal.SIGCONT)
    printed, _ = first.communicate()
    assert printed.endswith("end\n")
    assert [path.name for path in tmp_path.iterdir()] == ["stopped"]


@pytest.mark.parametrize("at", ["commit", "commit.published:0", "commit.published:x", "x:1"])
def test_a_setting_that_names_no_point_is_an_error(at: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        point_of({STOP_AT: at})


@pytest.mark.parametrize(
    "fault", ["kill", "kill@x", "boom@facts.written", "eio@facts.written", "torn@commit.published", "@"]
)
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
    assert set(FAULTS) == {"kill", "eio", "enospc", "torn", "slow"}
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
