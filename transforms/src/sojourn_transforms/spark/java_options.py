"""Options of Java for executors and for a driver that computes, and how much a task may read with the memory it has.

Most of the time of a large job goes to maps of groups that no processor's cache holds. Large pages make each look-up
cheaper; a collector that stops all threads costs less than one that works beside them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

#: Variables whose options every Java of this machine takes.
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
THROUGHPUT = "-XX:+UseParallelGC"
#: Where the kernel does not have them, Java warns of this option.
LARGE_PAGES = "-XX:+UseTransparentHugePages"
#: What Spark keeps of a heap for itself, and which part of the rest is for its tasks (spark.memory.fraction).
RESERVED_MIB = 300
TASKS_RATIO = 0.6
SMALLEST_PART_MIB, LARGEST_PART_MIB = 32, 512
MIB_OF_UNIT = {"": 1 / 2**20, "b": 1 / 2**20, "k": 1 / 2**10, "m": 1, "g": 2**10, "t": 2**20}


def names_collector(options: str) -> bool:
    """Return whether options of Java name a garbage collector; a Java with two of them does not start."""
    return re.search(r"-XX:\+Use\w*GC\b", options) is not None


def executor_options(others: str) -> str:
    """Return the options of executors; ``others`` are those that the user gives them, whose collector wins."""
    return LARGE_PAGES if names_collector(others) else f"{LARGE_PAGES} {THROUGHPUT}"


def of_this_machine(others: str) -> str:
    """Return all options that a Java of this machine gets beside ours: ``others``, and those of the environment."""
    return " ".join([others, *(os.environ.get(name, "") for name in JAVA_VARIABLES)])


def local_options(others: str, huge_pages: Path = HUGE_PAGES) -> str:
    """Return the options of a Java of this machine, whose output is the command's: it must not warn."""
    options = executor_options(of_this_machine(others))
    kinds = huge_pages.read_text(encoding="ascii") if huge_pages.exists() else "[never]"
    return options.replace(LARGE_PAGES, "").strip() if "[never]" in kinds else options


def part_mib(memory: str, cores: int) -> int:
    """Return how much Parquet (compressed, all columns) one task reads at most, in MiB: half of its memory for groups.

    The fewer tasks, the fewer groups are found by several of them, exchanged, and merged. A task whose groups do not
    fit in memory sorts its rows instead, which costs more than that. ``memory`` is a heap as Spark writes it, ``8g``.

    Raises
    ------
    ValueError
        If ``memory`` is not a size.
    """
    match = re.fullmatch(r"(\d+)([bkmgt]?)b?", memory.strip().lower())
    if match is None:
        raise ValueError(f"{memory} is not a size such as 8g")
    heap_mib = int(match[1]) * MIB_OF_UNIT[match[2]]
    of_a_task = (heap_mib - RESERVED_MIB) * TASKS_RATIO / cores
    return int(min(LARGEST_PART_MIB, max(SMALLEST_PART_MIB, of_a_task / 2)))
