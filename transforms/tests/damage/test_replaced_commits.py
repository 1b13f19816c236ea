"""A commit, pack or head in the place of another, such as another lake's, is named, and nothing is removed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transforms.tests.damage.small_lakes import PING, facts, head_of, ingest, numbered, objects_of
from typer.testing import CliRunner

from sojourn_ingest.lake import Lake, LakeDamagedError
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.verification import refuse_damage, verify
from sojourn_ingest.paths import Paths
from sojourn_transforms.build import build
from sojourn_transforms.maintenance_cli import maintain


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return another lake with as many commits, of other files."""
    inputs = tmp_path / "other-inputs"
    inputs.mkdir()
    for name in ("x", "y", "z"):
        (inputs / f"{name}.txt").write_text(PING.replace(".25 ms", f".{ord(name)} ms"))
    ingest(tmp_path / "other", inputs)
    return tmp_path / "other"


def refuse_to_change(var: Path, folder: Path, message: str) -> None:
    """Check that verify names what is missing, and that every writer and build stops before it removes anything."""
    before = objects_of(var)
    result = CliRunner().invoke(maintain, ["verify", "--var", str(var)])
    assert (result.exit_code, message in result.output) == (1, True), result.output
    with pytest.raises(LakeDamagedError, match=message) as error:
        ingest(var, folder)
    assert "\n" not in str(error.value)
    assert "run sojourn maintain repair" in str(error.value)
    with pytest.raises(LakeDamagedError, match=message):
        build(Paths(var), lambda _: None)
    result = CliRunner().invoke(maintain, ["compact", "--var", str(var)])
    # The command that calls this one reports what cannot be read.
    assert (result.exit_code, message in f"{result.output} {result.exception}") == (1, True), result.output
    assert objects_of(var) == before


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("under_its_own_name", [True, False])
def test_another_lakes_commit_in_the_place_of_one(
    var: Path, folder: Path, other: Path, number: int, under_its_own_name: bool
) -> None:
    whole, path, stranger = facts(var), numbered(var)[number], numbered(other)[number]
    source = json.loads(path.read_text())["source_path"]
    path.unlink()
    shutil.copy(stranger, path.with_name(stranger.name) if under_its_own_name else path)
    stopped = f"commit {path.stem} is missing" if under_its_own_name else f"it holds commit {stranger.stem}"
    refuse_to_change(var, folder, stopped)
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert f"{source} can be ingested again" in done.output
    CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)])
    result = CliRunner().invoke(maintain, ["verify", "--hashes", "--var", str(var)])
    assert result.exit_code == 0, result.output
    ingest(var, folder)
    assert facts(var) == whole


def test_another_lakes_last_commits_in_the_place_of_two(var: Path, folder: Path, other: Path) -> None:
    mine, strangers = numbered(var), numbered(other)
    for number in (2, 3):
        mine[number].unlink()
        shutil.copy(strangers[number], mine[number].with_name(strangers[number].name))
    refuse_to_change(var, folder, f"commit {mine[3].stem} is missing, and 1 before it; commit {strangers[3].stem} has")


def test_a_commit_of_the_same_file_from_another_lake_is_not_the_one(var: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "d.txt").write_text(PING.replace(".25 ms", ".5 ms"))
    ingest(var, folder)
    ingest(tmp_path / "again", folder)
    (last,) = {path.name for number, path in numbered(var).items() if number == 4}
    shutil.copy(tmp_path / "again" / "lake" / "commits" / last, var / "lake" / "commits" / last)
    refuse_to_change(var, folder, f"commit {last.removesuffix('.json')} is not the one that the head names")
    # The others are whole.
    assert len(verify(Lake(var / "lake"), full=False).missing) == 1


def test_swapped_names_of_commits_are_named(var: Path, folder: Path) -> None:
    one, two = numbered(var)[1], numbered(var)[2]
    contents = one.read_bytes(), two.read_bytes()
    two.write_bytes(contents[0])
    one.write_bytes(contents[1])
    before = objects_of(var)
    with pytest.raises(LakeDamagedError, match=r"is damaged \(it holds commit [0-9a-f]{32}\); run sojourn maintain"):
        ingest(var, folder)
    assert CliRunner().invoke(maintain, ["verify", "--var", str(var)]).exit_code == 1
    assert objects_of(var) == before


