"""Spark sees of a lake what DuckDB sees: in a folder and in an object store, before and after maintenance."""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from transforms.tests.planted_scores import TABLE, put

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake, open_storage
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.paths import Paths
from sojourn_ingest.remote import RemotePath, as_path, copies
from sojourn_ingest.schema import TABLES, table
from sojourn_ingest.session import Attempt, IngestSession, files_below
from sojourn_ingest.session.survey import survey
from sojourn_transforms.comparing_builds import Relation, compare_relations, lake_relations
from sojourn_transforms.mart import MART_LAYER
from sojourn_transforms.running.compiled import compiled_project
from sojourn_transforms.running.duckdb_tables import DuckDbTables
from sojourn_transforms.running.runner import lake_contents_of, run_statements
from sojourn_transforms.spark import ingest_runner
from sojourn_transforms.spark.compaction import write_groups_on
from sojourn_transforms.spark.ingest_runner import SparkRunner
from sojourn_transforms.spark.lake_views import lake_frame, register_lake
from sojourn_transforms.spark.session import SparkSettings, spark_session
from sojourn_transforms.spark.tables import SparkTables
from sojourn_transforms.warehouse import open_warehouse
from sojourn_transforms.warehouse import register_lake as register_lake_in_duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ingest" / "tests"))
from captures import udp_frame, write_pcap
from connection_tables import write_tables
from earlier_versions import written_otherwise
from remote_folders import Bucket, put_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration

