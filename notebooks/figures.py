"""What every notebook starts with: the style, and where a figure goes.

A notebook shows its figures inline. When SOJOURN_FIGURES names a folder, as under ``make figures``, each is also
written there. The same figure gives the same bytes: no date and no version is written into the file. Functions that
draw are those of ``sojourn_transforms.figures``, which pages of ``sojourn look`` use too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from sojourn_transforms.figures import (
    DELAY_COLOURS,
    STATED,
    STYLE,
    Look,
    bitrate_over_capacity,
    cell_without_value,
    check_series,
    delay_heat_map,
    delay_legend,
    looks,
    pair_name,
    plain_name,
    rates_about_competition,
    rates_under_a_programme,
    runs_and_boxes,
    runs_by_rate,
    seconds_of_flow,
    series_legend,
    share_boxes,
    share_matrix,
    times_to_recovery,
    utilisation_boxes,
    whole_seconds,
)

__all__ = [
    "DELAY_COLOURS",
    "STATED",
    "Look",
    "bitrate_over_capacity",
    "cell_without_value",
    "delay_heat_map",
    "delay_legend",
    "kept",
    "label_log_axis",
    "looks",
    "pair_name",
    "panels",
    "plain_name",
    "provenance",
    "rates_about_competition",
    "rates_under_a_programme",
    "records",
    "runs_and_boxes",
    "runs_by_rate",
    "seconds_of_flow",
    "series_legend",
    "share_boxes",
    "share_matrix",
    "show",
    "times_to_recovery",
    "utilisation_boxes",
    "whole_seconds",
]

plt.style.use(STYLE)

#: Results of runs of the testbed that are in the repository: a folder a study, its marts as Parquet.
KEPT = Path(__file__).resolve().parents[1] / "testbed" / "results"


def kept(study: str, mart: str) -> pd.DataFrame:
    """Return a mart of a study whose results are in the repository; no rows where it is not kept."""
    path = KEPT / study / f"{mart}.parquet"
    return pd.read_parquet(path) if path.is_file() else pd.DataFrame()


def provenance() -> pd.DataFrame:
    """Return a row for each study whose results are in the repository: its runs, and what they were made with."""
    rows = []
    for path in sorted(KEPT.glob("*/provenance.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        (made_with, *others) = document["made_with"]
        if others:
            raise ValueError(f"{path.parent.name} was made with several versions")
        names = ("study_id", "seed", "runs", "excluded_runs", "failed_attempts")
        row = (
            {"results": path.parent.name}
            | {name: document[name] for name in names}
            | {"blocks": len(document["runs_by_block"])}
        )
        rows.append(row | {"kernel": made_with["kernel"].split(" (")[0], "qemu": made_with["qemu"]})
    return pd.DataFrame(rows)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, with None where a value is missing, as functions that draw expect."""
    as_objects = frame.astype(object)
    return [
        {str(name): value for name, value in row.items()}
        for row in as_objects.where(as_objects.notna(), None).to_dict("records")
    ]


def label_log_axis(axis: Axis) -> None:
    """Write the values of a logarithmic axis as they are: powers of ten, and 2, 3 and 5 times each."""
    axis.set_major_formatter(lambda value, _place: f"{value:g}")
    axis.set_minor_formatter(lambda value, _place: f"{value:g}" if f"{value:e}"[0] in "235" else "")


def panels(number: int, across: int = 3, width: float = 10.4, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, at most ``across`` in a row; places that are left are not drawn.

    ``width`` is that of a whole row and ``height`` that of one panel, in inches.
    """
    columns = max(min(number, across), 1)
    lines = max(-(-number // columns), 1)
    figure, grid = plt.subplots(lines, columns, figsize=(width * columns / across, height * lines), squeeze=False)
    for one in grid.flat[number:]:
        one.set_axis_off()
    return figure, list(grid.flat[:number])


def show(figure: Figure, name: str) -> None:
    """Show a figure in the notebook and, when SOJOURN_FIGURES is set, write it there as ``name.png``.

    Its series are checked (``check_series``): each has one look in all panels, and one handle.
    """
    check_series(figure)
    folder = os.environ.get("SOJOURN_FIGURES")
    if folder:
        figure.savefig(Path(folder) / f"{name}.png", metadata={"Software": None})
    plt.show()
    plt.close(figure)
