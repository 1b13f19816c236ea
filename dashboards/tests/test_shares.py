"""Shares of connections by country: which countries the map and the table have, and of which threshold."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest

from sojourn_superset import assets
from sojourn_superset.look import read_look
from sojourn_superset.settings import ASSETS

WILD = "charts/buffering_in_the_wild/"


def test_the_map_leaves_out_what_the_table_tells_in_words() -> None:
    conditions = assets.read(ASSETS)[f"{WILD}map_measured.yaml"]["params"]["adhoc_filters"]
    assert {(each["subject"], each["operator"], each["comparator"]) for each in conditions} == {
        ("threshold_ms", "==", 100),
        ("country", "!=", "withheld"),
        ("country", "!=", "unknown"),
    }


@pytest.mark.parametrize("name", ["countries_measured", "countries_generated", "map_measured"])
def test_a_share_by_country_is_of_the_threshold_that_its_title_names(name: str) -> None:
    chart = assets.read(ASSETS)[f"{WILD}{name}.yaml"]
    thresholds = [each for each in chart["params"]["adhoc_filters"] if each["subject"] == "threshold_ms"]
    assert [f"above {each['comparator']} ms" in chart["slice_name"] for each in thresholds] == [True]


def quality(rows: list[tuple[str, int, float]]) -> dict[str, tuple[Any, ...]]:
    """Return the table of countries by speed tests, in its order: share, what costs most, tests."""
    chart = assets.read(ASSETS)[f"{WILD}countries_quality.yaml"]
    params = {"groupby": [], "metrics": []}
    assets._add_columns("countries_quality", params, chart["sojourn"]["columns"], read_look(ASSETS), [])
    (country,) = params["groupby"]
    values = ", ".join(metric["sqlExpression"] for metric in params["metrics"])
    order = chart["params"]["timeseries_limit_metric"]["sqlExpression"]
    documents = [(f"{code.lower()}_2025_10.json", *rest) for code, *rest in rows]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE s (file_name, tests, iqb_score, binding_requirement, binding_use_case)")
        connection.executemany("INSERT INTO s VALUES (?, ?, ?, 'latency_ms', 'gaming')", documents)
        label = country["sqlExpression"]
        rows_of_groups = connection.execute(f"SELECT {label}, {values} FROM s GROUP BY {label} ORDER BY {order}")
        return {row[0]: row[1:] for row in rows_of_groups}


def test_countries_of_few_speed_tests_are_one_row_without_a_score() -> None:
    rows_of_countries = quality([("DE", 100, 0.8), ("BR", 500, 0.4), ("AQ", 14, 0.1), ("NR", 2, 1.0), ("TD", 900, 0.0)])
    # The row without a score, and then the least first.
    assert list(rows_of_countries) == ["fewer than 100 tests", "Chad", "Brazil", "Germany"]
    assert rows_of_countries == {
        "fewer than 100 tests": (None, "2 countries", 16),
        "Chad": (0.0, "no need is met", 900),
        "Brazil": (40.0, "latency, for gaming", 500),
        "Germany": (80.0, "latency, for gaming", 100),
    }


def test_the_map_of_speed_tests_draws_what_the_table_calls_drawn() -> None:
    conditions = assets.read(ASSETS)[f"{WILD}map_quality.yaml"]["params"]["adhoc_filters"]
    assert {"subject": "tests", "operator": ">=", "comparator": 100} in conditions


def test_every_chart_of_connections_has_one_data_set_and_basis_at_a_time() -> None:
    files = assets.read(ASSETS)
    by_uuid = {asset["uuid"]: asset for name, asset in files.items() if name.startswith("datasets/")}
    for name, chart in files.items():
        if name.startswith(WILD) and by_uuid[chart["dataset_uuid"]]["table_name"] != "iqb_score":
            columns = {column["column_name"]: column for column in by_uuid[chart["dataset_uuid"]]["columns"]}
            assert {"dataset", "rtt_basis", "sample_basis"} <= set(
                re.findall(r"\w+", columns["data_set"]["expression"])
            )
    dashboard = files["dashboards/buffering_in_the_wild.yaml"]
    numbers = {node["meta"]["sliceName"]: node["meta"]["chartId"] for node in charts_of(dashboard)}
    filters = dashboard["metadata"]["native_filter_configuration"]
    values = [each["controlValues"] for each in filters]
    assert all(each["enableEmptyFilter"] and not each["multiSelect"] for each in values)
    reached = [set(numbers.values()) - set(each["scope"]["excluded"]) for each in filters]
    # Each chart but the one that counts is reached by exactly one filter: measured and synthetic ones are apart.
    assert sum(map(len, reached)) == len(set().union(*reached))
    assert set().union(*reached) == set(numbers.values()) - {numbers["What is in this build"]}


def charts_of(dashboard: dict[str, dict[str, dict[str, object]]]) -> list[dict[str, dict[str, object]]]:
    """Return the places of charts."""
    return [node for node in dashboard["position"].values() if isinstance(node, dict) and node["type"] == "CHART"]
