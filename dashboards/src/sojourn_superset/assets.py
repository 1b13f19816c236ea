"""Turn the YAML files of `dashboards/assets` into a bundle that fits the build being served.

The files are in Superset's export format, with three things left to be filled in here: the API's address; the
columns of each dataset, which the API's catalogue knows best; and, for a chart of which the build has no rows, a
note in its place (the chart's own key `sojourn.supply`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy.engine import Connection

from sojourn_client import Client, Column, Dataset
from sojourn_superset import layout, links, table_cells
from sojourn_superset.adapter_query import FilterError, adapter, first_column, rows_asked, rows_that_meet, sql_by_column
from sojourn_superset.asset_error import AssetError
from sojourn_superset.filter_start import fill_in_starts, with_a_choice
from sojourn_superset.instance import ASSET_MARK
from sojourn_superset.look import LOOK, SETTING, Look, read_look
from sojourn_superset.notes import Note, give_place_away
from sojourn_superset.service import TABLES

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "urn:sojourn:superset-assets")
KINDS = ("databases", "datasets", "charts", "dashboards")
METADATA = "metadata.yaml"
EMPTY_METADATA: dict[str, Any] = {
    "shared_label_colors": [],
    "color_scheme_domain": [],
    "expanded_slices": {},
    "refresh_frequency": 0,
    "timed_refresh_immune_slices": [],
    "cross_filters_enabled": False,
    "filter_bar_orientation": "VERTICAL",
    "chart_configuration": {},
    "global_chart_configuration": {"scope": {"rootPath": ["ROOT_ID"], "excluded": []}, "chartsInScope": []},
}


class _WithoutAliases(yaml.SafeDumper):
    """Writes what occurs twice twice: Superset is to read no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that nothing is replaced by an alias."""
        return True


@dataclass
class Bundle:
    """What to import, and the titles of the charts that had to give way to a note."""

    contents: dict[str, str]
    without_data: list[str] = field(default_factory=list)


def asset_uuid(path: str) -> str:
    """Return the UUID of the asset file at `path` (relative to the assets folder): the same on every machine."""
    return str(uuid.uuid5(NAMESPACE, path))


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """Read all asset files, keyed by path relative to `folder`, with their named SQL, and check the UUID of each."""
    files: dict[str, dict[str, Any]] = {}
    look = read_look(folder)
    for path in sorted(folder.rglob("*.yaml")):
        name = path.relative_to(folder).as_posix()
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise AssetError(f"{name}: not a mapping")
        if name == LOOK:
            continue
        if name != METADATA:
            if name.split("/")[0] not in KINDS:
                raise AssetError(f"{name}: assets live in {', '.join(KINDS)}")
            if content.get("uuid") != asset_uuid(name):
                raise AssetError(f"{name}: uuid is {content.get('uuid')}, must be {asset_uuid(name)}")
        if name.startswith("datasets/") and content.get("sql") is not None:
            raise AssetError(f"{name}: datasets are the API's tables: remove `sql`; a column may have an `expression`")
        files[name] = look.named(content) if name.startswith(("datasets/", "charts/")) else content
    if METADATA not in files:
        raise AssetError(f"no {METADATA} in {folder}")
    _lay_out(files)
    return files


def _lay_out(files: dict[str, dict[str, Any]]) -> None:
    """Write out the layout and the filters of each dashboard that has them in short."""
    charts, datasets = dict(_of_kind(files, "charts")), dict(_of_kind(files, "datasets"))
    for name, asset in _of_kind(files, "dashboards"):
        stem = Path(name).stem
        try:
            if "layout" in asset:
                asset["position"] = layout.position(asset["dashboard_title"], stem, asset.pop("layout"), charts)
            if "filters" in asset:
                filters = layout.native_filters(stem, asset.pop("filters"), datasets, charts)
                asset["metadata"] = {
                    **EMPTY_METADATA,
                    **asset.get("metadata", {}),
                    "native_filter_configuration": filters,
                }
        except layout.LayoutError as error:
            raise AssetError(str(error)) from error


def render(folder: Path, client: Client) -> Bundle:
    """Fit the assets to the build that the API serves."""
    with adapter(client) as connection:
        return _rendered(folder, client, connection)


def _rendered(folder: Path, client: Client, connection: Connection) -> Bundle:
    files = read(folder)
    look = read_look(folder)
    catalogue = {entry.name: entry for entry in client.datasets()} | {name: each[0] for name, each in TABLES.items()}
    notes: dict[str, Note] = {}
    bundle = Bundle(contents={})

    for name, asset in _of_kind(files, "databases"):
        # the URL of the API is not among them: whoever may edit a database must not choose it
        _own(name, asset)
    queue_labels = [label for (label,) in _asked_of(connection, catalogue, "configuration", "queue_label") if label]
    for name, asset in _of_kind(files, "datasets"):
        entry = catalogue.get(asset["table_name"])
        if entry is None:
            raise AssetError(
                f"{name}: the API serves no dataset {asset['table_name']!r}; it serves {', '.join(sorted(catalogue))}"
            )
        asset["columns"] = _columns(entry, asset.get("columns") or [])
        asset["description"] = asset.get("description") or f"{entry.description} Grain: {entry.grain}."
        _own(name, asset)
    datasets = {asset["uuid"]: asset for _, asset in _of_kind(files, "datasets")}
    for name, asset in _of_kind(files, "charts"):
        ours = asset.pop("sojourn", {})
        dataset = datasets.get(asset["dataset_uuid"])
        if dataset is None:
            raise AssetError(f"{name}: dataset_uuid {asset['dataset_uuid']} is not the uuid of a dataset")
        unknown = sorted(set(ours.get("filters", ())) - set(look.filters))
        if unknown:
            raise AssetError(f"{name}: no filter {unknown[0]!r} in {LOOK}; it has {', '.join(sorted(look.filters))}")
        asset["params"] = look.params(asset, ours.get("filters", ()))
        _add_columns(name, asset["params"], ours.get("columns", ()), look, queue_labels)
        try:
            rows = rows_that_meet(asset["params"]["adhoc_filters"], dataset)
        except FilterError as error:
            raise AssetError(f"{name}: {error}") from error
        # What the API says of itself is there at any time.
        counted = 1 if dataset["table_name"] in TABLES else first_column(connection, f"SELECT COUNT(*) AS n {rows}")[0]
        if subtitle := asset["params"].get("subtitle"):
            # No filter of the page reaches a subtitle.
            asset["params"]["subtitle"] = subtitle.replace("{all}", f"{counted:,}")
        # One day is no trend.
        few = [
            column
            for column, wanted in ours.get("at_least", {}).items()
            if len(first_column(connection, f"SELECT {column} {rows} GROUP BY {column} LIMIT {wanted}")) < wanted
        ]
        if not counted or few:
            if not ours.get("supply"):
                raise AssetError(f"{name}: no rows in this build, and no `sojourn.supply` to say what to supply")
            notes[asset["uuid"]] = Note(asset["slice_name"], ours["supply"].strip(), bool(ours.get("is_good", False)))
            bundle.without_data.append(asset["slice_name"])
        _own(name, asset)
    settings = [
        dict(zip(SETTING, row, strict=True)) for row in _asked_of(connection, catalogue, "configuration", *SETTING)
    ]
    # The busiest service first.
    services = _asked_of(connection, catalogue, "capture_service", "service", order="SUM(packets) DESC")
    sites = _sites(connection, datasets)
    colours = look.colours(queue_labels, settings, [service for (service,) in services], sites)
    for name, asset in _of_kind(files, "dashboards"):
        metadata = asset.setdefault("metadata", {})
        metadata["label_colors"] = {**colours, **metadata.get("label_colors", {})}
        metadata["map_label_colors"] = dict(metadata["label_colors"])
        configured = _filters_with_charts(metadata.get("native_filter_configuration", []), notes)
        try:
            configured = with_a_choice(configured, datasets, connection)
            fill_in_starts(configured, datasets, connection)
        except FilterError as error:
            raise AssetError(f"{name}: {error}") from error
        metadata["native_filter_configuration"] = configured
        asset["css"] = look.page_css() + (asset.get("css") or "")
        asset["position"] = give_place_away(asset["position"], notes)
        for node in asset["position"].values():
            if isinstance(node, dict) and node.get("type") == "MARKDOWN":
                node["meta"]["code"] = node["meta"]["code"].replace("{api_url}", client.url)
        _own(name, asset)

    bundle.contents = {
        name: yaml.dump(asset, Dumper=_WithoutAliases, sort_keys=True, allow_unicode=True)
        for name, asset in files.items()
    }
    return bundle


def _filters_with_charts(configured: list[dict[str, Any]], notes: dict[str, Note]) -> list[dict[str, Any]]:
    """Return the filters without those that are `only` of charts that have no data."""
    kept = []
    for each in configured:
        only = each.pop("onlyOf", None)
        if only is None or not set(only) <= set(notes):
            kept.append(each)
    return kept


def _add_columns(
    name: str, params: dict[str, Any], columns: Sequence[dict[str, Any]], look: Look, queue_labels: list[str]
) -> None:
    """Append a chart's `sojourn.columns` to the columns and metrics of its table."""
    for each in columns:
        described = dict(each)
        kind = described.pop("kind")
        try:
            if kind == "queue":
                params.setdefault("groupby", []).insert(0, table_cells.queue_column(each["label"], look, queue_labels))
            elif kind == "figure":
                params.setdefault("metrics", []).append(table_cells.figure(each, look))
            elif kind == "spans":
                params.setdefault("metrics", []).append(table_cells.spans(**described))
            elif kind == "country":
                params.setdefault("groupby", []).insert(0, table_cells.country_column(**described))
            elif kind == "link":
                # Of a group's own columns, or beside figures, as a metric.
                is_metric = described.pop("as", None) == "metric"
                label = described.pop("label")
                made = (table_cells.metric if is_metric else table_cells.column)(label, links.link(**described))
                params.setdefault("metrics" if is_metric else "groupby", []).append(made)
            elif kind == "expression":
                params.setdefault("metrics", []).append(table_cells.metric(each["label"], each["sql"]))
            else:
                raise AssetError(
                    f"{name}: column kind {kind!r}; expected queue, figure, spans, country, link or expression"
                )
        except (KeyError, TypeError) as error:
            raise AssetError(f"{name}: column {each.get('label')!r}: {error}") from error


