"""The asset files, and how they are fitted to a build."""

from __future__ import annotations

import copy
import csv
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from asset_files import BY_UUID, CHARTS, DASHBOARDS
from conftest import runs
from contract_server import Contract

from sojourn_client import Client
from sojourn_superset import assets, look
from sojourn_superset.asset_error import AssetError
from sojourn_superset.look import SETTING, read_look
from sojourn_superset.settings import ASSETS, REPOSITORY

OF_RUNS = sorted(name for name in CHARTS if name.startswith("charts/aqm_comparison/"))
"""Charts of runs; those of connections in the wild have neither excluded nor solo runs."""


def nodes(kind: str) -> list[dict[str, Any]]:
    """Return the nodes of one kind of all dashboards."""
    return [
        node
        for dashboard in DASHBOARDS.values()
        for node in dashboard["position"].values()
        if isinstance(node, dict) and node["type"] == kind
    ]


def test_every_chart_is_on_the_dashboard_under_its_own_title() -> None:
    placed = {node["meta"]["uuid"]: node["meta"]["sliceName"] for node in nodes("CHART")}
    assert placed == {asset["uuid"]: asset["slice_name"] for asset in CHARTS.values()}
    numbers = [node["meta"]["chartId"] for node in nodes("CHART")]
    assert len(set(numbers)) == len(numbers), "Superset finds a chart's place by this number when it imports"


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_a_dashboard_shows_the_charts_of_its_folder(name: str) -> None:
    position = DASHBOARDS[name]["position"].values()
    shown = {node["meta"]["uuid"] for node in position if isinstance(node, dict) and node["type"] == "CHART"}
    folder = f"charts/{Path(name).stem}/"
    assert shown == {asset["uuid"] for chart, asset in CHARTS.items() if chart.startswith(folder)}


def test_no_row_is_wider_than_the_grid() -> None:
    for dashboard in DASHBOARDS.values():
        position = dashboard["position"]
        rows = [node for node in position.values() if isinstance(node, dict) and node["type"] == "ROW"]
        for row in rows:
            assert sum(position[child]["meta"]["width"] for child in row["children"]) == 12, row["id"]


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_a_chart_says_what_it_shows_and_what_to_supply_without_data(name: str) -> None:
    chart = CHARTS[name]
    assert len(chart["description"]) > 50
    assert chart["sojourn"]["supply"]
    assert chart["viz_type"] == chart["params"]["viz_type"]


@pytest.mark.parametrize("name", OF_RUNS)
def test_a_chart_leaves_excluded_and_solo_runs_out(name: str) -> None:
    chart = CHARTS[name]
    params = read_look(ASSETS).params(chart, chart["sojourn"].get("filters", ()))
    conditions = [(f["subject"], f["operator"], f.get("comparator")) for f in params["adhoc_filters"]]
    dataset = BY_UUID[chart["dataset_uuid"]]
    if dataset["table_name"] == "queue_comparison":
        return  # It has neither.
    assert ("start_order", "!=", "solo") in conditions
    # Marts of configurations leave excluded runs out themselves.
    of_configurations = ("comparison", "configuration_metric", "configuration_queuing_delay_quantile", "finding")
    if dataset["table_name"] not in of_configurations:
        assert ("exclusion_reason", "IS NULL", None) in conditions


def test_axes_name_a_quantity() -> None:
    for name, chart in CHARTS.items():
        params = chart["params"]
        for axis in ("x_axis_title", "y_axis_title") if "timeseries" in chart["viz_type"] else ():
            # Names beside bars say what they are of, and the title says it too.
            is_of_names = (
                "_bar" in chart["viz_type"] and params["orientation"] == "horizontal" and axis == "x_axis_title"
            )
            assert params[axis] or (is_of_names and " by " in chart["slice_name"]), (name, axis)
        for axis in ("x_axis_label", "y_axis_label") if "bubble" in chart["viz_type"] else ():
            assert params[axis], (name, axis)


