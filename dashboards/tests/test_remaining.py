"""How many rows the filters of a page leave, from planted rows in SQLite."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import asset_files
import pytest

from sojourn_superset import cells
from sojourn_superset.look import read_look
from sojourn_superset.pushdown import rewrite
from sojourn_superset.settings import ASSETS

LOOK = read_look(ASSETS)
CHARTS = {
    path.removeprefix("charts/").removesuffix(".yaml"): chart
    for path, chart in asset_files.CHARTS.items()
    if any(column["kind"] == "remaining" for column in chart["sojourn"].get("columns", ()))
}
COLUMNS = """
study_id bandwidth_bps rtt_ms application start_order queue_label congestion_control rival_application queue_scheme
direction congested_direction workload testbed participants call_view opposite_link ecn l4s exclusion_reason run_id
mark_direction
"""
RUN = dict.fromkeys(COLUMNS.split()) | {
    "study_id": "s", "bandwidth_bps": 1_000_000, "start_order": "app_first", "queue_label": "CoDel",
}  # fmt: skip
RUNS = [
    RUN, RUN | {"rtt_ms": 20.0}, RUN | {"queue_label": "PIE"}, RUN | {"study_id": "t", "bandwidth_bps": None},
    RUN | {"start_order": "solo"}, RUN | {"exclusion_reason": "left out"},
]  # fmt: skip
MARKS = [
    RUN | {"mark_direction": "data"},
    RUN | {"mark_direction": "acks"},
    RUN | {"mark_direction": "data", "ecn": "x"},
]
SERIES = [RUN | {"run_id": run, "workload": test} for run, test in (("a", "rrul"), ("a", "rrul"), ("b", "tcp"))]
FLOW = {"dataset": "captures:a", "recording_name": "one", "service": "https"}
FLOWS = [FLOW, FLOW, FLOW | {"service": "dns"}, FLOW | {"recording_name": "two"}]
GROUP = {"dataset": "isp", "day": "2026-01-01", "group_name": "a", "period_kind": "day", "metric": "rtt_increase"}
GROUP |= {"group_kind": "site"}
GROUPS = [
    GROUP, GROUP | {"group_name": "b", "group_kind": "plan"}, GROUP | {"day": "2026-01-02"},
    GROUP | {"group_name": "all", "group_kind": "all"}, GROUP | {"period_kind": "hour"}, GROUP | {"metric": "rtt"},
]  # fmt: skip
SOURCES = [{"format": "capture"}, {"format": "capture"}, {"format": None}]


def left(name: str, table: str, rows: list[dict[str, Any]], where: str = "1") -> str:
    """Return what a chart says of these rows under a condition of the page's filters."""
    chart = CHARTS[name]
    (described,) = ({**column} for column in chart["sojourn"]["columns"])
    del described["kind"]
    dataset = asset_files.BY_UUID[chart["dataset_uuid"]]
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE {table} ({', '.join(rows[0])})")
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", [list(row.values()) for row in rows])
        expression = cells.remaining(**described, look=LOOK)["sqlExpression"]
        ((html,),) = connection.execute(f"SELECT {expression} FROM ({dataset['sql']}) WHERE {where}")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip()


@pytest.mark.parametrize(
    ("name", "table", "rows", "where", "expected"),
    [
        ("aqm_comparison/remaining", "run", RUNS, "queue_label IN ('CoDel')", "3 of 4"),
        ("one_run/remaining", "run", RUNS, "1", "4 of 4"),
        ("one_run/remaining", "run", RUNS, "bandwidth_mbit IN (1.0) AND queue_label IN ('CoDel')", "2 of 4"),
        ("studies/remaining", "run", RUNS, "study_id IN ('t')", "1 of 4"),
        ("marks/remaining", "run_mark", MARKS, "ecn IN ('x')", "1 of 2"),
        ("tool_results/remaining", "run_series", SERIES, "1", "2 of 2"),
        ("tool_results/remaining", "run_series", SERIES, "workload IN ('tcp')", "1 of 2"),
        ("captures/remaining", "capture_flow", FLOWS, "recording_name IN ('one') AND service IN ('https')", "2 of 4"),
        ("access_network/remaining", "access_delay", GROUPS, "day IN ('2026-01-01')", "2 of 3"),
        ("access_network/remaining", "access_delay", GROUPS, "group_name IN ('a')", "2 of 3"),
        ("trust/remaining", "ingest_outcome", SOURCES, "format IN ('capture')", "2 of 3"),
        ("trust/runs_remaining", "run", RUNS, "study_id IN ('s')", "5 of 6"),
    ],
)
def test_a_page_says_how_many_its_filters_leave(
    name: str, table: str, rows: list[dict[str, Any]], where: str, expected: str
) -> None:
    what = CHARTS[name]["sojourn"]["columns"][0]["what"]
    assert left(name, table, rows, where) == f"{expected} {what}"
    assert left(name, table, rows, "0") == f"none {what}"


def test_every_page_with_filters_says_how_many_they_leave() -> None:
    pages = {name.partition("/")[0] for name in CHARTS}
    # It says so in the line below its finding.
    pages.add("buffering_in_the_wild")
    with_filters = {
        path.removeprefix("dashboards/").removesuffix(".yaml")
        for path, page in asset_files.DASHBOARDS.items()
        if page["metadata"]["native_filter_configuration"]
    }
    assert pages == with_filters


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_the_api_counts(name: str) -> None:
    sql = asset_files.BY_UUID[CHARTS[name]["dataset_uuid"]]["sql"]
    assert rewrite(sql) != sql


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_every_filter_that_reaches_it_is_on_a_column_that_it_has(name: str) -> None:
    page = asset_files.DASHBOARDS[f"dashboards/{name.partition('/')[0]}.yaml"]
    (place,) = (
        node["meta"]["chartId"]
        for node in page["position"].values()
        if isinstance(node, dict) and node.get("meta", {}).get("uuid") == CHARTS[name]["uuid"]
    )
    columns = {column["column_name"] for column in asset_files.BY_UUID[CHARTS[name]["dataset_uuid"]]["columns"]}
    reaching = {
        each["targets"][0]["column"]["name"]
        for each in page["metadata"]["native_filter_configuration"]
        if place not in each["scope"]["excluded"]
    }
    of_another = {"format", "study_id"} if name.startswith("trust/") else set()
    assert reaching - of_another <= columns
