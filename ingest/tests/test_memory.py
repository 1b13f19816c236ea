"""The memory that this process may take, from control groups of both versions and from its address space."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_ingest.memory import duckdb_memory, memory_bytes, workers_that_fit

MIB = 2**20
GIB = 2**30
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("mount", ["sys/fs/cgroup", "sys/fs/cgroup/unified"])
def test_the_least_limit_of_a_group_and_those_around_it_holds(mount: str, tmp_path: Path) -> None:
    put(tmp_path / "proc/self/cgroup", "0::/user.slice/app.service\n")
    put(tmp_path / mount / "user.slice/app.service/memory.max", "max\n")
    assert memory_bytes(tmp_path) == MACHINE
    put(tmp_path / mount / "user.slice/memory.max", f"{512 * MIB}\n")
    assert memory_bytes(tmp_path) == 512 * MIB
    put(tmp_path / mount / "user.slice/app.service/memory.max", f"{256 * MIB}\n")
    assert memory_bytes(tmp_path) == 256 * MIB


def test_a_container_that_sees_its_own_group_only(tmp_path: Path) -> None:
    put(tmp_path / "proc/self/cgroup", "0::/docker/0123\n")
    put(tmp_path / "sys/fs/cgroup/memory.max", f"{300 * MIB}\n")
    assert memory_bytes(tmp_path) == 300 * MIB


def test_groups_of_version_1(tmp_path: Path) -> None:
    put(tmp_path / "proc/self/cgroup", "9:name=systemd:/\n5:cpuset,memory:/a/b\n0::/\n")
    put(tmp_path / "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n")
    assert memory_bytes(tmp_path) == MACHINE
    put(tmp_path / "sys/fs/cgroup/memory/a/memory.limit_in_bytes", f"{400 * MIB}\n")
    assert memory_bytes(tmp_path) == 400 * MIB


def test_without_groups_it_is_the_machine(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path) == MACHINE


def test_a_limited_address_space_counts() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31));"
        "from sojourn_ingest.memory import memory_bytes; print(memory_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) <= 2**31


def test_workers_and_duckdb_leave_room_for_python() -> None:
    assert [workers_that_fit(8, size * GIB) for size in (1, 2, 4, 16)] == [1, 2, 5, 8]
    assert workers_that_fit(2, GIB // 4) == 1
    assert [duckdb_memory(size * GIB) for size in (1, 2, 4, 10)] == ["512MiB", "1536MiB", "3276MiB", "8192MiB"]
    assert duckdb_memory(GIB // 4) == "256MiB"
    assert duckdb_memory(8 * GIB, most=2 * GIB) == "2048MiB"
