"""Damage of a lake's files is found, named in one line, and repaired without losing anything else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from transforms.tests.damage.small_lakes import facts, file_of, ingest
from typer.testing import CliRunner

from sojourn_ingest.forgotten import add_to_list, complete_in_list
from sojourn_ingest.lake import Commit, Lake, LakeDamagedError, open_storage
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.verification import record_hashes, refuse_damage, verify
from sojourn_ingest.paths import Paths
from sojourn_ingest.session.repair import REASON, plan_repair, repair
from sojourn_transforms.build import build
from sojourn_transforms.maintenance_cli import maintain


def flip(path: Path, at: int = 40) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(bytes(content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def test_a_listed_host_whose_rows_may_be_left_is_named(var: Path) -> None:
    path = Paths(var).forgotten
    add_to_list(path, fingerprint="fm-1", host_keys=(), forgotten_ns=1, rows={}, pending="k")
    result = CliRunner().invoke(maintain, ["verify", "--var", str(var)])
    assert result.exit_code == 1
    said = "rows of this host may be left: run sojourn forget again for the same host, which had rows under the key k"
    assert f"{path}:1: {said}\n" in result.output
    complete_in_list(path, {"fm-1"}, set())
    assert CliRunner().invoke(maintain, ["verify", "--var", str(var)]).exit_code == 0


@pytest.mark.parametrize(
    ("damage", "full", "words"),
    [
        (Path.unlink, False, "is missing"),
        (cut, False, "is not of the size that was written"),
        (lambda path: path.write_bytes(b""), False, "is not of the size that was written"),
        (flip, True, "does not have the bytes that were written"),
    ],
)
def test_damage_is_found_named_and_repaired(var: Path, folder: Path, damage: object, full: bool, words: str) -> None:
    whole = facts(var)
    assert len(whole) == 10
    assert verify(Lake(var / "lake"), full=True).damages == ()
    source = folder / "b.txt"
    damage(file_of(var, source))  # type: ignore[operator]
    (damaged,) = verify(Lake(var / "lake"), full=full).damages
    assert damaged.text.endswith(f"{words} (facts of {source})")
    with pytest.raises(LakeDamagedError, match=f"{words}.*run sojourn maintain repair") as error:
        refuse_damage(Lake(var / "lake"), full=full)
    assert "\n" not in str(error.value)
    runner = CliRunner()
    result = runner.invoke(maintain, ["verify", "--var", str(var), *(["--hashes"] if full else [])])
    assert result.exit_code == 1
    assert words in result.output
    before = sorted(path for path in var.rglob("*") if path.is_file())
    dry = runner.invoke(maintain, ["repair", "--dry-run", "--var", str(var)])
    assert f"sojourn ingest {source}" in dry.output
    assert sorted(path for path in var.rglob("*") if path.is_file()) == before
    done = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert (done.exit_code, f"sojourn ingest {source}" in done.output) == (0, True)
    assert len(facts(var)) == 5
    (outcome,) = [commit for commit in Lake(var / "lake").live() if commit.source_path == str(source)]
    assert (outcome.status, outcome.reason) == ("rejected", REASON)
    assert verify(Lake(var / "lake"), full=True).damages == ()
    ingest(var, source)
    assert facts(var) == whole
    assert runner.invoke(maintain, ["verify", "--hashes", "--var", str(var)]).exit_code == 0


def test_a_size_says_nothing_of_a_flipped_bit(var: Path, folder: Path) -> None:
    flip(file_of(var, folder / "b.txt"))
    assert verify(Lake(var / "lake"), full=False).damages == ()


def test_facts_whose_source_is_gone_stay_until_they_are_given_up(var: Path, folder: Path) -> None:
    source = folder / "b.txt"
    target = file_of(var, source)
    kept = target.read_bytes()
    flip(target)
    source.unlink()
    runner = CliRunner()
    refused = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert refused.exit_code == 1
    assert f"{source} is gone" in refused.output
    assert target.exists()
    # Put back from a backup, it is whole again.
    target.write_bytes(kept)
    assert verify(Lake(var / "lake"), full=True).damages == ()
    flip(target)
    assert runner.invoke(maintain, ["repair", "--drop", "--yes", "--var", str(var)]).exit_code == 0
    assert len(facts(var)) == 5
    assert not target.exists()


def test_a_copy_of_the_source_at_another_path_is_named_where_the_first_is_gone(var: Path, folder: Path) -> None:
    whole = facts(var)
    lake = Lake(var / "lake")
    (holder,) = [commit for commit in lake.live() if commit.holds_facts and not commit.source_path.endswith("b.txt")]
    first = Path(holder.source_path)
    copy = folder / ({"a.txt", "copy-of-a.txt"} - {first.name}).pop()
    cut(file_of(var, first))
    first.unlink()
    plan = plan_repair(open_storage(var / "lake"), full=True)
    assert [(source.state, source.ingest) for source in plan.sources] == [("same", copy)]
    repair(open_storage(var / "lake"), plan, give_up=False)
    ingest(var, copy)
    assert facts(var) == whole


def test_damage_of_a_compacted_file_affects_every_source_in_it(var: Path, folder: Path) -> None:
    whole = facts(var)
    lake = Lake(var / "lake")
    with lake.writing():
        compact(lake, plan_compaction(lake))
    (shared,) = Lake(var / "lake").files("series")
    flip(shared)
    (damage,) = verify(Lake(var / "lake"), full=True).damages
    assert len(damage.source_paths) == 2
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert done.exit_code == 0
    assert facts(var) == []
    ingest(var, folder)
    assert facts(var) == whole


def test_compaction_does_not_give_an_altered_file_a_new_hash(var: Path, folder: Path) -> None:
    flip(file_of(var, folder / "b.txt"))
    done = CliRunner().invoke(maintain, ["compact", "--var", str(var)])
    assert done.exit_code == 1
    assert "does not have the bytes that were written" in done.output
    assert len([line for line in done.output.splitlines() if line]) == 1
    assert (folder / "b.txt").name in done.output


@pytest.mark.parametrize("content", [b"", b'{"version": 1, "files": [', b"\x00" * 300])
def test_an_unreadable_commit_is_named_and_repaired(var: Path, folder: Path, content: bytes) -> None:
    whole = facts(var)
    (commit,) = [commit for commit in Lake(var / "lake").live() if commit.source_path == str(folder / "b.txt")]
    (var / "lake" / "commits" / f"{commit.name}.json").write_bytes(content)
    with pytest.raises(LakeDamagedError, match=f"{commit.name}.json is damaged .*run sojourn maintain repair"):
        Lake(var / "lake")
    runner = CliRunner()
    assert runner.invoke(maintain, ["verify", "--var", str(var)]).exit_code == 1
    done = runner.invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    assert f"sojourn ingest {folder / 'b.txt'}" in done.output
    ingest(var, folder)
    assert facts(var) == whole


def test_an_altered_commit_is_noticed(var: Path) -> None:
    path = next((var / "lake" / "commits").iterdir())
    path.write_text(path.read_text().replace('"records_read": 5', '"records_read": 6'))
    with pytest.raises(LakeDamagedError, match="its content was altered"):
        Lake(var / "lake")


def test_an_unreadable_pack_is_repaired_from_the_outcomes_that_it_named(var: Path, folder: Path) -> None:
    whole = facts(var)
    lake = Lake(var / "lake")
    with lake.writing():
        compact(lake, plan_compaction(lake))
    cut(next((var / "lake" / "packs").iterdir()))
    done = CliRunner().invoke(maintain, ["repair", "--yes", "--var", str(var)])
    assert done.exit_code == 0, done.output
    ingest(var, folder)
    assert facts(var) == whole


def without_hashes(var: Path) -> None:
    """Rewrite the commits as a version that recorded no hashes did, and no chain."""
    shutil.rmtree(var / "lake" / "heads")
    for path in (var / "lake" / "commits").iterdir():
        document = json.loads(path.read_text())
        del document["checksum"], document["link"]
        for file in document["files"]:
            del file["sha256"]
        path.write_text(json.dumps(document))


def test_a_lake_without_hashes_is_read_and_gets_them(var: Path, folder: Path) -> None:
    whole, fingerprint = facts(var), Lake(var / "lake").fingerprint()
    without_hashes(var)
    assert facts(var) == whole
    runner = CliRunner()
    result = runner.invoke(maintain, ["verify", "--hashes", "--var", str(var)])
    assert result.exit_code == 0
    assert "without a hash: 9 files; " in result.output
    assert runner.invoke(maintain, ["verify", "--add-hashes", "--var", str(var)]).exit_code == 0
    lake = Lake(var / "lake")
    assert (facts(var), lake.fingerprint()) == (whole, fingerprint)
    verification = verify(lake, full=True)
    assert (verification.without_hash, verification.damages) == (0, ())
    flip(file_of(var, folder / "b.txt"))
    assert len(verify(lake, full=True).damages) == 1
    cut(file_of(var, folder / "b.txt"))
    with lake.writing(), pytest.raises(LakeDamagedError):
        record_hashes(lake)


def test_a_commit_is_the_same_text_with_and_without_a_hash_read_back(var: Path) -> None:
    for commit in Lake(var / "lake").live():
        assert Commit.from_json(commit.to_json()) == commit
    without_hashes(var)
    for commit in Lake(var / "lake").live():
        assert "sha256" not in commit.to_json()
        assert Commit.from_json(commit.to_json()) == commit


def test_a_build_names_the_damaged_file_before_it_does_anything(var: Path, folder: Path, repository: Path) -> None:
    file_of(var, folder / "b.txt").write_bytes(b"")
    with pytest.raises(LakeDamagedError, match=r"series/.*is not of the size.*b\.txt.*run sojourn maintain repair"):
        build(Paths(var), lambda _: None)
    assert not (var / "warehouse").exists()
