"""What every notebook starts with: the style, and where a figure goes.

A notebook shows its figures inline. When SOJOURN_FIGURES names a folder, as under ``make figures``, each is also
written there. The same figure gives the same bytes: no date and no version is written into the file. Functions that
draw are those of ``sojourn_transforms.figures``, which pages of ``sojourn look`` use too.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from sojourn_transforms.figures import DELAY_COLOURS, STYLE, delay_heat_map, runs_and_boxes, utilisation_boxes

__all__ = ["DELAY_COLOURS", "delay_heat_map", "runs_and_boxes", "show", "utilisation_boxes"]

plt.style.use(STYLE)


def show(figure: Figure, name: str) -> None:
    """Show a figure in the notebook and, when SOJOURN_FIGURES is set, write it there as ``name.png``."""
    folder = os.environ.get("SOJOURN_FIGURES")
    if folder:
        figure.savefig(Path(folder) / f"{name}.png", metadata={"Software": None})
    plt.show()
    plt.close(figure)
