"""Maintenance changes where facts lie, or removes what was asked for, and nothing else, also when it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from transforms.tests.planted_scores import put

from sojourn_ingest.lake import Lake, Outcome, compaction
from sojourn_ingest.lake.compaction import (
    CompactionError,
    compact,
    plan_compaction,
    sort_columns,
    write_group,
)
from sojourn_ingest.lake.expiry import expire, plan_expiry
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.schema import table
from sojourn_transforms.comparing_builds import compare_relations, lake_relations
from sojourn_transforms.maintenance import run_compaction

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ingest" / "tests"))
from earlier_versions import written_otherwise

DAY_NS = 86_400 * 10**9


def scores(lake: Lake) -> list[float]:
    with duckdb.connect() as connection:
        selected = connection.sql(live_rows_sql(table("qoe_score"), lake))
        return sorted(row[0] for row in selected.select("score").fetchall())


def outcomes(lake: Lake) -> list[tuple[str, str | None]]:
    with duckdb.connect() as connection:
        selected = connection.sql(live_rows_sql(table("ingest_outcome"), lake))
        return sorted(selected.select("source_path, reason").fetchall())


def compacted(lake: Lake) -> Lake:
    with lake.writing():
        plan = plan_compaction(lake)
        compact(lake, plan)
    return Lake(lake.root)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    for number in range(4):
        put(made, f"/{number}", f"c{number}", float(number), number + 0.5)
    return made


def test_compaction_changes_files_and_nothing_that_is_read(lake: Lake) -> None:
    before, fingerprint = scores(lake), lake.fingerprint()
    again = compacted(lake)
    assert scores(again) == before
    assert again.fingerprint() == fingerprint
    assert len(again.files("qoe_score")) == len(again.files("ingest_outcome")) == 1
    assert list((lake.root / "commits").iterdir()) == []
    assert len(list((lake.root / "packs").iterdir())) == 1
    assert len(list((lake.root / "data" / "qoe_score").iterdir())) == 1
    assert plan_compaction(again).is_empty


def test_many_files_are_put_together_in_several_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(tmp_path / "var" / "lake")
    with lake.writing():
        for number in range(10):
            put(lake, f"/{number}", f"content{number}", float(number))
    fingerprint = lake.fingerprint()
    monkeypatch.setattr(compaction, "MOST_FILES", 3)
    run_compaction(tmp_path / "var", 128, 256, False, None)
    again = Lake(tmp_path / "var" / "lake")
    # Ten become four, those two, and those one: no more than three are open at a time.
    assert [len(again.files(name)) for name in ("qoe_score", "ingest_outcome")] == [1, 1]
    assert scores(again) == [float(number) for number in range(10)]
    assert again.fingerprint() == fingerprint
    assert plan_compaction(again).is_empty
    assert "qoe_score: 3 files" in capsys.readouterr().out


def test_a_compacted_file_has_the_declared_schema_and_is_sorted(lake: Lake) -> None:
    (path,) = compacted(lake).files("qoe_score")
    assert pq.read_schema(path).equals(table("qoe_score").arrow_schema(), check_metadata=True)
    rows = pq.read_table(path, columns=list(sort_columns(table("qoe_score")))).to_pylist()
    assert rows == sorted(rows, key=lambda row: tuple(row.values()))


def test_what_is_replaced_after_a_compaction_is_hidden_and_then_gone(lake: Lake) -> None:
    packed = compacted(lake)
    put(packed, "/1", "c1", 10.0, version="v2")
    put(packed, "/2", "other", 20.0)
    expected = [0.0, 0.5, 3.0, 3.5, 10.0, 20.0]
    assert scores(packed) == scores(Lake(lake.root)) == expected
    assert len(outcomes(packed)) == 4
    # A file that changes back: the same content by the same decoder, whose earlier rows stay hidden.
    put(packed, "/2", "c2", 2.0, 2.5)
    back = [0.0, 0.5, 2.0, 2.5, 3.0, 3.5, 10.0]
    assert scores(packed) == scores(Lake(lake.root)) == back
    again = compacted(Lake(lake.root))
    assert scores(again) == back
    assert again.hidden("qoe_score") == {}
    assert len(again.files("qoe_score")) == 1
    assert {row["source_hash"] for row in pq.read_table(again.files("qoe_score")[0]).to_pylist()} == {
        "c0",
        "c1",
        "c2",
        "c3",
    }


def test_a_compaction_killed_before_or_after_its_commit_loses_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, fingerprint = scores(lake), lake.fingerprint()

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    def compact_and_be_killed(method: str) -> None:
        plan = plan_compaction(lake)
        with monkeypatch.context() as patch:
            patch.setattr(Lake, method, killed)
            with pytest.raises(KeyboardInterrupt):
                compact(lake, plan)
        reopened = Lake(lake.root)
        assert scores(reopened) == before
        assert reopened.fingerprint() == fingerprint

    compact_and_be_killed("publish_pack")
    assert len(list((lake.root / "data" / "qoe_score").iterdir())) == 5
    with Lake(lake.root).writing():
        assert len(list((lake.root / "data" / "qoe_score").iterdir())) == 4
    compact_and_be_killed("remove_leftovers")
    with Lake(lake.root).writing():
        assert len(list((lake.root / "data" / "qoe_score").iterdir())) == 1
        assert list((lake.root / "commits").iterdir()) == []
    assert scores(Lake(lake.root)) == before


def test_rows_that_are_missing_stop_the_compaction(lake: Lake) -> None:
    path = lake.files("qoe_score")[0]
    written_otherwise(lake, path, pq.read_table(path).slice(1))
    plan = plan_compaction(Lake(lake.root))
    with pytest.raises(CompactionError, match="7 rows in files whose commits promise 8"):
        write_group(lake.storage, next(group for group in plan.groups if group.table == "qoe_score"))
    assert not list((lake.root / "data" / "qoe_score").glob("compacted-*"))


def test_files_of_an_older_decoder_get_the_columns_that_are_declared_now(lake: Lake) -> None:
    # As a decoder wrote them before the column existed.
    path = lake.files("ingest_outcome")[0]
    written_otherwise(lake, path, pq.read_table(path).drop_columns(["message"]))
    before = outcomes(lake)
    other = compacted(Lake(lake.root))
    (made,) = other.files("ingest_outcome")
    assert pq.read_schema(made).names == table("ingest_outcome").arrow_schema().names
    assert outcomes(other) == before


def test_a_column_that_is_never_null_cannot_be_made_up(lake: Lake) -> None:
    path = lake.files("qoe_score")[0]
    written_otherwise(lake, path, pq.read_table(path).drop_columns(["metric"]))
    with pytest.raises(CompactionError, match="ingest their sources again"):
        compacted(Lake(lake.root))


def test_expiry_removes_old_rows_and_remembers_that_they_were(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    put(lake, "/old", "c1", 1.0, modified_ns=10 * DAY_NS)
    put(lake, "/new", "c2", 2.0, modified_ns=20 * DAY_NS)
    packed = compacted(lake)
    plan = plan_expiry(packed, ["qoe_score"], before_ns=15 * DAY_NS)
    for sources in (["/old"], ["/new", "/old"]):
        assert plan_expiry(packed, ["qoe_score"], before_ns=15 * DAY_NS, sources=sources) == plan
        assert len(plan_expiry(packed, ["qoe_score"], sources=sources)) == len(sources)
    assert plan_expiry(packed, ["qoe_score"], sources=["/ol"]) == []
    assert [(item.commit.source_path, item.rows) for item in plan] == [("/old", 1)]
    assert scores(packed) == [1.0, 2.0]
    with packed.writing():
        for item in plan:
            expire(packed, item)
    for state in ("as it stands", "read again", "compacted"):
        remaining = {"as it stands": packed, "read again": Lake(lake.root)}.get(state) or compacted(packed)
        assert scores(remaining) == [2.0]
        assert outcomes(remaining) == [("/new", None), ("/old", "expired")]
        assert plan_expiry(remaining, ["qoe_score"], before_ns=15 * DAY_NS) == []
    # The attempt is still known, so the file is not read again.
    assert [commit.status for commit in Lake(lake.root).at_path("/old")] == ["ok"]


def test_a_lake_in_two_states_of_compaction_compares_equal(lake: Lake, tmp_path: Path) -> None:
    copy = Lake(tmp_path / "copy")
    for number in range(4):
        put(copy, f"/{number}", f"c{number}", float(number), number + 0.5)
    assert compare_relations(lake_relations(compacted(lake), copy)).differences == []


def test_the_outcomes_of_a_recordings_files_go_with_it(lake: Lake) -> None:
    def attempt(path: str, content: str) -> Outcome:
        return Outcome(
            source_path=path, content_hash=content, decoder_version="v1", size_bytes=1, modified_ns=1,
            compression="none", format="capture", status="ok",
        )  # fmt: skip

    lake.commit(attempt("/r", "cr"), (), part_outcomes=(attempt("/r0", "cr0"), attempt("/r1", "cr1")))
    before = outcomes(lake)
    packed = compacted(lake)
    assert outcomes(packed) == before
    assert ("/r1", None) in before
    put(packed, "/r", "another", 1.0)
    assert [path for path, _ in outcomes(packed)] == [path for path, _ in before if path not in ("/r0", "/r1")]
