"""Which layouts of dashboards have tabs."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn_superset.dashboard_layouts import is_tree


@pytest.mark.parametrize(
    ("position", "is_one"),
    [
        ({"ROOT_ID": {}}, True),
        ({"ROOT_ID": {"children": ["a", "b"]}, "a": {"children": ["c"]}, "b": {}, "c": {}}, True),
        ({"ROOT_ID": {"children": ["ROOT_ID"]}}, False),
        ({"ROOT_ID": {"children": ["a"]}, "a": {"children": ["b"]}, "b": {"children": ["a"]}}, False),
        ({"ROOT_ID": {"children": ["a", "a"]}, "a": {}}, False),
        ({"ROOT_ID": {"children": ["a", "b"]}, "a": {"children": ["b"]}, "b": {}}, False),
        ({"ROOT_ID": {"children": ["gone"]}}, False),
        ({"ROOT_ID": {"children": [1]}}, False),
        ({"ROOT_ID": {"children": "a"}, "a": {}}, False),
        ({"ROOT_ID": 1}, False),
        ({}, False),
        ([], False),
    ],
)
def test_a_layout_is_a_tree(position: Any, is_one: bool) -> None:
    assert is_tree(position) == is_one


def test_a_large_layout_is_gone_through_once() -> None:
    names = [f"n{number}" for number in range(100_000)]
    chain = {name: {"children": [child]} for name, child in zip(["ROOT_ID", *names], names, strict=False)}
    assert is_tree({**chain, names[-1]: {}})