def _asked_of(
    connection: Connection, catalogue: dict[str, Dataset], dataset: str, *columns: str, order: str | None = None
) -> list[tuple[Any, ...]]:
    """Return the values of columns that occur together, in order; none of a dataset that the build does not have."""
    if dataset not in catalogue:
        return []
    names = ", ".join(columns)
    ordered = f"{order}, {names}" if order else names
    return rows_asked(connection, f"SELECT {names} FROM {dataset} GROUP BY {names} ORDER BY {ordered}")


def _sites(connection: Connection, datasets: dict[str, dict[str, Any]]) -> list[str]:
    """Return the sites of access networks as charts name them, the one with the largest rise of a day first."""
    delay = next((asset for asset in datasets.values() if asset["table_name"] == "access_delay"), None)
    if delay is None:
        return []
    name = sql_by_column(delay)["group_and_n"]
    return first_column(
        connection,
        f"SELECT {name} AS value FROM access_delay WHERE period_kind = 'day' AND group_kind = 'site' "
        f"AND metric = 'rtt_increase' GROUP BY {name} ORDER BY MAX(certain_lower_ms) DESC",
    )


def _of_kind(files: dict[str, dict[str, Any]], kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, asset) for name, asset in files.items() if name.startswith(f"{kind}/")]


def _own(name: str, asset: dict[str, Any]) -> None:
    """Mark the asset as ours: Superset then offers no editing, which the next import would undo."""
    asset["is_managed_externally"] = True
    asset["external_url"] = ASSET_MARK + name.removesuffix(".yaml")


def _columns(entry: Dataset, written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the served columns, then the calculated ones of the file; a file may also adorn a served one."""
    by_name = {column["column_name"]: column for column in written}
    served = [{**_served_column(column), **by_name.pop(column.name, {})} for column in entry.columns]
    return served + [{"groupby": True, "filterable": True, "is_active": True, **rest} for rest in by_name.values()]


def _served_column(column: Column) -> dict[str, Any]:
    unit = f" Unit: {column.unit}." if column.unit else ""
    return {
        "column_name": column.name,
        "verbose_name": column.name.removesuffix("_id").replace("_", " "),
        "type": column.type,
        "description": f"{column.description or ''}{unit}".strip() or None,
        "is_dttm": False,
        "is_active": True,
        "groupby": True,
        "filterable": True,
    }
