"""A lake in an object store: commits are atomic by conditional puts, and one writer holds it by a lease."""

import json
import threading
import time
from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transforms.tests.spark_faults.throttling_store import ThrottlingStore

from sojourn_ingest.lake import FactWriter, Lake, LakeBusyError, Outcome, Storage, StorageError, open_storage
from sojourn_ingest.lake.storage import object_store
from sojourn_ingest.lake.storage.object_store import LEASE, ObjectStorage
from sojourn_ingest.schema import table

PROVENANCE = ("source_hash", "decoder_version")


@pytest.fixture(params=["folder", "object store"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        return open_storage(tmp_path / "lake")
    return open_storage(request.getfixturevalue("uri"), tmp_path / "cache")


def put(lake: Lake, path: str, content: str, score: float) -> None:
    outcome = Outcome(
        source_path=path, content_hash=content, decoder_version="v1", size_bytes=1, modified_ns=1,
        compression="none", format="test", status="ok", records_read=1,
    )  # fmt: skip
    with FactWriter(lake.storage, content, "v1") as writer:
        declared = [field for field in table("qoe_score").arrow_schema() if field.name not in PROVENANCE]
        row = dict.fromkeys(field.name for field in declared)
        row |= {
            "score_number": 0,
            "study_id": "s",
            "scored": f"run/{path}",
            "run_id": path,
            "metric": "brisque",
            "score": score,
        }
        writer.write("qoe_score", pa.RecordBatch.from_pylist([row], schema=pa.schema(declared)))
        lake.commit(outcome, writer.finish())


def scores(lake: Lake) -> list[float]:
    return sorted(s for path in lake.files("qoe_score") for s in pq.read_table(path).column("score").to_pylist())


def test_a_lake_is_the_same_in_every_storage(storage: Storage) -> None:
    lake = Lake(storage)
    with lake.writing():
        put(lake, "/a", "c1", 1.0)
        put(lake, "/b", "c2", 2.0)
        put(lake, "/a", "c3", 3.0)
    again = Lake(storage)
    assert scores(again) == [2.0, 3.0]
    assert again.fingerprint() == lake.fingerprint()


def test_of_many_that_create_one_name_one_succeeds_and_its_content_stands(storage: Storage) -> None:
    made: list[int] = []
    start = threading.Barrier(8)

    def create(number: int) -> None:
        start.wait()
        if storage.create("commits/one.json", f"{number}".encode()):
            made.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert storage.read("commits/one.json") == str(made[0]).encode()
    assert storage.names("commits") == ["commits/one.json"]


def test_what_a_killed_writer_left_is_removed(storage: Storage) -> None:
    lake = Lake(storage)
    with lake.writing():
        put(lake, "/a", "c1", 1.0)
    storage.keep("data/qoe_score/orphan.parquet", write(storage.draft("data/qoe_score/orphan.parquet")))
    with Lake(storage).writing():
        assert len(storage.names("data/qoe_score")) == 1
    assert scores(Lake(storage)) == [1.0]


def write(path: Path) -> Path:
    path.write_bytes(b"cut short")
    return path


def test_one_writer_at_a_time(storage: Storage) -> None:
    with Lake(storage).writing(), pytest.raises(LakeBusyError, match="is writing to"), Lake(storage).writing():
        pass
    with Lake(storage).writing():
        pass


def test_a_lease_that_was_made_and_answered_with_an_error_is_ours(
    uri: str, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "RENEW_S", 0.05)
    with ThrottlingStore(endpoint, refused=0) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        storage = open_storage(uri)
        # What is put first is the lease, then its renewal.
        store.unsaid_puts = 2
        with storage.held():
            deadline = time.monotonic() + 30
            while store.counted["PUT", 200] < 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            with pytest.raises(LakeBusyError, match="another process"), open_storage(uri).held():
                pass
        assert store.counted["PUT", 500] == 2
        with pytest.raises(FileNotFoundError):
            storage.read(LEASE)


def test_a_killed_writers_lease_is_taken_over_once_it_has_ended(uri: str) -> None:
    storage = open_storage(uri)
    assert isinstance(storage, ObjectStorage)
    storage.create(LEASE, json.dumps({"holder": "killed", "until_s": 9e12}).encode())
    with pytest.raises(LakeBusyError, match=r"or \d+ s if it was killed"), Lake(storage).writing():
        pass
    obstore.put(storage._store, LEASE, json.dumps({"holder": "killed", "until_s": 1.0}).encode())
    with Lake(storage).writing():
        pass
    with pytest.raises(FileNotFoundError):
        storage.read(LEASE)


def test_a_scheme_that_is_none_is_refused() -> None:
    with pytest.raises(StorageError, match="not a location of a lake"):
        open_storage("ftp://host/lake")
