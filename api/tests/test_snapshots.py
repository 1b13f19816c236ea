from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn_api import snapshot as snapshot_module
from sojourn_api.settings import Settings
from sojourn_api.snapshot import Snapshot, SnapshotError, published_pointer

ROWS = "/v1/datasets/study/rows"


def with_title(build: Any, title: str) -> Any:
    study = build.tables["study"]
    titles = pa.array([title] * study.num_rows)
    return replace(build, tables={**build.tables, "study": study.set_column(1, "title", titles)})


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 120 s"
        time.sleep(0.005)


def test_a_new_build_is_served_without_restart(publish: Any, serve: Any, build: Any) -> None:
    client = serve(folder=publish(with_title(build, "old"), "b1"))
    first = client.get(ROWS + "?limit=1").json()
    old = client.app.state.store._current.snapshot
    etag = client.get(ROWS).headers["etag"]
    publish(with_title(build, "new"), "b2", published_at="2026-11-22T00:00:00Z")
    second = client.get(ROWS).json()
    with pytest.raises(duckdb.ConnectionException):
        old.cursor()
    assert (first["build_id"], first["rows"][0]["title"]) == ("b1", "old")
    assert (second["build_id"], second["rows"][0]["title"]) == ("b2", "new")
    assert client.get("/v1/builds").json()["published_at"] == "2026-11-22T00:00:00Z"
    assert client.get("/healthz").json() == {"status": "ok", "build_id": "b2"}
    assert client.get(ROWS, headers={"If-None-Match": etag}).status_code == 200
    expired = client.get(ROWS, params={"limit": "1", "cursor": first["next_cursor"]}).json()
    assert (expired["status"], expired["type"]) == (410, "urn:sojourn:problem:cursor-expired")
    assert expired["build_id"] == "b2"


def test_the_same_build_published_again_shows_its_time(publish: Any, serve: Any, build: Any, point: Any) -> None:
    folder = publish(build)
    client = serve(folder=folder)
    etag = client.get("/v1/builds").headers["etag"]
    point(folder, "b1", "2027-01-01T00:00:00Z")
    again = client.get("/v1/builds", headers={"If-None-Match": etag})
    assert again.json()["published_at"] == "2027-01-01T00:00:00Z"


def test_a_request_under_way_ends_on_its_build_which_is_then_closed(publish: Any, serve: Any, build: Any) -> None:
    client = serve(folder=publish(with_title(build, "old"), "b1"), api_concurrent_queries=1)
    assert client.get("/healthz").json()["build_id"] == "b1"
    store, runner = client.app.state.store, client.app.state.runner
    old = store._current
    runner._turns.acquire()  # as a long query would: the next one has its snapshot, and waits
    answers: list[Any] = []
    under_way = threading.Thread(target=lambda: answers.append(client.get(ROWS)))
    under_way.start()
    wait_for(lambda: old.requests == 1)
    publish(with_title(build, "new"), "b2")
    assert client.get("/healthz").json()["build_id"] == "b2"
    assert (old.retired, old.requests) == (True, 1)
    old.snapshot.cursor().close()  # still open
    runner._turns.release()
    under_way.join(timeout=120)
    (answer,) = answers
    assert answer.status_code == 200
    assert answer.headers["X-Sojourn-Build"] == "b1"
    assert {row["title"] for row in answer.json()["rows"]} == {"old"}
    wait_for(lambda: old.requests == 0)
    with pytest.raises(duckdb.ConnectionException):
        old.snapshot.cursor()
    assert {row["title"] for row in client.get(ROWS).json()["rows"]} == {"new"}


