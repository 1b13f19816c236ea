"""Figures of quality draw the runs there are: the number in each cell, its class, n, and what has no score."""

from __future__ import annotations

import csv
from itertools import combinations, pairwise
from math import dist
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from notebooks import quality_figures as figures

matplotlib.use("Agg")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def classes() -> list[dict[str, Any]]:
    with (ROOT / "models/seeds/quality/qoe_class.csv").open(encoding="utf-8") as handle:
        return [
            row | {"lower_bound": float(row["lower_bound"]) if row["lower_bound"] else None}
            for row in csv.DictReader(handle)
        ]


def cell(queue: str, workload: str, mos: float | None, quality: str | None, runs: int = 7) -> dict[str, Any]:
    return {"queue": queue, "workload": workload, "mos_median": mos, "quality_class": quality, "runs": runs}


def test_lightness_falls_from_class_to_class_of_every_model(classes: list[dict[str, Any]]) -> None:
    for model in {row["qoe_model_id"] for row in classes}:
        mine = sorted(
            (row for row in classes if row["qoe_model_id"] == model), key=lambda row: int(row["class_number"])
        )
        light = [figures.lightness(row["colour"]) for row in mine]
        assert all(first > second + 0.01 for first, second in pairwise(light)), model


#: What people with two kinds of cones see of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
VISIONS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
    "grey print": ((0.2126, 0.7152, 0.0722),) * 3,
}


def seen(colour: str, vision: str) -> tuple[float, float, float]:
    """Return a colour as CIE L*a*b* of what is seen of it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * part for weight, part in zip(row, linear, strict=True))))
        for row in VISIONS[vision]
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("vision", VISIONS)
def test_classes_are_told_apart_in_grey_and_by_colour_blind_readers(classes: list[dict[str, Any]], vision: str) -> None:
    for model in {row["qoe_model_id"] for row in classes}:
        mine = sorted(
            (row for row in classes if row["qoe_model_id"] == model), key=lambda row: int(row["class_number"])
        )
        colours = [seen(row["colour"], vision) for row in mine]
        # Neighbours differ by many just noticeable differences (of 2.3), and the better class is the lighter one.
        assert all(first[0] > second[0] for first, second in pairwise(colours)), model
        assert min(dist(first, second) for first, second in combinations(colours, 2)) > 10, model


def test_each_cell_has_its_number_its_class_and_its_runs(classes: list[dict[str, Any]]) -> None:
    voice = [row for row in classes if row["qoe_model_id"] == "g107-network"]
    rows = [
        cell("8", "noBG", 4.4, "very satisfied"), cell("256", "noBG", 4.36, "very satisfied"),
        cell("8", "long-many", 3.2, "many dissatisfied"), cell("256", "long-many", 1.0, "not recommended", 3),
        cell("64", "long-many", None, None, 0),
    ]  # fmt: skip
    _, axes = plt.subplots()
    figures.quality_heat_map(axes, rows, voice, lambda row: row["queue"], lambda row: row["workload"])
    assert [text.get_text() for text in axes.texts] == [
        "4.40\nn = 7", "4.36\nn = 7", "no runs", "3.20\nn = 7", "1.00\nn = 3", "no score\nn = 0",
    ]  # fmt: skip
    assert [text.get_color() for text in axes.texts] == ["black", "black", "0.3", "white", "white", "0.3"]
    patches = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert patches[4].get_facecolor() == matplotlib.colors.to_rgba("#00224e")
    assert [place for place, patch in enumerate(patches) if patch.get_hatch()] == [2, 5]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["noBG", "long-many"]
    figures.class_legend(axes, voice)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[0] == "very satisfied (from 4.34)"
    assert labels[-1] == "not recommended"
    with pytest.raises(ValueError, match="two configurations have '8' and 'noBG'"):
        figures.quality_heat_map(axes, [*rows, rows[0]], voice, lambda row: row["queue"], lambda row: row["workload"])
    plt.close("all")


def test_opinions_have_a_point_with_its_interval_and_one_person_a_point_alone() -> None:
    base = {"item": "overall", "scale_lowest": 1, "scale_highest": 7, "subjects": 10}
    rows = [
        base | {"condition": "tail-drop", "rating_mean": 2.5, "rating_lower": 1.8, "rating_upper": 3.2},
        base | {"condition": "FQ-CoDel", "rating_mean": 6, "rating_lower": None, "rating_upper": None, "subjects": 1},
        base | {"condition": "nobody", "rating_mean": None},
    ]
    _, axes = plt.subplots()
    figures.rating_points(axes, rows)
    assert len(axes.lines) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["tail-drop (n = 10)", "FQ-CoDel (n = 1)"]
    assert axes.get_ylim() == (0.8, 7.2)
    with pytest.raises(ValueError, match="several scales"):
        figures.rating_points(axes, [rows[0], rows[1] | {"scale_highest": 5}])
    plt.close("all")


def test_answers_diverge_from_the_middle() -> None:
    rows = [
        {"question": "go on?", "condition": "tail-drop", "yes_subjects": 2, "no_subjects": 8, "subjects": 10},
        {"question": "go on?", "condition": "FQ-CoDel", "yes_subjects": 10, "no_subjects": 0, "subjects": 10},
    ]
    _, axes = plt.subplots()
    figures.answer_bars(axes, rows)
    assert [bar.get_width() for bar in axes.patches] == [10, 0, 2, -8]
    assert [text.get_text() for text in axes.texts] == ["10", "2", "8"]
    assert axes.get_xlim() == (-10.5, 10.5)
    plt.close("all")
