"""A snapshot is named by its content, switched to at once, and never changes."""

import json
import os
import time
from datetime import date
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from transforms.tests.snapshot.small_builds import MART, put, warehouse

from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import mart_paths
from sojourn_snapshot.pointer import read_pointer
from sojourn_transforms.dbt.compilation import marts_in
from sojourn_transforms.mart import Mart, MartColumn
from sojourn_transforms.mart_files import Origin, RepeatedKeyError
from sojourn_transforms.publishing import (
    SNAPSHOTS_KEPT,
    current_build,
    publish_snapshot,
    snapshots_with_another_list,
)
from sojourn_transforms.running.statements import ModelError
from sojourn_transforms.warehouse import parts_by_day


def test_rows_are_sorted_by_key_and_only_declared_columns_are_published(tmp_path: Path) -> None:
    build_id, _ = put(tmp_path, ("b", 2.0), ("a", None))
    table = pq.read_table(tmp_path / "snapshots" / build_id / "delay.parquet")
    assert table.to_pylist() == [{"run_id": "a", "mean_ms": None}, {"run_id": "b", "mean_ms": 2.0}]


def test_catalogue_says_type_unit_and_rows(tmp_path: Path) -> None:
    build_id, _ = put(tmp_path, ("a", 1.0))
    catalog = json.loads((tmp_path / "snapshots" / build_id / "catalog.json").read_text())
    (entry,) = catalog["datasets"]
    assert entry["rows"] == 1
    assert entry["key"] == ["run_id"]
    assert entry["columns"] == [
        {"name": "run_id", "type": "VARCHAR", "unit": None, "description": "Run.", "nullable": False},
        {"name": "mean_ms", "type": "DOUBLE", "unit": "ms", "description": "Mean.", "nullable": True},
    ]


def test_same_rows_in_another_order_are_the_same_build(tmp_path: Path) -> None:
    first, is_new = put(tmp_path, ("a", 1.0), ("b", 2.0))
    assert is_new
    files = {path.name: path.read_bytes() for path in (tmp_path / "snapshots" / first).iterdir()}
    second, is_new = put(tmp_path, ("b", 2.0), ("a", 1.0))
    assert (second, is_new) == (first, False)
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "snapshots" / first).iterdir()}


def test_pointer_names_the_newest_and_the_one_before_stays(tmp_path: Path) -> None:
    assert read_pointer(tmp_path / "snapshots") is None
    assert current_build(tmp_path / "snapshots") is None
    first, _ = put(tmp_path, ("a", 1.0))
    second, _ = put(tmp_path, ("a", 2.0))
    assert first != second
    published = read_pointer(tmp_path / "snapshots")
    assert published is not None
    assert published.build_id == second
    assert current_build(tmp_path / "snapshots") == {"build_id": second, "engine": "duckdb"}
    assert (tmp_path / "snapshots" / first / "delay.parquet").exists()


def test_old_snapshots_go_but_never_the_served_one(tmp_path: Path) -> None:
    builds = [put(tmp_path, ("a", float(n)))[0] for n in range(SNAPSHOTS_KEPT + 2)]
    left = {path.name for path in (tmp_path / "snapshots").iterdir() if path.is_dir()}
    assert left == set(builds[-SNAPSHOTS_KEPT:])
    put(tmp_path, ("a", float(SNAPSHOTS_KEPT - 1)))
    assert (tmp_path / "snapshots" / str(read_pointer(tmp_path / "snapshots").build_id)).is_dir()  # type: ignore[union-attr]


def test_an_old_snapshot_goes_also_from_the_disk_that_it_was_moved_to(tmp_path: Path) -> None:
    moved, snapshots = tmp_path / "elsewhere", tmp_path / "snapshots"
    build_id, _ = put(tmp_path, ("a", 0.0))
    (snapshots / build_id).rename(moved)
    (snapshots / build_id).symlink_to(moved)
    for number in range(1, SNAPSHOTS_KEPT + 1):
        put(tmp_path, ("a", float(number)))
    assert not moved.exists()
    assert not (snapshots / build_id).is_symlink()


