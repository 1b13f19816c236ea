"""What every notebook starts with: the style, and where a figure goes.

A notebook shows its figures inline. When SOJOURN_FIGURES names a folder, as under ``make figures``, each is also
written there. The same figure gives the same bytes: no date and no version is written into the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("sojourn.mplstyle")

plt.style.use(STYLE)


def runs_and_boxes(axes: Axes, groups: Mapping[str, Sequence[float]]) -> None:
    """Draw every run of each group as a point, over a box where there are two or more; under each its name and n.

    A box alone hides that runs may fall into two modes. Points of a group are spread in the order of their values, so
    the same runs give the same figure.
    """
    labels = [f"{name}\nn = {len(values)}" for name, values in groups.items()]
    several = [(place, values) for place, values in enumerate(groups.values(), 1) if len(values) > 1]
    if several:
        axes.boxplot(
            [list(values) for _, values in several], positions=[place for place, _ in several], widths=0.55,
            patch_artist=True, boxprops={"facecolor": "#cfe3f1", "edgecolor": "0.3"}, showfliers=False,
        )  # fmt: skip
    for place, values in enumerate(groups.values(), 1):
        ordered = sorted(values)
        # The golden ratio's multiples fill a width evenly, whatever the number of runs.
        across = [place + 0.36 * ((number * 0.618034) % 1 - 0.5) for number in range(len(ordered))]
        axes.plot(across, ordered, marker="o", markersize=2.2, color="C1", alpha=0.7, linestyle="none")
    axes.set_xticks(range(1, len(groups) + 1), labels)
    axes.set_xlim(0.4, len(groups) + 0.6)
    axes.grid(visible=False, axis="x")


def show(figure: Figure, name: str) -> None:
    """Show a figure in the notebook and, when SOJOURN_FIGURES is set, write it there as ``name.png``."""
    folder = os.environ.get("SOJOURN_FIGURES")
    if folder:
        figure.savefig(Path(folder) / f"{name}.png", metadata={"Software": None})
    plt.show()
    plt.close(figure)