def test_many_requests_over_many_switches_never_mix_builds(publish: Any, serve: Any, build: Any) -> None:
    small = replace(build, tables={"study": build.tables["study"]})
    client = serve(folder=publish(with_title(small, "b0"), "b0"))
    faults: list[str] = []
    done = threading.Event()
    served: set[str] = set()

    def ask() -> None:
        while not done.is_set():
            response = client.get(ROWS)
            titles = {row["title"] for row in response.json()["rows"]} if response.status_code == 200 else None
            served.add(response.headers["X-Sojourn-Build"])
            if titles != {response.headers["X-Sojourn-Build"]}:
                faults.append(response.text)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(1, 9):
        publish(with_title(small, f"b{i}"), f"b{i}")
        wait_for(lambda i=i: f"b{i}" in served)  # type: ignore[misc]
    done.set()
    for thread in threads:
        thread.join(timeout=120)
    assert faults == []
    assert client.app.state.store._current.snapshot.build_id == "b8"


def test_without_a_build_everything_but_the_index_is_503(tmp_path: Path, serve: Any) -> None:
    client = serve(folder=tmp_path)
    for url in ("/healthz", "/v1/studies", "/v1/builds", "/v1/datasets", ROWS, "/v1/distributions/queuing_delay"):
        response = client.get(url)
        assert response.status_code == 503
        assert response.json()["type"] == "urn:sojourn:problem:no-snapshot"
        assert str(tmp_path) not in response.text
    assert "sojourn_build_stale 1.0" in client.get("/metrics").text
    assert client.get("/").status_code == 200


def test_a_build_published_after_the_start_is_found(publish: Any, serve: Any, build: Any, tmp_path: Path) -> None:
    folder = tmp_path / "snap [1]'s"
    client = serve(folder=folder)
    assert client.get("/healthz").status_code == 503
    publish(build)
    assert client.get("/healthz").json() == {"status": "ok", "build_id": "b1"}


def damage_parquet(folder: Path) -> None:
    (folder / "study.parquet").write_bytes(b"PAR1 not at all")


def remove_parquet(folder: Path) -> None:
    (folder / "run.parquet").unlink()


def damage_catalogue(folder: Path) -> None:
    (folder / "catalog.json").write_text("{")


def rename_column(folder: Path) -> None:
    path = folder / "catalog.json"
    path.write_text(path.read_text().replace('"harm_ratio"', '"harm"'))


def list_files(folder: Path) -> Path:
    """Write the list of files that a build has, and return one of the files."""
    path = folder / "study.parquet"
    content = path.read_bytes()
    entry = {"name": path.name, "rows": 1, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "files.json").write_text(json.dumps([{**entry, "fingerprint": None}]))
    return path


def tear_a_listed_file(folder: Path) -> None:
    path = list_files(folder)
    path.write_bytes(path.read_bytes()[:-1])


def alter_a_listed_file(folder: Path) -> None:
    path = list_files(folder)
    content = path.read_bytes()
    path.write_bytes(content[:-40] + bytes(40))


def other_build_id(folder: Path) -> None:
    (folder / "build.json").write_text('{"build_id": "other"}')


def key_without_column(folder: Path) -> None:
    path = folder / "catalog.json"
    path.write_text(path.read_text().replace('"key": ["study_id"]', '"key": ["nope"]'))


def hostile_name(folder: Path) -> None:
    path = folder / "catalog.json"
    path.write_text(path.read_text().replace('"name": "study"', '"name": "../study"'))


