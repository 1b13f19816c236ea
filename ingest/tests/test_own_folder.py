"""What a killed process left in the folder of temporary files is removed, and nothing of a living one or the user."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sojourn_process.own_folder import MARKER, own_folder

HOLDER = """
import sys, time
from sojourn_process.own_folder import own_folder
with own_folder("sojourn-sort-") as folder:
    (folder / "spilled").write_bytes(b"rows")
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_killed_process_s_folder_goes_and_a_living_one_s_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, left = holder()
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    living, held = holder()
    other = tmp_path / "sojourn-sorted.txt"
    other.write_text("")
    assert (left.exists(), (held / "spilled").exists()) == (False, True)
    # It is not asked whether it does something: standing still is living.
    os.kill(living.pid, signal.SIGSTOP)
    with own_folder("sojourn-sort-") as own:
        assert own.is_dir()
        assert (held / "spilled").exists()
    assert not own.exists()
    os.kill(living.pid, signal.SIGCONT)
    living.communicate("")
    assert sorted(tmp_path.iterdir()) == [other]


def test_a_folder_of_somebody_else_stays_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, left = holder()
    copy = tmp_path / "sojourn-sort-copy"
    shutil.copytree(left, copy)
    killed.kill()
    killed.communicate()
    kept = [copy]
    # As `mktemp --directory -t sojourn-sort-XXXXXXXX` names them, too.
    for name in ("sojourn-sort-mine", "sojourn-sort-a1b2c3d4"):
        kept.append(tmp_path / name)
        kept[-1].mkdir()
        (kept[-1] / "data").write_text("rows")
    (kept[1] / MARKER).write_text("mine")
    os.mkfifo(kept[2] / MARKER)
    with own_folder("sojourn-sort-"):
        pass
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    assert [(folder / "data").exists() for folder in kept[1:]] == [True, True]


def test_what_a_killed_process_held_can_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed, _ = holder()
    killed.kill()
    killed.communicate()
    saved = []
    with own_folder("sojourn-sort-", tmp_path, lambda folder: saved.append((folder / "spilled").read_bytes())) as own:
        assert saved == [b"rows"]
        (own / "spilled").write_bytes(b"own")
    assert saved == [b"rows", b"own"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_saved_stays_for_the_next_process(tmp_path: Path) -> None:
    def fail(_: Path) -> None:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"), own_folder("sojourn-sort-", tmp_path, fail) as own:
        (own / "spilled").write_bytes(b"own")
    assert (own / "spilled").read_bytes() == b"own"
    saved = []
    with own_folder("sojourn-sort-", tmp_path, lambda folder: saved.append(folder)):
        assert (saved, own.exists()) == ([own], False)


def test_a_folder_that_somebody_removed_is_no_error(tmp_path: Path) -> None:
    with own_folder("sojourn-sort-", tmp_path) as own:
        shutil.rmtree(own)
    assert list(tmp_path.iterdir()) == []


def test_a_left_over_that_the_user_moved_and_linked_back_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed, left = holder()
    killed.kill()
    killed.communicate()
    moved = tmp_path / "moved"
    left.rename(moved)
    left.symlink_to(moved)
    with own_folder("sojourn-sort-", tmp_path):
        pass
    assert (moved / "spilled").read_bytes() == b"rows"