def test_no_snapshot_stays_that_was_built_with_another_list_of_forgotten_hosts(tmp_path: Path) -> None:
    snapshots, future_s = tmp_path / "snapshots", time.time() + 3600
    before = [snapshots / put(tmp_path, ("a", value))[0] for value in (1.0, 2.0)]
    for path in before:
        # As of a copy, or of a clock that was ahead.
        os.utime(path, (future_s, future_s))
    assert sorted(snapshots_with_another_list(snapshots, "one host")) == sorted(before)
    assert snapshots_with_another_list(snapshots, "") == []
    first, _ = put(tmp_path, ("a", 2.0), forgotten="one host")
    assert {path.name for path in snapshots.iterdir() if path.is_dir()} == {first}
    second, _ = put(tmp_path, ("a", 3.0), forgotten="one host")
    assert {path.name for path in snapshots.iterdir() if path.is_dir()} == {first, second}
    assert snapshots_with_another_list(snapshots, "one host") == []


def test_a_failed_publication_leaves_the_served_build(tmp_path: Path) -> None:
    first, _ = put(tmp_path, ("a", 1.0))
    missing = Mart("absent", "", "one row", ("run_id",), MART.columns)
    with pytest.raises(duckdb.CatalogException):
        publish_snapshot(tmp_path / "warehouse.duckdb", "marts", [MART, missing], {}, tmp_path / "snapshots")
    published = read_pointer(tmp_path / "snapshots")
    assert published is not None
    assert published.build_id == first
    assert [path.name for path in (tmp_path / "snapshots").iterdir() if path.name.startswith(".")] == []


OF_DAYS = Mart(
    name="bins",
    description="Bins.",
    grain="one bin of one day",
    key=("start_date", "country", "bin_index"),
    columns=tuple(MartColumn(name, None, "Text.", False) for name in ("start_date", "country", "bin_index")),
    period="start_date",
)
FINGERPRINTS = {date(2026, 1, 30): "a", date(2026, 1, 31): "b", date(2026, 2, 1): "c", date(2026, 2, 2): "d"}


def put_days(
    folder: Path, parts: dict[date, str], *changed: date, full: bool = False, definition: str = "models"
) -> Path:
    """Publish two bins of each day, the ``changed`` of another country, and return the snapshot."""
    folder.mkdir(exist_ok=True)
    path = folder / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema if not exists marts")
        connection.execute("create or replace table marts.bins (start_date date, country varchar, bin_index integer)")
        rows = [
            (day, "fr" if day in changed else "de", index) for day in sorted(parts, reverse=True) for index in (2, 1)
        ]
        connection.executemany("insert into marts.bins values (?, ?, ?)", rows)
    build_id, _ = publish_snapshot(
        path,
        "marts",
        [OF_DAYS],
        {},
        folder / "snapshots",
        origins={"bins": Origin("", definition)},
        parts=parts,
        full=full,
    )
    return folder / "snapshots" / build_id


def inodes(snapshot: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in mart_paths(snapshot, "bins")}


def test_a_mart_of_days_is_a_file_for_each_month_and_each_day_of_the_last(tmp_path: Path) -> None:
    snapshot = put_days(tmp_path, FINGERPRINTS)
    names = [path.name for path in mart_paths(snapshot, "bins")]
    assert names == ["2026-01.parquet", "2026-02-01.parquet", "2026-02-02.parquet"]
    rows = [row for path in mart_paths(snapshot, "bins") for row in pq.read_table(path).to_pylist()]
    assert rows == [
        {"start_date": day, "country": "de", "bin_index": index} for day in FINGERPRINTS for index in (1, 2)
    ]
    (entry,) = json.loads((snapshot / "catalog.json").read_text())["datasets"]
    assert entry["rows"] == len(rows)


