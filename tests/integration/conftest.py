"""One real build and one real server for all integration tests."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from filelock import FileLock
from notebooks import execute

SOJOURN = Path(sys.executable).parent / "sojourn"
# A bound for machines that are busy; a server that ends is reported at once.
SERVER_READY_S = 300
ANSWER_S = 300
STOP_S = 300


@dataclass
class Service:
    """A running API over a build of the bundled sample and the TMA'23 tables."""

    var: Path
    client: httpx.Client

    def sojourn(self, *arguments: str | Path) -> str:
        """Run a sojourn command against this installation and return what it printed."""
        done = subprocess.run(
            [str(SOJOURN), *map(str, arguments), "--var", str(self.var)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def rows(self, dataset: str, **parameters: str | int) -> list[dict[str, object]]:
        """Return all rows of a dataset under filters, none for a value of none; fails when one page is not enough."""
        answer = self.client.get(
            f"/v1/datasets/{dataset}/rows", params={"limit": 10_000, "unknown_values": "allow", **parameters}
        )
        assert answer.status_code == 200, answer.text
        content = answer.json()
        assert content["next_cursor"] is None
        return list(content["rows"])


def log_to_utc_ns(lines: list[str]) -> int:
    """Return what a probe's own line of clocks, `# clock NS SECONDS`, adds to its times for those since the epoch."""
    (clock,) = [line.split()[2:] for line in lines if line.startswith("# clock ")]
    return round(Decimal(clock[1]) * 10**9) - int(clock[0])


def free_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(var: Path) -> Iterator[Service]:
    """Serve the build below ``var`` with a real server, which takes a free port itself and says which."""
    environment = {
        **os.environ,
        "SOJOURN_VAR": str(var),
        "SOJOURN_SNAPSHOTS": str(var / "snapshots"),
        "SOJOURN_API_QUERY_SECONDS": str(ANSWER_S),
    }
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [str(SOJOURN), "serve", "--port", "0"], env=environment, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert server.stdout is not None
            # Nothing is said where the server ends instead.
            match = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            if match is None:
                server.wait(timeout=STOP_S)
                log.seek(0)
                pytest.fail(f"the server ended: {log.read().decode(errors='replace')}")
            with httpx.Client(base_url=match.group(), timeout=ANSWER_S) as client:
                _wait(client)
                yield Service(var, client)
        finally:
            server.terminate()
            status = server.wait(timeout=STOP_S)
        assert status in (0, -15), status


def built_once(var: Path, build: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Build below ``var`` unless another process of this test run has done so; wait while one is at it."""
    # pytest-xdist gives every process a folder of its own below one of the run.
    of_run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        of_run = of_run.parent
    done = of_run / f"{var.name}-is-built"
    with FileLock(of_run / f"{var.name}.lock"):
        if not done.exists():
            shutil.rmtree(var, ignore_errors=True)
            build()
            done.touch()


@pytest.fixture(scope="session")
def service(repository: Path, sample: Path, tma23: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service over the sample and the TMA'23 tables, which no test changes: the browser test uses it too."""
    var = Path(os.environ.get("SOJOURN_TEST_VAR") or repository / "var" / "test")
    world = var / "generated" / "connections"
    measured = [sample.with_name(part) for part in ("connections", "percentiles")]

    def build() -> None:
        for arguments in (
            ["generate", "connections", "--rows", "200000", "--days", "14", "--seed", "1", "--out", str(world)],
            ["ingest", *map(str, (sample, *measured, tma23, world)), "--var", str(var)],
            ["build", "--var", str(var)],
        ):
            done = subprocess.run([str(SOJOURN), *arguments], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr + done.stdout

    built_once(var, build, tmp_path_factory)
    with serving(var) as running:
        yield running


@pytest.fixture(scope="session")
def studies(repository: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service over everything that the notebooks draw from; no test changes it."""
    var = Path(os.environ.get("SOJOURN_TEST_VAR") or repository / "var" / "test").with_name("test-studies")
    built_once(var, lambda: execute.build(var, shared), tmp_path_factory)
    with serving(var) as running:
        yield running


@pytest.fixture(scope="session")
def changing_service(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service over a copy of the same warehouse, into which tests ingest more."""
    var = tmp_path_factory.mktemp("copy") / "var"
    shutil.copytree(service.var, var)
    with serving(var) as running:
        yield running


def _wait(client: httpx.Client) -> None:
    deadline = time.monotonic() + SERVER_READY_S
    while time.monotonic() < deadline:
        try:
            if client.get("/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail("the server did not answer")