def test_every_dashboard_has_words_for_a_chart_without_rows_and_names_only_its_own_charts() -> None:
    assert "content: var(--no-rows)" in read_look(ASSETS).css
    for name, dashboard in DASHBOARDS.items():
        css = read_look(ASSETS).css + dashboard["css"]
        words = re.findall(r'--no-rows: "([^"]+)"', css)
        assert all(text.endswith(".") for text in words)
        assert name == "dashboards/trust.yaml" or len(words) > 1, name
        titles = {asset["slice_name"] for chart, asset in CHARTS.items() if f"/{Path(name).stem}/" in chart}
        assert set(re.findall(r'data-test-chart-name="([^"]+)"', dashboard["css"])) <= titles, name


def test_each_queue_has_one_hue_and_sizes_of_tail_drop_are_shades() -> None:
    look = read_look(ASSETS)
    labels = ["tail-drop 10 BDP", "tail-drop 0.1 BDP", "tail-drop 2 BDP", "CoDel", "FQ-CoDel", "SFQ"]
    colours = look.colours(labels)
    assert len({colours[label] for label in labels}) == len(labels)
    assert all(colours[f"{label}, CUBIC"] == colours[label] != colours[f"{label}, BBRv1"] for label in labels)
    lightness = [int(colours[f"tail-drop {size} BDP"][1:3], 16) for size in ("0.1", "2", "10")]
    assert lightness == sorted(lightness, reverse=True)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (("cubic", None, None, None), "CUBIC"),
        (("bbr", None, "none", "neither"), "BBRv1"),
        (("bbr2", None, "classic", None), "BBRv2, classic ECN"),
        (("prague", None, "accurate", "tcp"), "Prague, accurate ECN, L4S: tcp"),
        (("illinois", None, None, None), "illinois"),
        ((None, "meet", None, None), "meet"),
        ((None, None, None, None), "none"),
    ],
)
def test_a_competitor_has_the_name_of_the_field_and_a_colour(setting: tuple[str | None, ...], name: str) -> None:
    look = read_look(ASSETS)
    row = dict(zip(SETTING, setting, strict=True))
    assert look.competitor(row) == name
    colours = look.colours(["CoDel"], [row, dict.fromkeys(SETTING)])
    assert f"CoDel, {name}" in colours
    marks = look.colours(["CoDel"], [{**row, "ecn": "classic"}, {**row, "ecn": None, "l4s": None}])
    plain = look.competitor({**row, "ecn": None, "l4s": None})
    assert marks[f"CoDel, {look.competitor({**row, 'ecn': 'classic'})}"] != marks[f"CoDel, {plain}"]


def test_no_chart_or_dataset_writes_names_of_congestion_control_of_its_own() -> None:
    for path in [*ASSETS.glob("charts/**/*.yaml"), *ASSETS.glob("datasets/**/*.yaml")]:
        assert not re.search(r"'(cubic|reno|bbr2?)'", path.read_text()), path
    text = str([*CHARTS.values(), *BY_UUID.values()])
    assert "{competitor}" not in text
    assert "{congestion_control" not in text


def test_a_path_has_one_hue_over_its_services_and_no_two_paths_share_a_colour() -> None:
    colours = read_look(ASSETS).colours([], services=["https", "domain", "other"])
    to = {path: [colours[f"{path}, {service}"] for service in ("https", "domain", "other")] for path in look.PATHS}
    assert len({colour for each in to.values() for colour in each}) == 6
    assert all(each[0] == colours[path] for path, each in to.items())


def test_a_class_of_delays_has_one_colour_up_to_its_bound() -> None:
    look = read_look(ASSETS)
    colours = look.delay_colours()
    with (REPOSITORY / "models/seeds/delay_class.csv").open(encoding="utf-8") as file:
        bounds = [int(row["at_most_ms"]) for row in csv.DictReader(file) if row["at_most_ms"]]
    assert sorted(look.delay_classes)[:-1] == bounds
    for bound in bounds:
        assert colours[bound] != colours[bound + 1]
        assert colours[bound] == colours[bound - 1]
    maps = [chart for name, chart in CHARTS.items() if re.search(r"/delay_\w+_congested", name)]
    assert len(maps) == 3
    # A colour for each millisecond, if the scale ends where the colours do.
    assert all(chart["params"]["value_bounds"] == [0, len(colours) - 1] for chart in maps)


