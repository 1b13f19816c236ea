"""Levels of small-count suppression by windows, as on Spark, are those by joins, as on DuckDB."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest

MACROS = Path(__file__).parents[3] / "models" / "macros"
FILES = ("integer_arithmetic.sql", "same_columns.sql", "connection/small_count_suppression.sql")
KEPT, LEVELS = ["day"], [["network", "version"], ["country"], ["technology"]]
CELL = [*KEPT, *(column for level in LEVELS for column in level)]


class Adapter:
    """Finds the macro of DuckDB, as dbt does."""

    def __init__(self) -> None:
        self.module: Any = None

    def dispatch(self, name: str, package: str) -> Any:
        return getattr(self.module, f"default__{name}")


def macros(least: int) -> Any:
    adapter = Adapter()
    text = "".join((MACROS / name).read_text(encoding="utf-8") for name in FILES)
    # What is rendered is SQL.
    environment = jinja2.Environment(autoescape=False)
    adapter.module = environment.from_string(text).make_module({"adapter": adapter, "var": lambda *_: least})
    return adapter.module


def rows(seed: int) -> list[tuple[int, int, int, str, str, int | None]]:
    chosen = random.Random(seed)
    # A few cells with many hosts, many with few, and connections without a host.
    return [
        (
            chosen.randrange(2), int(chosen.expovariate(0.3)), chosen.randrange(2), chosen.choice("A" * 90 + "BBC"),
            chosen.choice(["cable"] * 40 + ["dsl"] * 20 + ["mobile"]),
            None if chosen.random() < 0.05 else chosen.randrange(400),
        )
        for _ in range(1500)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("least", [1, 2, 10, 60])
def test_windows_give_each_cell_the_level_that_joins_give_it(seed: int, least: int) -> None:
    module = macros(least)
    cells = ", ".join(CELL)
    counted = f"counted as (select {cells}, {module.host_bits('host_hash')} as host_bits from hosts group by {cells})"
    by_joins = ",".join([counted, module.doubtful_cells("counted", KEPT, LEVELS)])
    levels_of_cells: list[dict[tuple[Any, ...], int]] = []
    with duckdb.connect() as connection:
        connection.execute(
            "create table hosts(day int, network int, version int, country text, technology text, host_hash bigint)"
        )
        connection.executemany("insert into hosts values (?, ?, ?, ?, ?, ?)", rows(seed))
        for sql in (
            f"{by_joins}, {module.cell_details_by_joins('hosts', KEPT, LEVELS)}",
            module.cell_details_by_windows("hosts", KEPT, LEVELS),
        ):
            answer = connection.execute(f"with {sql} select {cells}, detail_level from details").fetchall()
            levels_of_cells.append({row[:-1]: row[-1] for row in answer})
    joins, windows = levels_of_cells
    # A cell that both leave out, or that has enough hosts, is served in full.
    assert {cell: level for cell, level in windows.items() if level} == {
        cell: level for cell, level in joins.items() if level
    }
    # With 1 nothing is suppressed; with 10, cells of several levels are there to compare.
    assert bool(windows) == (least > 1)
    assert least < 10 or len(set(windows.values())) > 1
