"""Shuffle files that are lost and a worker that stands still cost time, and neither a row nor a file."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from infra.spark import event_log
from transforms.tests.spark_faults import counting_job
from transforms.tests.spark_faults.commands import (
    WAIT_S,
    assert_same_lake,
    end,
    environment,
    finish,
    spark_options,
    start,
    stopped_at,
    wait_until,
)
from transforms.tests.spark_faults.conftest import one_block

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.schema import table

pytestmark = [pytest.mark.integration, pytest.mark.long]

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "500ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.3",
}
#: Many map tasks, so that a fault comes between two of them.
MANY_TASKS = {"spark.sql.files.maxPartitionBytes": "3m", "spark.sql.files.openCostInBytes": "2m"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    """Hold two workers of one core, each with an address of its own."""
    from infra.spark.standalone_cluster import StandaloneCluster

    with StandaloneCluster(tmp_path / "cluster", own_addresses=True) as running:
        yield running


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a lake of two million connections."""
    folder = tmp_path_factory.mktemp("connections")
    var, world = folder / "var", folder / "world"
    finish(start(var, "generate", "connections", "--rows", "2000000", "--days", "16", "--out", world))
    finish(start(var, "ingest", world))
    return var


class Counting:
    """A counting job on a cluster, and what must be true when it has ended."""

    def __init__(self, var: Path, folder: Path, master: str, settings: dict[str, str]) -> None:
        self._lake, self._output, self._events = Lake(var / "lake"), folder / "counted", folder / "events"
        self._events.mkdir()
        logged = {
            "spark.executor.memory": "700m",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self._events.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
        }
        pairs = [f"{name}={value}" for name, value in (logged | settings).items()]
        command = [sys.executable, counting_job.__file__, str(folder), str(var / "lake"), str(self._output), master]
        self.process = subprocess.Popen(
            [*command, *pairs], env=environment(folder), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def assert_same_rows(self) -> int:
        """Wait for the end, compare with DuckDB, and return how many rows were counted."""
        finish(self.process)
        with duckdb.connect() as connection:
            connection.execute(f"create view facts as {live_rows_sql(table('connection'), self._lake)}")
            connection.execute(f"create view counted as from read_parquet('{self._output}/*.parquet')")
            connection.execute(f"create table expected as {counting_job.job('facts', '//')}")
            differing = "select count(*) from ((from {} except all from {}) union all (from {} except all from {}))"
            names = ("expected", "counted", "counted", "expected")
            assert connection.execute(differing.format(*names)).fetchall() == [(0,)]
            ((rows,),) = connection.execute("select count(*) from counted").fetchall()
        return int(rows)

    def stages(self) -> list[Any]:
        """Return what the tasks of each stage did."""
        (log,) = self._events.iterdir()
        return list(event_log.stages(log).values())


def unchanged_for(seconds: float, value: Callable[[], int], process: subprocess.Popen[str]) -> None:
    """Wait until a value has been the same for a while."""
    before, since = value(), time.monotonic()

    def is_over() -> bool:
        nonlocal before, since
        if (now := value()) != before:
            before, since = now, time.monotonic()
        return time.monotonic() - since > seconds

    wait_until(is_over, process)


def test_shuffle_files_that_are_lost_are_made_again(cluster: Any, connections: Path, tmp_path: Path) -> None:
    counting = Counting(connections, tmp_path, cluster.master_url, MANY_TASKS)
    wait_until(lambda: all(cluster.shuffle_files(number) for number in (0, 1)), counting.process)
    # The stage does not end while one worker stands still, so nobody has read what the other wrote.
    cluster.pause_worker(1)
    unchanged_for(5, lambda: len(cluster.shuffle_files(0)), counting.process)
    lost = cluster.shuffle_files(0)
    for path in lost:
        path.unlink()
    cluster.continue_worker(1)
    assert counting.assert_same_rows() > 10_000
    assert len(lost) >= 3
    assert sum(stage.ended["FetchFailed"] for stage in counting.stages()) > 0


def test_a_straggler_of_a_counting_job_is_overtaken(cluster: Any, connections: Path, tmp_path: Path) -> None:
    counting = Counting(connections, tmp_path, cluster.master_url, MANY_TASKS | SPECULATION)
    wait_until(lambda: all(cluster.shuffle_files(number) for number in (0, 1)), counting.process)
    cluster.pause_worker(1)
    unchanged_for(10, lambda: len(cluster.shuffle_files(0)), counting.process)
    # What it had handed over is with it, so it is waited for: a machine that stays away is a lost one.
    assert counting.process.poll() is None
    cluster.continue_worker(1)
    assert counting.assert_same_rows() > 10_000
    assert sum(stage.speculative for stage in counting.stages()) > 0


def test_an_ingest_ends_while_a_straggler_stands_still(
    cluster: Any, expected: Path, sample: Path, tmp_path: Path
) -> None:
    var, file = tmp_path / "var", tmp_path / "stopped"
    settings = SPECULATION | {
        "spark.executor.memory": "700m",
        "spark.executorEnv.SOJOURN_FAULT": f"pause@facts.written,{file}",
    }
    running = start(var, "ingest", *spark_options(cluster.master_url, settings), *one_block(sample))
    paused = stopped_at(file, running)
    straggler = cluster.worker_of(paused)
    cluster.pause_worker(straggler)
    finish(running)
    files = Lake(var / "lake").leftovers()
    # It goes on after everything has ended, and finds nobody to report to.
    cluster.continue_worker(straggler)
    deadline = time.monotonic() + WAIT_S
    while Path(f"/proc/{paused}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    end(paused)
    assert files == []
    finish(start(var, "ingest", *one_block(sample)))
    assert_same_lake(expected, var)