def test_files_of_days_that_have_not_changed_are_taken_over(tmp_path: Path) -> None:
    first = put_days(tmp_path, FINGERPRINTS)
    more = FINGERPRINTS | {date(2026, 2, 1): "other", date(2026, 2, 3): "e"}
    second = put_days(tmp_path, more, date(2026, 2, 1))
    before, after = inodes(first), inodes(second)
    same = {name for name in after if before.get(name) == after[name]}
    assert same == {"2026-01.parquet", "2026-02-02.parquet"}
    assert pq.read_table(second / "bins.parquet/2026-02-01.parquet")["country"].to_pylist() == ["fr", "fr"]
    # The bytes, and so the name of the build, are those of writing everything.
    assert put_days(tmp_path / "other", more, date(2026, 2, 1)).name == second.name


def test_a_new_month_puts_the_days_of_the_one_before_into_one_file(tmp_path: Path) -> None:
    put_days(tmp_path, FINGERPRINTS)
    snapshot = put_days(tmp_path, FINGERPRINTS | {date(2026, 3, 1): "e"})
    assert set(inodes(snapshot)) == {"2026-01.parquet", "2026-02.parquet", "2026-03-01.parquet"}


def damage(path: Path) -> None:
    """Change one byte, and not the length."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_nothing_is_taken_over_that_was_damaged_or_when_all_is_rebuilt(tmp_path: Path) -> None:
    first = put_days(tmp_path, FINGERPRINTS)
    damage(first / "bins.parquet/2026-01.parquet")
    more = FINGERPRINTS | {date(2026, 2, 3): "e"}
    second = put_days(tmp_path, more)
    same = {name for name, inode in inodes(second).items() if inode == inodes(first).get(name)}
    assert same == {"2026-02-01.parquet", "2026-02-02.parquet"}
    third = put_days(tmp_path, more | {date(2026, 2, 4): "f"}, full=True)
    assert not set(inodes(second).values()) & set(inodes(third).values())


def test_a_damaged_snapshot_is_written_again_when_the_same_is_published(tmp_path: Path) -> None:
    first = put_days(tmp_path, FINGERPRINTS)
    whole = {path: path.read_bytes() for path in mart_paths(first, "bins")}
    damage(next(iter(whole)))
    assert put_days(tmp_path, FINGERPRINTS, full=True) == first
    assert {path: path.read_bytes() for path in mart_paths(first, "bins")} == whole
    assert [path.name for path in first.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("content", ["", "[{}]", "{}", '[{"name": "a", "of": "a later version"}]'])
def test_an_unreadable_list_of_files_stops_no_build(tmp_path: Path, content: str) -> None:
    first = put_days(tmp_path, FINGERPRINTS)
    (first / "files.json").write_text(content)
    with pytest.raises(DamagedSnapshotError, match=r"files\.json|in no list of files"):
        mart_paths(first, "bins")
    second = put_days(tmp_path, FINGERPRINTS | {date(2026, 2, 3): "e"})
    assert len(mart_paths(second, "bins")) == 4


def test_a_lost_file_is_missed_and_a_strange_one_left_alone(tmp_path: Path) -> None:
    snapshot = put_days(tmp_path, FINGERPRINTS)
    (snapshot / "bins.parquet/.nfs0001").write_bytes(b"of a file system")
    assert len(mart_paths(snapshot, "bins")) == 3
    (snapshot / "bins.parquet/2026-01.parquet").unlink()
    with pytest.raises(DamagedSnapshotError, match=r"2026-01.parquet is missing or not of \d+ bytes"):
        mart_paths(snapshot, "bins")


def test_missing_texts_of_a_key_come_first(tmp_path: Path) -> None:
    path, day = tmp_path / "warehouse.duckdb", date(2026, 1, 30)
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema marts")
        connection.execute("create table marts.bins (start_date date, country varchar, bin_index integer)")
        rows = [(day, "b", 1), (day, None, 1), (day, "it's", 1), (day, "B", 1)]
        connection.executemany("insert into marts.bins values (?, ?, ?)", rows)
    build_id, _ = publish_snapshot(path, "marts", [OF_DAYS], {}, tmp_path / "snapshots", parts={day: "a"})
    (written,) = mart_paths(tmp_path / "snapshots" / build_id, "bins")
    assert pq.read_table(written)["country"].to_pylist() == [None, "B", "b", "it's"]


def test_parts_of_days_follow_their_sources(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"

    def run(*statements: str) -> None:
        with duckdb.connect(str(path)) as connection:
            for statement in statements:
                connection.execute(statement)

    table = "intermediate.int_connection_part"
    run("create schema intermediate", f"create table {table} (start_date date, part_fingerprint bigint)")
    run(f"insert into {table} values ('2026-01-30', 7), ('2026-01-31', 8)")
    before = parts_by_day(path)
    run(f"insert into {table} values ('2026-01-31', 9)")
    first, second = date(2026, 1, 30), date(2026, 1, 31)
    after = parts_by_day(path)
    assert before[first] == after[first]
    assert before[second] != after[second]


def test_files_follow_the_definition_of_their_mart_and_its_content(tmp_path: Path) -> None:
    before = inodes(put_days(tmp_path, FINGERPRINTS))
    # The same parts by the same models are not looked at again, whatever the warehouse has.
    assert inodes(put_days(tmp_path, FINGERPRINTS, *FINGERPRINTS)) == before
    # Other models of the same sources, or none that are known: nothing is taken over.
    others = inodes(put_days(tmp_path, FINGERPRINTS, *FINGERPRINTS, definition="others"))
    assert not before.items() & others.items()
    assert not others.items() & inodes(put_days(tmp_path, FINGERPRINTS, definition="")).items()
    path = warehouse(tmp_path, ("a", 1.0))
    snapshots = tmp_path / "snapshots"

    def published(content: str, build: str) -> int:
        origins = {MART.name: Origin(content)}
        build_id, _ = publish_snapshot(path, "marts", [MART], {"engine": build}, snapshots, origins=origins)
        return (snapshots / build_id / f"{MART.name}.parquet").stat().st_ino

    first = published("rows", "1")
    assert published("rows", "2") == first
    assert published("other rows", "3") != first
    assert published("", "4") != published("", "5")


def test_a_mart_that_repeats_its_key_is_refused(tmp_path: Path) -> None:
    first, _ = put(tmp_path, ("a", 1.0))
    with pytest.raises(RepeatedKeyError, match=r"delay: two rows have the key {'run_id': 'b'}"):
        put(tmp_path, ("b", 1.0), ("a", 1.0), ("b", 2.0))
    published = read_pointer(tmp_path / "snapshots")
    assert published is not None
    assert published.build_id == first


def test_a_key_is_repeated_also_where_batches_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn_transforms.mart_files.ROW_GROUP_ROWS", 2048)
    values = [(f"{number:05}", 1.0) for number in range(4096)]
    assert put(tmp_path, *values)[1]
    values[2048] = values[2047]
    with pytest.raises(RepeatedKeyError, match="02047"):
        put(tmp_path, *values)


def test_a_mart_of_another_period_than_days_or_months_is_refused() -> None:
    meta = {"grain": "one run", "key": ["run_id"], "period": "year"}
    node = {"resource_type": "model", "schema": "marts", "name": "delay", "config": {"meta": meta}, "columns": {}}
    with pytest.raises(ModelError, match=r"mart delay: .*period is one of start_date, start_month"):
        marts_in([node])


def test_a_mart_without_grain_or_key_is_refused() -> None:
    node = {
        "resource_type": "model",
        "schema": "marts",
        "name": "delay",
        "description": "",
        "config": {"meta": {"grain": "one run"}},
        "columns": {},
    }
    with pytest.raises(ModelError, match=r"mart delay: .* needs grain and key"):
        marts_in([node])
