"""What happens below a service while it answers: its build is deleted, CURRENT is torn, the clock is set back."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from api.tests.conftest import Build, point_to, write_build
from api.tests.service.real_server import serving
from tests.integration.test_faults import fill, small_disk

pytestmark = pytest.mark.integration

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
HARM = "/v1/datasets/run_harm/rows?limit=100"


def test_a_build_that_is_deleted_under_the_service(tmp_path: Path, build: Build, another_build: Build) -> None:
    snapshots = write_build(tmp_path / "snapshots", build, "b1")
    with serving(snapshots, tmp_path / "log") as server:
        before = server.get(HARM)[2]
        shutil.rmtree(snapshots / "b1")
        # What is kept is of the same build, and stays right.
        assert server.get(HARM)[2] == before
        status, headers, body = server.get(f"{HARM}&role=app")
        problem = json.loads(body)
        assert (status, headers["retry-after"]) == (503, "5")
        assert problem["type"] == "urn:sojourn:problem:no-snapshot"
        assert str(tmp_path) not in problem["detail"]
        assert "a file of the served build cannot be read" in server.log.read_text()
        write_build(snapshots, another_build, "b2")
        assert server.is_serving() == "b2"
        assert server.get(f"{HARM}&role=app")[0] == 200


@pytest.mark.parametrize("torn", ['{"build_id": "b2", "publ', "", '{"build_id": "b9", "published_at": "2026-11-22"}'])
def test_a_torn_pointer_under_the_service(torn: str, tmp_path: Path, build: Build, another_build: Build) -> None:
    snapshots = write_build(tmp_path / "snapshots", build, "b1")
    with serving(snapshots, tmp_path / "log") as server:
        (snapshots / "CURRENT").write_text(torn)
        for number in range(20):
            assert json.loads(server.get(f"/v1/datasets/run_harm/rows?limit={number + 1}")[2])["build_id"] == "b1"
        assert json.loads(server.get("/healthz")[2]) == {"status": "stale", "build_id": "b1"}
        write_build(snapshots, another_build, "b2")
        assert server.is_serving() == "b2"
        assert json.loads(server.get("/healthz")[2])["status"] == "ok"


@pytest.mark.skipif(not FAKETIME.exists(), reason="faketime is not installed; make setup-tests installs it")
@pytest.mark.parametrize("by", ["-400d", "+400d"])
def test_a_clock_that_is_set(by: str, tmp_path: Path, build: Build, another_build: Build) -> None:
    snapshots = write_build(tmp_path / "snapshots", build, "b1")
    clock = tmp_path / "clock"
    clock.write_text("+0")
    fake = {
        "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }  # fmt: skip
    with serving(snapshots, tmp_path / "log", SOJOURN_API_QUERY_SECONDS="5", **fake) as server:
        assert server.is_serving() == "b1"
        clock.write_text(by)
        time.sleep(1.5)  # until it is read again
        for number in range(1, 30):
            assert server.get(f"/v1/datasets/run_harm/rows?limit={number}")[0] == 200
        write_build(snapshots, another_build, "b2")
        assert server.is_serving() == "b2"
        point_to(snapshots, "b1")
        assert server.is_serving() == "b1"
        # The log is what shows that the clock of the process was another one.
        years = {line[:4] for line in server.log.read_text().splitlines() if line[:2] == "20"}
        assert len(years) == 2


@pytest.mark.privileged
def test_workers_serve_while_the_disk_of_temporary_files_is_full(tmp_path: Path, build: Build) -> None:
    snapshots = write_build(tmp_path / "snapshots", build, "b1")
    targets = (HARM, "/", "/v1/datasets", "/v1/studies", "/healthz", "/metrics", "/v1/datasets/run_harm")
    with (
        small_disk(tmp_path / "disk", 64) as disk,
        serving(snapshots, tmp_path / "log", arguments=["--processes", "2"], TMPDIR=str(disk)) as server,
    ):
        fill(disk)
        # Each address is counted by itself, so that the counts need more room.
        for target in targets * 4:
            assert server.get(target)[0] == 200, target
        assert b"sojourn_http_requests_total{" in server.get("/metrics")[2]
        (disk / "rest").unlink()
