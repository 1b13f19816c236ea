"""Figures as functions: values in, marks on matplotlib's axes out.

Notebooks and the pages of ``sojourn look`` share them.

Nothing here reads a file, a table or the API, and nothing needs a display.
"""

from sojourn_transforms.figures.competition import (
    bitrate_over_capacity,
    rates_about_competition,
    rates_under_a_programme,
    share_matrix,
)
from sojourn_transforms.figures.curves import Curve, Ranges, delay_cdf, over_time, ranges
from sojourn_transforms.figures.runs import DELAY_COLOURS, delay_heat_map, runs_and_boxes, utilisation_boxes
from sojourn_transforms.figures.style import STYLE, new_figure

__all__ = [
    "DELAY_COLOURS",
    "STYLE",
    "Curve",
    "Ranges",
    "bitrate_over_capacity",
    "delay_cdf",
    "delay_heat_map",
    "new_figure",
    "over_time",
    "ranges",
    "rates_about_competition",
    "rates_under_a_programme",
    "runs_and_boxes",
    "share_matrix",
    "utilisation_boxes",
]
