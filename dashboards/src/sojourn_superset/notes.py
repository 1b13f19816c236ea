"""Charts without data give their place to their neighbours, and the end of the page says what to supply for them."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from sojourn_superset import layout

HEADINGS = (("Not drawn, because this build has no data for it", False), ("Nothing to report", True))
"""Headings of the charts without rows: of what is missing, and of those that `sojourn.is_good` calls good news."""


class Note(NamedTuple):
    """What stands in the place of a chart without rows, and whether it is good that there are none."""

    title: str
    supply: str
    is_good: bool = False


def give_place_away(position: dict[str, Any], notes: dict[str, Note]) -> dict[str, Any]:
    """Remove the charts that have no data, and say at the end of the page what to supply.

    The neighbours of a chart without data take its place, and texts about it go too.

    Parameters
    ----------
    position
        Superset's layout of a dashboard.
    notes
        UUID of each chart without data, and what to say of it.
    """
    placed = copy.deepcopy(position)
    nodes = {name: node for name, node in placed.items() if isinstance(node, dict)}
    charts = {name: node["meta"] for name, node in nodes.items() if node.get("type") == "CHART"}
    missing = {name: notes[meta["uuid"]] for name, meta in charts.items() if meta["uuid"] in notes}
    alone = {name: node["meta"].pop("alone") for name, node in nodes.items() if "alone" in node.get("meta", {})}
    about = {name: node["meta"].pop("about") for name, node in nodes.items() if "about" in node.get("meta", {})}
    if not missing:
        return placed
    _remove(placed, missing.keys() | {text for text, chart in about.items() if chart in missing}, alone)
    if "GRID_ID" in placed:
        _remove_headers_without_rows(placed)
        _add_text(placed, "missing", *_of_missing(list(missing.values())))
    return placed


def _remove(placed: dict[str, Any], gone: set[str], alone: dict[str, int]) -> None:
    """Remove charts and texts; the others of a row share its width, and a row without any goes too."""
    nodes = [(name, node) for name, node in placed.items() if isinstance(node, dict)]
    for name, node in nodes:
        if node.get("type") != "ROW" or not gone & set(node["children"]):
            continue
        node["children"] = [child for child in node["children"] if child not in gone]
        if not node["children"]:
            for _, parent in nodes:
                if name in parent.get("children", ()):
                    parent["children"].remove(name)
            del placed[name]
            continue
        free = layout.COLUMNS - sum(placed[child]["meta"]["width"] for child in node["children"])
        for number, child in enumerate(node["children"]):
            share = free // len(node["children"]) + (number < free % len(node["children"]))
            meta = placed[child]["meta"]
            meta["width"] += share
            meta["height"] = alone.get(child, meta["height"])
    for name in gone:
        del placed[name]


def _of_missing(missing: list[Note]) -> tuple[list[str], int]:
    """Return the paragraphs about charts without data, and their height."""
    lines: list[str] = []
    height = 1
    for heading, is_good in HEADINGS:
        titles: dict[str, list[str]] = {}
        for note in missing:
            if note.is_good == is_good:
                titles.setdefault(note.supply, []).append(f"**{note.title}**")
        if not titles:
            continue
        lines += [f"**{heading}**", *(f"{' · '.join(names)}: {supply}" for supply, names in titles.items())]
        # Two lines of text for each supply, and one more for each two titles beyond the first.
        height += 6 + sum(6 + 3 * (len(names) // 2) + 3 * supply.count("\n") for supply, names in titles.items())
    return lines, height


def _add_text(placed: dict[str, Any], name: str, lines: list[str], height: int) -> None:
    """Add paragraphs as the last row of the page."""
    if not lines:
        return
    text = {"code": "\n\n".join(lines), "width": layout.COLUMNS, "height": height}
    placed[f"MARKDOWN-{name}"] = {
        "id": f"MARKDOWN-{name}", "type": "MARKDOWN", "children": [], "meta": text,
        "parents": ["ROOT_ID", "GRID_ID", f"ROW-{name}"],
    }  # fmt: skip
    placed[f"ROW-{name}"] = {
        "id": f"ROW-{name}", "type": "ROW", "children": [f"MARKDOWN-{name}"],
        "parents": ["ROOT_ID", "GRID_ID"], "meta": {"background": "BACKGROUND_TRANSPARENT"},
    }  # fmt: skip
    placed["GRID_ID"]["children"].append(f"ROW-{name}")


def _remove_headers_without_rows(position: dict[str, Any]) -> None:
    """Remove each header before which the next header, or the end, comes sooner than a chart; texts stay."""
    kept: list[str] = []
    has_chart = False
    for child in reversed(position["GRID_ID"]["children"]):
        if position[child]["type"] == "HEADER":
            if has_chart:
                kept.append(child)
            else:
                del position[child]
            has_chart = False
            continue
        kept.append(child)
        has_chart = has_chart or any(position[each]["type"] == "CHART" for each in position[child]["children"])
    position["GRID_ID"]["children"] = kept[::-1]