#: A nullable column that the decoder of version v0 did not write yet.
ADDED_COLUMN = "end_ns"
START_NS = 1_700_000_000 * 10**9


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = SparkSettings(
        "local[2]", {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        paths = Paths(tmp_path_factory.mktemp("spark"))
        with spark_session(paths, settings) as held:
            yield held
    server.stop()


@pytest.fixture
def bucket(session: SparkSession) -> str:
    import boto3

    name = f"b{uuid.uuid4().hex[:12]}"
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=name)
    return f"s3a://{name}/lake"


def as_duckdb(lake: Lake, name: str) -> list[str]:
    with duckdb.connect() as connection:
        return sorted(map(str, connection.sql(live_rows_sql(table(name), lake)).to_arrow_table().to_pylist()))


def as_spark(session: SparkSession, lake: Lake, name: str) -> list[str]:
    return sorted(str(row.asDict()) for row in lake_frame(session, lake, table(name)).collect())


def compacted_by_spark(session: SparkSession, location: Path | str) -> Lake:
    lake = Lake(location)
    with lake.writing():
        plan = plan_compaction(lake)
        assert not plan.is_empty
        compact(lake, plan, write_groups_on(session))
    return Lake(location)


def store_copy(lake: Lake, uri: str) -> None:
    storage = open_storage(uri)
    for path in sorted(lake.root.rglob("*")):
        name = str(path.relative_to(lake.root))
        if path.is_file() and name != "lock":
            draft = storage.draft(name)
            shutil.copy(path, draft)
            storage.keep(name, draft)


@pytest.fixture(params=["folder", "object store"])
def location(request: pytest.FixtureRequest, tmp_path: Path, bucket: str) -> Path | str:
    """Return a lake of which one source was read by a decoder that lacked a column."""
    lake = Lake(tmp_path / "lake")
    with lake.writing():
        put(lake, "/old", "c0", 0.0, version="v0")
    (old,) = lake.files(TABLE)
    written_otherwise(lake, old, pq.read_table(old).drop_columns([ADDED_COLUMN]))
    lake = Lake(lake.root)
    with lake.writing():
        for number in range(1, 4):
            put(lake, f"/{number}", f"c{number}", float(number), number + 0.5)
    if request.param == "folder":
        return lake.root
    store_copy(lake, bucket)
    return bucket


def test_an_added_column_compaction_and_hidden_rows_are_seen_alike(session: SparkSession, location: Path | str) -> None:
    lake = Lake(location)
    rows = as_spark(session, lake, TABLE)
    assert len(rows) == 7
    assert sum("'score': 0.0" in row and f"'{ADDED_COLUMN}': None" in row for row in rows) == 1
    assert rows == as_duckdb(lake, TABLE)

    packed = compacted_by_spark(session, location)
    assert len(packed.objects(TABLE)) == 1
    assert packed.fingerprint() == lake.fingerprint()
    assert as_spark(session, packed, TABLE) == as_duckdb(packed, TABLE) == rows

    with packed.writing():
        put(packed, "/1", "c1", 10.0, version="v2")
        put(packed, "/2", "other", 20.0)
    later = Lake(location)
    assert later.hidden(TABLE)
    assert len(rows_now := as_spark(session, later, TABLE)) == 5
    assert rows_now == as_duckdb(later, TABLE)
    assert as_spark(session, later, "ingest_outcome") == as_duckdb(later, "ingest_outcome")

    again = compacted_by_spark(session, location)
    assert again.hidden(TABLE) == {}
    assert as_spark(session, again, TABLE) == as_duckdb(again, TABLE) == rows_now


def test_a_build_that_reads_while_spark_compacts_reads_on(session: SparkSession, location: Path | str) -> None:
    lake = Lake(location)
    with lake.reading():
        before = as_spark(session, lake, TABLE)
        frame = lake_frame(session, lake, table(TABLE))
        packed = compacted_by_spark(session, location)
        assert sorted(str(row.asDict()) for row in frame.collect()) == before
        assert as_spark(session, packed, TABLE) == before
    with Lake(location).writing():
        assert len(lake.storage.names(f"data/{TABLE}")) == 1


def ingest(lake: Lake, session: SparkSession | None, *sources: Path) -> list[Attempt]:
    pseudonymiser = Pseudonymiser(b"key")
    made = IngestSession(lake, pseudonymiser, runner=None if session is None else SparkRunner(session))
    with lake.writing():
        attempts = made.run(files_below(sources), lambda _: None)
        lake.remove_leftovers()
    return attempts


def differences(left: Lake, right: Lake) -> list[Any]:
    return compare_relations(lake_relations(left, right)).differences


def part(path: Path, number: int, packets: int = 10) -> None:
    frames = [udp_frame(f"{number} {n}".encode()) for n in range(packets)]
    path.parent.mkdir(exist_ok=True)
    write_pcap(path, frames, START_NS + number * packets * 10**8, 10**8)


def test_recordings_copies_and_damage_are_the_same_in_tasks(session: SparkSession, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    for number in range(3):
        part(inputs / f"t.pcap{number or ''}", number)
        part(inputs / f"damaged.pcap{number or ''}", 10 + number)
    damaged = inputs / "damaged.pcap1"
    damaged.write_bytes(damaged.read_bytes()[:-5])
    # A copy of one file, and another of the whole recording: it counts once, whichever task is done first.
    part(inputs / "copy.pcap", 1)
    shutil.copytree(inputs, tmp_path / "twice", ignore=shutil.ignore_patterns("damaged*", "copy*"))
    part(inputs / "alone.pcap", 99, packets=3)
    threads, tasks = Lake(tmp_path / "threads"), Lake(tmp_path / "tasks")
    for lake, engine in ((threads, None), (tasks, session)):
        ingest(lake, engine, inputs)
        ingest(lake, engine, tmp_path / "twice")
    assert differences(threads, tasks) == []
    (flows,) = as_rows(tasks, "select count(*) as flows, sum(fwd_packets + rev_packets)::bigint as packets", "flow")
    assert flows == {"flows": 3, "packets": 30 + 29 + 3}
    assert {attempt.disposition for attempt in ingest(tasks, session, inputs)} == {"unchanged"}
    # A file that comes later joins those before it.
    part(inputs / "t.pcap3", 3)
    for lake, engine in ((threads, None), (tasks, session)):
        ingest(lake, engine, inputs / "t.pcap3")
    assert differences(threads, tasks) == []
    # Where one of its files is gone, the recording stays as it is.
    gone = inputs / "t.pcap2"
    content = gone.read_bytes()
    gone.unlink()
    for lake, engine in ((threads, None), (tasks, session)):
        left = {attempt.path.name: attempt.disposition for attempt in ingest(lake, engine, *inputs.glob("t.pcap*"))}
        assert {"t.pcap", "t.pcap1", "t.pcap3"} <= set(left)
        assert set(left.values()) == {"unchanged"}
    assert differences(threads, tasks) == []
    gone.write_bytes(content)

    both = Lake(tmp_path / "both")
    ingest(both, session, inputs, tmp_path / "twice")
    (flows,) = as_rows(both, "select count(*) as flows, sum(fwd_packets + rev_packets)::bigint as packets", "flow")
    assert flows == {"flows": 3, "packets": 40 + 29 + 3}
    names = {both.place_of(file) for commit in both.live() for file in commit.files}
    assert {str(path.relative_to(both.root)) for path in (both.root / "data").rglob("*.parquet")} == names


def test_a_large_table_is_shared_by_tasks_and_gives_the_same_rows(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_runner, "PART_BYTES", 20_000)
    folder = tmp_path / "tables"
    (folder / "damaged").mkdir(parents=True)
    for path in write_tables(tmp_path / "long", 250_000):
        if path.name == "damaged.csv":
            path.rename(folder / "damaged" / path.name)
    for path in write_tables(folder, 4_000):
        if path.name == "damaged.csv":
            path.unlink()
    threads, tasks = Lake(tmp_path / "threads"), Lake(tmp_path / "tasks")
    with monkeypatch.context() as patch:
        ingest(threads, None, folder / "in-parts.yaml", *folder.glob("t.*"))
        ingest(tasks, session, folder / "in-parts.yaml", *folder.glob("t.*"))
        assert differences(threads, tasks) == []
        written = {
            c.source_path: len(c.files) for c in tasks.live() if c.format == "connection_table:in-parts/connections"
        }
        # A part of each task, and the outcome.
        assert len(written) == 3
        assert min(written.values()) >= 4
        patch.setattr(ingest_runner, "PART_BYTES", 2_000_000)
        ingest(threads, None, folder)
        ingest(tasks, session, folder)
    (one,), (other,) = (
        as_rows(
            lake, "select status, reason, records_read > 0 as read", "ingest_outcome", "source_path like '%damaged%'"
        )
        for lake in (threads, tasks)
    )
    assert one == other == {"status": "partial", "reason": "corrupt_record", "read": True}
    names = {tasks.place_of(file) for commit in tasks.live() for file in commit.files}
    assert {str(path.relative_to(tasks.root)) for path in (tasks.root / "data").rglob("*.parquet")} == names


def test_sources_in_an_object_store_are_read_in_tasks(
    session: SparkSession, bucket: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "inputs"
    for number in range(3):
        part(folder / f"t.pcap{number or ''}", number)
    (folder / "tables").mkdir()
    for path in write_tables(folder / "tables", 4_000):
        if path.name == "damaged.csv":
            path.unlink()  # it is parted at another place than where one process stops
    run = next(path for path in sorted(sample.iterdir()) if path.is_dir())
    shutil.copytree(run, folder / run.name)
    captures = bucket.replace("/lake", "/captures")
    put_folder(Bucket(captures), folder)
    source = as_path(captures)
    assert isinstance(source, RemotePath)
    monkeypatch.setattr(ingest_runner, "PART_BYTES", 20_000)
    fetched: list[str] = []
    fetch = copies.fetch

    def noted(path: RemotePath, *rest: Any) -> Any:
        fetched.append(path.name)
        return fetch(path, *rest)

    def ingest_there(lake: Lake, engine: SparkSession | None) -> list[Attempt]:
        runner = None if engine is None else SparkRunner(engine)
        surveyed = survey(lake, [source], packets=False, largest=1)
        made = IngestSession(lake, Pseudonymiser(b"key"), runner=runner, descriptions=surveyed.descriptions)
        with lake.writing():
            attempts = [attempt for batch in surveyed.batches() for attempt in made.run(batch, lambda _: None)]
            lake.remove_leftovers()
        return attempts

    threads, tasks = Lake(tmp_path / "threads"), Lake(bucket, tmp_path / "cache")
    ingest_there(threads, None)
    monkeypatch.setattr(copies, "fetch", noted)
    ingest_there(tasks, session)
    # The driver itself looks into what describes a study or a run, by parts of files, and copies none.
    assert fetched == []
    monkeypatch.setattr(copies, "fetch", fetch)
    assert differences(threads, tasks) == []
    (one,) = as_rows(tasks, "select count(*) as rows", "connection")
    assert one["rows"] > 10_000
    table = "connection_table:in-parts/connections"
    assert min(len(commit.files) for commit in tasks.live() if commit.format == table) > 4
    assert {attempt.disposition for attempt in ingest_there(tasks, session)} == {"unchanged"}


def as_rows(lake: Lake, select: str, name: str, condition: str = "true") -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        rows: list[dict[str, Any]] = (
            connection.sql(f"{select} from ({live_rows_sql(table(name), lake)}) where {condition}")
            .to_arrow_table()
            .to_pylist()
        )
    return rows


def test_a_build_over_an_object_store_gives_the_same_marts(
    session: SparkSession, bucket: str, sample: Path, repository: Path, tmp_path: Path
) -> None:
    lake = Lake(bucket, tmp_path / "cache")
    runs = [folder for folder in sorted(sample.iterdir()) if folder.is_dir()][:2]
    ingest(lake, session, *runs)
    keys = {
        "capture_rtt_histogram": ("dataset", "service", "leg", "rtt_basis", "start_date", "bin_index"),
        "ingest_outcome": ("source_path", "content_hash"),
    }
    project = repository / "models"
    warehouse, contents = tmp_path / "warehouse" / "warehouse.duckdb", lake_contents_of(lake, TABLES)
    with lake.reading():
        register_lake(session, lake)
        on_spark = compiled_project(project, "spark").of(keys).statements
        run_statements(SparkTables(session, lake, project), on_spark, contents, lambda _: None)
        with open_warehouse(warehouse, None) as connection:
            tables = DuckDbTables(connection, project)
            register_lake_in_duckdb(connection, lake, contents)
            on_duckdb = compiled_project(project, "duckdb").of(keys).statements
            run_statements(tables, on_duckdb, contents, lambda _: None)
    for name in keys:
        left, right = tmp_path / f"{name}-duckdb.parquet", tmp_path / f"{name}-spark.parquet"
        pq.write_table(session.table(f"{MART_LAYER}.{name}").toArrow(), right)
        with duckdb.connect(str(warehouse), read_only=True) as connection:
            connection.sql(f"select * from {MART_LAYER}.{name}").write_parquet(str(left))
        relation = Relation(name, f"select * from '{left}'", f"select * from '{right}'", keys[name])
        compared = compare_relations([relation])
        assert compared.differences == []
        assert compared.rows[name] > 1
