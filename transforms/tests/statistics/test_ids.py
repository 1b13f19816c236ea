"""Values that differ are different parts of an id."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sojourn_statistics.ids import id_part, value_text

VALUES = (
    None,
    "",
    "none",
    "%none",
    "%25none",
    "all",
    "a",
    "a/b",
    "a%2Fb",
    "a:b",
    "b",
    50.0,
    50.00001,
    10000001.0,
    7,
    True,
)


@pytest.mark.parametrize("missing", ["none", "all", ""])
def test_different_values_are_different_parts_without_separators(missing: str) -> None:
    parts = [id_part("workload", value, missing, "/:") for value in VALUES]
    assert len(set(parts)) == len(VALUES)
    joined = ["/".join(pair) for pair in product(parts, parts)]
    assert len(set(joined)) == len(VALUES) ** 2
    assert not any(":" in part for part in parts)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (50.0, "50"),
        (0.1, "0.1"),
        (50.00001, "50.00001"),
        (1e7, "1e+07"),
        (1234567.0, "1234567"),
        (7, "7"),
    ],
)
def test_a_number_is_written_shortly_if_nothing_is_lost(value: Any, text: str) -> None:
    assert value_text(value) == text