def test_a_chart_keeps_its_own_settings_over_those_of_its_type() -> None:
    look = read_look(ASSETS)
    chart = {"viz_type": "table", "params": {"page_length": 7, "adhoc_filters": [{"subject": "role"}]}}
    params = look.params(chart, ["competing_runs"])
    assert (params["page_length"], params["include_search"]) == (7, False)
    assert [each["subject"] for each in params["adhoc_filters"]] == ["exclusion_reason", "start_order", "role"]
    assert {each["expressionType"] for each in params["adhoc_filters"]} == {"SIMPLE"}


def test_no_bytes_are_written_as_0_and_not_as_0_00() -> None:
    formats = [
        column["d3NumberFormat"]
        for chart in CHARTS.values()
        for column in chart["params"].get("column_config", {}).values()
        if column.get("d3NumberFormat", "").endswith("s")
    ]
    assert len(formats) >= 3
    assert all("~" in form for form in formats)


def test_a_mos_is_never_written_like_the_bound_of_a_better_class() -> None:
    """With one decimal, 3.06 would be 3.1, from which on many are dissatisfied and not nearly all."""
    cells_of_mos = [
        column
        for chart in CHARTS.values()
        for column in chart.get("sojourn", {}).get("columns", ())
        if column.get("metric", "").startswith("mos_")
    ]
    maps = [chart for chart in CHARTS.values() if "MOS" in chart["slice_name"] and chart["viz_type"] == "heatmap_v2"]
    assert [column["digits"] for column in cells_of_mos] == [2]
    assert [chart["params"]["y_axis_format"] for chart in maps] == [",.2f"]


def test_the_card_of_studies_shows_all_of_its_findings_without_a_warning_of_a_limit() -> None:
    # Superset marks a chart whose answer has as many rows as its limit.
    limit = CHARTS["charts/studies/finding.yaml"]["params"]["row_limit"]
    with (REPOSITORY / "models" / "seeds" / "published_finding.csv").open(encoding="utf-8", newline="") as file:
        studies = {row["study_id"] for row in csv.DictReader(file)}
    assert limit > len(studies)


def test_measured_and_synthetic_connections_are_never_in_one_chart() -> None:
    for name, chart in CHARTS.items():
        if not name.startswith("charts/buffering_in_the_wild/") or "counted" in name:
            continue
        if BY_UUID[chart["dataset_uuid"]]["table_name"] == "iqb_score":
            continue  # of percentiles that someone published: nothing synthetic has them
        assert {"measured", "generated"} & set(chart["sojourn"]["filters"]), name
    (counted,) = (chart for name, chart in CHARTS.items() if name.endswith("wild/counted.yaml"))
    assert "synthetic" in counted["params"]["groupby"][0]["sqlExpression"]


# -- cells, on a configuration with numbers, one without, and one that two configurations share -----------------------


def write(folder: Path, name: str, content: dict[str, Any]) -> str:
    """Write an asset file with the UUID that its place gives it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    uuid = assets.asset_uuid(name)
    path.write_text(yaml.safe_dump({**content, "uuid": uuid}))
    return uuid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a database, a dataset, two charts and a dashboard."""
    (tmp_path / "metadata.yaml").write_text("version: 1.0.0\ntype: assets\n")
    database = write(tmp_path, "databases/api.yaml", {"extra": {"engine_params": {"adapters": ["sojourn"]}}})
    dataset = write(
        tmp_path,
        "datasets/run_harm.yaml",
        {
            "table_name": "run_harm",
            "database_uuid": database,
            "columns": [
                {"column_name": "aqm", "verbose_name": "discipline"},
                {"column_name": "percent", "expression": "harm_ratio * 100"},
            ],
        },
    )
    position: dict[str, Any] = {
        "ROOT_ID": {"type": "ROOT", "children": ["GRID_ID"]},
        "DASHBOARD_VERSION_KEY": "v2",
        "GRID_ID": {"type": "GRID", "children": ["ROW-1"]},
        "ROW-1": {"type": "ROW", "children": ["there", "absent"]},
    }
    for title, study in (("there", "s1"), ("absent", "s9")):
        where = [
            {"expressionType": "SIMPLE", "subject": "study_id", "operator": "==", "comparator": study},
            {"expressionType": "SIMPLE", "subject": "harm_ratio", "operator": "IS NOT NULL"},
        ]
        uuid = write(
            tmp_path,
            f"charts/{title}.yaml",
            {
                "slice_name": title,
                "dataset_uuid": dataset,
                "params": {"adhoc_filters": where},
                "sojourn": {"supply": "Supply study s9."},
            },
        )
        position[title] = {"type": "CHART", "meta": {"uuid": uuid, "chartId": 1, "width": 6, "height": 50}}
    position["head"] = {"type": "MARKDOWN", "meta": {"code": "see {api_url}/v1/datasets"}}
    write(tmp_path, "dashboards/one.yaml", {"slug": "one", "position": position})
    return tmp_path


