"""A worker or a driver that is killed costs time, and neither a row nor a file."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sojourn_ingest.lake import Lake

SOJOURN = Path(sys.executable).parent / "sojourn"
#: Generous: the machine may have other work.
WAIT_S = 900
SHORT_LIVED = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def standalone(repository: Path) -> ModuleType:
    path = repository / "infra" / "spark" / "standalone_cluster.py"
    spec = importlib.util.spec_from_file_location("standalone_cluster", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def cluster(standalone: ModuleType, tmp_path: Path) -> Iterator[object]:
    with standalone.StandaloneCluster(tmp_path / "cluster") as running:
        yield running


def environment(var: Path) -> dict[str, str]:
    return {
        **os.environ,
        "SOJOURN_VAR": str(var),
        "SOJOURN_ADDRESS_KEY": "one key for all",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def start(var: Path, *arguments: str | Path, **settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(SOJOURN), *map(str, arguments)], env=environment(var) | settings, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> str:
    printed, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, printed
    return printed


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)


def stopped_at(file: Path, process: subprocess.Popen[str]) -> int:
    """Wait for a process of a command to pause at its named point, and return its id."""
    wait_until(file.exists, process)
    return int(file.read_text())


def end(process_id: int) -> None:
    """Kill a process that pauses, if what it belonged to has not taken it along."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process_id, signal.SIGKILL)


def assert_same_lake(left: Path, right: Path) -> None:
    compared = finish(start(left, "compare-builds", left, right))
    assert ": equal" in compared, compared
    lake = Lake(right / "lake")
    named = {lake.place_of(file) for commit in lake.live() for file in commit.files}
    found = {str(path.relative_to(lake.root)) for path in (lake.root / "data").rglob("*") if path.is_file()}
    assert found == named
    assert list(lake.root.rglob("*.tmp")) == []


def one_block(sample: Path) -> list[Path]:
    """One run of each configuration."""
    return sorted(sample.glob("*_rep1"))


@pytest.fixture(scope="module")
def expected(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    var = tmp_path_factory.mktemp("threads")
    finish(start(var, "ingest", *one_block(sample)))
    return var


def test_an_ingest_whose_worker_is_killed_finishes_with_every_row_once(
    cluster: object, expected: Path, sample: Path, tmp_path: Path
) -> None:
    var, file = tmp_path / "var", tmp_path / "stopped"
    # The point is in the tasks, whose Python gets its environment from the executor's.
    at_facts = {"SOJOURN_STOP_AT": "facts.written", "SOJOURN_STOP_FILE": str(file)}
    conf = {"spark.executor.memory": "700m"} | {f"spark.executorEnv.{name}": value for name, value in at_facts.items()}
    options = [part for name, value in conf.items() for part in ("--spark-conf", f"{name}={value}")]
    running = start(var, "ingest", "--engine", "spark", "--master", cluster.master_url, *options, *one_block(sample))
    paused = stopped_at(file, running)
    cluster.kill_worker(cluster.worker_of(paused))
    end(paused)
    finish(running)
    assert_same_lake(expected, var)


def test_an_ingest_whose_driver_is_killed_is_completed_by_the_same_command(
    expected: Path, sample: Path, tmp_path: Path
) -> None:
    var, file = tmp_path / "var", tmp_path / "stopped"
    command = ("ingest", "--engine", "spark", "--master", "local[2]", *one_block(sample))
    running = start(var, *command, SOJOURN_STOP_AT="commit.published:3", SOJOURN_STOP_FILE=str(file))
    assert stopped_at(file, running) == running.pid
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert len(Lake(var / "lake").live()) == 3
    assert not (var / "snapshots").exists()
    finish(start(var, *command))
    assert_same_lake(expected, var)


@pytest.mark.long
def test_a_build_whose_driver_and_then_whose_worker_is_killed_gives_the_same_marts(
    cluster: object, expected: Path, sample: Path, tmp_path: Path
) -> None:
    finish(start(expected, "build"))
    var = tmp_path / "var"
    finish(start(var, "ingest", *one_block(sample)))
    spark = ("--engine", "spark", "--master", cluster.master_url, "--spark-conf", "spark.executor.memory=700m")
    command = ("build", *spark, "--spark-conf", SHORT_LIVED)
    marts = var / "spark" / "warehouse" / "marts.db"

    file = tmp_path / "stopped"
    killed = start(var, *command, SOJOURN_STOP_AT="mart.built", SOJOURN_STOP_FILE=str(file))
    assert stopped_at(file, killed) == killed.pid
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (var / "snapshots").exists()
    abandoned = list((var / "spark" / "local").iterdir())
    assert abandoned

    file.unlink()
    running = start(var, *command, SOJOURN_STOP_AT="mart.built:3", SOJOURN_STOP_FILE=str(file))
    assert stopped_at(file, running) == running.pid
    assert not any(folder.exists() for folder in abandoned)
    assert len(list(marts.iterdir())) >= 3
    cluster.kill_worker(1)
    os.kill(running.pid, signal.SIGCONT)
    finish(running)
    assert_same_lake(expected, var)
    assert not list((var / "spark" / "warehouse").rglob("_temporary"))
    assert list((var / "spark" / "local").iterdir()) == []
