"""The one look of all dashboards: colours by queue discipline, settings by chart type, and named filters.

`assets/look.yaml` has the values; a chart or dashboard file states only what is its own.
"""

from __future__ import annotations

import copy
import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from sojourn_superset.asset_error import AssetError

LOOK = "look.yaml"
TAIL_DROP = "tail-drop"
SETTING = ("congestion_control", "rival_application", "ecn", "l4s")
"""Columns of runs of which the name of a competitor is made."""
PATHS = {"to the initiator", "to the responder"}
ECN_WHITE, STEP, MOST_WHITE = 0.25, 0.2, 0.75
"""White that a series has beside its hue: of runs with ECN or L4S, of each service after the first, and the most."""
SHADE_WHITE = 0.4
"""Part of that white which a size of tail-drop takes, because its own shade says the size."""
CODEPOINTS = {"classic": 0.0, "l4s": 0.4}
"""White of what a queue does with packets of each class of ECN's codepoints (`run_marking_probability`)."""
CONTROL = re.compile(r"\{congestion_control(?:: (?P<sql>[^}]+))?\}")
"""The name of a congestion control in the field, of the column of this name or of other SQL."""
SIZED = re.compile(r"(?P<name>.+?) (?P<size>[0-9.]+) (?:BDP|packets)")


@dataclass(frozen=True)
class Look:
    """The content of `look.yaml`."""

    queues: dict[str, Any] = field(default_factory=lambda: {TAIL_DROP: ["#b8b4ab", "#57534b"], "others": ["#1f6fb2"]})
    congestion_control: dict[str, dict[str, Any]] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    series: list[str] = field(default_factory=lambda: ["#1f6fb2"])
    cells: dict[str, str] = field(default_factory=dict)
    shares: list[str] = field(default_factory=lambda: ["#ffffff", "#000000"])
    sites: list[str] = field(default_factory=lambda: ["#b45309", "#8a867d"])
    delay_classes: dict[int, str] = field(default_factory=dict)
    value_words: dict[str, str] = field(default_factory=dict)
    css: str = ""
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    filters: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def colours(
        self,
        queue_labels: Iterable[str],
        competitors: Iterable[Mapping[str, str | None]] = (),
        services: Iterable[str] = (),
        sites: Iterable[str] = (),
    ) -> dict[str, str]:
        """Return the colour of each label: of a queue, also with what competes, and of a path with a service.

        Parameters
        ----------
        competitors
            Each setting of the build's runs, with the columns of `SETTING`.
        services
            Services of the build's captures, the busiest first: each has the hue of its path, lighter by one step.
        sites
            Sites of the build's access networks, the worst first, which alone is not grey.
        """
        whites = {each["name"]: each["white"] for each in self.congestion_control.values()}
        for setting in competitors:
            control = self.congestion_control.get(str(setting["congestion_control"]), {"white": 0.0})
            with_marks = ECN_WHITE if {setting["ecn"], setting["l4s"]} - {None, "none", "neither"} else 0.0
            whites.setdefault(self.competitor(setting), min(control["white"] + with_marks, MOST_WHITE))
        worst, others = self.sites
        colours = {site: others if number else worst for number, site in enumerate(sites)} | self.labels
        for number, service in enumerate(services):
            for path in PATHS & self.labels.keys():
                colours[f"{path}, {service}"] = mixed(self.labels[path], "#ffffff", min(number * STEP, MOST_WHITE))
        for label, colour in self.queue_colours(queue_labels).items():
            colours[label] = colour
            # Sizes of tail-drop are shades themselves: too light a one would be another size.
            of_shades = SHADE_WHITE if name_of(label) == TAIL_DROP else 1.0
            for name, white in whites.items():
                colours[f"{label}, {name}"] = mixed(colour, "#ffffff", white * of_shades)
            for codepoints, white in CODEPOINTS.items():
                colours[f"{label}, {codepoints}"] = mixed(colour, "#ffffff", white)
        return colours

    def page_css(self) -> str:
        """Return the style of every page, with the words of values in the lists of filters.

        A filter lists values as the API has them, because links and conditions are written with them; the page shows
        what the field calls them. A congestion control has its name of `congestion_control`.
        """
        names = {key: each["name"] for key, each in self.congestion_control.items()}
        words = {key: word for key, word in (names | self.value_words).items() if key != word}
        return self.css + "".join(
            f":is(.ant-select-item-option, .ant-select-selection-item)[title={json.dumps(key)}]"
            " :is(.ant-select-item-option-content, .ant-select-selection-item-content),"
            f" .ant-select-single .ant-select-selection-item[title={json.dumps(key)}] {{ font-size: 0; }}\n"
            f":is(.ant-select-item-option, .ant-select-selection-item)[title={json.dumps(key)}]"
            " :is(.ant-select-item-option-content, .ant-select-selection-item-content)::before,"
            f" .ant-select-single .ant-select-selection-item[title={json.dumps(key)}]::before"
            f" {{ content: {json.dumps(word, ensure_ascii=False)}; font-size: 14px; visibility: visible; }}\n"
            for key, word in words.items()
        )

    def competitor(self, setting: Mapping[str, str | None]) -> str:
        """Return what charts call the competitor of runs with this setting: the same SQL says it there."""
        columns = ", ".join(f"? AS {column}" for column in SETTING)
        with sqlite3.connect(":memory:") as connection:
            (name,) = connection.execute(
                f"SELECT {self.named('{competitor}')} FROM (SELECT {columns})", [setting[column] for column in SETTING]
            ).fetchone()
        return str(name)

    def named(self, content: Any) -> Any:
        """Return the content of an asset with the SQL of each expression in place of its name in braces."""
        if isinstance(content, dict):
            return {key: self.named(value) for key, value in content.items()}
        if isinstance(content, list):
            return [self.named(value) for value in content]
        if not isinstance(content, str) or "{" not in content:
            return content
        for name, sql in self.expressions.items():
            content = content.replace(f"{{{name}}}", sql)
        cases = "".join(f" WHEN '{key}' THEN '{each['name']}'" for key, each in self.congestion_control.items())

        def field_name(match: re.Match[str]) -> str:
            column = match["sql"] or "congestion_control"
            return f"CASE {column}{cases} ELSE {column} END" if cases else column

        return CONTROL.sub(field_name, content)

    def queue_colours(self, queue_labels: Iterable[str]) -> dict[str, str]:
        """Return the colour of each queue; sizes of one discipline are shades of its hue."""
        labels = sorted(set(queue_labels))
        sizes = sorted({size_of(label) for label in labels if name_of(label) == TAIL_DROP})
        light, dark = self.queues[TAIL_DROP]
        others = list(self.queues["others"])
        unknown = sorted({name_of(label) for label in labels} - set(self.queues))
        hues = {name: others[number % len(others)] for number, name in enumerate(unknown)}
        colours = {}
        for label in labels:
            name = name_of(label)
            if name == TAIL_DROP:
                place = sizes.index(size_of(label)) / (len(sizes) - 1) if len(sizes) > 1 else 1.0
                colours[label] = mixed(light, dark, place)
            else:
                colours[label] = self.queues[name] if name in self.queues else hues[name]
        return colours

    def delay_colours(self) -> list[str]:
        """Return a colour for each millisecond from 0 to the end of the last class: a scale in steps."""
        colours: list[str] = []
        for until_ms, colour in sorted(self.delay_classes.items()):
            colours += [colour] * (until_ms + 1 - len(colours))
        return colours

    def params(self, chart: dict[str, Any], named: Iterable[str] = ()) -> dict[str, Any]:
        """Return a chart's params with the settings of its type below and the named filters before its own."""
        kind = chart.get("viz_type")
        params = {**copy.deepcopy(self.charts.get(str(kind), {})), "viz_type": kind, **chart["params"]}
        conditions = [each for name in named for each in self.filters[name]]
        params["adhoc_filters"] = [
            {"clause": "WHERE", "expressionType": "SIMPLE", **each}
            for each in [*conditions, *(params.get("adhoc_filters") or [])]
        ]
        return params


