"""The filters of the asset files: which charts they reach, and with which columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from asset_files import BY_UUID, CHARTS, DASHBOARDS

from sojourn_superset import assets, layout
from sojourn_superset.notes import Note

PARTS = {
    "Rival": "rival_application", "Congested direction": "congested_direction", "Workload": "workload",
    "Testbed": "testbed", "Participants": "participants", "View of the call": "call_view",
    "Other direction": "opposite_link", "Direction": "direction", "Buffer scheme": "queue_scheme",
}  # fmt: skip
"""Filters of what the studies vary beside queue, rate, RTT and congestion control, and their columns."""


@pytest.mark.parametrize(
    "name",
    [
        "aqm_comparison",
        "studies",
    ],
)
def test_what_studies_vary_are_filters_of_every_page_of_runs(name: str) -> None:
    filters = DASHBOARDS[f"dashboards/{name}.yaml"]["metadata"]["native_filter_configuration"]
    columns = {each["name"]: each["targets"][0]["column"]["name"] for each in filters}
    assert {part: columns.get(part) for part in PARTS} == PARTS


def test_one_run_has_the_filters_that_a_cell_of_the_grid_sets() -> None:
    filters = DASHBOARDS["dashboards/one_run.yaml"]["metadata"]["native_filter_configuration"]
    (cell,) = [
        each for each in CHARTS["charts/aqm_comparison/grid.yaml"]["sojourn"]["columns"] if each["kind"] == "link"
    ]
    assert {each["id"] for each in filters} == {layout.filter_id(name) for name in [*cell["sets"], "workload", "run"]}


def test_a_filter_of_only_some_charts_leaves_the_others_alone_and_goes_with_them() -> None:
    filters = DASHBOARDS["dashboards/studies.yaml"]["metadata"]["native_filter_configuration"]
    of_buffers = next(each for each in filters if each["name"] == "Study of the buffers")
    charts = {name: chart for name, chart in CHARTS.items() if name.startswith("charts/studies/")}
    reached = {
        Path(name).stem for name, chart in charts.items()
        if layout.chart_number(chart) not in of_buffers["scope"]["excluded"]
    }  # fmt: skip
    assert reached == {
        "delay_downlink_congested", "delay_both_congested", "delay_uplink_congested", "utilisation_by_buffer",
    }  # fmt: skip
    uuids = list(of_buffers["onlyOf"])
    some = dict.fromkeys(uuids[:-1], Note("title", "supply"))
    assert assets._filters_with_charts([dict(of_buffers)], some)[0]["name"] == "Study of the buffers"
    assert assets._filters_with_charts([dict(of_buffers)], dict.fromkeys(uuids, Note("title", "supply"))) == []


def test_pictures_on_the_page_of_studies_have_filters_of_their_own_alone() -> None:
    # The study that the page begins with has no scores.
    filters = DASHBOARDS["dashboards/studies.yaml"]["metadata"]["native_filter_configuration"]
    chart = CHARTS["charts/studies/brisque_against_harm.yaml"]
    names = {each["name"] for each in filters if layout.chart_number(chart) not in each["scope"]["excluded"]}
    assert names == {
        "Study of the picture quality", "Application of the picture quality", "Rate of the picture quality (Mbit/s)",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_filter_on_a_calculated_column_reaches_every_chart_that_has_its_source(name: str) -> None:
    charts = [CHARTS[chart] for chart in CHARTS if chart.startswith(f"charts/{Path(name).stem}/")]
    for native in DASHBOARDS[name]["metadata"]["native_filter_configuration"]:
        (target,) = native["targets"]
        if target["column"]["name"] != "bandwidth_mbit":
            continue
        excluded = native["scope"]["excluded"]
        reached = [chart for chart in charts if layout.chart_number(chart) not in excluded]
        for dataset in (BY_UUID[chart["dataset_uuid"]] for chart in reached):
            if dataset["table_name"] in ("study", "published_comparison"):
                continue
            own = {c["column_name"] for c in dataset["columns"]}
            assert "bandwidth_mbit" in own, f"{dataset['table_name']} would ignore the filter {native['name']!r}"


def test_every_page_with_filters_says_how_many_rows_they_leave() -> None:
    counting = {path.split("/")[1] for path, chart in CHARTS.items() if chart["slice_name"].endswith(" shown")}
    # Its finding says it in the line below the sentence.
    counting.add("buffering_in_the_wild")
    assert counting == {
        Path(path).stem for path, page in DASHBOARDS.items() if page["metadata"]["native_filter_configuration"]
    }
