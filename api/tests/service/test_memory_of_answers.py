"""Many large answers at a time: each is sent or refused in words, and the service stays within its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from api.tests.conftest import Build
from api.tests.service.real_server import SMALL, serving
from tests.integration.memory_group import NoGroupError, memory_group

from sojourn_api.formats import OutputColumn, encode, expected_bytes, needed_bytes
from sojourn_api.problems import ProblemError
from sojourn_api.safety.answer_memory import MOST_WAITING, AnswerMemory
from sojourn_api.settings import answer_bytes_that_fit

GIB = 2**30
ROWS = 110_000
CLIENTS = 16


def wide(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    columns |= {f"value_{number}_ms": random.random(rows) for number in range(12)}
    columns |= {
        f"name_{number}": pa.array([f"text of {row % 997} in column {number}" for row in range(rows)])
        for number in range(8)
    }
    return pa.table(columns)


@pytest.mark.integration
@pytest.mark.privileged
@pytest.mark.parametrize(
    "limit_gib", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]
)
def test_sixteen_clients_fetch_large_pages_in_little_memory(
    limit_gib: int, tmp_path: Path, write: Callable[..., Path], build: Build
) -> None:
    both = Build(dict(build.tables), dict(build.keys))
    both.tables["wide"], both.keys["wide"] = wide(ROWS), ["id"]
    snapshots = write(tmp_path / "snapshots", both, "b1")
    try:
        with (
            memory_group(limit_gib * GIB) as group,
            serving(snapshots, tmp_path / "log", before=group.command([]), SOJOURN_API_QUERY_SECONDS="15") as server,
        ):

            def fetch(number: int) -> int:
                status, headers, body = server.get(f"/v1/datasets/wide/rows?limit=100000&id__ge={number}", timeout=300)
                if status == 503:
                    assert headers["retry-after"] == "5"
                    assert json.loads(body)["type"] == "urn:sojourn:problem:busy"
                else:
                    assert body.endswith(b"}")
                    assert len(body) == int(headers["content-length"]) > 50_000_000
                return status

            with ThreadPoolExecutor(CLIENTS) as pool:
                fetched = pool.map(fetch, range(CLIENTS))
                # Small requests are answered meanwhile.
                assert server.get(SMALL, timeout=120)[0] == 200
                statuses = list(fetched)
            counts = f"{statuses.count(200)} sent, {statuses.count(503)} refused"
            print(f"{limit_gib} GiB: {counts}, {group.peak_bytes / GIB:.2f} GiB")
            assert set(statuses) <= {200, 503}
            assert 200 in statuses
            assert group.killed == 0
            # Those who were refused come again, one after the other.
            assert fetch(CLIENTS) == 200
    except NoGroupError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("format_name", ["json", "ndjson", "csv", "arrow", "parquet"])
def test_the_estimates_are_not_below_what_is_written(format_name: str) -> None:
    table = wide(5000)
    columns = tuple(OutputColumn(field.name, "DOUBLE", None) for field in table.schema)
    written = len(encode(format_name, table, columns, {}, None))
    needed = needed_bytes(format_name, table)
    assert table.nbytes + written <= needed
    # An estimate before the query knows nothing of texts; it is of the same size.
    assert needed / 3 <= expected_bytes(format_name, table.num_rows, columns) <= needed * 3


def test_four_of_the_largest_answers_are_under_way_at_most() -> None:
    table = wide(5000)
    needed = needed_bytes("json", table) / table.num_rows * 100_000
    assert 4 * needed < answer_bytes_that_fit("100.0 GiB") < 5 * needed
    assert answer_bytes_that_fit("800.0 MiB", workers=2) < 140_000_000


def test_answers_wait_for_one_another_and_are_refused_in_words() -> None:
    memory = AnswerMemory(100, 0.2)
    first = memory.hold(80)
    with pytest.raises(ProblemError) as refused:
        memory.hold(30)
    assert (refused.value.kind, refused.value.headers) == ("busy", {"Retry-After": "5"})
    threading.Timer(0.05, first.release).start()
    second = memory.hold(1000)
    assert memory.held_bytes == 100
    with pytest.raises(ProblemError) as too_large:
        second.change_to(101)
    assert too_large.value.kind == "query-memory"
    second.change_to(40)
    second.release()
    second.release()
    assert memory.held_bytes == 0


def test_not_every_thread_waits() -> None:
    memory = AnswerMemory(100, 30)
    first = memory.hold(100)
    waiting = [threading.Thread(target=memory.hold, args=(1,)) for _ in range(MOST_WAITING)]
    for thread in waiting:
        thread.start()
    while memory._waiting < MOST_WAITING:
        pass
    with pytest.raises(ProblemError, match="16 other requests wait"):
        memory.hold(1)
    first.release()
    for thread in waiting:
        thread.join()
    assert memory.held_bytes == MOST_WAITING


GIVING_BACK = """
import resource, time
from pathlib import Path

from sojourn_api.safety.answer_memory import AnswerMemory

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

before = resident_bytes()
texts = [b"x" * (1000 + number % 7) for number in range(150_000)]
# What was allocated last keeps the C library from giving back what lies before it.
kept = texts[-100:]
memory = AnswerMemory(10**9, 1)
held = memory.hold(10**8)
del texts
assert resident_bytes() > before + 100_000_000
held.change_to(10)
assert resident_bytes() > before + 100_000_000
held.release()
deadline = time.monotonic() + 20
while resident_bytes() > before + 50_000_000:
    assert time.monotonic() < deadline
    time.sleep(0.01)
assert len(kept) == 100
"""


def test_the_memory_of_large_answers_is_given_back() -> None:
    # In a process of its own: what other tests freed in this one would be used first.
    subprocess.run([sys.executable, "-c", GIVING_BACK], check=True, timeout=60)
