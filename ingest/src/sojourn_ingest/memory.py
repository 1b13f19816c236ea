"""How much memory this process may take before the kernel ends it, and what follows for workers and for DuckDB."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

MIB = 2**20
#: What a decoder takes at most for an ordinary file; see docs/sizing.md. Captures of millions of flows take more.
WORKER_BYTES = 768 * MIB
#: What the interpreter with Arrow takes before anything is read.
INTERPRETER_BYTES = 256 * MIB
#: What a build takes beside DuckDB's own bound: dbt, the statistics, and what DuckDB does not count.
BESIDE_DUCKDB_BYTES = 512 * MIB
#: DuckDB's own default, as a share of the memory.
MOST_OF_IT_RATIO = 0.8
#: The least that DuckDB can do a build with.
LEAST_OF_DUCKDB_BYTES = 256 * MIB


def memory_bytes(root: Path = Path("/")) -> int:
    """Return the memory that this process may take: the machine's, its control groups', or its address space's.

    Control groups of version 2 and 1 are read, each with those around it, below ``root``. What they do not say, as on
    a system without them, bounds nothing.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_of_groups(root)]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    return min(limits)


def workers_that_fit(cores: int, memory: int | None = None) -> int:
    """Return how many files are decoded at a time: one for each core, if the memory is enough for as many."""
    available = (memory_bytes() if memory is None else memory) - INTERPRETER_BYTES
    return max(1, min(cores, available // WORKER_BYTES))


def duckdb_memory(memory: int | None = None, most: int | None = None) -> str:
    """Return what DuckDB is told to take at most, beside which Python has room: such as ``512MiB``."""
    available = memory_bytes() if memory is None else memory
    chosen = min(int(available * MOST_OF_IT_RATIO), available - BESIDE_DUCKDB_BYTES)
    if most is not None:
        chosen = min(chosen, most)
    return f"{max(chosen, LEAST_OF_DUCKDB_BYTES) // MIB}MiB"


def _of_groups(root: Path) -> Iterator[int]:
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return  # no control groups here
    mounts = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            for mount in (mounts, mounts / "unified"):
                yield from _limits(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits(mounts / "memory", path, "memory.limit_in_bytes")


def _limits(mount: Path, path: str, name: str) -> Iterator[int]:
    # Inside a container the group's path may be that of the machine, while only the group itself is mounted.
    group = mount / path.strip("/")
    for folder in (group, *group.parents):
        try:
            text = (folder / name).read_text(encoding="ascii").strip()
        except OSError:
            text = ""
        if text.isdigit():
            yield int(text)
        if folder == mount:
            return
