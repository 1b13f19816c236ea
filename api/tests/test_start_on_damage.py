"""A service that is started while CURRENT, or the build that CURRENT names, is damaged."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from api.tests.test_serve import COMMAND, environment, run

from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot, SnapshotError, SnapshotStore
from sojourn_snapshot.files import MartFile, write_files
from sojourn_snapshot.verification import build_id_of, damages


def seal(folder: Path) -> Path:
    """Write the list of files of a build, and name the build by its content, as publication does."""
    files = [
        MartFile(path.name, 1, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(), None)
        for path in sorted(folder.glob("*.parquet"))
    ]
    write_files(folder, files)
    document = json.loads((folder / "build.json").read_text())
    del document["build_id"]
    build_id = build_id_of(document, (folder / "catalog.json").read_bytes(), files)
    (folder / "build.json").write_text(json.dumps({"build_id": build_id, **document}))
    sealed = folder.rename(folder.with_name(build_id))
    assert damages(sealed, full=True) == []
    return sealed


@dataclass(frozen=True)
class Builds:
    """A folder of published builds, from the oldest to the newest, which is current."""

    folder: Path
    ids: tuple[str, str, str]

    @property
    def newest(self) -> Path:
        """The folder of the build that CURRENT names."""
        return self.folder / self.ids[-1]

    def start(self) -> SnapshotStore:
        """Return what a service has open after its start."""
        store = SnapshotStore(self.folder, lambda build: Snapshot.open(build, Settings()))
        store.start()
        return store


@pytest.fixture
def builds(publish: Any, build: Any, another_build: Any) -> Builds:
    """Return three builds; the newest has no list of files, as those of earlier versions."""
    oldest, middle = seal(publish(build, "b1") / "b1"), seal(publish(another_build, "b2") / "b2")
    newest = Path(publish(build, "b3")) / "b3"
    for number, path in enumerate((oldest, middle, newest)):
        os.utime(path / "build.json", (1_700_000_000 + number, 1_700_000_000 + number))
    return Builds(newest.parent, (oldest.name, middle.name, newest.name))


def tear_pointer(folder: Path) -> None:
    (folder / "CURRENT").write_text('{"build_id": "b3", "publ')


def empty_pointer(folder: Path) -> None:
    (folder / "CURRENT").write_text("")


def point_nowhere(folder: Path) -> None:
    (folder / "CURRENT").write_text('{"build_id": "b9", "published_at": "2026-11-22T00:00:00Z"}')


def pointer_is_a_folder(folder: Path) -> None:
    (folder / "CURRENT").unlink()
    (folder / "CURRENT").mkdir()


def pointer_is_a_pipe(folder: Path) -> None:
    (folder / "CURRENT").unlink()
    os.mkfifo(folder / "CURRENT")


def lose_a_file(folder: Path) -> None:
    (folder / "b3" / "run.parquet").unlink()


def damage_the_catalogue(folder: Path) -> None:
    (folder / "b3" / "catalog.json").write_text("{")


def list_files_without_bytes(folder: Path) -> None:
    file = {"name": "run.parquet", "rows": 1, "bytes": None, "sha256": "0", "fingerprint": None}
    (folder / "b3" / "files.json").write_text(json.dumps([file]))


def nest_the_build_deeply(folder: Path) -> None:
    (folder / "b3" / "build.json").write_text("[" * 100_000)


def lose_the_build(folder: Path) -> None:
    shutil.rmtree(folder / "b3")


DAMAGES = [damage_the_catalogue, list_files_without_bytes, lose_a_file, lose_the_build, nest_the_build_deeply]
POINTERS = [tear_pointer, empty_pointer, point_nowhere, pointer_is_a_folder, pointer_is_a_pipe]


@pytest.mark.parametrize("damage", [*DAMAGES, *POINTERS])
def test_the_newest_undamaged_build_is_served_with_a_loud_line(
    damage: Callable[[Path], None], builds: Builds, caplog: pytest.LogCaptureFixture
) -> None:
    damage(builds.folder)
    # A damaged CURRENT does not say that b3 was published last; b3 is the newest, and undamaged.
    expected = "b3" if damage in POINTERS else builds.ids[1]
    with caplog.at_level(logging.ERROR):
        store = builds.start()
        for _ in range(3):
            assert store.health().build_id == expected
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("NOT SERVING THE BUILD PUBLISHED LAST: ")
    assert "run sojourn build" in line
    assert re.search(rf"; build {expected}, written 2023-11-14T22:13:2\dZ, is served instead$", line)
    assert "\n" not in line
    assert store.health().fault is not None
    store.close()


def test_a_build_with_one_flipped_bit_is_passed_over(builds: Builds) -> None:
    lose_a_file(builds.folder)
    path = builds.folder / builds.ids[1] / "study.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    store = builds.start()
    assert store.health().build_id == builds.ids[0]
    store.close()


@pytest.mark.parametrize("damage", [tear_pointer, lose_a_file])
def test_what_is_published_next_is_served_without_a_restart(
    damage: Callable[[Path], None], builds: Builds, publish: Any, build: Any
) -> None:
    damage(builds.folder)
    store = builds.start()
    publish(build, "b4")
    assert (store.health().build_id, store.health().fault) == ("b4", None)
    store.close()


@pytest.mark.parametrize("damage", [lose_a_file, tear_pointer])
def test_without_an_undamaged_build_the_service_refuses_in_one_line(
    damage: Callable[[Path], None], builds: Builds
) -> None:
    damage(builds.folder)
    for name in builds.ids:
        (builds.folder / name / "run.parquet").unlink(missing_ok=True)
    with pytest.raises(SnapshotError) as refused:
        builds.start()
    assert "\n" not in str(refused.value)
    assert "run sojourn build" in str(refused.value)
    assert str(refused.value).endswith("is undamaged")


def test_nothing_published_is_no_damage(builds: Builds) -> None:
    (builds.folder / "CURRENT").unlink()
    with pytest.raises(SnapshotError, match="no build published under"):
        builds.start()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_command_says_which_build_it_serves_instead(workers: str, builds: Builds) -> None:
    lose_a_file(builds.folder)
    with subprocess.Popen(
        [*COMMAND, "--port", "0", "--processes", workers, "--snapshots", str(builds.folder)],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"Serving build {builds.ids[1]} on http://")
        process.terminate()
        _, stderr = process.communicate(timeout=300)
    loud = [line for line in stderr.splitlines() if "NOT SERVING THE BUILD PUBLISHED LAST" in line]
    assert loud
    assert "run.parquet" in loud[0]
    assert "Traceback" not in stderr


def test_the_command_refuses_in_one_line(builds: Builds) -> None:
    for name in builds.ids:
        (builds.folder / name / "study.parquet").write_bytes(b"PAR1")
    done = run("--port", "0", "--snapshots", str(builds.folder))
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "study.parquet" in lines[0]
    assert "Traceback" not in done.stderr
