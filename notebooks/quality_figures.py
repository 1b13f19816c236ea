"""Figures of quality: heat maps after Figures 7 to 11 of IMC'14, opinions and answers after Figure 8 of PAM'21.

Each function draws the rows that it is given, of whatever runs there are. Colours come from the mart ``quality_class``:
from class to class their lightness changes, so that grey prints and colour-blind readers tell them apart. The number
stands in each cell as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, Rectangle

from sojourn_transforms.figures import cell_without_value, looks

Row = Mapping[str, Any]

YES, NO = "#2f6f9f", "#d8a13a"


def lightness(colour: str) -> float:
    """Return the relative luminance of a colour, 0 (black) to 1 (white), as WCAG 2 defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def is_known(value: Any) -> bool:
    """Return whether a figure is there: pandas gives a missing one as not a number."""
    return value is not None and value == value


def ended_loads_are_few(row: Row) -> bool:
    """Return whether a median page load time is a lower bound: the end of each run cuts off one load, the longest ones.

    ``row`` is of ``configuration_quality``. With no more loads (``items``) than runs, the middle of all loads, those
    cut off included, may be one that was cut off.
    """
    return int(row["items"]) <= int(row["runs"]) + int(row["unscored_runs"])


def quality_heat_map(
    axes: Axes, rows: Iterable[Row], classes: Iterable[Row], column: Callable[[Row], Any], line: Callable[[Row], Any],
    *, value: str = "mos_median", written: str = "{:.2f}", title: str = "median MOS",
    columns: Sequence[Any] | None = None, lines: Sequence[Any] | None = None,
    is_lower_bound: Callable[[Row], bool] = lambda _row: False, unscored: str = "no score",
) -> None:  # fmt: skip
    """Draw a figure of each configuration in a grid of cells, coloured by its class.

    Parameters
    ----------
    axes
        Where to draw.
    rows
        Rows of ``configuration_quality``, of one model: the value, quality_class, runs and interval_null_reason.
    classes
        Rows of ``quality_class`` of that model, from which the colours are.
    column, line
        Cell of a row: columns from left to right and lines from the bottom, each in their order of first appearance.
    columns, lines
        Another order of the columns and lines; it names each of them. A cell without a row says that it has no runs.
    is_lower_bound
        Whether the number of a row is the least that it can be; it is written with a ≥.
    unscored
        What a cell says whose runs have no score.
    value, written, title
        Column of the number in each cell, how it is written, and what it is called. A MOS needs two decimals: with one,
        3.06 is written like the bound 3.1 of the class above its own.

    Raises
    ------
    ValueError
        Two configurations fall into one cell: filter by rate, application or direction.
    """
    colours = {str(one["quality_class"]): str(one["colour"]) for one in classes}
    cells: dict[tuple[Any, Any], Row] = {}
    for row in rows:
        key = (column(row), line(row))
        if key in cells:
            raise ValueError(f"two configurations have {key[0]!r} and {key[1]!r}; filter by rate, application or model")
        cells[key] = row
    places = list(columns) if columns is not None else list(dict.fromkeys(key[0] for key in cells))
    levels = list(lines) if lines is not None else list(dict.fromkeys(key[1] for key in cells))
    for low, level in enumerate(levels):
        for left, across in enumerate(places):
            if (across, level) not in cells:
                cell_without_value(axes, (left, low), "no runs")
                continue
            row = cells[across, level]
            if not is_known(row[value]):
                cell_without_value(axes, (left, low), f"{unscored}\nn = {int(row['runs'])}")
                continue
            colour = colours[str(row["quality_class"])]
            axes.add_patch(Rectangle((left - 0.5, low - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
            text = ("≥ " if is_lower_bound(row) else "") + written.format(row[value])
            axes.text(
                left, low, f"{text}\nn = {int(row['runs'])}", ha="center", va="center", fontsize=8,
                color="black" if lightness(colour) > 0.2 else "white",
            )  # fmt: skip
    axes.set_xticks(range(len(places)), [str(one) for one in places])
    axes.set_yticks(range(len(levels)), [str(one) for one in levels])
    axes.set_xlim(-0.5, max(len(places), 1) - 0.5)
    axes.set_ylim(-0.5, max(len(levels), 1) - 0.5)
    axes.grid(visible=False)
    axes.set_title(f"{title}, n: runs")


def class_legend(axes: Axes, classes: Iterable[Row]) -> None:
    """Draw the classes of a model with their colours, the best first, and from where on each is."""
    ordered = sorted(classes, key=lambda one: int(one["class_number"]))
    labels = [
        str(one["quality_class"]) + (f" (from {one['lower_bound']:g})" if is_known(one["lower_bound"]) else "")
        for one in ordered
    ]
    axes.legend(
        [Patch(facecolor=str(one["colour"]), edgecolor="0.3") for one in ordered], labels,
        loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0,
    )  # fmt: skip


def rating_points(axes: Axes, rows: Iterable[Row]) -> None:
    """Draw mean ratings with their t intervals by item, one colour and mark for each condition (PAM'21, Figure 8a).

    ``rows`` are of ``rating_summary`` of one study and scale. A condition with one person has a point and no bar; the
    legend has the largest number of people of a condition.
    """
    rated = [row for row in rows if is_known(row["rating_mean"])]
    items = list(dict.fromkeys(str(row["item"]) for row in rated))
    conditions = list(dict.fromkeys(str(row["condition"]) for row in rated))
    scales = {(float(row["scale_lowest"]), float(row["scale_highest"])) for row in rated}
    if len(scales) > 1:
        raise ValueError("the ratings are on several scales; filter by scale_lowest and scale_highest")
    series = looks(conditions)
    for number, condition in enumerate(conditions):
        mine = [row for row in rated if row["condition"] == condition]
        across = [items.index(str(row["item"])) + 0.5 * ((number + 0.5) / len(conditions) - 0.5) for row in mine]
        label = f"{condition} (n = {max(int(row['subjects']) for row in mine)})"
        axes.plot(
            across, [float(row["rating_mean"]) for row in mine], marker=series[condition].marker,
            linestyle="none", color=series[condition].colour, label=label,
        )  # fmt: skip
        for place, row in zip(across, mine, strict=True):
            if is_known(row["rating_lower"]):
                ends = [row["rating_lower"], row["rating_upper"]]
                axes.plot([place, place], ends, color=series[condition].colour, linewidth=1.2)
    for lowest, highest in scales:
        axes.set_ylim(lowest - 0.2, highest + 0.2)
    axes.set_xticks(range(len(items)), items)
    axes.set_ylabel("rating, mean and 95 % t interval")
    axes.legend(loc="best")


def answer_bars(axes: Axes, rows: Iterable[Row]) -> None:
    """Draw who said no to the left of 0 and yes to the right, by question and condition (PAM'21, Figure 8b).

    ``rows`` are of ``answer_share`` of one study; the number of people stands in each half of a bar.
    """
    ordered: Sequence[Row] = list(rows)
    widest = max((max(int(row["yes_subjects"]), int(row["no_subjects"])) for row in ordered), default=1)
    for place, row in enumerate(reversed(ordered)):
        for people, sign, colour in ((int(row["yes_subjects"]), 1, YES), (int(row["no_subjects"]), -1, NO)):
            axes.barh(
                place,
                sign * people,
                color=colour,
                height=0.7,
                label=("yes" if sign > 0 else "no") if not place else None,
            )
            if people:
                axes.text(
                    sign * people / 2,
                    place,
                    str(people),
                    ha="center",
                    va="center",
                    color="white" if sign > 0 else "black",
                )
    labels = [
        f"{row['question']}\n{row['condition']} (n = {int(row['subjects'])})" for row in reversed(ordered)
    ]  # fmt: skip
    axes.set_yticks(range(len(ordered)), labels)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlim(-widest * 1.05, widest * 1.05)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
