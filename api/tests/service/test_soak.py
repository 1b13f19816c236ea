"""A million requests to one service: memory, open files and the slowest percent stay as they were."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest
from api.tests.conftest import Build
from api.tests.service.real_server import HOST, Server, serving

pytestmark = [pytest.mark.integration, pytest.mark.long]

REQUESTS = 1_000_000
CLIENTS = 4
#: The first is left out of the comparison: caches fill, and libraries are loaded.
WINDOWS = 10
MIB = 2**20


def targets() -> list[str]:
    """Return requests of every kind, more than are kept, and some that are refused."""
    rows = [f"/v1/datasets/run_harm/rows?limit={limit}&offset_is_unknown=1" for limit in range(1, 20)]
    rows += [f"/v1/datasets/run_harm/rows?limit={limit}&harm_ratio__le={limit / 97}" for limit in range(1, 400)]
    rows += [f"/v1/datasets/run_harm/rows?group=aqm,role&aggregate=median:harm_ratio&limit={n}" for n in range(1, 40)]
    for format_name in ("json", "csv", "arrow"):
        rows += [
            f"/v1/distributions/queuing_delay?group={group}&quantiles=0.5,{quantile / 100}&format={format_name}"
            for group in ("role", "aqm", "role,aqm")
            for quantile in range(60, 99, 3)
        ]
    return [*rows, "/v1/studies", "/v1/datasets", "/healthz", "/nowhere", "/metrics"]


def seconds_and_statuses(server: Server, wanted: list[str]) -> tuple[list[float], set[int]]:
    """Return the seconds of each request, over one connection for a hundred of them, and the statuses."""
    took: list[float] = []
    statuses: set[int] = set()
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    for place, target in enumerate(wanted):
        if place % 100 == 0:
            connection.close()
        started = time.perf_counter()
        connection.request("GET", target)
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - started)
        statuses.add(answer.status)
    connection.close()
    return took, statuses


def test_a_million_requests(tmp_path: Path, write: Callable[..., Path], build: Build) -> None:
    snapshots = write(tmp_path / "snapshots", build, "b1")
    each = REQUESTS // WINDOWS // CLIENTS
    endless = cycle(targets())
    seen: list[dict[str, float]] = []
    # A little of what is kept, so that answers are computed, kept and dropped throughout.
    with serving(snapshots, tmp_path / "log", SOJOURN_API_KEPT_BYTES="500000") as server:
        for _ in range(WINDOWS):
            wanted = [[next(endless) for _ in range(each)] for _ in range(CLIENTS)]
            with ThreadPoolExecutor(CLIENTS) as pool:
                answers = list(pool.map(lambda one: seconds_and_statuses(server, one), wanted))
            took = sorted(seconds for some, _ in answers for seconds in some)
            statuses = set().union(*(codes for _, codes in answers))
            assert statuses <= {200, 404, 422}, statuses
            state = server.status_of_process()
            seen.append(
                {"p99_ms": took[len(took) * 99 // 100] * 1000, "mib": state["bytes"] / MIB, "files": state["files"]}
            )
            print(json.dumps(seen[-1]))
        settled = server.settled_files()
    early, late = seen[1:4], seen[-3:]
    assert max(one["mib"] for one in late) <= max(one["mib"] for one in early) * 1.1 + 16
    assert settled <= min(one["files"] for one in seen)
    # The clients share the machine with the server and with other work; a leak shows as several times as much.
    assert min(one["p99_ms"] for one in late) <= 2 * max(one["p99_ms"] for one in early)
