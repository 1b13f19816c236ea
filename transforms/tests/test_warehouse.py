"""Every lake table is readable in the warehouse, also where the lake holds nothing of it: a view, or a copy."""

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn_ingest.lake import FactWriter, Lake, Outcome
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.live_rows_sql import DUCKDB_TYPES
from sojourn_ingest.schema import TABLES, table
from sojourn_transforms.running.runner import lake_contents_of
from sojourn_transforms.warehouse import (
    COPIES,
    note_forgotten,
    open_warehouse,
    register_lake,
    remove_if_of_another_list,
)


def put_score(lake: Lake, path: str, content: str, modified_ns: int = 1) -> None:
    outcome = Outcome(path, content, "v", 1, modified_ns, "none", "test", "ok")
    row = {"score_number": 0, "study_id": "s", "scored": content, "run_id": content, "metric": "brisque", "score": 1.0}
    columns = [c for c in table("qoe_score").arrow_schema() if c.name not in ("source_hash", "decoder_version")]
    batch = pa.RecordBatch.from_pylist([row], schema=pa.schema(columns))
    with FactWriter(lake.root, content, "v") as writer:
        writer.write("qoe_score", batch)
        lake.commit(outcome, writer.finish())


def register(warehouse: Path, lake: Lake) -> None:
    with open_warehouse(warehouse, None) as connection:
        register_lake(connection, lake, lake_contents_of(lake, TABLES))


UNFINISHED = """
import resource, signal, sys
from pathlib import Path
from sojourn_transforms.warehouse import open_warehouse
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with open_warehouse(Path(sys.argv[1]), None):
    pass
"""


def test_a_warehouse_that_could_not_be_made_is_in_nobody_s_way(tmp_path: Path) -> None:
    warehouse = tmp_path / "w.duckdb"
    failed = subprocess.run([sys.executable, "-c", UNFINISHED, warehouse], check=False, capture_output=True)
    assert failed.returncode == 1
    assert list(tmp_path.iterdir()) == []
    # As where the process was killed.
    (tmp_path / "w.duckdb.new").write_bytes(b"DUCK")
    with open_warehouse(warehouse, None) as connection:
        connection.execute("create table made as select 1")
    assert list(tmp_path.iterdir()) == [warehouse]


@pytest.mark.parametrize(
    ("noted", "now", "stays"),
    [("", "", True), ("a", "a", True), (None, "", True), (None, "a", False), ("", "a", False), ("a", "b", False)],
)
def test_a_warehouse_of_another_list_of_forgotten_hosts_goes(
    tmp_path: Path, noted: str | None, now: str, stays: bool
) -> None:
    warehouse = tmp_path / "w.duckdb"
    remove_if_of_another_list(warehouse, now)
    assert list(tmp_path.iterdir()) == []
    with open_warehouse(warehouse, None) as connection:
        if noted is not None:
            note_forgotten(connection, "an earlier list")
            note_forgotten(connection, noted)
    remove_if_of_another_list(warehouse, now)
    assert list(tmp_path.iterdir()) == [warehouse] * stays


def test_empty_lake_gives_empty_views_of_the_declared_types(tmp_path: Path) -> None:
    register(tmp_path / "w.duckdb", Lake(tmp_path / "lake"))
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as connection:
        for declared in TABLES.values():
            described = connection.execute(f'describe lake."{declared.name}"').fetchall()
            assert [(row[0], row[1].lower()) for row in described] == [
                (column.name, DUCKDB_TYPES[column.type]) for column in declared.columns
            ]


def test_views_show_live_files_only_and_follow_the_lake(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "it's a lake")
    for content in ("c1", "c2"):
        put_score(lake, "/a", content)
    put_score(lake, "/b", "c3")
    (lake.root / "data" / "qoe_score" / "orphan.parquet").write_bytes(b"cut short")
    register(tmp_path / "w.duckdb", lake)
    register(tmp_path / "w.duckdb", lake)
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as connection:
        assert connection.execute("select run_id from lake.qoe_score order by run_id").fetchall() == [("c2",), ("c3",)]


def test_a_column_that_no_file_has_yet_is_null(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    put_score(lake, "/a", "c1")
    (path,) = lake.files("qoe_score")
    pq.write_table(pq.read_table(path).drop_columns(["decoder_version"]), path)
    register(tmp_path / "w.duckdb", lake)
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as connection:
        assert connection.execute("select run_id, decoder_version from lake.qoe_score").fetchall() == [("c1", None)]


def test_a_little_table_of_several_files_is_copied_once_for_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, lake = tmp_path / "w.duckdb", Lake(tmp_path / "lake")

    def rows() -> tuple[str, list[str]]:
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            (kind,) = connection.execute(
                "select table_type from information_schema.tables where table_name = 'qoe_score'"
            ).fetchall()
            rows = connection.execute("select run_id from lake.qoe_score order by run_id").fetchall()
        return kind[0], [row[0] for row in rows]

    put_score(lake, "/a", "c1")
    register(warehouse, lake)
    assert rows() == ("VIEW", ["c1"])
    put_score(lake, "/b", "c2")
    register(warehouse, lake)
    assert rows() == ("BASE TABLE", ["c1", "c2"])
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("delete from lake.qoe_score where run_id = 'c1'")
    # The same content is not read again, and of another only the files that came since.
    register(warehouse, lake)
    assert rows() == ("BASE TABLE", ["c2"])
    put_score(lake, "/c", "c3")
    register(warehouse, lake)
    assert rows() == ("BASE TABLE", ["c2", "c3"])
    # A table that lost a file, or whose declared columns changed, is copied in full.
    put_score(lake, "/c", "c4")
    register(warehouse, lake)
    assert rows() == ("BASE TABLE", ["c1", "c2", "c4"])
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("alter table lake.qoe_score drop column score")
        connection.execute(f"update {COPIES} set columns = 'as an older version declared them'")
    register(warehouse, lake)
    assert rows() == ("BASE TABLE", ["c1", "c2", "c4"])
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        assert connection.execute("select distinct score from lake.qoe_score").fetchall() == [(1.0,)]
    # Much data is read where it is.
    monkeypatch.setattr("sojourn_transforms.warehouse.LITTLE_BYTES", 1)
    register(warehouse, lake)
    assert rows() == ("VIEW", ["c1", "c2", "c4"])
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        assert connection.execute(f"select name from {COPIES}").fetchall() == []


def test_a_copy_is_of_its_own_lake_and_of_no_row_that_is_hidden(tmp_path: Path) -> None:
    # Another lake in the same place has an outcome under the same name, which says another thing.
    warehouse = tmp_path / "w.duckdb"

    def rows(sql: str) -> list[tuple[object, ...]]:
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    for modified_ns, sources in ((1, "ab"), (2, "abc")):
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        lake = Lake(tmp_path / "lake")
        for source in sources:
            put_score(lake, f"/{source}", source, modified_ns=modified_ns)
        register(warehouse, lake)
        assert rows("select source_path, modified_ns from lake.ingest_outcome order by all") == [
            (f"/{source}", modified_ns) for source in sources
        ]
    # Compacted, and with a source replaced afterwards, whose row is in a shared file.
    with lake.writing():
        compact(lake, plan_compaction(lake))
    register(warehouse, lake)
    put_score(lake, "/b", "b2")
    register(warehouse, lake)
    put_score(lake, "/d", "d")
    register(warehouse, lake)
    assert rows("select run_id from lake.qoe_score order by all") == [("a",), ("b2",), ("c",), ("d",)]