def rendered(folder: Path, contract: Contract) -> tuple[dict[str, Any], assets.Bundle]:
    """Return the parsed files and the bundle."""
    bundle = assets.render(folder, Client(contract.url))
    return {name: yaml.safe_load(text) for name, text in bundle.contents.items()}, bundle


def test_a_chart_without_rows_gives_its_place_to_its_neighbours(folder: Path, contract: Contract) -> None:
    files, bundle = rendered(folder, contract)
    position = files["dashboards/one.yaml"]["position"]
    assert bundle.without_data == ["absent"]
    assert position["there"]["type"] == "CHART"
    assert position["there"]["meta"]["width"] == 12
    assert "absent" not in position
    assert position["ROW-1"]["children"] == ["there"]
    assert position["GRID_ID"]["children"] == ["ROW-1", "ROW-missing"]
    assert "**absent**: Supply study s9." in position["MARKDOWN-missing"]["meta"]["code"]
    assert "charts/absent.yaml" in files


def test_a_subtitle_has_the_count_of_all_rows_of_the_chart(folder: Path, contract: Contract) -> None:
    path = folder / "charts/there.yaml"
    content = yaml.safe_load(path.read_text())
    content["params"]["subtitle"] = "of {all} rows"
    path.write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    conditions = [("study_id", "s1"), ("harm_ratio__null", "false")]
    rows = Client(contract.url).records("run_harm", conditions)
    assert files["charts/there.yaml"]["params"]["subtitle"] == f"of {len(rows):,} rows"


def test_a_chart_may_leave_values_out(folder: Path, contract: Contract) -> None:
    path = folder / "charts/there.yaml"
    content = yaml.safe_load(path.read_text())
    content["params"] = {
        "subtitle": "{all}",
        "adhoc_filters": [{"subject": "aqm", "operator": "NOT IN", "comparator": ["CoDel", "it's"]}],
    }
    path.write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    left = [row for row in runs() if row["aqm"] not in (None, "CoDel")]
    assert 0 < len(left) < len(runs())
    assert files["charts/there.yaml"]["params"]["subtitle"] == f"{len(left):,}"


def test_a_row_and_a_header_without_charts_go_too(folder: Path, contract: Contract) -> None:
    path = folder / "dashboards/one.yaml"
    content = yaml.safe_load(path.read_text())
    position = content["position"]
    position["ROW-1"]["children"] = ["there"]
    position["there"]["meta"]["width"] = 12
    position["HEADER-2"] = {"type": "HEADER", "children": [], "meta": {"text": "Absent"}}
    position["ROW-3"] = {"type": "ROW", "children": ["absent"]}
    position["GRID_ID"]["children"] = ["ROW-1", "HEADER-2", "ROW-3"]
    path.write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    position = files["dashboards/one.yaml"]["position"]
    assert position["GRID_ID"]["children"] == ["ROW-1", "ROW-missing"]
    assert not {"HEADER-2", "ROW-3", "absent"} & set(position)


