"""Shares of connections by country: the shades of the table are those of the map, and the API does the grouping."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import yaml

from sojourn_superset import assets, cells
from sojourn_superset.look import mixed, read_look
from sojourn_superset.pushdown import rewrite
from sojourn_superset.settings import ASSETS

LOOK = read_look(ASSETS)
WILD = "charts/buffering_in_the_wild/"


def shown(rows: list[tuple[str, int, int]]) -> dict[str, str]:
    """Return the cell of each country, of its connections and those above 100 ms."""
    chart = assets.read(ASSETS)[f"{WILD}countries_measured.yaml"]
    (column,) = (dict(each) for each in chart["sojourn"]["columns"] if each["kind"] == "share")
    del column["kind"]
    expression = cells.share(**column, look=LOOK)["sqlExpression"]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE country_delay (country, connections, above_100_ms)")
        connection.executemany("INSERT INTO country_delay VALUES (?, ?, ?)", rows)
        return dict(connection.execute(f"SELECT country, {expression} FROM country_delay GROUP BY country"))


def shade(cell: str) -> str:
    """Return the colour of the square."""
    found = re.search(r"background:(#[0-9a-f]{6})", cell)
    assert found is not None, cell
    return found.group(1)


def text(cell: str) -> str:
    """Return what the cell says."""
    return re.sub(r"<[^>]*>", "", cell)


def test_the_smallest_share_is_light_the_largest_dark_and_the_rest_between() -> None:
    found = shown([("JP", 40, 0), ("BR", 40, 10), ("DE", 40, 20), ("withheld", 24, 24), ("unknown", 10, 10)])
    light, dark = LOOK.shares
    assert {country: shade(cell) for country, cell in found.items()} == {
        "JP": light,
        "BR": mixed(light, dark, 0.5),
        "DE": dark,
        # Neither is on the map, so neither stretches its shades.
        "withheld": "#ffffff",
        "unknown": "#ffffff",
    }
    assert {country: text(cell) for country, cell in found.items()} == {
        "JP": "0.0 %", "BR": "25.0 %", "DE": "50.0 %", "withheld": "100.0 %", "unknown": "100.0 %",
    }  # fmt: skip


def test_one_country_alone_has_the_first_shade() -> None:
    assert shade(shown([("JP", 40, 20)])["JP"]) == LOOK.shares[0]


def test_the_map_leaves_out_what_the_table_tells_in_words() -> None:
    conditions = assets.read(ASSETS)[f"{WILD}map_measured.yaml"]["params"]["adhoc_filters"]
    assert {(each["subject"], each["operator"], each["comparator"]) for each in conditions} == {
        ("country", "!=", "withheld"),
        ("country", "!=", "unknown"),
    }


def test_the_api_groups_the_bins_of_countries() -> None:
    path = Path(ASSETS) / "datasets/sojourn_api/connections/country_delay.yaml"
    pushed = rewrite(yaml.safe_load(path.read_text(encoding="utf-8"))["sql"])
    # A row per country, twice: no bin is asked for.
    asked = re.findall(r"country_histogram\?group=([^&]*)&", pushed)
    assert asked == ["country%2Cdataset%2Crtt_basis%2Csample_basis%2Csynthetic"] * 2
    assert "bin_lower_us__ge=100000" in pushed


def test_every_chart_of_connections_has_one_data_set_and_basis_at_a_time() -> None:
    files = assets.read(ASSETS)
    by_uuid = {asset["uuid"]: asset for name, asset in files.items() if name.startswith("datasets/")}
    for name, chart in files.items():
        if name.startswith(WILD):
            columns = {column["column_name"]: column for column in by_uuid[chart["dataset_uuid"]]["columns"]}
            assert {"dataset", "rtt_basis", "sample_basis"} <= set(
                re.findall(r"\w+", columns["data_set"]["expression"])
            )
    dashboard = files["dashboards/buffering_in_the_wild.yaml"]
    numbers = {node["meta"]["sliceName"]: node["meta"]["chartId"] for node in charts_of(dashboard)}
    filters = dashboard["metadata"]["native_filter_configuration"]
    assert all(each["requiredFirst"] and not each["controlValues"]["multiSelect"] for each in filters)
    reached = [set(numbers.values()) - set(each["scope"]["excluded"]) for each in filters]
    # Each chart but the one that counts is reached by exactly one filter: measured and synthetic ones are apart.
    assert not reached[0] & reached[1]
    assert reached[0] | reached[1] == set(numbers.values()) - {numbers["What is in this build"]}


def charts_of(dashboard: dict[str, dict[str, dict[str, object]]]) -> list[dict[str, dict[str, object]]]:
    """Return the places of charts."""
    return [node for node in dashboard["position"].values() if isinstance(node, dict) and node["type"] == "CHART"]
