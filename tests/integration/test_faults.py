"""Every point of failure once: the same command completes, and nothing is lost, doubled, torn or left behind."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sojourn_ingest.lake import open_storage
from sojourn_ingest.lake.readers import FOLDER as READERS
from sojourn_ingest.named_points import POINTS, WRITES

from .fault_lakes import (
    STEPS,
    Commands,
    State,
    argv_of,
    below,
    commands,
    copy_stage,
    environment_of,
    object_store,
    settle,
    staged,
    state_of,
    write_inputs,
)

#: Where each point is reached first. Those of a whole build are walked by `make test-long`.
STEP_OF = {
    "facts.writing": "ingest",
    "facts.written": "ingest",
    "data.flushing": "ingest",
    "object.writing": "ingest",
    "object.creating": "ingest",
    "object.created": "ingest",
    "commit.published": "ingest",
    "object.deleting": "compact",
    "compaction.writing": "compact",
    "compaction.written": "compact",
    "pack.published": "compact",
    "list.writing": "forget",
    "list.renaming": "forget",
    "host.listed": "forget",
    "mart.writing": "publish",
    "snapshot.written": "publish",
    "snapshot.renaming": "publish",
    "snapshot.renamed": "publish",
    "pointer.renaming": "publish",
    "pointer.renamed": "publish",
    "snapshot.removing": "publish",
}
OF_A_BUILD = {"lake.registered", "mart.built"}
#: Points of an object store, and faults there; those before a conditional put, an upload or a removal can fail.
OF_A_STORE = (
    ("ingest", "kill@object.creating"),
    ("ingest", "kill@object.created:2"),
    ("ingest", "eio@object.creating:2"),
    ("ingest", "torn@data.flushing"),
    ("ingest", "enospc@data.flushing:2"),
    ("compact", "kill@pack.published"),
    ("compact", "eio@object.deleting"),
)


@pytest.fixture(scope="module")
def runner() -> Iterator[Commands]:
    with commands() as held:
        yield held


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "inputs"
    write_inputs(folder)
    return folder


@pytest.fixture(scope="module")
def stages(runner: Commands, inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, State]]:
    """Return by step the folder before it, and the state after it, undisturbed."""
    made = tmp_path_factory.mktemp("stages")
    return {step: (made / step, state) for step, state in staged(runner, inputs, made, tuple(STEPS), None).items()}


def test_every_point_is_walked_here_or_in_a_build() -> None:
    assert set(STEP_OF) | OF_A_BUILD == set(POINTS)


def _walk(
    fault: str, point: str, runner: Commands, inputs: Path, stages: dict[str, tuple[Path, State]], folder: Path
) -> tuple[int, str]:
    step = STEP_OF[point]
    before, expected = stages[step]
    var = folder / "var"
    shutil.copytree(before, var)
    output = runner.run(argv_of(step, inputs), var, SOJOURN_FAULT=f"{fault}@{point}")
    settle(var, None)
    status, printed = runner.run(argv_of(step, inputs), var)
    assert status == 0, printed
    assert state_of(var) == expected
    return output


@pytest.mark.integration
@pytest.mark.parametrize("point", sorted(STEP_OF))
def test_a_kill_at_any_point(
    point: str, runner: Commands, inputs: Path, stages: dict[str, tuple[Path, State]], tmp_path: Path
) -> None:
    status, _ = _walk("kill", point, runner, inputs, stages, tmp_path)
    assert status == -signal.SIGKILL


@pytest.mark.integration
@pytest.mark.parametrize("point", sorted(WRITES))
def test_a_torn_write_at_any_point(
    point: str, runner: Commands, inputs: Path, stages: dict[str, tuple[Path, State]], tmp_path: Path
) -> None:
    status, _ = _walk("torn", point, runner, inputs, stages, tmp_path)
    assert status == -signal.SIGKILL


@pytest.mark.integration
@pytest.mark.parametrize("fault", ["eio", "enospc"])
@pytest.mark.parametrize("point", sorted(WRITES))
def test_an_error_of_the_disk_at_any_point_is_told_in_one_line(
    point: str, fault: str, runner: Commands, inputs: Path, stages: dict[str, tuple[Path, State]], tmp_path: Path
) -> None:
    status, printed = _walk(fault, point, runner, inputs, stages, tmp_path)
    lines = [line for line in printed.splitlines() if line.strip()]
    assert status == 1, printed
    assert "Traceback" not in printed
    errors = [line for line in lines if "Input/output error" in line or "No space left on device" in line]
    assert len(errors) == 1, printed
    assert lines[-1] == errors[0]
    assert errors[0].startswith("error: ")


@pytest.mark.integration
@pytest.mark.parametrize("step", STEPS)
def test_a_slow_disk_changes_nothing(
    step: str, runner: Commands, inputs: Path, stages: dict[str, tuple[Path, State]], tmp_path: Path
) -> None:
    point = next(point for point, where in STEP_OF.items() if where == step and point in WRITES)
    status, printed = _walk("slow", point, runner, inputs, stages, tmp_path)
    assert status == 0, printed


@pytest.mark.integration
@pytest.mark.parametrize("step", ["ingest", "compact", "forget"])
def test_a_slow_reader_sees_one_state_while_a_writer_changes_the_lake(
    step: str, runner: Commands, inputs: Path, stages: dict[str, tuple[Path, State]], tmp_path: Path
) -> None:
    before, expected = stages[step]
    var = tmp_path / "var"
    shutil.copytree(before, var)
    with commands() as reader:
        # Its hold is taken, and nothing is read yet, while the writer works.
        reading = reader.start(["read", "2"], var, SOJOURN_FAULT="slow@lake.registered")
        for _ in range(600):
            if open_storage(var / "lake").names(READERS):
                break
            time.sleep(0.01)
        status, printed = runner.run(argv_of(step, inputs), var)
        assert reader.wait() == 0, reading.read_text()
    # A host is not forgotten while somebody still reads its rows: the command says so, and is run again.
    says_why = "another command is reading" in printed or "another command began to read" in printed
    assert status == 0 or (step == "forget" and says_why), printed
    settle(var, None)
    status, printed = runner.run(argv_of(step, inputs), var)
    assert status == 0, printed
    assert state_of(var) == expected


@pytest.fixture(scope="module")
def stored_stages(
    runner: Commands, inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path, dict[str, State]]]:
    """Return an object store, and by step the folder and the lake before it, and the state after it, undisturbed."""
    made = tmp_path_factory.mktemp("stored-stages")
    with object_store() as uri:
        yield uri, made, staged(runner, inputs, made, ("ingest", "compact"), uri)


@pytest.mark.integration
@pytest.mark.parametrize(("step", "fault"), OF_A_STORE)
def test_a_fault_at_a_put_of_an_object_store(
    step: str,
    fault: str,
    runner: Commands,
    inputs: Path,
    stored_stages: tuple[str, Path, dict[str, State]],
    tmp_path: Path,
) -> None:
    uri, made, expected = stored_stages
    var, own = tmp_path / "var", below(uri, fault.replace(":", "-"))
    copy_stage(made / step, var, below(uri, step), own)
    status, printed = runner.run(argv_of(step, inputs), var, SOJOURN_FAULT=fault, **environment_of(own))
    assert status == (-signal.SIGKILL if fault.startswith(("kill", "torn")) else 1), printed
    assert "Traceback" not in printed
    settle(var, own)
    status, printed = runner.run(argv_of(step, inputs), var, **environment_of(own))
    assert status == 0, printed
    assert state_of(var, own) == expected[step]


@contextmanager
def small_disk(folder: Path, size_kib: int) -> Iterator[Path]:
    """Hold a file system of a few KiB, which only root may mount."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "none", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"only root may mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        # The kernel lets go of the files of a process that has ended a moment after it has.
        for _ in range(600):
            if subprocess.run(["umount", str(folder)], check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
        else:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
            pytest.fail(f"something still uses {folder}")


def fill(disk: Path) -> None:
    """Leave no byte free on a small disk."""
    with pytest.raises(OSError, match="No space left on device"):
        (disk / "rest").write_bytes(b"x" * 2**20)


@pytest.mark.integration
@pytest.mark.privileged
@pytest.mark.parametrize("size_kib", range(80, 320, 24))
def test_a_full_disk_is_told_in_one_line_and_the_rest_completes(
    size_kib: int, runner: Commands, tmp_path: Path, sample: Path
) -> None:
    run = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1"
    # The estimate would refuse to begin; here the disk is to be met while it is being filled.
    argv = ["ingest", str(run), "--workers", "2", "--ignore-disk"]
    with small_disk(tmp_path / "disk", size_kib) as disk:
        status, printed = runner.run(argv, disk / "var")
        assert status == 1
        lines = [line for line in printed.splitlines() if line.strip()]
        assert len(lines) == 1, printed
        assert lines[0].startswith("error: ")
        assert "No space left on device; free some space and run the same command again" in lines[0]
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert runner.run(argv, disk / "var")[0] == 0
        whole = state_of(disk / "var")
    assert runner.run(argv, tmp_path / "var")[0] == 0
    expected = state_of(tmp_path / "var")
    assert (whole.fingerprint, whole.rows) == (expected.fingerprint, expected.rows)


@pytest.mark.integration
@pytest.mark.privileged
def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(
    runner: Commands, tmp_path: Path, sample: Path
) -> None:
    run = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1"
    with small_disk(tmp_path / "disk", 296) as disk:
        status, printed = runner.run(["ingest", str(run)], disk / "var")
        lines = [line for line in printed.splitlines() if line.strip()]
        assert status == 1
        assert len(lines) == 2, printed
        assert lines[0].startswith("disk: ingest of ")
        assert lines[1].startswith("error: ingest of ")
        assert lines[1].endswith("free some space, or continue anyway with --ignore-disk (SOJOURN_IGNORE_DISK=1)")
        assert not list((disk / "var").rglob("*.parquet"))
        subprocess.run(["mount", "-o", "remount,size=32m", str(disk)], check=True)
        assert runner.run(["ingest", str(run)], disk / "var")[0] == 0
        status, printed = runner.run(["build"], disk / "var")
        lines = [line for line in printed.splitlines() if line.strip()]
        assert status == 1
        assert len(lines) == 2, printed
        assert lines[1].startswith("error: the build needs about ")
        assert not (disk / "var" / "warehouse").exists()
