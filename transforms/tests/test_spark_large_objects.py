"""A large object that tasks share: none of its parts is of another version than was hashed."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import FilePart
from sojourn_ingest.lake import Lake
from sojourn_ingest.remote import as_path
from sojourn_ingest.remote.stores import store_of
from sojourn_ingest.session import IngestSession
from sojourn_ingest.session.sources import open_file, streamed
from sojourn_transforms.spark.ingest_tasks import LargeFile, open_large, read_part

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ingest" / "tests"))
from connection_tables import write_tables
from remote_folders import Bucket, put_folder


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {"ENDPOINT_URL": f"http://{host}:{port}", "REGION": "us-east-1"}
    for name, value in {**settings, "ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    store_of.cache_clear()
    bucket = Bucket(f"s3a://b{uuid.uuid4().hex[:12]}/tables")
    bucket.client.create_bucket(Bucket=bucket.bucket)
    (tmp_path / "tables").mkdir()
    write_tables(tmp_path / "tables", 4_000)
    put_folder(bucket, tmp_path / "tables")
    yield bucket
    server.stop()
    store_of.cache_clear()


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_part_of_an_object_that_was_replaced_is_refused(tables: Bucket, tmp_path: Path, name: str) -> None:
    lake = Lake(tmp_path / "lake")
    session = IngestSession(lake, Pseudonymiser(b"key"), descriptions=[as_path(f"{tables.uri}/in-parts.yaml")])
    path = as_path(f"{tables.uri}/{name}")
    session.prepare([path])
    objects = open_large(session, path, 20_000)
    parts = [FilePart(**part) for part in objects["parts"]]
    assert len(parts) > 2
    opened = streamed(path)
    assert opened.content_hash == open_file(path).content_hash == objects["opened"][2]
    state = path.stat()
    format_name = "connection_table:in-parts/connections"
    large = LargeFile(opened.source, format_name, opened.content_hash, "v", (state.st_size, state.st_mtime_ns))
    read = read_part(session, lake, large, parts[0], Path("part0"))
    assert read["fault"] is None
    assert read["records_read"] > 100
    tables.put(name, (tmp_path / "tables" / name).read_bytes() + b"\n")
    refused = read_part(session, lake, large, parts[1], Path("part1"))
    assert refused["fault"][0] == "changed_while_read"
    assert refused["files"] == []
    tables.delete(name)
    assert read_part(session, lake, large, parts[1], Path("part1"))["fault"][0] == "unreadable"
