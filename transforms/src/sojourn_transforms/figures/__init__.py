"""Figures as functions: values in, marks on matplotlib's axes out.

Notebooks and the pages of ``sojourn look`` and ``sojourn report`` share them.

Nothing here reads a file, a table or the API, and nothing needs a display.
"""

from sojourn_transforms.figures.competition import (
    bitrate_over_capacity,
    pair_name,
    rates_about_competition,
    rates_under_a_programme,
    share_boxes,
    share_matrix,
    times_to_recovery,
)
from sojourn_transforms.figures.curves import Curve, Ranges, delay_cdf, over_time, ranges
from sojourn_transforms.figures.models import (
    Estimates,
    estimates_with_intervals,
    normal_quantiles,
    residuals_by_fitted,
)
from sojourn_transforms.figures.runs import (
    DELAY_COLOURS,
    cell_without_value,
    delay_heat_map,
    delay_legend,
    runs_and_boxes,
    runs_by_rate,
    utilisation_boxes,
)
from sojourn_transforms.figures.series import (
    STATED,
    Look,
    check_family,
    check_series,
    looks,
    plain_name,
    seconds_of_flow,
    series_legend,
    whole_seconds,
)
from sojourn_transforms.figures.style import STYLE, new_figure

__all__ = [
    "DELAY_COLOURS",
    "STATED",
    "STYLE",
    "Curve",
    "Estimates",
    "Look",
    "Ranges",
    "bitrate_over_capacity",
    "cell_without_value",
    "check_family",
    "check_series",
    "delay_cdf",
    "delay_heat_map",
    "delay_legend",
    "estimates_with_intervals",
    "looks",
    "new_figure",
    "normal_quantiles",
    "over_time",
    "pair_name",
    "plain_name",
    "ranges",
    "rates_about_competition",
    "rates_under_a_programme",
    "residuals_by_fitted",
    "runs_and_boxes",
    "runs_by_rate",
    "seconds_of_flow",
    "series_legend",
    "share_boxes",
    "share_matrix",
    "times_to_recovery",
    "utilisation_boxes",
    "whole_seconds",
]
