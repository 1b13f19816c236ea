"""Percentiles of SQL are in order, whatever the rounding, and are those of NumPy."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from jinja2 import Environment

PERCENTS = (5, 25, 50, 75, 95)
ONE_ULP_APART = [float(np.nextafter(0.1, 1)), 0.1]
SMALLEST = 5e-324


@pytest.fixture(scope="module")
def columns(repository: Path) -> str:
    texts = [(repository / "models/macros" / name).read_text() for name in ("engine_functions.sql", "percentile.sql")]
    macros: Any = Environment(autoescape=False).from_string("".join(texts)).module
    return ", ".join(["min(value)", *(macros.percentile("value", percent) for percent in PERCENTS), "max(value)"])


@pytest.mark.parametrize(
    "values",
    [
        *([-1.000024] * n for n in range(1, 13)),
        *([step * 1e-9 + 1.0] * n for step in range(0, 2000, 97) for n in (2, 3, 5, 8, 10)),
        *(ONE_ULP_APART * n for n in range(1, 8)),
        *([SMALLEST, *[3 * SMALLEST] * n] for n in range(12)),
        [-1e307, 1e307],
        [-0.0, 0.0, -0.0],
        list(range(100)),
    ],
    ids=repr,
)
def test_percentiles_are_in_order(columns: str, values: list[float]) -> None:
    with duckdb.connect() as connection:
        row = connection.execute(f"select {columns} from unnest(?::double[]) as samples(value)", [values]).fetchone()
    assert row is not None
    assert all(lower <= upper for lower, upper in pairwise(row)), row
    np.testing.assert_allclose(row[1:-1], np.percentile(values, PERCENTS), rtol=1e-12, atol=1e-300)
    middle = sorted(values)[(len(values) - 1) // 2], sorted(values)[len(values) // 2]
    assert middle[0] <= row[3] <= middle[1]