@pytest.mark.parametrize(
    "damage",
    [
        damage_parquet,
        remove_parquet,
        damage_catalogue,
        rename_column,
        other_build_id,
        key_without_column,
        hostile_name,
        tear_a_listed_file,
        alter_a_listed_file,
    ],
)
def test_a_damaged_build_leaves_the_one_before_in_service(
    publish: Any,
    serve: Any,
    build: Any,
    point: Any,
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = publish(build, "b1")
    client = serve(folder=folder)
    assert client.get("/healthz").json()["status"] == "ok"
    publish(build, "b2")
    damage(folder / "b2")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert client.get("/healthz").json() == {"status": "stale", "build_id": "b1"}
            assert client.get(ROWS).json()["build_id"] == "b1"
    assert len(caplog.records) == 1, "the fault is told once"
    assert "b2" in caplog.text or "catalog.json" in caplog.text
    assert "sojourn_build_stale 1.0" in client.get("/metrics").text
    point(folder, "b1")
    assert client.get("/healthz").json() == {"status": "ok", "build_id": "b1"}
    with pytest.raises(SnapshotError) as refused:
        Snapshot.open(folder / "b2", Settings())
    if damage in (tear_a_listed_file, alter_a_listed_file):
        assert "study.parquet" in str(refused.value)
        assert str(refused.value).endswith("run sojourn build, which publishes it again")
        assert "\n" not in str(refused.value)


def test_a_damaged_build_is_tried_again(publish: Any, serve: Any, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_module, "SECONDS_BEFORE_NEXT_TRY", 0.0)
    folder = publish(build, "b1")
    moved = folder / "b1" / "elsewhere.parquet"
    (folder / "b1" / "run.parquet").rename(moved)
    client = serve(folder=folder)
    assert client.get("/healthz").status_code == 503
    moved.rename(folder / "b1" / "run.parquet")
    assert client.get("/healthz").json() == {"status": "ok", "build_id": "b1"}


@pytest.mark.parametrize("text", ["", "{}", '{"build_id": "../b1", "published_at": ""}', '{"build_id": ""}', "\xff"])
def test_a_damaged_pointer_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "CURRENT").write_text(text, encoding="latin-1")
    with pytest.raises(SnapshotError, match="CURRENT cannot be read"):
        published_pointer(tmp_path)


def test_the_database_reaches_no_other_file(publish: Any, build: Any, tmp_path: Path) -> None:
    folder = publish(build)
    outside = tmp_path / "outside.csv"
    outside.write_text("a\n1\n")
    opened = Snapshot.open(folder / "b1", Settings())
    cursor = opened.cursor()
    assert cursor.execute("select count(*) from run").fetchone() == (36,)
    for statement in (
        f"select * from read_csv('{outside}')",
        f"copy run to '{tmp_path}/written.csv'",
        f"attach '{tmp_path}/other.db' as other",
        "install httpfs",
    ):
        with pytest.raises(duckdb.Error):
            cursor.execute(statement)
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        cursor.execute("set threads = 8")
    assert not (tmp_path / "written.csv").exists()
    opened.close()


def in_parts(folder: Path, name: str) -> list[Path]:
    """Make a dataset of a build a folder of two files, as those of days and months are published."""
    single = folder / f"{name}.parquet"
    table = pq.read_table(single)
    single.unlink()
    single.mkdir()
    paths = [single / "2026-01.parquet", single / "2026-02-01.parquet"]
    for path, part in zip(paths, (table.slice(0, 2), table.slice(2)), strict=True):
        pq.write_table(part, path)
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    files = [
        {
            "name": f"{single.name}/{path.name}",
            "rows": 0,
            "bytes": path.stat().st_size,
            "sha256": sha256,
            "fingerprint": None,
        }
        for path, sha256 in digests.items()
    ]
    (folder / "files.json").write_text(json.dumps(files))
    return paths


def test_a_dataset_of_several_files_is_served_whole(publish: Any, build: Any, serve: Any) -> None:
    folder = publish(build)
    rows = serve(folder=folder).get("/v1/datasets/types/rows").json()["rows"]
    in_parts(publish(build, "b2") / "b2", "types")
    client = serve(folder=folder)
    answer = client.get("/v1/datasets/types/rows").json()
    assert (answer["build_id"], answer["rows"]) == ("b2", rows)


def test_a_dataset_that_lost_one_of_its_files_is_not_served(publish: Any, build: Any) -> None:
    folder = publish(build) / "b1"
    lost = in_parts(folder, "types")[0]
    Snapshot.open(folder, Settings()).close()
    lost.unlink()
    with pytest.raises(SnapshotError, match=r"2026-01\.parquet is missing"):
        Snapshot.open(folder, Settings())


def test_a_build_without_memory_to_open_it_does_not_end_the_service(
    publish: Any, build: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(folder=publish(build))
    assert client.get(ROWS).json()["build_id"] == "b1"

    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(snapshot_module, "_attach", no_memory)
    publish(build, "b2")
    assert client.get(ROWS).json()["build_id"] == "b1"
    assert client.get("/healthz").json()["status"] == "stale"
