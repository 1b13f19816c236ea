"""The committed table of coverage keeps what docs/statistics.md promises, and the benchmark still runs."""

from __future__ import annotations

import importlib
import math
import re
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return importlib.import_module("benchmarks.coverage")


@pytest.fixture(scope="module")
def tables(repository: Path, benchmark: ModuleType) -> list[list[str]]:
    text = (repository / "docs" / "statistics.md").read_text(encoding="utf-8")
    part = text[text.index(benchmark.BEGIN) : text.index(benchmark.END)]
    assert f"over {benchmark.STUDIES:,} simulated studies" in part
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]


def test_exact_intervals_are_never_below_their_level(tables: list[list[str]], benchmark: ModuleType) -> None:
    error = 100 * math.sqrt(0.95 * 0.05 / benchmark.STUDIES)
    shares = {
        row[0]: [float(share) for cell in row[2:] for share in re.findall(r"[0-9.]+", cell)]
        for row in tables
        if row[1] == benchmark.EXACT
    }
    assert set(shares) == {name for name, (kind, _) in benchmark.ESTIMATORS.items() if kind == benchmark.EXACT}
    for name, values in shares.items():
        assert min(values) >= 95 - 3 * error, name


def test_approximate_intervals_are_near_their_level_or_explained(
    tables: list[list[str]], benchmark: ModuleType, repository: Path
) -> None:
    text = (repository / "docs" / "statistics.md").read_text(encoding="utf-8")
    explained = text[text.index(benchmark.END) :]
    for row in tables:
        if row[1] != benchmark.APPROXIMATE:
            continue
        at_30 = [float(cell.split("/")[1]) for cell in row[2:] if cell]
        if any(abs(share - 95) > 1 for share in at_30):
            name = row[0].split(",")[0].removesuffix(" 0.2")
            assert re.search(rf"\*\*[^*]*{name}", explained), row[0]


def test_families_err_in_at_most_five_of_a_hundred(tables: list[list[str]], benchmark: ModuleType) -> None:
    error = 100 * math.sqrt(0.05 * 0.95 / benchmark.STUDIES)
    families = [row for row in tables if row[0].startswith((f"{benchmark.FAMILY_TESTS} Mann", "Dunn"))]
    assert len(families) == 2 * len(benchmark.SIZES)
    for name, holm, benjamini_hochberg, uncorrected in families:
        assert max(float(holm), float(benjamini_hochberg)) <= 5 + 3 * error, name
        assert float(uncorrected) > 15, name


def test_the_benchmark_still_finds_what_the_table_says(tables: list[list[str]], benchmark: ModuleType) -> None:
    studies = 400
    for name in ("median, order statistics", "Hodges-Lehmann shift", "mean, t", "Cliff's delta"):
        (row,) = (row for row in tables if row[0] == name)
        for world, cell in zip(benchmark.WORLDS.values(), row[2:], strict=True):
            published = float(cell.split("/")[0]) / 100
            covered = benchmark.coverage(name, world, 10, studies)
            assert abs(covered - published) <= 4 * math.sqrt(published * (1 - published) / studies), (name, world.name)
