"""Figures of the notebooks, drawn over planted rows in place of a service's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from sojourn_transforms.figures import check_family, check_series

ROOT = Path(__file__).resolve().parents[2]


class PlantedRows:
    """The datasets that a notebook asks for, filtered as the API does by equality, lists, nulls and bounds."""

    def __init__(self, **datasets: list[dict[str, Any]]) -> None:
        stated = pd.read_csv(ROOT / "models" / "seeds" / "published_finding.csv")
        stated = stated.assign(application=None, congestion_control=None, start_order=None)
        self.datasets = {"published_comparison": stated} | {name: pd.DataFrame(rows) for name, rows in datasets.items()}

    def rows(self, dataset: str, order: Any = None, select: Any = None, **filters: Any) -> pd.DataFrame:
        frame = self.datasets[dataset]
        for name, wanted in filters.items():
            column, _, operator = name.partition("__")
            if operator == "null":
                frame = frame[frame[column].isna() == wanted]
            elif operator == "gt":
                frame = frame[frame[column] > wanted]
            else:
                frame = frame[frame[column].isin(wanted if isinstance(wanted, list) else [wanted])]
        return frame.copy()


def drawn_by(notebook: str, figure: str, planted: PlantedRows, before: tuple[str, ...] = ()) -> dict[str, Figure]:
    """Run the first cell of a notebook, those with a text of ``before``, and the one with the text of a figure.

    Return the figures by name, over the planted rows instead of a service's. As where a notebook shows them, their
    series are checked; and that a series looks alike in all of them.
    """
    cells = json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    shown: dict[str, Figure] = {}
    names: dict[str, Any] = {"display": lambda table: None}
    sys.path.insert(0, str(ROOT / "notebooks"))
    try:
        matplotlib.use("Agg")
        exec(codes[0], names)
        names |= {"api": planted, "show": lambda drawn, name: (check_series(drawn), shown.update({name: drawn}))}
        for text in (*before, figure):
            (code,) = (code for code in codes if text in code)
            # The figure's own cell may import what draws, and no other `show`.
            exec(code, names)
    finally:
        sys.path.remove(str(ROOT / "notebooks"))
        plt.close("all")
    check_family(shown.values())
    return shown


def points(figure: Figure) -> set[float]:
    """Return the heights of everything that a figure draws as points or lines, but lines across the whole axes."""
    return {
        round(float(y), 6)
        for axes in figure.axes
        for line in axes.lines
        if line.get_transform() == axes.transData
        for y in line.get_ydata()
        if y == y
    }
