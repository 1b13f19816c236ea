"""Figures of delays and rates: distribution functions, values over time, and ranges by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

Reals = npt.NDArray[np.float64]

#: Points of one line at most. A page has some 500 pixels for it.
POINTS = 600


@dataclass(frozen=True)
class Curve:
    """One line: ``x`` ascending, ``y`` of the same length; ``lower`` and ``upper`` are a band, of the same length.

    ``colour`` is one of matplotlib's; without it, lines take those of the style in turn.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    lower: Sequence[float | None] | None = None
    upper: Sequence[float | None] | None = None
    dashed: bool = False
    colour: str | None = None


@dataclass(frozen=True)
class Ranges:
    """One quantity of several names: the middle, with the ends of a range around it."""

    label: str
    names: Sequence[str]
    lower: Sequence[float]
    middle: Sequence[float]
    upper: Sequence[float]


def _numbers(values: Sequence[float | None]) -> Reals:
    return np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)


def thinned(values: Reals, points: int = POINTS) -> npt.NDArray[np.int64]:
    """Return indexes of at most about ``points`` values that keep the smallest and largest of each stretch.

    A spike of one interval is what a delay over time is looked at for: every n-th value would miss it.
    """
    if values.size <= points:
        return np.arange(values.size)
    kept = {0, values.size - 1}
    missing = np.isnan(values)
    # The first of a gap keeps it a gap.
    kept |= {int(place) for place in np.flatnonzero(missing[1:] & ~missing[:-1]) + 1}
    for stretch in np.array_split(np.arange(values.size), points // 2):
        finite = stretch[~np.isnan(values[stretch])]
        if finite.size:
            kept |= {int(finite[np.argmin(values[finite])]), int(finite[np.argmax(values[finite])])}
    return np.asarray(sorted(kept), dtype=np.int64)


def delay_cdf(axes: Axes, curves: Sequence[Curve], label: str = "ms", mark: str = "") -> None:
    """Draw distribution functions: x is a delay in ms, y the share of values that are not above it, from 0 to 1.

    x is logarithmic if the middle nine tenths of the values span more than a factor of 30.
    """
    ends: list[float] = []
    for number, curve in enumerate(curves):
        x, y = _numbers(curve.x), _numbers(curve.y)
        axes.step(
            x,
            y,
            where="post",
            label=curve.label,
            linestyle="--" if curve.dashed else "-",
            color=curve.colour or f"C{number}",
        )
        ends += [float(x[np.searchsorted(y, share)]) for share in (0.05, 0.95) if y.size and y[-1] >= share]
    if ends and min(ends) > 0 and max(ends) > 30 * min(ends):
        axes.set_xscale("log")
        # Below, there is next to nothing, over decades.
        axes.set_xlim(left=min(ends) / 3)
        axes.xaxis.set_major_formatter(lambda value, _place: f"{value:g}")
        # Minor labels of a short span would run into each other.
        axes.xaxis.set_minor_formatter(lambda _value, _place: "")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(label)
    axes.set_ylabel(mark or "cumulative share")
    _legend(axes, [curve.label for curve in curves])


def over_time(axes: Axes, curves: Sequence[Curve], y_label: str, x_label: str = "time (s)") -> None:
    """Draw values over time, each with its band if it has one; a missing value leaves a gap."""
    for number, curve in enumerate(curves):
        x, y = _numbers(curve.x), _numbers(curve.y)
        places = thinned(y)
        # A value between two gaps has no line.
        sole = "o" if np.count_nonzero(~np.isnan(y)) <= 40 else None
        (line,) = axes.plot(
            x[places],
            y[places],
            label=curve.label,
            linewidth=1.1,
            marker=sole,
            markersize=2.5,
            linestyle="--" if curve.dashed else "-",
            color=curve.colour or f"C{number}",
        )
        if curve.lower is not None and curve.upper is not None:
            lower, upper = _numbers(curve.lower), _numbers(curve.upper)
            axes.fill_between(x[places], lower[places], upper[places], alpha=0.2, linewidth=0, color=line.get_color())
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    _legend(axes, [curve.label for curve in curves])


def ranges(axes: Axes, quantities: Sequence[Ranges], x_label: str) -> None:
    """Draw a range with its middle for each name, the first at the top; several quantities are side by side."""
    height = 0.7 / max(len(quantities), 1)
    names = list(dict.fromkeys(name for quantity in quantities for name in quantity.names))
    for number, quantity in enumerate(quantities):
        at = np.asarray([names.index(name) for name in quantity.names], dtype=np.float64)
        at += (number - (len(quantities) - 1) / 2) * height
        colour = f"C{number}"
        axes.hlines(at, quantity.lower, quantity.upper, colors=colour, linewidth=2.2, alpha=0.55)
        axes.plot(quantity.middle, at, linestyle="none", marker="o", markersize=4, color=colour, label=quantity.label)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(x_label)
    _legend(axes, [quantity.label for quantity in quantities])


#: Letters in a line of a legend across the figure.
_LEGEND_LETTERS = 78


def legend_columns(labels: Sequence[str]) -> int:
    """Return in how many columns a legend fits across the figure."""
    widest = max((len(label) for label in labels), default=0) + 5
    return max(1, min(len(labels), 3, _LEGEND_LETTERS // widest))


def _legend(axes: Axes, labels: Sequence[str]) -> None:
    if len(labels) > 1:
        # Above the axes: inside, it would hide what it explains.
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=legend_columns(labels),
            borderaxespad=0.2,
            fontsize=7.5,
            columnspacing=1.2,
            handlelength=1.6,
        )
    elif labels:
        axes.set_title(labels[0], fontsize=7.5)
