"""Distribution functions from the log-linear bins of histograms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn_transforms.figures import Curve


def curve_of_bins(
    label: str, rows: Iterable[Mapping[str, Any]], count: str, *, dashed: bool = False, colour: str | None = None
) -> Curve:
    """Return a distribution function: at each bin's upper edge in ms, the share of values below it.

    ``rows`` have ``bin_lower_us``, ``bin_upper_us`` and the column ``count``; bins of several cells are added up. The
    edge is within 1.6 % of each value of its bin.
    """
    bins: dict[tuple[int, int], int] = {}
    for row in rows:
        edges = (int(row["bin_lower_us"]), int(row["bin_upper_us"]))
        bins[edges] = bins.get(edges, 0) + int(row[count])
    total = sum(bins.values())
    x, y, below = [], [], 0
    for number, ((lower, upper), n) in enumerate(sorted(bins.items())):
        if number == 0:
            x.append(lower / 1000)
            y.append(0.0)
        below += n
        x.append(upper / 1000)
        y.append(below / total)
    return Curve(f"{label} (n = {total:,})", x, y, dashed=dashed, colour=colour)


def curve_of_values(label: str, values: Iterable[float], *, dashed: bool = False, colour: str | None = None) -> Curve:
    """Return the distribution function of single values: at each value, the share that is not above it."""
    ordered = sorted(values)
    n = len(ordered)
    # A line of a page has some 500 pixels: ranks in between would not show.
    ranks = sorted({round(1 + place * (n - 1) / 499) for place in range(500)}) if n > 500 else range(1, n + 1)
    x, y = [ordered[rank - 1] for rank in ranks], [rank / n for rank in ranks]
    return Curve(f"{label} (n = {n:,})", x, y, dashed=dashed, colour=colour)


def data_of(curves: Iterable[Curve], x: str, y: str) -> list[dict[str, Any]]:
    """Return the points of curves as rows, for machines."""
    return [
        {"series": curve.label, x: at, y: value} for curve in curves for at, value in zip(curve.x, curve.y, strict=True)
    ]