def test_a_copy_of_a_commit_under_another_name_is_removed_by_a_repair(var: Path, folder: Path) -> None:
    whole, path = facts(var), numbered(var)[1]
    shutil.copy(path, path.with_name("copy.json"))
    with pytest.raises(LakeDamagedError, match=rf"copy.json is damaged \(it holds commit {path.stem}\)"):
        ingest(var, folder)
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    ingest(var, folder)
    assert (facts(var), verify(Lake(var / "lake"), full=True).missing) == (whole, ())


def _with_wrong_checksum(head: dict[str, Any]) -> None:
    head["checksum"] = "0" * 64


def _of_a_stranger(head: dict[str, Any]) -> None:
    head["commit"] = "0" * 32


@pytest.mark.parametrize(
    ("change", "message"),
    [(_with_wrong_checksum, "is not the one that the head names"), (_of_a_stranger, "commit 0{32} is missing")],
)
def test_a_head_that_names_another_commit(
    var: Path, folder: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    whole, path = facts(var), head_of(var)
    head = json.loads(path.read_text())
    change(head)
    path.write_text(json.dumps(head))
    with pytest.raises(LakeDamagedError, match=message):
        ingest(var, folder)
    with pytest.raises(LakeDamagedError, match=message):
        refuse_damage(Lake(var / "lake"))
    assert CliRunner().invoke(maintain, ["verify", "--var", str(var)]).exit_code == 1
    done = CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    ingest(var, folder)
    assert (facts(var), verify(Lake(var / "lake"), full=True).missing) == (whole, ())


def test_another_lakes_head_with_the_same_number(var: Path, folder: Path, other: Path) -> None:
    last = numbered(other)[3]
    shutil.copy(head_of(other), head_of(var))
    refuse_to_change(var, folder, f"commit {last.stem} is missing, and 2 before it; commit {numbered(var)[3].stem} has")


@pytest.mark.parametrize(
    "changes",
    [
        {"number": "3"},
        {"number": None},
        {"number": -1},
        {"number": True},
        {"number": 3.0},
        {"commit": 7},
        {"commit": None},
        {"checksum": ["x"]},
        {"packs": [["x"]]},
        {"packs": [None]},
        {"packs": None},
    ],
)
def test_a_head_with_a_member_of_another_type_is_damaged(var: Path, folder: Path, changes: dict[str, Any]) -> None:
    path = head_of(var)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    refuse_to_change(var, folder, f"heads/{path.name} is damaged")


@pytest.mark.parametrize("place", ["heads", "commits", "packs"])
def test_deeply_nested_documents_are_damaged(var: Path, folder: Path, place: str) -> None:
    lake = Lake(var / "lake")
    if place == "packs":
        with lake.writing():
            compact(lake, plan_compaction(lake))
    path = next((var / "lake" / place).iterdir())
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(LakeDamagedError, match=f"{place}/{path.name} is damaged"):
        ingest(var, folder)
    assert CliRunner().invoke(maintain, ["verify", "--var", str(var)]).exit_code == 1


@pytest.mark.parametrize(
    "change",
    [
        {"link": {"number": "1", "previous": None, "previous_checksum": None}},
        {"replaces": [7]},
        {"size_bytes": "7"},
        {"files": [{"table": "packet", "path": 5, "rows": 1, "size_bytes": 1}]},
    ],
    ids=["link", "replaces", "size", "path"],
)
def test_a_commit_with_a_member_of_another_type_is_damaged(var: Path, folder: Path, change: dict[str, Any]) -> None:
    path = numbered(var)[1]
    document = json.loads(path.read_text()) | change
    del document["checksum"]
    path.write_text(json.dumps(document))
    with pytest.raises(LakeDamagedError, match=f"{path.name} is damaged .*has another type"):
        ingest(var, folder)


def test_another_lakes_pack_in_the_place_of_one(var: Path, folder: Path, other: Path) -> None:
    for each in (var, other):
        lake = Lake(each / "lake")
        with lake.writing():
            compact(lake, plan_compaction(lake))
    (mine,), (stranger,) = ((each / "lake" / "packs").iterdir() for each in (var, other))
    content = mine.read_bytes()
    shutil.copy(stranger, mine)
    with pytest.raises(LakeDamagedError, match=rf"{mine.name} is damaged \(it holds pack "):
        ingest(var, folder)
    mine.unlink()
    shutil.copy(stranger, mine.with_name(stranger.name))
    refuse_to_change(var, folder, f"pack {mine.name.removesuffix('.json.gz')} is missing")
    mine.with_name(stranger.name).unlink()
    mine.write_bytes(content)
    assert CliRunner().invoke(maintain, ["verify", "--hashes", "--var", str(var)]).exit_code == 0


def _compacted(var: Path) -> Path:
    lake = Lake(var / "lake")
    with lake.writing():
        compact(lake, plan_compaction(lake))
    (pack,) = (var / "lake" / "packs").iterdir()
    return pack


def test_an_old_pack_that_is_put_back_hides_nothing(var: Path, folder: Path, tmp_path: Path) -> None:
    kept, current = [tmp_path / shutil.copy(_compacted(var), tmp_path)], _compacted(var)
    # A pack only says which packs it has replaced itself, and names are random: until an earlier one comes later.
    while not (hiding := [path for path in kept[:-2] if path.name > current.name]):
        (folder / f"new-{len(kept)}.txt").write_text(PING.replace(".25 ms", f".{len(kept) + 10} ms"))
        ingest(var, folder)
        current = _compacted(var)
        kept.append(tmp_path / shutil.copy(current, tmp_path))
    whole = facts(var)
    shutil.copy(hiding[0], current.parent)
    assert facts(var) == whole
    assert verify(Lake(var / "lake"), full=True).damages == ()
    ingest(var, folder)
    assert facts(var) == whole


def test_a_commit_of_the_same_file_from_another_lake_does_not_hide_a_pack(
    var: Path, folder: Path, tmp_path: Path
) -> None:
    whole = facts(var)
    _compacted(var)
    ingest(tmp_path / "again", folder)
    for stranger in numbered(tmp_path / "again").values():
        shutil.copy(stranger, var / "lake" / "commits" / stranger.name)
    assert facts(var) == whole
    ingest(var, folder)
    assert facts(var) == whole
    assert verify(Lake(var / "lake"), full=True).damages == ()


def test_nothing_is_removed_while_a_live_file_is_missing(var: Path, folder: Path, other: Path) -> None:
    orphan = var / "lake" / "data" / "series" / "orphan.parquet"
    orphan.write_bytes(b"facts of a commit that is gone")
    stranger = numbered(other)[1]
    shutil.copy(stranger, var / "lake" / "commits" / stranger.name)
    result = CliRunner().invoke(maintain, ["verify", "--var", str(var)])
    assert (result.exit_code, "that no commit names: kept until the damage is repaired" in result.output) == (1, True)
    ingest(var, folder)
    assert orphan.exists()
    CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)])
    assert not orphan.exists()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_commit_that_another_lakes_pack_hides_is_not_given_up_unnamed(
    var: Path, folder: Path, other: Path, is_there: bool
) -> None:
    whole, path = facts(var), numbered(var)[3]
    source = Path(json.loads(path.read_text())["source_path"])
    path.unlink()
    (var / "lake" / "packs").mkdir()
    shutil.copy(_compacted(other), var / "lake" / "packs")
    ingest(var, folder / "a.txt")
    content = source.read_bytes()
    if not is_there:
        source.unlink()
    before = sorted((var / "lake" / "data").rglob("*"))
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert f"{source} {'can be ingested again' if is_there else 'is gone'}" in done.output
    if not is_there:
        assert (done.exit_code, sorted((var / "lake" / "data").rglob("*"))) == (1, before)
        assert CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)]).exit_code == 0
    source.write_bytes(content)
    ingest(var, folder)
    assert facts(var) == whole
    assert CliRunner().invoke(maintain, ["verify", "--hashes", "--var", str(var)]).exit_code == 0
