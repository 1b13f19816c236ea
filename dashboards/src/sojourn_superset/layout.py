"""A dashboard's `layout` and `filters`, written out as Superset's `position` and filter configuration.

A layout is a list of headers and rows; a row is a list of charts (by file name) and texts with their width of 12
columns and height in units of 8 pixels; `alone` is the height of a chart whose neighbour has no data, and a text
`about` a chart goes with it. A filter names a dataset and a column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLUMNS = 12


class LayoutError(Exception):
    """A layout names what is not there, or a row has another width than the page; the message says which."""


def position(
    title: str, folder: str, layout: list[dict[str, Any]], charts: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return Superset's `position` of a layout.

    Parameters
    ----------
    folder
        Name of the dashboard's folder of charts.
    charts
        File name to chart asset.

    Raises
    ------
    LayoutError
        For a chart without a file, or a row that is not 12 columns wide.
    """
    grid: dict[str, Any] = {"id": "GRID_ID", "type": "GRID", "parents": ["ROOT_ID"], "children": []}
    nodes: dict[str, Any] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"id": "ROOT_ID", "type": "ROOT", "children": ["GRID_ID"]},
        "HEADER_ID": {"id": "HEADER_ID", "type": "HEADER", "meta": {"text": title}},
        "GRID_ID": grid,
    }
    for number, part in enumerate(layout):
        if "header" in part:
            name = f"HEADER-{number}"
            meta = {"text": part["header"], "headerSize": "MEDIUM_HEADER", "background": "BACKGROUND_TRANSPARENT"}
            nodes[name] = _node(name, "HEADER", ["ROOT_ID", "GRID_ID"], meta)
        else:
            name = f"ROW-{number}"
            nodes[name] = _node(name, "ROW", ["ROOT_ID", "GRID_ID"], {"background": "BACKGROUND_TRANSPARENT"})
            width = 0
            for place, item in enumerate(part["row"]):
                child = _item(item, f"{folder}-{number}-{place}", folder, charts)
                child["parents"] = ["ROOT_ID", "GRID_ID", name]
                nodes[child["id"]] = child
                nodes[name]["children"].append(child["id"])
                width += child["meta"]["width"]
            if width != COLUMNS:
                raise LayoutError(f"dashboards/{folder}.yaml: row {number} is {width} of {COLUMNS} columns wide")
        grid["children"].append(name)
    return nodes


def native_filters(
    folder: str,
    filters: list[dict[str, Any]],
    datasets: dict[str, dict[str, Any]],
    charts: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return Superset's configuration of filters; `choose: one` starts with the first value and always has one.

    With `follows: true` it takes the first value that is left, also where an address sets those that it is within.
    With `most: COLUMN` it starts with the value whose rows have the largest value of that column instead.
    A filter applies to every chart whose dataset has its column, `except` those that it names, or `only` to those.

    Raises
    ------
    LayoutError
        For a dataset or a chart without a file.
    """
    by_table = {asset["table_name"]: asset for asset in datasets.values()}
    on_page = [Path(path).stem for path in charts if path.startswith(f"charts/{folder}/")]
    configured = []
    for each in filters:
        if each["dataset"] not in by_table:
            raise LayoutError(
                f"dashboards/{folder}.yaml: filter {each['name']!r} is of dataset {each['dataset']!r}, "
                "which has no file"
            )
        one = each.get("choose", "many") == "one"
        only = [_chart(folder, chart, charts) for chart in each.get("only", ())]
        excluded = [name for name in on_page if only and name not in each["only"]] + list(each.get("except", ()))
        configured.append(
            {
                "id": filter_id(each["id"]),
                "name": each["name"],
                "description": each.get("description", ""),
                "filterType": "filter_select",
                "type": "NATIVE_FILTER",
                "targets": [
                    {"datasetUuid": by_table[each["dataset"]]["uuid"], "column": {"name": each["column"]}},
                ],
                "defaultDataMask": {"extraFormData": {}, "filterState": {}, "ownState": {}},
                "controlValues": {
                    "multiSelect": not one,
                    "enableEmptyFilter": one,
                    "defaultToFirstItem": one,
                    "inverseSelection": False,
                    "searchAllOptions": False,
                    "sortAscending": each.get("ascending", True),
                },
                "cascadeParentIds": [filter_id(parent) for parent in each.get("within", ())],
                "scope": {
                    "rootPath": ["ROOT_ID"],
                    "excluded": [chart_number(_chart(folder, chart, charts)) for chart in excluded],
                },
                "adhoc_filters": [
                    {"clause": "WHERE", "expressionType": "SIMPLE", **condition} for condition in each.get("where", ())
                ],
                # A filter that Superset is to fill in “first” hands its value over twice when it appears, first without
                # its condition, and each time every chart in its scope and every filter within it is asked for again.
                # So only a filter does that an address leaves to those it is within; the import writes the value of
                # the others (filter_start).
                "requiredFirst": each.get("follows", False),
                **({"startsWithMost": each["most"]} if "most" in each else {}),
                **({"onlyOf": [chart["uuid"] for chart in only]} if only else {}),
            }
        )
    return configured


def filter_id(name: str) -> str:
    """Return Superset's name of a filter, by which an address of a dashboard sets it."""
    return f"NATIVE_FILTER-{name}"


def _item(item: dict[str, Any], name: str, folder: str, charts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    size = {"width": item["width"], "height": item["height"]}
    if "text" in item:
        meta = {"code": item["text"], **size}
        if "about" in item:
            _chart(folder, item["about"], charts)
            meta["about"] = f"CHART-{item['about']}"
        return _node(f"MARKDOWN-{name}", "MARKDOWN", [], meta)
    chart = _chart(folder, item["chart"], charts)
    meta = {"uuid": chart["uuid"], "chartId": chart_number(chart), "sliceName": chart["slice_name"], **size}
    if "alone" in item:
        meta["alone"] = item["alone"]
    return _node(f"CHART-{item['chart']}", "CHART", [], meta)


def _chart(folder: str, name: str, charts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    path = f"charts/{folder}/{name}.yaml"
    if path not in charts:
        raise LayoutError(f"dashboards/{folder}.yaml: no chart {path}")
    return charts[path]


def chart_number(chart: dict[str, Any]) -> int:
    """Return the number by which Superset finds a chart's place when it imports; it differs over all dashboards."""
    return int(chart["uuid"].replace("-", "")[:8], 16) % 1_000_000_000


def _node(name: str, kind: str, parents: list[str], meta: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "type": kind, "parents": parents, "children": [], "meta": meta}