def test_a_header_above_a_text_alone_goes_and_the_text_stays(folder: Path, contract: Contract) -> None:
    path = folder / "dashboards/one.yaml"
    content = yaml.safe_load(path.read_text())
    position = content["position"]
    position["HEADER-2"] = {"type": "HEADER", "children": [], "meta": {"text": "Absent"}}
    position["ROW-3"] = {"type": "ROW", "children": ["absent"]}
    position["ROW-1"]["children"] = ["there"]
    position["there"]["meta"]["width"] = 12
    position["ROW-4"] = {"type": "ROW", "children": ["head"]}
    position["GRID_ID"]["children"] = ["ROW-1", "HEADER-2", "ROW-3", "ROW-4"]
    path.write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    assert files["dashboards/one.yaml"]["position"]["GRID_ID"]["children"] == ["ROW-1", "ROW-4", "ROW-missing"]


def test_a_chart_that_is_alone_has_its_own_height_and_a_text_goes_with_its_chart(
    folder: Path, contract: Contract
) -> None:
    path = folder / "dashboards/one.yaml"
    content = yaml.safe_load(path.read_text())
    position = content["position"]
    position["there"]["meta"]["alone"] = 18
    for name, chart in (("of-there", "there"), ("of-absent", "absent")):
        position[name] = {"type": "MARKDOWN", "meta": {"code": name, "width": 12, "height": 4, "about": chart}}
        position[f"ROW-{name}"] = {"type": "ROW", "children": [name]}
        position["GRID_ID"]["children"].append(f"ROW-{name}")
    path.write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    position = files["dashboards/one.yaml"]["position"]
    assert position["there"]["meta"]["height"] == 18
    assert position["GRID_ID"]["children"] == ["ROW-1", "ROW-of-there", "ROW-missing"]
    assert not {"of-absent", "ROW-of-absent"} & set(position)
    # Superset gets no key that it does not know.
    kept = [node["meta"] for node in position.values() if isinstance(node, dict) and "meta" in node]
    assert not [meta for meta in kept if {"alone", "about"} & set(meta)]


def test_good_news_is_under_a_heading_of_its_own_below_what_is_missing(folder: Path, contract: Contract) -> None:
    nothing, missing = "**Nothing to report**", "**Not drawn, because this build has no data for it**"
    for path, is_good in (("charts/absent.yaml", True), ("charts/there.yaml", False)):
        content = yaml.safe_load((folder / path).read_text())
        content["params"]["adhoc_filters"][0]["comparator"] = "s9"
        content["sojourn"] = {"supply": "No source was refused." if is_good else "Supply study s9.", "is_good": is_good}
        (folder / path).write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    lines = files["dashboards/one.yaml"]["position"]["MARKDOWN-missing"]["meta"]["code"].split("\n\n")
    assert lines == [missing, "**there**: Supply study s9.", nothing, "**absent**: No source was refused."]
    content["sojourn"]["is_good"] = True
    (folder / path).write_text(yaml.safe_dump(content))
    files, _ = rendered(folder, contract)
    text = files["dashboards/one.yaml"]["position"]["MARKDOWN-missing"]["meta"]["code"]
    assert text.startswith(nothing)
    assert missing not in text


def test_a_chart_of_too_few_values_is_not_drawn(folder: Path, contract: Contract) -> None:
    path = folder / "charts/there.yaml"
    content = yaml.safe_load(path.read_text())
    disciplines = {row["aqm"] for row in runs() if row["study_id"] == "s1" and row["harm_ratio"] is not None}
    for least, missing in ((len(disciplines), ["absent"]), (len(disciplines) + 1, ["absent", "there"])):
        content["sojourn"]["at_least"] = {"aqm": least}
        path.write_text(yaml.safe_dump(content))
        _, bundle = rendered(folder, contract)
        assert sorted(bundle.without_data) == missing


def test_the_address_of_the_api_is_in_texts_and_in_no_database(folder: Path, contract: Contract) -> None:
    files, _ = rendered(folder, contract)
    engine = files["databases/api.yaml"]["extra"]["engine_params"]
    assert engine == {"adapters": ["sojourn"]}
    assert files["dashboards/one.yaml"]["position"]["head"]["meta"]["code"] == f"see {contract.url}/v1/datasets"


