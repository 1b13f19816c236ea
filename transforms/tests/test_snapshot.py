"""A snapshot is named by its content, switched to at once, and never changes."""

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from sojourn_transforms.catalogue import Mart, MartColumn, marts_in
from sojourn_transforms.snapshot import SNAPSHOTS_KEPT, current, current_build, publish

MART = Mart(
    name="delay",
    description="Delays.",
    grain="one run",
    key=("run_id",),
    columns=(
        MartColumn("run_id", None, "Run.", False),
        MartColumn("mean_ms", "ms", "Mean.", True),
    ),
)


def warehouse(folder: Path, *values: tuple[str, float | None]) -> Path:
    path = folder / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema if not exists marts")
        connection.execute("create or replace table marts.delay (run_id varchar, mean_ms double, internal integer)")
        connection.executemany("insert into marts.delay values (?, ?, 1)", values)
    return path


def put(folder: Path, *values: tuple[str, float | None]) -> tuple[str, bool]:
    return publish(warehouse(folder, *values), "marts", [MART], {"engine": "duckdb"}, folder / "snapshots")


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
    assert current(tmp_path / "snapshots") is None
    assert current_build(tmp_path / "snapshots") is None
    first, _ = put(tmp_path, ("a", 1.0))
    second, _ = put(tmp_path, ("a", 2.0))
    assert first != second
    published = current(tmp_path / "snapshots")
    assert published is not None
    assert published.build_id == second
    assert current_build(tmp_path / "snapshots") == {"build_id": second, "engine": "duckdb"}
    assert (tmp_path / "snapshots" / first / "delay.parquet").exists()


def test_old_snapshots_go_but_never_the_served_one(tmp_path: Path) -> None:
    builds = [put(tmp_path, ("a", float(n)))[0] for n in range(SNAPSHOTS_KEPT + 2)]
    left = {path.name for path in (tmp_path / "snapshots").iterdir() if path.is_dir()}
    assert left == set(builds[-SNAPSHOTS_KEPT:])
    put(tmp_path, ("a", float(SNAPSHOTS_KEPT - 1)))
    assert (tmp_path / "snapshots" / str(current(tmp_path / "snapshots").build_id)).is_dir()  # type: ignore[union-attr]


def test_a_failed_publication_leaves_the_served_build(tmp_path: Path) -> None:
    first, _ = put(tmp_path, ("a", 1.0))
    missing = Mart("absent", "", "one row", ("run_id",), MART.columns)
    with pytest.raises(duckdb.CatalogException):
        publish(tmp_path / "warehouse.duckdb", "marts", [MART, missing], {}, tmp_path / "snapshots")
    published = current(tmp_path / "snapshots")
    assert published is not None
    assert published.build_id == first
    assert [path.name for path in (tmp_path / "snapshots").iterdir() if path.name.startswith(".")] == []


def test_a_mart_without_grain_or_key_is_refused() -> None:
    node = {
        "resource_type": "model",
        "schema": "marts",
        "name": "delay",
        "description": "",
        "config": {"meta": {"grain": "one run"}},
        "columns": {},
    }
    with pytest.raises(ValueError, match=r"mart delay: .* needs grain and key"):
        marts_in({"nodes": {"model.sojourn.delay": node}})
