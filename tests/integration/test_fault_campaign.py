"""Faults at random points: on a folder, on an object store, with a reader beside the writer, and in whole builds.

``SOJOURN_FAULT_RUNS`` is how often each is tried (500), ``SOJOURN_FAULT_SEED`` what chance begins with (1).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn_ingest.named_points import WRITES
from sojourn_snapshot.pointer import read_pointer

from .conftest import SOJOURN
from .fault_lakes import (
    STEPS,
    Commands,
    argv_of,
    below,
    commands,
    copy_stage,
    environment_of,
    object_store,
    remove_stored,
    settle,
    staged,
    state_of,
)
from .test_faults import STEP_OF, inputs, runner  # noqa: F401 - fixtures

# ruff: noqa: F811 - the arguments of tests are the fixtures imported above

RUNS = int(os.environ.get("SOJOURN_FAULT_RUNS") or 500)
SEED = int(os.environ.get("SOJOURN_FAULT_SEED") or 1)
KINDS = ("kill", "torn", "eio", "enospc", "slow")
#: A point is reached up to this often in a step; a later time than that leaves the command undisturbed.
TIMES = 3
#: Steps that change the lake, and points that they reach in any storage.
OF_THE_LAKE = ("ingest", "compact", "forget")
FOLDERS_ONLY = "object.writing"

pytestmark = [pytest.mark.integration, pytest.mark.long]


def chosen(chance: random.Random, steps: tuple[str, ...]) -> tuple[str, str]:
    """Return a step, and a fault at a point that it reaches."""
    step = chance.choice(steps)
    later = {
        "ingest": ("object.deleting",),
        "compact": ("data.flushing", "object.creating"),
        "forget": ("data.flushing",),
    }
    points = [point for point, where in STEP_OF.items() if where == step] + list(later.get(step, ()))
    if step == "forget":
        points += ["object.writing", "object.creating", "object.created", "commit.published", "object.deleting"]
    kind, point = chance.choice(KINDS), chance.choice(points)
    if point not in WRITES and kind not in ("kill", "slow"):
        kind = "kill"
    return step, f"{kind}@{point}:{chance.randint(1, TIMES)}"


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with object_store() as uri:
        yield uri


def _campaign(
    runner: Commands,
    inputs: Path,
    folder: Path,
    steps: tuple[str, ...],
    uri: str | None,
    reader: Commands | None = None,
) -> Counter[str]:
    chance = random.Random(SEED)
    expected = staged(runner, inputs, folder, steps, uri)
    seen: Counter[str] = Counter()
    for number in range(RUNS):
        step, fault = chosen(chance, steps)
        while uri is not None and FOLDERS_ONLY in fault:
            step, fault = chosen(chance, steps)
        name = f"run-{number}"
        var, own = folder / name, below(uri, name)
        copy_stage(folder / step, var, below(uri, step), own)
        reading = None
        if reader is not None:
            reading = reader.start(["read", "2"], var, SOJOURN_FAULT="slow@lake.registered", **environment_of(own))
        status, printed = runner.run(argv_of(step, inputs), var, SOJOURN_FAULT=fault, **environment_of(own))
        if reader is not None and reading is not None:
            status_of_reader = reader.wait()
            assert status_of_reader == 0, (fault, reading.read_text())
        assert "Traceback" not in printed, (fault, printed)
        assert status in (0, 1, -signal.SIGKILL), (fault, printed)
        settle(var, own)
        again, text = runner.run(argv_of(step, inputs), var, **environment_of(own))
        assert again == 0, (fault, text)
        assert state_of(var, own) == expected[step], fault
        seen[f"{fault.partition('@')[0]} -> {status}"] += 1
        shutil.rmtree(var)
        if own is not None:
            remove_stored(own)
    return seen


def _tell(where: str, seen: Counter[str]) -> None:
    counted = ", ".join(f"{kind}: {count}" for kind, count in sorted(seen.items()))
    print(f"{where}: {sum(seen.values())} faults, nothing lost ({counted})")
    assert sum(seen.values()) == RUNS
    # Most were really disturbed, so that the sameness means something.
    assert sum(count for kind, count in seen.items() if not kind.endswith("-> 0")) > RUNS // 4


def test_random_faults_on_a_folder(runner: Commands, inputs: Path, tmp_path: Path) -> None:
    _tell("folder", _campaign(runner, inputs, tmp_path, tuple(STEPS), None))


def test_random_faults_on_an_object_store(runner: Commands, inputs: Path, tmp_path: Path, store: str) -> None:
    _tell("object store (moto)", _campaign(runner, inputs, tmp_path, OF_THE_LAKE, store))


def test_random_faults_with_a_reader_beside_the_writer(runner: Commands, inputs: Path, tmp_path: Path) -> None:
    with commands() as reader:
        _tell("reader and writer", _campaign(runner, inputs, tmp_path, OF_THE_LAKE, None, reader))


def test_a_build_that_is_killed_again_and_again_ends_in_the_same_build(tmp_path: Path, inputs: Path) -> None:
    environment = {**os.environ, "SOJOURN_ADDRESS_KEY": "one key for all", "SOJOURN_FORGET_KEY": "another"}

    def run(var: Path, command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        own = environment | {"SOJOURN_VAR": str(var)} | more
        return subprocess.run([str(SOJOURN), *command], env=own, check=False, capture_output=True, text=True)

    builds = []
    for name in ("undisturbed", "killed"):
        var = tmp_path / name
        assert run(var, ["ingest", str(inputs), "--workers", "1"]).returncode == 0
        if name == "killed":
            for point in (
                "lake.registered",
                "object.created",
                "mart.built:1",
                "mart.built:40",
                "mart.writing:30",
                "snapshot.renamed",
            ):
                assert run(var, ["build"], SOJOURN_FAULT=f"kill@{point}").returncode == -signal.SIGKILL, point
                settle(var, None)
            full = run(var, ["build"], SOJOURN_FAULT="enospc@mart.writing:20")
            assert full.returncode == 1
            assert "Traceback" not in full.stderr
            assert read_pointer(var / "snapshots") is None
        done = run(var, ["build"])
        assert done.returncode == 0, done.stderr
        builds.append(state_of(var))
    assert builds[0] == builds[1]
    assert builds[0].served is not None
