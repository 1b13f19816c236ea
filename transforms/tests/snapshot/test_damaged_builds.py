"""Damage of a published build is named in one line and repaired by the next build, which leaves the user's files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transforms.tests.snapshot.small_builds import put
from typer.testing import CliRunner

from sojourn_process.own_folder import MARKER
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.pointer import read_pointer
from sojourn_snapshot.verification import damages, refuse_damage
from sojourn_transforms.maintenance_cli import maintain
from sojourn_transforms.publishing import (
    SNAPSHOTS_KEPT,
    current_build,
    unknown_folders,
)


def test_a_snapshot_is_verified_by_sizes_and_by_its_own_name(tmp_path: Path) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0), ("b", 2.0))
    snapshot = tmp_path / "snapshots" / build_id
    assert damages(snapshot, full=True) == []
    for name in ("delay.parquet", "build.json", "catalog.json", "files.json"):
        path = snapshot / name
        whole = path.read_bytes()
        altered = whole.replace(b"duckdb", b"DuckDB") if name == "build.json" else whole.replace(b"run", b"ruN")
        assert altered != whole or name == "files.json"
        path.write_bytes(altered if altered != whole else whole.replace(b"delay", b"Delay"))
        assert len(damages(snapshot, full=True)) == 1, name
        path.write_bytes(whole)
    delay = snapshot / "delay.parquet"
    whole = delay.read_bytes()
    delay.write_bytes(whole[:-1])
    with pytest.raises(
        DamagedSnapshotError, match=r"delay.parquet has [\d,]+ bytes; expected [\d,]+; run sojourn build"
    ):
        refuse_damage(snapshot)
    # What is damaged cannot be called up to date, so that a build publishes it again.
    assert current_build(tmp_path / "snapshots") is None
    assert put(tmp_path, ("a", 1.0), ("b", 2.0)) == (build_id, False)
    assert delay.read_bytes() == whole
    assert damages(snapshot, full=True) == []


@pytest.mark.parametrize("name", ["build.json", "catalog.json", "files.json"])
@pytest.mark.parametrize("damage", ["missing", "torn", "altered"])
def test_damaged_documents_are_found_without_reading_every_byte_and_written_again(
    tmp_path: Path, name: str, damage: str
) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0))
    path = tmp_path / "snapshots" / build_id / name
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(whole[:-9] if damage == "torn" else whole.replace(b"d", b"D"))
    result = CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path)])
    assert (result.exit_code, f"{tmp_path / 'snapshots' / build_id}" in result.output) == (1, True), result.output
    assert "damaged in published builds: 1 file; run sojourn build --force --var " in result.output
    assert current_build(tmp_path / "snapshots") is None
    assert put(tmp_path, ("a", 1.0)) == (build_id, False)
    assert path.read_bytes() == whole
    assert CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize("name", ["delay.parquet", "files.json"])
def test_one_wrong_byte_has_the_build_published_again(tmp_path: Path, name: str) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0), ("b", 2.0))
    path = tmp_path / "snapshots" / build_id / name
    whole = path.read_bytes()
    rows = b'"rows": 2'
    path.write_bytes(whole.replace(rows, b'"rows": 3') if rows in whole else whole[:9] + b"?" + whole[10:])
    assert path.read_bytes() != whole
    assert len(damages(path.parent, full=True)) == 1
    assert current_build(tmp_path / "snapshots") is None
    assert put(tmp_path, ("a", 1.0), ("b", 2.0)) == (build_id, False)
    assert path.read_bytes() == whole


def test_a_damaged_build_that_is_not_served_is_to_be_removed(tmp_path: Path) -> None:
    older, _ = put(tmp_path, ("a", 1.0))
    put(tmp_path, ("a", 2.0))
    (tmp_path / "snapshots" / older / "delay.parquet").write_bytes(b"")
    result = CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path)])
    assert result.exit_code == 1
    assert f"{older} is an older build, which nothing makes again; remove the folder" in result.output


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("files.json", lambda files: [{**file, "bytes": None} for file in files]),
        ("files.json", lambda files: [{**file, "bytes": "9"} for file in files]),
        ("files.json", lambda files: [{**file, "name": 1} for file in files]),
        ("files.json", lambda files: [{**file, "name": "../../delay.parquet"} for file in files]),
        ("files.json", lambda files: [{**file, "name": f"{'d' * 300}.parquet"} for file in files]),
        ("files.json", lambda files: [{**file, "more": 1} for file in files]),
        ("files.json", lambda files: {"files": files}),
        ("files.json", lambda _: DEEP),
        ("build.json", lambda _: DEEP),
        ("build.json", lambda build: json.dumps({**build, "inputs": "DEEP"}).replace('"DEEP"', DEEP)),
        ("build.json", lambda build: [build]),
        ("build.json", lambda build: {**build, "build_id": 1}),
        ("catalog.json", lambda _: DEEP),
    ],
)  # fmt: skip
def test_documents_of_other_types_are_one_line_of_damage_and_written_again(
    tmp_path: Path, name: str, content: Callable[[Any], Any]
) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0))
    path = tmp_path / "snapshots" / build_id / name
    whole = path.read_bytes()
    changed = content(json.loads(whole))
    path.write_text(changed if isinstance(changed, str) else json.dumps(changed))
    for options in ([], ["--hashes"]):
        result = CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path), *options])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert [line for line in result.output.splitlines() if name in line and str(path) not in line] == []
        assert (result.exit_code, result.output.count(str(path))) == (1, 1), result.output
    with pytest.raises(DamagedSnapshotError, match=name):
        refuse_damage(tmp_path / "snapshots" / build_id)
    assert current_build(tmp_path / "snapshots") is None
    assert put(tmp_path, ("a", 1.0)) == (build_id, False)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["CURRENT", "build.json", "catalog.json", "files.json"])
def test_a_pipe_in_the_place_of_a_document_is_damage_and_replaced(tmp_path: Path, name: str) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0))
    path = tmp_path / "snapshots" / (name if name == "CURRENT" else f"{build_id}/{name}")
    path.unlink()
    os.mkfifo(path)
    result = CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path)])
    assert (result.exit_code, f"{path} cannot be read: not a regular file" in result.output) == (1, True), result.output
    assert put(tmp_path, ("a", 1.0)) == (build_id, False)
    assert CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path)]).exit_code == 0


def test_folders_of_somebody_else_below_the_snapshots_stay(tmp_path: Path) -> None:
    first, _ = put(tmp_path, ("a", 0.0))
    snapshots = tmp_path / "snapshots"
    shutil.copytree(snapshots / first, snapshots / "backup")
    (snapshots / "0123456789abcdef").mkdir()
    (snapshots / "other").mkdir()
    (snapshots / "other" / "build.json").write_text("{}")
    mine = [snapshots / "backup", snapshots / "0123456789abcdef", snapshots / "other"]
    for path in mine:
        os.utime(path, (0, 0))
    builds = [put(tmp_path, ("a", 1.0 + n), forgotten="a list")[0] for n in range(SNAPSHOTS_KEPT)]
    assert sorted(path for path in snapshots.iterdir() if path.is_dir()) == sorted(
        [*mine, *(snapshots / build for build in builds)]
    )
    # A build says so where one of them may be a damaged build with a host that was forgotten since.
    assert unknown_folders(snapshots) == sorted(mine)


@pytest.mark.parametrize("content", [None, b"", b'{"build_id"', b'{"build_id": "other", "published_at": "2026-01-01"}'])
def test_a_damaged_pointer_is_found(tmp_path: Path, content: bytes | None) -> None:
    put(tmp_path, ("a", 1.0))
    path = tmp_path / "snapshots" / "CURRENT"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    for options in ([], ["--hashes"]):
        result = CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path), *options])
        assert (result.exit_code, str(path) in result.output) == (1, True), result.output
    put(tmp_path, ("a", 1.0))
    assert CliRunner().invoke(maintain, ["verify", "--var", str(tmp_path)]).exit_code == 0


def test_a_torn_pointer_is_written_again(tmp_path: Path) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0))
    for content in (b"", b'{"build_id"', b"\x00" * 64):
        (tmp_path / "snapshots" / "CURRENT").write_bytes(content)
        assert current_build(tmp_path / "snapshots") is None
        assert put(tmp_path, ("a", 1.0)) == (build_id, False)
        assert read_pointer(tmp_path / "snapshots").build_id == build_id  # type: ignore[union-attr]


def test_what_a_killed_publication_left_is_removed_and_nothing_of_the_user(tmp_path: Path) -> None:
    put(tmp_path, ("a", 1.0))
    snapshots = tmp_path / "snapshots"
    mine = [snapshots / ".CURRENT-backup", snapshots / ".damaged-1", snapshots / ".staging-1"]
    mine[0].write_text("{")
    for folder in mine[1:]:
        folder.mkdir()
    for folder in (snapshots / ".staging-killed", snapshots / ".staging-copied"):
        folder.mkdir()
        (folder / MARKER).write_text("temporary folder of sojourn: .staging-killed\n")
    (snapshots / ".CURRENT.new").write_text("{")
    put(tmp_path, ("a", 2.0))
    left = sorted(path for path in snapshots.iterdir() if path.name.startswith("."))
    assert left == sorted([*mine, snapshots / ".staging-copied"])
