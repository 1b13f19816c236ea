"""Fixtures of the adapter's tests."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from contract_server import Contract, serving

from sojourn_superset.catalogue_memory import forget_catalogue

BIG = 2**53 + 1
"""An integer that a double cannot hold."""

COLUMNS = {
    "study_id": "VARCHAR",
    "run_id": "VARCHAR",
    "aqm": "VARCHAR",
    "packets": "BIGINT",
    "harm_ratio": "DOUBLE",
    "synthetic": "BOOLEAN",
}
AFFINITY = {"VARCHAR": "TEXT", "BIGINT": "BIGINT", "DOUBLE": "REAL", "BOOLEAN": "BOOLEAN"}


def runs() -> list[dict[str, Any]]:
    """Return eight rows with nulls, a big integer, a quote and a space."""
    rows: list[tuple[Any, ...]] = [
        ("s1", "r1", "codel", 9, 0.5, False),
        ("s1", "r2", "codel", 10, None, False),
        ("s1", "r3", "fq_codel", BIG, -0.25, True),
        ("s1", "r4", None, None, 0.1, None),
        ("s2", "r5", "tail-drop", 100, 1.0, False),
        ("s2", "r6", "tail-drop", 7, 0.75, True),
        ("s2", "r7", "it's odd & more", 8, 0.3, False),
        ("s2", "r8", "codel", 11, 0.3, False),
    ]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


@pytest.fixture
def contract(monkeypatch: pytest.MonkeyPatch) -> Iterator[Contract]:
    """Serve one table, `run_harm`, with a column of each type, as the API of this process."""
    forget_catalogue()
    contract = Contract()
    contract.add("run_harm", COLUMNS, ["study_id", "run_id"], runs())
    with serving(contract):
        monkeypatch.setenv("SOJOURN_API_URL", contract.url)
        yield contract


@pytest.fixture
def plain() -> Iterator[sqlite3.Connection]:
    """Hold the rows of `run_harm` in SQLite itself."""
    connection = sqlite3.connect(":memory:")
    columns = ", ".join(f"{name} {AFFINITY[kind]}" for name, kind in COLUMNS.items())
    connection.execute(f"CREATE TABLE run_harm ({columns})")
    connection.executemany(
        f"INSERT INTO run_harm VALUES ({', '.join('?' * len(COLUMNS))})", [tuple(row.values()) for row in runs()]
    )
    yield connection
    connection.close()
