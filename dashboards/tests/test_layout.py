"""A dashboard's short layout and filters, written out for Superset."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn_superset.layout import LayoutError, native_filters, position

CHARTS: dict[str, dict[str, Any]] = {
    "charts/one/left.yaml": {"uuid": "11111111-0000-0000-0000-000000000000", "slice_name": "Left"},
    "charts/one/right.yaml": {"uuid": "22222222-0000-0000-0000-000000000000", "slice_name": "Right"},
}
DATASETS: dict[str, dict[str, Any]] = {"datasets/run.yaml": {"uuid": "d", "table_name": "run"}}


def test_rows_and_headers_are_children_of_the_grid_in_order() -> None:
    layout = [
        {"header": "Delay"},
        {"row": [{"chart": "left", "width": 8, "height": 40}, {"text": "see {api_url}", "width": 4, "height": 40}]},
        {"row": [{"chart": "right", "width": 12, "height": 40}]},
    ]
    nodes = position("One", "one", layout, CHARTS)
    assert [nodes[child]["type"] for child in nodes["GRID_ID"]["children"]] == ["HEADER", "ROW", "ROW"]
    row = nodes[nodes["GRID_ID"]["children"][1]]
    assert [nodes[child]["type"] for child in row["children"]] == ["CHART", "MARKDOWN"]
    assert nodes["CHART-left"]["meta"]["sliceName"] == "Left"
    assert nodes["CHART-left"]["parents"] == ["ROOT_ID", "GRID_ID", row["id"]]
    assert nodes["CHART-left"]["meta"]["chartId"] != nodes["CHART-right"]["meta"]["chartId"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"chart": "left", "width": 8, "height": 40}, "row 0 is 8 of 12 columns wide"),
        ({"chart": "gone", "width": 12, "height": 40}, r"no chart charts/one/gone\.yaml"),
    ],
)
def test_a_wrong_layout_is_named(item: dict[str, Any], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        position("One", "one", [{"row": [item]}], CHARTS)


def test_a_filter_of_one_value_starts_with_the_first() -> None:
    filters = [
        {"id": "study", "name": "Study", "dataset": "run", "column": "study_id", "choose": "one"},
        {"id": "run", "name": "Run", "dataset": "run", "column": "run_id", "within": ["study"], "except": ["left"]},
    ]
    study, run = native_filters("one", filters, DATASETS, CHARTS)
    assert study["controlValues"]["defaultToFirstItem"]
    assert not study["controlValues"]["multiSelect"]
    assert run["controlValues"]["multiSelect"]
    # Superset would ask for every chart again for each filter that it is to fill in before all others.
    assert not study["requiredFirst"]
    (following,) = native_filters("one", [{**filters[0], "follows": True}], DATASETS, CHARTS)
    assert following["requiredFirst"]
    assert run["cascadeParentIds"] == [study["id"]]
    assert run["scope"]["excluded"] == [
        position("One", "one", [{"row": [{"chart": "left", "width": 12, "height": 9}]}], CHARTS)["CHART-left"]["meta"][
            "chartId"
        ]
    ]
    with pytest.raises(LayoutError, match="filter 'Study' is of dataset 'ran', which has no file"):
        native_filters("one", [{**filters[0], "dataset": "ran"}], DATASETS, CHARTS)
