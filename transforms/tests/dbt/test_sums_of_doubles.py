"""The last bits of a sum of doubles hang on the order of its terms, which no engine promises: models add them in order.

Two builds of the same files then have the same bytes, which `sojourn verify --inputs` relies on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn_transforms.dbt.columns import read_dictionary

ADDED_IN_ORDER = "engine_functions.sql"
EXACT = re.compile(r"\bas (?:bigint|decimal)\b")
CONDITION = re.compile(r"\bcase when .*? then\b", re.DOTALL)


def sums(sql: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the argument of each aggregate that adds; one over a window of ordered rows is left out."""
    for match in re.finditer(r"\b(sum|avg)\(", sql):
        end, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        if not re.match(r"\s*over\b", sql[end:]):
            yield match[1], sql[match.end() : end - 1]


def out_of_order(sql: str, doubles: set[str]) -> list[str]:
    """Return the sums of doubles that are not added in order."""
    return [
        f"{name}({argument})"
        for name, argument in sums(sql)
        if name == "avg"
        or (not EXACT.search(argument) and doubles & set(re.findall(r"\w+", CONDITION.sub("", argument))))
    ]


@pytest.fixture(scope="module")
def doubles(project: Path) -> set[str]:
    """Return the names of the columns of marts that are doubles."""
    names = {name for name, column in read_dictionary(project).columns.items() if column["data_type"] == "double"}
    assert len(names) > 50
    return names


def test_no_model_adds_doubles_in_the_order_of_rows(project: Path, doubles: set[str]) -> None:
    written = [path for path in sorted(project.rglob("*.sql")) if "target" not in path.relative_to(project).parts]
    files = [path for path in written if path.name != ADDED_IN_ORDER]
    assert len(files) > 100
    assert {
        str(path.relative_to(project)): sums
        for path in files
        if (sums := out_of_order(path.read_text(encoding="utf-8"), doubles))
    } == {}


@pytest.mark.parametrize(
    ("sql", "sums"),
    [
        ("avg(x)", ["avg(x)"]),
        ("avg(x) over (order by y)", []),
        ("sum(frozen_ms) / 2", ["sum(frozen_ms)"]),
        ("sum(case when frozen_ms > 0 then packets end)", []),
        ("sum(cast(frozen_ms * 1e6 as bigint))", []),
        ("{{ ordered_sum('frozen_ms') }}", []),
    ],
)
def test_what_counts_as_out_of_order(sql: str, sums: list[str]) -> None:
    assert out_of_order(sql, {"frozen_ms"}) == sums
