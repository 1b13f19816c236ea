"""One look for every figure, and figures that need neither a display nor pyplot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("sojourn.mplstyle")

#: A figure that a phone shows as wide as its screen still has letters of 9 px.
PAGE_SIZE_INCHES = (4.8, 2.7)


@contextmanager
def new_figure(height_inches: float = PAGE_SIZE_INCHES[1]) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure for a page with its axes, in the style, which ends with the block.

    Texts are shown as they are: a dollar sign in the name of a file is no formula.
    """
    # Text stays text: it is small, can be searched, and takes the colour of the page.
    own: Any = {"text.parse_math": False, "svg.fonttype": "none"}
    with mpl.rc_context(own, fname=STYLE), mpl.rc_context(own):
        figure = Figure(figsize=(PAGE_SIZE_INCHES[0], height_inches), layout="constrained")
        yield figure, figure.add_subplot()
