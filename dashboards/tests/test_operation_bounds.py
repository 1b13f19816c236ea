"""What operations on a chart's rows may make of them: each bound, from both sides."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from flask import Flask
from superset.exceptions import InvalidPostProcessingError, QueryObjectValidationError
from superset.utils import pandas_postprocessing

from sojourn_superset.operation_bounds import as_numbers, bounded, cells_made, within_answer

ROWS = pd.DataFrame({"x": range(1_000), "y": range(1_000), "one": 1})
TIMES = ROWS.set_index(pd.date_range("2026-01-01", periods=1_000, freq="D"))


MIXED = pd.DataFrame(
    {
        "int": [1, None, 3],
        "big": pd.Series([2**70, None, 1], dtype=object),
        "text": ["a", None, "b"],
        "bytes": [b"", b"", b""],
    }
)


def test_what_adds_up_are_numbers_of_a_fixed_size() -> None:
    numbers = as_numbers(MIXED, ["big"])
    assert (numbers["big"].dtype, MIXED["big"].dtype) == (float, object)
    assert numbers["text"].tolist() == MIXED["text"].tolist()
    twice = pd.concat([MIXED[["text"]], MIXED[["big"]].rename(columns={"big": "text"})], axis="columns")
    for rows, name in ((MIXED, "text"), (MIXED, "bytes"), (twice, "text")):
        with pytest.raises(InvalidPostProcessingError, match=f"{name} has values that are not numbers"):
            as_numbers(rows, [name])


@pytest.mark.parametrize(
    ("operation", "options"),
    [
        ("cum", {"operator": "sum", "columns": {"text": "x"}}),
        ("pivot", {"index": ["int"], "aggregates": {"text": {"operator": "sum"}}}),
        ("aggregate", {"groupby": [], "aggregates": {"x": {"operator": "mean", "column": "text"}}}),
        ("resample", {"rule": "1D", "method": "sum"}),
    ],
)
def test_texts_are_not_added_up(operation: str, options: dict[str, Any]) -> None:
    operate = bounded(operation, lambda rows, **options: rows)
    with pytest.raises(InvalidPostProcessingError, match="values that are not numbers"):
        operate(MIXED, **options)
    chosen = json.loads(
        json.dumps(options).replace('"sum"', '"max"').replace('"mean"', '"count"').replace("text", "int")
    )
    operate(MIXED, **chosen)


@pytest.mark.parametrize(
    ("operation", "rows", "options", "cells"),
    [
        ("pivot", ROWS, {"index": ["x"], "columns": ["y"], "aggregates": {"one": {}, "y": {}}}, 2_000_000),
        ("pivot", ROWS, {"index": ["x"], "columns": ["one"], "aggregates": {"y": {}}}, 1_000),
        ("pivot", ROWS, {"index": ["x"], "columns": ["unknown"], "aggregates": {"y": {}}}, 1_000),
        ("histogram", ROWS, {"column": "x", "groupby": ["y"], "bins": 7}, 7_000),
        ("boxplot", ROWS, {"groupby": ["x"], "metrics": ["y"]}, 1_000_000),
        ("boxplot", ROWS, {"groupby": ["x"], "metrics": ["y", "one"]}, 2_000_000),
        ("rank", ROWS, {"metric": "x", "group_by": "y"}, 100_000),
        ("rank", ROWS, {"metric": "x"}, 100),
        ("resample", TIMES, {"rule": "1s", "method": "asfreq"}, 999 * 86_400 * 3),
        ("resample", TIMES, {"rule": "1M", "method": "asfreq"}, 999 // 28 * 3),
        ("resample", TIMES, {"rule": "1AS", "method": "asfreq"}, 999 // 365 * 3),
        ("resample", TIMES, {"rule": "BH", "method": "asfreq"}, 999 * 24 * 3),
        ("resample", ROWS, {"rule": "1s", "method": "asfreq"}, 0),
    ],
)
def test_cells_are_counted_before_they_are_made(
    operation: str, rows: pd.DataFrame, options: dict[str, Any], cells: int
) -> None:
    assert cells_made(operation, rows, options) == cells


@pytest.mark.parametrize("rule", ["x", "-1D", "0D", None, 5])
def test_what_is_not_a_step_of_time_is_refused(rule: Any) -> None:
    with pytest.raises(InvalidPostProcessingError, match="is not a step of time"):
        cells_made("resample", TIMES, {"rule": rule})


def test_an_operation_of_too_many_cells_is_not_begun() -> None:
    begun = []
    pivot = bounded("pivot", lambda rows, **options: begun.append(options) or rows)
    pivot(ROWS, index=["x"], columns=["one"], aggregates={"y": {}})
    assert len(begun) == 1
    with pytest.raises(InvalidPostProcessingError, match="pivot would make more than 1,000,000 cells; filter"):
        pivot(ROWS, index=["x"], columns=["y"], aggregates={"y": {}, "one": {}})
    assert len(begun) == 1


@pytest.mark.parametrize("kind", ["diff", "cum", "rolling"])
def test_labels_do_not_double_with_each_operation(kind: str) -> None:
    more = {"cum": {"operator": "sum"}, "rolling": {"rolling_type": "mean", "window": 2}}.get(kind, {})
    operate = bounded(kind, getattr(pandas_postprocessing, kind))
    twice = operate(ROWS[["x", "y"]], columns={"x": "x", "y": "x"}, **more)
    with pytest.raises(InvalidPostProcessingError, match="each column has its own label"):
        operate(twice, columns={"x": "y"}, **more)


@pytest.mark.parametrize(
    "made", [pd.DataFrame(0, index=range(8_001), columns=range(1_000)), pd.DataFrame({("x" * 2**27, "y"): []})]
)
def test_what_an_operation_makes_is_within_bounds(made: pd.DataFrame) -> None:
    with pytest.raises(InvalidPostProcessingError, match="or too long labels"):
        bounded("flatten", lambda rows: made)(ROWS)


@pytest.mark.parametrize("name", ["compare", "contribution", "cum", "diff", "rolling"])
def test_many_columns_are_not_added(name: str) -> None:
    begun: list[str] = []
    operate = bounded(name, lambda rows, **options: begun.append(name) or rows)
    rows = pd.DataFrame({"x": range(100_000)})
    several = {name: list(map(str, range(79))) for name in ("columns", "source_columns", "rename_columns")}
    operate(rows, **several)
    with pytest.raises(InvalidPostProcessingError, match="8,100,000 cells, more than 8,000,000"):
        operate(rows, **{option: [*names, "x"] for option, names in several.items()})
    assert begun == [name]


def test_the_answers_to_a_request_are_bounded_together() -> None:
    operate = within_answer(lambda query, rows: rows)
    rows = pd.DataFrame({"x" * 112: range(2**19 - 3)})
    for _ in range(2):
        with Flask("superset").test_request_context():
            operate(None, rows)
            operate(None, rows)
            with pytest.raises(QueryObjectValidationError, match="the answer would have 128 MiB, more than 128"):
                operate(None, rows[:1])
    with pytest.raises(QueryObjectValidationError, match="choose fewer columns"):
        operate(None, pd.DataFrame({"x" * 300: range(2**19)}))
