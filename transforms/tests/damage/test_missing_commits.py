"""Deleted or rewritten commits and heads are named; nothing is removed until they are restored or dropped."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from transforms.tests.damage.small_lakes import PING, facts, ingest
from typer.testing import CliRunner

from sojourn_ingest.lake import Lake, LakeDamagedError
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.lake import FEWEST_IN_PACK
from sojourn_ingest.lake.verification import refuse_damage, verify
from sojourn_ingest.paths import Paths
from sojourn_transforms.build import build
from sojourn_transforms.maintenance_cli import maintain


def commit_of(var: Path, source: Path) -> Path:
    (commit,) = [commit for commit in Lake(var / "lake").live() if commit.source_path == str(source)]
    return var / "lake" / "commits" / f"{commit.name}.json"


@pytest.mark.parametrize("name", ["a.txt", "b.txt", "copy-of-a.txt"])
def test_a_deleted_commit_is_named_and_its_files_stay_until_it_is_back(var: Path, folder: Path, name: str) -> None:
    whole, source = facts(var), folder / name
    path = commit_of(var, source)
    content = path.read_bytes()
    path.unlink()
    runner = CliRunner()
    result = runner.invoke(maintain, ["verify", "--var", str(var)])
    assert result.exit_code == 1
    assert f"commit {path.stem} is missing" in result.output
    assert f"no commit names the outcome of {source}" in result.output
    before = sorted((var / "lake" / "data").rglob("*"))
    with pytest.raises(LakeDamagedError, match=f"commit {path.stem} is missing; run sojourn maintain repair"):
        ingest(var, folder)
    with pytest.raises(LakeDamagedError, match="is missing"):
        refuse_damage(Lake(var / "lake"))
    assert sorted((var / "lake" / "data").rglob("*")) == before
    path.write_bytes(content)
    assert runner.invoke(maintain, ["verify", "--hashes", "--var", str(var)]).exit_code == 0
    ingest(var, folder)
    assert facts(var) == whole


def test_a_deleted_commit_is_given_up_and_its_source_ingested_again(var: Path, folder: Path) -> None:
    whole, source = facts(var), folder / "b.txt"
    path = commit_of(var, source)
    path.unlink()
    runner = CliRunner()
    done = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert (done.exit_code, f"sojourn ingest {source}" in done.output) == (0, True)
    assert len(facts(var)) == 5
    ingest(var, source)
    assert facts(var) == whole
    assert runner.invoke(maintain, ["verify", "--hashes", "--var", str(var)]).exit_code == 0


def test_commits_deleted_in_a_row_are_counted(var: Path, folder: Path) -> None:
    names = {commit.link.number: commit.name for commit in Lake(var / "lake").live() if commit.link}
    assert sorted(names) == [1, 2, 3]
    for number in (2, 3):
        (var / "lake" / "commits" / f"{names[number]}.json").unlink()
    assert verify(Lake(var / "lake"), full=False).missing == (f"commit {names[3]} is missing, and 1 before it",)
    done = CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    assert verify(Lake(var / "lake"), full=True).missing == ()


def test_a_deleted_pack_is_named(var: Path, folder: Path) -> None:
    whole, lake = facts(var), Lake(var / "lake")
    with lake.writing():
        compact(lake, plan_compaction(lake))
    (path,) = (var / "lake" / "packs").iterdir()
    path.unlink()
    name = path.name.removesuffix(".json.gz")
    assert verify(Lake(var / "lake"), full=False).missing[0] == f"pack {name} is missing"
    refused = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert refused.exit_code == 1, refused.output
    # What it held besides the sources that are named, nobody can tell.
    assert verify(Lake(var / "lake"), full=False).missing[0] == f"pack {name} is missing"
    done = CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    ingest(var, folder)
    assert facts(var) == whole


def test_missing_commits_stay_missing_until_each_has_left_a_source(var: Path, folder: Path) -> None:
    for name in ("a.txt", "b.txt"):
        commit_of(var, folder / name).unlink()
    file_of_orphan = next(
        path
        for path in (var / "lake" / "data" / "ingest_outcome").iterdir()
        if pq.read_table(path).column("source_path").to_pylist() == [str(folder / "b.txt")]
    )
    content = file_of_orphan.read_bytes()
    file_of_orphan.unlink()
    runner = CliRunner()
    refused = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert refused.exit_code == 1, refused.output
    assert Lake(var / "lake").gaps() != []
    file_of_orphan.write_bytes(content)
    assert runner.invoke(maintain, ["repair", "--yes", "--var", str(var)]).exit_code == 0
    assert Lake(var / "lake").gaps() == []


@pytest.mark.parametrize("content", [b"", b"[]", b'{"number": 3', b"\xff"])
def test_a_damaged_head_is_named_and_repaired(var: Path, folder: Path, content: bytes) -> None:
    whole = facts(var)
    (head,) = (var / "lake" / "heads").iterdir()
    head.write_bytes(content)
    result = CliRunner().invoke(maintain, ["verify", "--var", str(var)])
    assert result.exit_code == 1
    assert f"heads/{head.name} is damaged" in result.output
    # The next writer would put a head in its place that does not know what is missing.
    with pytest.raises(LakeDamagedError, match=f"heads/{head.name} is damaged; run sojourn maintain repair"):
        ingest(var, folder)
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    assert verify(Lake(var / "lake"), full=True).missing == ()
    ingest(var, folder)
    assert facts(var) == whole


def test_a_last_commit_that_was_deleted_with_its_head_is_missed(var: Path, folder: Path) -> None:
    whole = facts(var)
    last = max(Lake(var / "lake").live(), key=lambda commit: commit.link.number if commit.link else 0)
    (var / "lake" / "commits" / f"{last.name}.json").unlink()
    (head,) = (var / "lake" / "heads").iterdir()
    head.unlink()
    before = sorted((var / "lake" / "data").rglob("*"))
    result = CliRunner().invoke(maintain, ["verify", "--var", str(var)])
    assert result.exit_code == 1
    assert "the head of the chain is missing" in result.output
    with pytest.raises(LakeDamagedError, match="the head of the chain is missing"):
        ingest(var, folder)
    assert sorted((var / "lake" / "data").rglob("*")) == before
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert (done.exit_code, f"sojourn ingest {last.source_path}" in done.output) == (0, True), done.output
    assert verify(Lake(var / "lake"), full=True).missing == ()
    ingest(var, folder)
    assert facts(var) == whole
    assert len(Lake(var / "lake").live()) == 3


@pytest.mark.parametrize("held", ["commits", "pack", "outcomes"])
def test_all_commits_deleted_with_the_head_are_missed(var: Path, folder: Path, tmp_path: Path, held: str) -> None:
    sources = 3
    if held == "pack":
        lake = Lake(var / "lake")
        with lake.writing():
            compact(lake, plan_compaction(lake))
    elif held == "outcomes":
        # Those of files without facts are in a pack, which stays.
        sources += FEWEST_IN_PACK
        for number in range(FEWEST_IN_PACK):
            (folder / f"{number}.bin").write_bytes(bytes([number, 255]))
        ingest(var, folder)
    whole, backup = facts(var), tmp_path / "backup"
    shutil.copytree(var / "lake", backup)
    for name in ("heads", "commits", *(["packs"] if held == "pack" else [])):
        shutil.rmtree(var / "lake" / name)
    before = sorted((var / "lake").rglob("*.parquet"))
    runner = CliRunner()
    result = runner.invoke(maintain, ["verify", "--hashes", "--var", str(var)])
    assert result.exit_code == 1
    assert "the head of the chain " in result.output
    assert "that no commit names: kept until the damage is repaired" in result.output
    with pytest.raises(LakeDamagedError, match=r"the head of the chain .* missing.*; run sojourn maintain repair"):
        ingest(var, folder)
    with pytest.raises(LakeDamagedError, match="the head of the chain "):
        build(Paths(var), lambda _: None)
    assert sorted((var / "lake").rglob("*.parquet")) == before
    shutil.copytree(var / "lake", tmp_path / "damaged")
    shutil.copytree(backup, var / "lake", dirs_exist_ok=True)
    assert runner.invoke(maintain, ["verify", "--hashes", "--var", str(var)]).exit_code == 0
    shutil.rmtree(var / "lake")
    (tmp_path / "damaged").rename(var / "lake")
    done = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert (done.exit_code, f"sojourn ingest {folder / 'a.txt'}" in done.output) == (0, True), done.output
    assert verify(Lake(var / "lake"), full=True).missing == ()
    ingest(var, folder)
    assert facts(var) == whole
    assert len(Lake(var / "lake").live()) == sources
    assert verify(Lake(var / "lake"), full=True).missing == ()


@pytest.mark.parametrize("outcomes", ["all", "those of b.txt"])
def test_facts_without_commit_head_and_outcome_are_given_up_only_on_demand(
    var: Path, folder: Path, outcomes: str
) -> None:
    for name in ("heads", "commits"):
        shutil.rmtree(var / "lake" / name)
    for path in (var / "lake" / "data" / "ingest_outcome").iterdir():
        of_b = pq.read_table(path).column("source_path").to_pylist() == [str(folder / "b.txt")]
        if outcomes == "all" or of_b:
            path.unlink()
    before = sorted((var / "lake").rglob("*.parquet"))
    runner = CliRunner()
    refused = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert refused.exit_code == 1, refused.output
    assert "damage remains: restore the named files" in refused.output
    assert "set aside; ingest again" not in refused.output
    assert sorted((var / "lake").rglob("*.parquet")) == before
    assert runner.invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)]).exit_code == 0
    assert sorted((var / "lake").rglob("*.parquet")) == []
    assert verify(Lake(var / "lake"), full=True).missing == ()


def test_a_first_writer_that_was_killed_before_its_first_commit_leaves_a_whole_lake(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    var = tmp_path / "new"
    with monkeypatch.context() as patch:
        patch.setattr(Lake, "_publish", killed)
        with pytest.raises(KeyboardInterrupt):
            ingest(var, folder)
    assert len(list((var / "lake").rglob("*.parquet"))) > 1
    assert verify(Lake(var / "lake"), full=True).missing == ()
    ingest(var, folder)
    assert len(Lake(var / "lake").live()) == 3
    assert verify(Lake(var / "lake"), full=True).unnamed == ()


def test_a_commit_that_was_written_anew_is_noticed(var: Path) -> None:
    first = next(commit for commit in Lake(var / "lake").live() if commit.link and commit.link.number == 1)
    path = var / "lake" / "commits" / f"{first.name}.json"
    path.write_text(replace(first, records_read=6).to_json())
    assert verify(Lake(var / "lake"), full=False).missing == (
        f"commit {first.name} is not the one that the next commit names",
    )
    lake, before = Lake(var / "lake"), sorted((var / "lake").rglob("*.parquet"))
    with pytest.raises(LakeDamagedError, match=f"commit {first.name} is not the one that"), lake.writing():
        compact(lake, plan_compaction(lake))
    assert sorted((var / "lake").rglob("*.parquet")) == before
    # What it said before, nobody can tell.
    assert CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)]).exit_code == 1
    assert CliRunner().invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)]).exit_code == 0
    assert verify(Lake(var / "lake"), full=False).missing == ()


def test_files_that_no_commit_names_are_told_before_they_are_removed(
    var: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    orphan = var / "lake" / "data" / "series" / "orphan.parquet"
    orphan.write_bytes(b"cut short")
    result = CliRunner().invoke(maintain, ["verify", "--var", str(var)])
    assert result.exit_code == 0
    assert "no commit names data/series/orphan.parquet" in result.output
    ingest(var, folder)
    assert not orphan.exists()
    assert [record.getMessage() for record in caplog.records] == [
        f"{Lake(var / 'lake').storage.uri}: no commit names data/series/orphan.parquet: removed, unless a command reads"
    ]


def test_the_chain_goes_on_after_a_compaction_and_through_changes(
    var: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        (folder / "a.txt").write_text(PING.replace(".25 ms", f".{number + 3}5 ms"))
        ingest(var, folder)
        lake = Lake(var / "lake")
        with lake.writing():
            compact(lake, plan_compaction(lake))
        # Neither what was replaced before comes back, nor is anything missed.
        verification = verify(Lake(var / "lake"), full=True)
        assert (verification.damages, verification.missing, verification.unnamed) == ((), (), ())
        # Two of a.txt: the copy has the content that it had first.
        assert len(Lake(var / "lake").live()) == 4
        assert Lake(var / "lake").leftovers() == []
        assert list((var / "lake" / "commits").iterdir()) == []
    ingest(var, folder)
    assert len(list((var / "lake" / "heads").iterdir())) == 1
    assert caplog.records == []
