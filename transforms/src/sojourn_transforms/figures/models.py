"""Figures of fitted models: estimates with intervals, residuals, and quantiles against a normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from sojourn_transforms.figures.curves import legend_columns


@dataclass(frozen=True)
class Estimates:
    """Estimates of one label, one for each place of the axis, with the ends of their intervals."""

    label: str
    middle: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]


def estimates_with_intervals(axes: Axes, names: Sequence[str], series: Sequence[Estimates], y_label: str) -> None:
    """Draw estimates over named places of x, one colour and a thin line for each series.

    Lines that are not parallel show an interaction. Series are beside each other, so that no interval hides another.
    """
    for number, one in enumerate(series):
        shift = 0.09 * (number - (len(series) - 1) / 2)
        at = [place + shift for place in range(len(names))]
        colour = f"C{number}"
        axes.plot(at, one.middle, marker="o", markersize=4, linewidth=0.8, alpha=0.85, color=colour, label=one.label)
        axes.vlines(at, one.lower, one.upper, colors=colour, linewidth=2.2, alpha=0.6)
    axes.set_xticks(range(len(names)), list(names))
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y_label)
    if len(series) > 1:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=legend_columns([one.label for one in series]),
            borderaxespad=0.2,
            fontsize=7.5,
        )


def residuals_by_fitted(axes: Axes, fitted: Sequence[float], residuals: Sequence[float], unit: str) -> None:
    """Draw each residual over its fitted value, with a line at 0: a funnel means that variances differ."""
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.plot(fitted, residuals, linestyle="none", marker="o", markersize=2.8, alpha=0.7, color="C1")
    axes.set_xlabel(f"fitted ({unit})")
    axes.set_ylabel(f"residual ({unit})")


def normal_quantiles(
    axes: Axes, scores: Sequence[float], ordered: Sequence[float], deviation: float, y_label: str
) -> None:
    """Draw ordered values over expected normal scores, with the line of a normal distribution of that deviation."""
    ends = [min(scores), max(scores)]
    axes.plot(ends, [deviation * end for end in ends], color="0.3", linewidth=0.8)
    axes.plot(scores, ordered, linestyle="none", marker="o", markersize=2.8, alpha=0.7, color="C0")
    axes.set_xlabel("expected of a normal distribution (standard deviations)")
    axes.set_ylabel(y_label)
