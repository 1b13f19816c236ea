"""Figures as functions: values in, marks on matplotlib's axes out.

Notebooks and the pages of ``sojourn look`` share them.

Nothing here reads a file, a table or the API, and nothing needs a display.
"""

from sojourn_transforms.figures.curves import Curve, Ranges, delay_cdf, over_time, ranges
from sojourn_transforms.figures.runs import DELAY_COLOURS, delay_heat_map, runs_and_boxes, utilisation_boxes
from sojourn_transforms.figures.style import STYLE, new_figure

__all__ = [
    "DELAY_COLOURS",
    "STYLE",
    "Curve",
    "Ranges",
    "delay_cdf",
    "delay_heat_map",
    "new_figure",
    "over_time",
    "ranges",
    "runs_and_boxes",
    "utilisation_boxes",
]
