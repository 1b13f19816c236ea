"""Values that differ are different parts of an id."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jinja2 import Environment

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


@pytest.mark.parametrize("separators", ["", "/", "/ ", "#"])
@pytest.mark.parametrize("missing", ["none", "all"])
def test_sql_makes_the_same_parts(repository: Path, missing: str, separators: str) -> None:
    macros: Any = (
        Environment(autoescape=False).from_string((repository / "models/macros/id_part.sql").read_text()).module
    )
    texts = [value for value in VALUES if value is None or isinstance(value, str)] + ["a b", "a#b", "any"]
    part = macros.id_part("value", missing, separators=separators)
    with_words = macros.id_part("value", missing, ["any", "unknown"], separators)
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"select value, {part}, {with_words} from unnest(?::varchar[]) as texts(value)", [texts]
        ).fetchall()
    assert [text for _, text, _ in rows] == [id_part("workload", value, missing, separators) for value in texts]
    assert len({text for _, _, text in rows}) == len(texts)
    assert [text for value, _, text in rows if value == "any"] == ["%any"]


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
