"""Every lake table is a view of the warehouse, also where the lake holds nothing of it."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sojourn_ingest.lake import FactWriter, Lake, Outcome
from sojourn_ingest.lake.live_rows_sql import DUCKDB_TYPES
from sojourn_ingest.schema import TABLES, table
from sojourn_transforms.warehouse import register_lake


def put_score(lake: Lake, path: str, content: str) -> None:
    outcome = Outcome(path, content, "v", 1, 1, "none", "test", "ok")
    row = {"score_number": 0, "study_id": "s", "scored": content, "run_id": content, "metric": "brisque", "score": 1.0}
    columns = [c for c in table("qoe_score").arrow_schema() if c.name not in ("source_hash", "decoder_version")]
    batch = pa.RecordBatch.from_pylist([row], schema=pa.schema(columns))
    with FactWriter(lake.root, content, "v") as writer:
        writer.write("qoe_score", batch)
        lake.commit(outcome, writer.finish())


def test_empty_lake_gives_empty_views_of_the_declared_types(tmp_path: Path) -> None:
    register_lake(tmp_path / "w.duckdb", Lake(tmp_path / "lake"))
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
    register_lake(tmp_path / "w.duckdb", lake)
    register_lake(tmp_path / "w.duckdb", lake)
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as connection:
        assert connection.execute("select run_id from lake.qoe_score order by run_id").fetchall() == [("c2",), ("c3",)]


def test_a_column_that_no_file_has_yet_is_null(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    put_score(lake, "/a", "c1")
    (path,) = lake.files("qoe_score")
    pq.write_table(pq.read_table(path).drop_columns(["decoder_version"]), path)
    register_lake(tmp_path / "w.duckdb", lake)
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as connection:
        assert connection.execute("select run_id, decoder_version from lake.qoe_score").fetchall() == [("c1", None)]
