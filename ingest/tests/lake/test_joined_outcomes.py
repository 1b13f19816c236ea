"""Outcomes of files that give no facts are written together: small files take little of the lake."""

import io
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli.ingesting import print_summary
from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.lake import FEWEST_IN_PACK, MOST_WAITING
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.lake.verification import verify
from sojourn_ingest.schema import table
from sojourn_ingest.session import Attempt, IngestSession

FILES = 300


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Return files of four bytes that no reader knows."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    paths = [folder / f"{number:05}" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.write_bytes(number.to_bytes(4, "big"))
    return paths


def ingest(root: Path, files: list[Path]) -> list[Attempt]:
    lake = Lake(root)
    with lake.writing():
        return IngestSession(lake, Pseudonymiser(b"key")).run(files, lambda _: None)


def outcomes(root: Path) -> dict[str, str]:
    statement = live_rows_sql(table("ingest_outcome"), Lake(root))
    rows = duckdb.sql(f"select source_path, content_hash from ({statement})").fetchall()
    assert len(rows) == len({path for path, _ in rows})
    return {Path(path).name: content for path, content in rows}


def size(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def test_a_little_file_takes_less_than_a_kilobyte(tmp_path: Path, files: list[Path]) -> None:
    root = tmp_path / "lake"
    ingest(root, files)
    assert len(outcomes(root)) == FILES
    assert size(root) < 400 * FILES
    assert len([path for path in root.rglob("*") if path.is_file()]) < 10
    before = size(root)
    assert {attempt.disposition for attempt in ingest(root, files)} == {"unchanged"}
    assert size(root) == before


def test_the_report_of_many_files_takes_time_in_proportion(tmp_path: Path, files: list[Path]) -> None:
    """Files of an unknown text and damaged ones are told apart in one pass over them."""
    (tmp_path / "inputs" / "text").write_text("no format that is known\n")
    attempts = ingest(tmp_path / "lake", [files[0], tmp_path / "inputs" / "text"])
    assert {attempt.commit.status for attempt in attempts} == {"rejected"}
    many = [
        replace(attempt, path=Path(str(number)), commit=replace(attempt.commit, content_hash=f"{number:064}"))
        for number in range(15_000)
        for attempt in attempts
    ]
    before = time.process_time()
    print_summary(Console(file=io.StringIO()), many)
    assert time.process_time() - before < 5


def test_as_many_as_wait_at_most_become_visible_at_once(
    tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn_ingest.lake.lake.MOST_WAITING", 100)
    ingest(tmp_path / "lake", files[:250])
    assert sorted(len(pack.commits) for pack in Lake(tmp_path / "lake").packs()) == [50, 100, 100]
    assert MOST_WAITING > FEWEST_IN_PACK


def test_few_are_commits_of_their_own(tmp_path: Path, files: list[Path]) -> None:
    ingest(tmp_path / "lake", files[: FEWEST_IN_PACK - 1])
    lake = Lake(tmp_path / "lake")
    assert (len(lake.live()), lake.packs()) == (FEWEST_IN_PACK - 1, [])


def test_a_file_that_changes_later_has_its_new_outcome_alone(tmp_path: Path, files: list[Path]) -> None:
    root = tmp_path / "lake"
    ingest(root, files)
    before = outcomes(root)
    for path in (files[0], files[7]):
        path.write_text("another")
    ingest(root, files)
    after = outcomes(root)
    assert {name for name in before if after[name] != before[name]} == {files[0].name, files[7].name}
    assert len(after) == FILES


def test_compaction_keeps_each_and_the_fingerprint(tmp_path: Path, files: list[Path]) -> None:
    root = tmp_path / "lake"
    ingest(root, files[:200])
    ingest(root, files)
    lake, opened_before = Lake(root), Lake(root)
    fingerprint, before = lake.fingerprint(), outcomes(root)
    with lake.writing():
        compact(lake, plan_compaction(lake))
    with Lake(root).writing():
        # Files that were replaced are gone once nobody reads them.
        assert verify(opened_before, full=True).damages == ()
    assert Lake(root).fingerprint() == fingerprint
    assert outcomes(root) == before
    assert len(Lake(root).packs()) == len(Lake(root).objects("ingest_outcome")) == 1
    (outcome_file,) = (root / "data" / "ingest_outcome").iterdir()
    stale = Lake(root)
    verified = verify(stale, full=True)
    assert (verified.damages, verified.missing, verified.unnamed, verified.without_hash) == ((), (), (), 0)
    outcome_file.unlink()
    assert [damage.kind for damage in verify(stale, full=True).damages] == ["missing"]


def test_a_pack_of_outcomes_that_is_gone_is_missed(tmp_path: Path, files: list[Path]) -> None:
    root = tmp_path / "lake"
    ingest(root, files)
    (pack,) = (root / "packs").iterdir()
    pack.unlink()
    assert verify(Lake(root), full=False).missing == (f"pack {pack.name.removesuffix('.json.gz')} is missing",)


def test_what_waited_as_the_writer_failed_is_tried_again(tmp_path: Path, files: list[Path]) -> None:
    root = tmp_path / "lake"

    def fail(attempt: Attempt) -> None:
        if attempt.path == files[50]:
            raise OSError("full")

    lake = Lake(root)
    with pytest.raises(OSError, match="full"), lake.writing():
        IngestSession(lake, Pseudonymiser(b"key")).run(files, fail)
    assert Lake(root).live() == []
    ingest(root, files)
    assert len(outcomes(root)) == FILES