def read_look(folder: Path) -> Look:
    """Read `look.yaml` of an assets folder; without one, nothing is added.

    Raises
    ------
    AssetError
        For a file that is empty or no mapping, or has a key that `Look` does not have.
    """
    path = folder / LOOK
    if not path.is_file():
        return Look()
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise AssetError(f"{LOOK}: not a mapping")
    keys = [each.name for each in fields(Look)]
    unknown = [key for key in content if key not in keys]
    if unknown:
        raise AssetError(f"{LOOK}: unknown key {unknown[0]!r}; expected {', '.join(keys)}")
    return Look(**content)


def name_of(label: str) -> str:
    """Return the discipline of a queue label: `tail-drop 2 BDP` is of `tail-drop`."""
    sized = SIZED.fullmatch(label)
    return sized["name"] if sized else label


def size_of(label: str) -> float:
    """Return the size in a queue label, or infinity if it states none."""
    sized = SIZED.fullmatch(label)
    return float(sized["size"]) if sized else math.inf


def mixed(colour: str, other: str, share: float) -> str:
    """Return a colour mixed with a share of another, both `#rrggbb`."""
    pairs = zip(parts(colour), parts(other), strict=True)
    return "#" + "".join(f"{round(one + (two - one) * share):02x}" for one, two in pairs)


def parts(colour: str) -> list[int]:
    """Return red, green and blue of `#rrggbb`, 0 to 255."""
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