def test_columns_come_from_the_catalogue_and_calculated_ones_from_the_file(folder: Path, contract: Contract) -> None:
    files, _ = rendered(folder, contract)
    columns = {column["column_name"]: column for column in files["datasets/run_harm.yaml"]["columns"]}
    assert list(columns) == ["study_id", "run_id", "aqm", "packets", "harm_ratio", "synthetic", "percent"]
    assert columns["packets"]["type"] == "BIGINT"
    assert columns["aqm"]["verbose_name"] == "discipline"
    assert columns["percent"]["expression"] == "harm_ratio * 100"


def test_everything_imported_is_marked_as_ours(folder: Path, contract: Contract) -> None:
    files, _ = rendered(folder, contract)
    marks = {name: asset.get("external_url") for name, asset in files.items() if name != assets.METADATA}
    assert marks == {name: "sojourn-asset:" + name.removesuffix(".yaml") for name in marks}
    assert "sojourn" not in files["charts/there.yaml"]


def test_the_same_build_gives_the_same_bundle(folder: Path, contract: Contract) -> None:
    _, first = rendered(folder, contract)
    contract.build_id = "build-2"
    assert rendered(folder, contract)[1] == first
    contract.tables["run_harm"]["rows"].append({**contract.tables["run_harm"]["rows"][0], "study_id": "s9"})
    assert rendered(folder, contract)[1] != first


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("charts/there.yaml", {"uuid": "x"}, "charts/there.yaml: uuid is x, must be "),
        ("charts/there.yaml", {"dataset_uuid": "x"}, "charts/there.yaml: dataset_uuid x is not the uuid of a dataset"),
        ("charts/absent.yaml", {"sojourn": {}}, "charts/absent.yaml: no rows in this build"),
        (
            "datasets/run_harm.yaml",
            {"table_name": "run_charm"},
            "the API serves no dataset 'run_charm'; it serves run_harm",
        ),
        (
            "charts/there.yaml",
            {"params": {"adhoc_filters": [{"expressionType": "SQL"}]}},
            "charts/there.yaml: filter on 'subject'; expected one of expressionType SIMPLE",
        ),
        (
            "charts/there.yaml",
            {"params": {"adhoc_filters": [{"expressionType": "SIMPLE", "subject": "acm", "operator": "=="}]}},
            "charts/there.yaml: filter on 'acm'; expected one of .* on a column that the dataset has",
        ),
        (
            "charts/there.yaml",
            {
                "params": {
                    "adhoc_filters": [{"subject": "aqm", "operator": "TEMPORAL_RANGE", "comparator": "Last week"}]
                }
            },
            "charts/there.yaml: filter on 'aqm' has operator 'TEMPORAL_RANGE'; expected ==, .*, NOT IN, ",
        ),
        (
            "dashboards/one.yaml",
            {
                "filters": [
                    {
                        "id": "study",
                        "name": "Study",
                        "dataset": "run_harm",
                        "column": "study_id",
                        "where": [{"subject": "aqm", "operator": "ILIKE", "comparator": "codel"}],
                    }
                ]
            },
            "dashboards/one.yaml: filter on 'aqm' has operator 'ILIKE'; expected ==, ",
        ),
        ("datasets/run_harm.yaml", {"sql": "SELECT 1"}, "datasets/run_harm.yaml: datasets are the API's tables: "),
    ],
)
def test_a_wrong_file_is_named(
    folder: Path, contract: Contract, file: str, change: dict[str, Any], message: str
) -> None:
    content = copy.deepcopy(yaml.safe_load((folder / file).read_text()))
    (folder / file).write_text(yaml.safe_dump({**content, **change}))
    with pytest.raises(AssetError, match=message):
        rendered(folder, contract)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "look.yaml: not a mapping"), ("colors: {}\n", "look.yaml: unknown key 'colors'; expected queues, ")],
)
def test_a_wrong_look_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "look.yaml").write_text(text)
    with pytest.raises(AssetError, match=message):
        read_look(tmp_path)
