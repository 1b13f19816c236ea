"""Figures over runs: boxes with every run, and heat maps of configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from sojourn_transforms.figures.series import STATED, Look, looks

DELAY_CLASSES = {"acceptable": "up to 150 ms", "problematic": "up to 400 ms", "bad": "above 400 ms"}
DELAY_COLOURS = {"acceptable": "#9ccb86", "problematic": "#f3c766", "bad": "#e0695c"}
"""Colours of the classes of ITU-T G.114, of the queuing delay alone."""
LEAST_COLUMN = 0.3
"""Least width of a column of runs, of that of the widest."""


def runs_and_boxes(axes: Axes, groups: Mapping[str, Sequence[float]]) -> None:
    """Draw every run of each group as a point, over a box where there are two or more; under each its name and n.

    A box alone hides that runs may fall into two modes. Points of a group are spread in the order of their values, so
    the same runs give the same figure.
    """
    labels = [f"{name}\nn = {len(values)}" for name, values in groups.items()]
    several = [(place, values) for place, values in enumerate(groups.values(), 1) if len(values) > 1]
    if several:
        axes.boxplot(
            [list(values) for _, values in several],
            positions=[place for place, _ in several],
            widths=0.55,
            patch_artist=True,
            boxprops={"facecolor": "#cfe3f1", "edgecolor": "0.3"},
            showfliers=False,
        )
    for place, values in enumerate(groups.values(), 1):
        ordered = sorted(values)
        # The golden ratio's multiples fill a width evenly, whatever the number of runs.
        across = [place + 0.36 * ((0.5 + number * 0.618034) % 1 - 0.5) for number in range(len(ordered))]
        axes.plot(across, ordered, marker="o", markersize=2.2, color="C1", alpha=0.7, linestyle="none")
    axes.set_xticks(range(1, len(groups) + 1), labels)
    axes.set_xlim(0.4, len(groups) + 0.6)
    axes.grid(visible=False, axis="x")


def cell_without_value(axes: Axes, place: tuple[float, float], words: str) -> None:
    """Draw a cell of a heat map, of width and height 1 about ``place``, that has no number but a reason."""
    corner = (place[0] - 0.5, place[1] - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, facecolor="0.95", edgecolor="0.75", hatch="///", linewidth=0))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.text(*place, words, ha="center", va="center", fontsize=7, color="0.3", bbox=box)


def delay_heat_map(
    axes: Axes, rows: Iterable[Mapping[str, Any]], workloads: Sequence[str], *, sizes: Sequence[int] | None = None,
    stated_ms: Mapping[int, float] | None = None,
) -> None:  # fmt: skip
    """Draw mean queuing delays by buffer and workload, as in Figure 4 of IMC'14.

    Parameters
    ----------
    axes
        Where to draw.
    rows
        Rows of ``configuration_queuing_delay``, of one direction: queue_limit_packets (x, ascending), workload (y, the
        first of ``workloads`` at the bottom), mean_ms (the number in the cell) and queuing_delay_class (its colour: of
        the queuing delay alone, up to 150 ms, up to 400 ms, above). A cell without a row says that it has no runs, and
        one without a delay that no packet was queued.
    sizes
        The buffers of the axis; without it, those of the rows.
    stated_ms
        The maximum delay that the study states for each buffer, written below it.

    Raises
    ------
    ValueError
        Two rows are of one cell.
    """
    cells: dict[tuple[int, str], Mapping[str, Any]] = {}
    for row in rows:
        if row["queue_limit_packets"] is None:
            continue
        key = (int(row["queue_limit_packets"]), str(row["workload"]))
        if key in cells:
            raise ValueError(f"two configurations have {key[0]} packets and {key[1]!r}; filter by role, queue and rate")
        cells[key] = row
    places = sorted({size for size, _ in cells}) if sizes is None else list(sizes)
    for left, size in enumerate(places):
        for low, workload in enumerate(workloads):
            if (size, workload) not in cells:
                cell_without_value(axes, (left, low), "no runs")
                continue
            row = cells[size, workload]
            if row["mean_ms"] is None:
                cell_without_value(axes, (left, low), "no packet")
                continue
            colour = DELAY_COLOURS[row["queuing_delay_class"]]
            axes.add_patch(Rectangle((left - 0.5, low - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
            axes.text(left, low, f"{row['mean_ms']:.0f}", ha="center", va="center")
    stated = stated_ms or {}
    labels = [str(size) + (f"\n{stated[size]:g}" if size in stated else "") for size in places]
    axes.set_xticks(range(len(places)), labels)
    axes.set_yticks(range(len(workloads)), list(workloads))
    axes.set_xlim(-0.5, max(len(places), 1) - 0.5)
    axes.set_ylim(-0.5, max(len(workloads), 1) - 0.5)
    axes.set_xlabel("buffer (packets)" + (", below it the maximum delay as stated (ms)" if stated else ""))
    axes.grid(visible=False)
    axes.set_title(f"mean queuing delay (ms), n = {sum(int(row['runs']) for row in cells.values())} runs")


def delay_legend(figure: Figure) -> None:
    """Draw the classes of the queuing delay with their colours, below the figure."""
    patches = [Patch(facecolor=colour, edgecolor="0.3") for colour in DELAY_COLOURS.values()]
    labels = [f"{name} ({DELAY_CLASSES[name]})" for name in DELAY_COLOURS]
    figure.legend(patches, labels, loc="outside lower center", ncols=len(labels))


def utilisation_boxes(
    axes: Axes, rows: Iterable[Mapping[str, Any]], *, sizes: Sequence[int] | None = None, stated: float | None = None
) -> None:
    """Draw utilisation by buffer, as in Figure 5 of IMC'14, from rows of ``run_utilisation_profile``.

    A box is over the seconds of the runs with one queue_limit_packets; seconds are not repetitions, so the label has
    the number of runs too. Excluded runs and seconds without utilisation are left out. ``sizes`` are the buffers of the
    axis, without it those of the rows; ``stated`` is a mean that a study states, in percent. The axis of y begins at 0,
    or, where all is above one half, below the least.
    """
    seconds: dict[int, list[float]] = {}
    runs: dict[int, set[str]] = {}
    for row in rows:
        size, value = row["queue_limit_packets"], row["utilisation_ratio"]
        if size is None or value is None or row["exclusion_reason"] is not None:
            continue
        seconds.setdefault(int(size), []).append(100 * float(value))
        runs.setdefault(int(size), set()).add(str(row["run_id"]))
    places = sorted(seconds) if sizes is None else list(sizes)
    if drawn := [place for place, size in enumerate(places) if size in seconds]:
        axes.boxplot([seconds[places[place]] for place in drawn], positions=drawn, widths=0.55)
    labels = [
        f"{size}\nn = {len(runs[size])}\n{len(seconds[size])} s" if size in seconds else f"{size}\nno runs"
        for size in places
    ]
    if stated is not None:
        axes.axhline(stated, label="stated: mean of the workload (Table 1)", **STATED)
    axes.set_xticks(range(len(places)), labels)
    axes.set_xlim(-0.5, max(len(places), 1) - 0.5)
    least = min((value for values in seconds.values() for value in values), default=0.0)
    least = least if stated is None else min(least, stated)
    axes.set_ylim(bottom=0 if least < 50 else 5 * (least // 5) - 5)
    axes.set_xlabel("buffer (packets)")
    axes.set_ylabel("utilisation of each second (%)")


def runs_by_rate(
    axes: Axes, rows: Iterable[Mapping[str, Any]], label: str, series: Mapping[str, Look] | None = None,
    rates: Sequence[int] | None = None,
) -> dict[int, tuple[float, float]]:  # fmt: skip
    """Draw a value of each run in a column for each rate of the link, as Figures 3 to 7 of PAM'21.

    Parameters
    ----------
    axes
        Where to draw.
    rows
        Rows of ``run_metric``, of one metric, link and queue: setting, bandwidth_bps, run_number (from 1, in order of
        start), metric_value, exclusion_reason and, if known, is_restart (``run_application_start``). Runs without a
        value are left out.
    label
        What the value is.
    series
        Looks of the settings; without them, of those that the rows have.
    rates
        Rates of the columns in bit/s; without them, those that the rows have.

    Returns
    -------
    dict
        The left and right end of each rate's column on the x axis. Its width grows with the number of its runs, from
        ``LEAST_COLUMN`` of the widest on.

    Within a column the settings that have runs there share its width, in the order of their names. The runs of a
    setting are from left to right in order of time; an excluded one leaves its place empty. A ring is a run before
    which the application had started again. The bar is the median.

    Raises
    ------
    ValueError
        Two runs of one setting and rate have one number.
    """
    runs: dict[str, dict[int, dict[int, Mapping[str, Any]]]] = {}
    for row in rows:
        if row["bandwidth_bps"] is None or row["metric_value"] is None:
            continue
        column = runs.setdefault(str(row["setting"]), {}).setdefault(int(row["bandwidth_bps"]), {})
        if int(row["run_number"]) in column:
            raise ValueError(f"two configurations are {row['setting']!r}; filter by rate, queue or direction")
        column[int(row["run_number"])] = row
    places = sorted({rate for of_setting in runs.values() for rate in of_setting}) if rates is None else list(rates)
    chosen = looks(sorted(runs)) if series is None else series
    restarted: list[tuple[float, float]] = []
    settings_at = {
        rate: sorted(setting for setting, of_setting in runs.items() if rate in of_setting) for rate in places
    }
    counts = [sum(len(of_setting.get(rate, ())) for of_setting in runs.values()) for rate in places]
    shares = [max(count, LEAST_COLUMN * max(counts), 1) for count in counts]
    edges = [len(places) * sum(shares[:place]) / sum(shares) - 0.5 for place in range(len(places) + 1)]
    columns = dict(zip(places, pairwise(edges), strict=True))
    for setting, of_setting in sorted(runs.items()):
        look = chosen[setting]
        across, values = [], []
        for rate, column in of_setting.items():
            whole = columns[rate][1] - columns[rate][0]
            width = 0.84 * whole / len(settings_at[rate])
            left = columns[rate][0] + 0.08 * whole + settings_at[rate].index(setting) * width
            here = []
            for place, run in enumerate(sorted(column)):
                if column[run]["exclusion_reason"] is not None:
                    continue
                across.append(left + 0.9 * width * (place + 0.5) / len(column))
                values.append(float(column[run]["metric_value"]))
                here.append(values[-1])
                if column[run].get("is_restart"):
                    restarted.append((across[-1], values[-1]))
            if len(here) > 1:
                axes.hlines(median(here), left, left + 0.9 * width, colors=look.colour, linewidth=1.6)
        if across:
            axes.plot(across, values, linestyle="none", markersize=3.5, alpha=0.8, label=setting, **look.line)
    if restarted:
        axes.plot(
            *zip(*restarted, strict=True), linestyle="none", marker="o", markersize=8, fillstyle="none", color="0.3",
            label="started again",
        )  # fmt: skip
    for edge in edges[1:-1]:
        axes.axvline(edge, color="0.8", linewidth=0.8)
    axes.set_xticks([sum(ends) / 2 for ends in columns.values()], [f"{rate / 1e6:g}" for rate in places])
    axes.set_xlim(-0.5, max(len(places), 1) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("rate of the link (Mbit/s), runs in order of time")
    axes.set_ylabel(label)
    return columns
