"""A worker or a driver that is killed costs time, and neither a row nor a file."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from transforms.tests.spark_faults.commands import (
    SHORT_LIVED,
    assert_same_lake,
    end,
    finish,
    spark_options,
    start,
    stopped_at,
)
from transforms.tests.spark_faults.conftest import one_block

from sojourn_ingest.lake import Lake

pytestmark = [pytest.mark.integration, pytest.mark.long]


def test_an_ingest_whose_worker_is_killed_finishes_with_every_row_once(
    cluster: object, expected: Path, sample: Path, tmp_path: Path
) -> None:
    var, file = tmp_path / "var", tmp_path / "stopped"
    # The point is in the tasks, whose Python gets its environment from the executor's.
    conf = {"spark.executor.memory": "700m", "spark.executorEnv.SOJOURN_FAULT": f"pause@facts.written,{file}"}
    running = start(var, "ingest", *spark_options(cluster.master_url, conf), *one_block(sample))
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
    running = start(var, *command, SOJOURN_FAULT=f"pause@commit.published:3,{file}")
    assert stopped_at(file, running) == running.pid
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert len(Lake(var / "lake").live()) == 3
    assert not (var / "snapshots").exists()
    finish(start(var, *command))
    assert_same_lake(expected, var)


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
    killed = start(var, *command, SOJOURN_FAULT=f"pause@mart.built,{file}")
    assert stopped_at(file, killed) == killed.pid
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (var / "snapshots").exists()
    abandoned = list((var / "spark" / "local").iterdir())
    assert abandoned

    file.unlink()
    running = start(var, *command, SOJOURN_FAULT=f"pause@mart.built:3,{file}")
    assert stopped_at(file, running) == running.pid
    assert not any(folder.exists() for folder in abandoned)
    assert len(list(marts.iterdir())) >= 3
    cluster.kill_worker(1)
    os.kill(running.pid, signal.SIGCONT)
    finish(running)
    assert_same_lake(expected, var)
    assert not list((var / "spark" / "warehouse").rglob("_temporary"))
    assert list((var / "spark" / "local").iterdir()) == []
