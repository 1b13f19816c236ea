"""A worker or a driver that is killed costs time, and neither a row nor a file."""

from __future__ import annotations

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


def start(var: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(SOJOURN), *map(str, arguments)], env=environment(var), start_new_session=True,
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


def facts_written(var: Path) -> int:
    return sum(1 for _ in (var / "lake" / "data").rglob("*.parquet"))


def assert_same_lake(left: Path, right: Path) -> None:
    compared = finish(start(left, "compare-builds", left, right))
    assert ": equal" in compared, compared
    lake = Lake(right / "lake")
    named = {lake.place_of(file) for commit in lake.live() for file in commit.files}
    found = {str(path.relative_to(lake.root)) for path in (lake.root / "data").rglob("*") if path.is_file()}
    assert found == named
    assert list(lake.root.rglob("*.tmp")) == []


@pytest.fixture(scope="module")
def expected(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    var = tmp_path_factory.mktemp("threads")
    finish(start(var, "ingest", sample))
    return var


def test_an_ingest_whose_worker_is_killed_finishes_with_every_row_once(
    cluster: object, expected: Path, sample: Path, tmp_path: Path
) -> None:
    var = tmp_path / "var"
    conf = "spark.executor.memory=700m"
    running = start(var, "ingest", "--engine", "spark", "--master", cluster.master_url, "--spark-conf", conf, sample)
    wait_until(lambda: facts_written(var) >= 3, running)
    cluster.kill_worker(0)
    finish(running)
    assert_same_lake(expected, var)


def test_an_ingest_whose_driver_is_killed_is_completed_by_the_same_command(
    expected: Path, sample: Path, tmp_path: Path
) -> None:
    var = tmp_path / "var"
    command = ("ingest", "--engine", "spark", "--master", "local[2]", sample)
    running = start(var, *command)
    wait_until(lambda: facts_written(var) >= 3, running)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert not (var / "snapshots").exists()
    finish(start(var, *command))
    assert_same_lake(expected, var)


@pytest.mark.long
def test_a_build_whose_driver_and_then_whose_worker_is_killed_gives_the_same_marts(
    cluster: object, expected: Path, sample: Path, tmp_path: Path
) -> None:
    finish(start(expected, "build"))
    var = tmp_path / "var"
    finish(start(var, "ingest", sample))
    spark = ("--engine", "spark", "--master", cluster.master_url, "--spark-conf", "spark.executor.memory=700m")
    command = ("build", *spark, "--spark-conf", SHORT_LIVED)
    marts = var / "spark" / "warehouse" / "marts.db"

    killed = start(var, *command)
    wait_until(lambda: marts.is_dir() and len(list(marts.iterdir())) >= 1, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (var / "snapshots").exists()
    abandoned = list((var / "spark" / "local").iterdir())
    assert abandoned

    running = start(var, *command)
    wait_until(lambda: not any(folder.exists() for folder in abandoned), running)
    wait_until(lambda: marts.is_dir() and len(list(marts.iterdir())) >= 3, running)
    cluster.kill_worker(1)
    finish(running)
    assert_same_lake(expected, var)
    assert not list((var / "spark" / "warehouse").rglob("_temporary"))
    assert list((var / "spark" / "local").iterdir()) == []
