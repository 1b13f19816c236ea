"""Shares of connections by country: the shades of the table are those of the map, and the API does the grouping."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import yaml

from sojourn_superset import assets, cells
from sojourn_superset.countries import WITHOUT_SHAPE, country_names
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
    """Return the colour of the square, or that it has none."""
    match = re.search(r"background:(#[0-9a-f]{6})", cell)
    return match.group(1) if match else "none"


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
        "withheld": "none",
        "unknown": "none",
    }
    assert ["<span" in found[name] for name in ("JP", "withheld", "unknown")] == [True, False, False]
    assert {country: text(cell) for country, cell in found.items()} == {
        "JP": "0.0 %", "BR": "25.0 %", "DE": "50.0 %", "withheld": "100.0 %", "unknown": "100.0 %",
    }  # fmt: skip


def test_a_territory_without_a_shape_stretches_the_shades_and_one_without_a_name_does_not() -> None:
    rows = [("JP", 40, 0), ("BR", 40, 10), ("DE", 40, 20), ("SG", 40, 40), ("BQ", 4, 4), ("SH", 4, 0)]
    found = shown(rows)
    light, dark = LOOK.shares
    assert {code: shade(found[code]) for code in ("JP", "BR", "DE")} == {
        "JP": light,
        "BR": mixed(light, dark, 0.25),
        "DE": mixed(light, dark, 0.5),
    }
    assert ["dashed" in cell for cell in found.values()] == [code in ("SG", "BQ", "SH") for code in found]
    assert all("background" not in found[code] for code in ("SG", "BQ", "SH"))
    assert text(found["SG"]) == "100.0 %"


def test_every_code_without_a_shape_is_one_that_the_map_names() -> None:
    assert set(country_names()) > set(WITHOUT_SHAPE.split())


def test_one_country_alone_has_the_first_shade() -> None:
    assert shade(shown([("JP", 40, 20)])["JP"]) == LOOK.shares[0]


def test_the_map_leaves_out_what_the_table_tells_in_words() -> None:
    conditions = assets.read(ASSETS)[f"{WILD}map_measured.yaml"]["params"]["adhoc_filters"]
    assert {(each["subject"], each["operator"], each["comparator"]) for each in conditions} == {
        ("country", "!=", "withheld"),
        ("country", "!=", "unknown"),
    }


def quality(rows: list[tuple[str, int, float]]) -> dict[str, tuple[str, ...]]:
    """Return the table of countries by speed tests, in its order: share with its shade, what costs most, tests."""
    chart = assets.read(ASSETS)[f"{WILD}countries_quality.yaml"]
    params = {"groupby": [], "metrics": []}
    assets._add_columns("countries_quality", params, chart["sojourn"]["columns"], LOOK, [])
    (country,) = params["groupby"]
    values = ", ".join(metric["sqlExpression"] for metric in params["metrics"])
    order = chart["params"]["timeseries_limit_metric"]["sqlExpression"]
    documents = [(f"{code.lower()}_2025_10.json", *rest) for code, *rest in rows]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE s (file_name, tests, iqb_score, binding_requirement, binding_use_case)")
        connection.executemany("INSERT INTO s VALUES (?, ?, ?, 'latency_ms', 'gaming')", documents)
        label = country["sqlExpression"]
        found = connection.execute(f"SELECT {label}, {values} FROM s GROUP BY {label} ORDER BY {order}")
        return {row[0]: row[1:] for row in found}


def test_countries_of_few_speed_tests_are_one_row_without_a_score_and_no_shade() -> None:
    found = quality([("DE", 100, 0.8), ("BR", 500, 0.4), ("AQ", 14, 0.1), ("NR", 2, 1.0), ("TD", 900, 0.0)])
    # The row without a score, and then the least first.
    assert list(found) == ["fewer than 100 tests", "Chad", "Brazil", "Germany"]
    assert {name: text(cells[0]) for name, cells in found.items()} == {
        "Chad": "0 %", "Brazil": "40 %", "Germany": "80 %", "fewer than 100 tests": "not drawn",
    }  # fmt: skip
    light, dark = LOOK.shares
    assert {name: shade(found[name][0]) for name in list(found)[1:]} == {
        "Chad": light, "Brazil": mixed(light, dark, 0.5), "Germany": dark,
    }  # fmt: skip
    assert {name: cells[1:] for name, cells in found.items()} == {
        "fewer than 100 tests": ("2 countries", 16),
        "Chad": ("no need is met", 900),
        "Brazil": ("latency, for gaming", 500),
        "Germany": ("latency, for gaming", 100),
    }


def test_the_map_of_speed_tests_draws_what_the_table_calls_drawn() -> None:
    conditions = assets.read(ASSETS)[f"{WILD}map_quality.yaml"]["params"]["adhoc_filters"]
    assert {"subject": "tests", "operator": ">=", "comparator": 100} in conditions


def test_the_api_groups_the_bins_of_countries() -> None:
    path = Path(ASSETS) / "datasets/sojourn_api/connections/country_delay.yaml"
    pushed = rewrite(yaml.safe_load(path.read_text(encoding="utf-8"))["sql"])
    # A row per country, twice: no bin is asked for.
    matches = re.findall(r"country_histogram\?group=([^&]*)&", pushed)
    assert matches == ["country%2Cdataset%2Crtt_basis%2Csample_basis%2Csynthetic"] * 2
    assert "bin_lower_us__ge=100000" in pushed


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
