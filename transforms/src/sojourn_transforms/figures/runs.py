"""Figures over runs: boxes with every run, and heat maps of configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

DELAY_COLOURS = {"acceptable": "#9ccb86", "problematic": "#f3c766", "bad": "#e0695c"}
"""Colours of the classes of ITU-T G.114, of the queuing delay alone."""


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
        across = [place + 0.36 * ((number * 0.618034) % 1 - 0.5) for number in range(len(ordered))]
        axes.plot(across, ordered, marker="o", markersize=2.2, color="C1", alpha=0.7, linestyle="none")
    axes.set_xticks(range(1, len(groups) + 1), labels)
    axes.set_xlim(0.4, len(groups) + 0.6)
    axes.grid(visible=False, axis="x")


def delay_heat_map(axes: Axes, rows: Iterable[Mapping[str, Any]], workloads: Sequence[str]) -> None:
    """Draw mean queuing delays by buffer and workload, as in Figure 4 of IMC'14.

    ``rows`` are of ``configuration_queuing_delay``, of one direction: queue_limit_packets (x, ascending), workload (y,
    the first of ``workloads`` at the bottom), mean_ms (the number in the cell) and queuing_delay_class (its colour: of
    the queuing delay alone, up to 150 ms, up to 400 ms, above). n is in the title. Two rows of one cell are refused.
    """
    cells: dict[tuple[int, str], Mapping[str, Any]] = {}
    for row in rows:
        if row["mean_ms"] is None or row["queue_limit_packets"] is None:
            continue
        key = (int(row["queue_limit_packets"]), str(row["workload"]))
        if key in cells:
            raise ValueError(f"two configurations have {key[0]} packets and {key[1]!r}; filter by role, queue and rate")
        cells[key] = row
    sizes = sorted({size for size, _ in cells})
    for (size, workload), row in cells.items():
        place = (sizes.index(size) - 0.5, workloads.index(workload) - 0.5)
        axes.add_patch(Rectangle(place, 1, 1, facecolor=DELAY_COLOURS[row["queuing_delay_class"]], edgecolor="white"))
        axes.text(place[0] + 0.5, place[1] + 0.5, f"{row['mean_ms']:.0f}", ha="center", va="center")
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_yticks(range(len(workloads)), list(workloads))
    axes.set_xlim(-0.5, max(len(sizes), 1) - 0.5)
    axes.set_ylim(-0.5, max(len(workloads), 1) - 0.5)
    axes.set_xlabel("buffer (packets)")
    axes.grid(visible=False)
    axes.set_title(f"mean queuing delay (ms), n = {sum(int(row['runs']) for row in cells.values())} runs")


def utilisation_boxes(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw utilisation by buffer, as in Figure 5 of IMC'14, from rows of ``run_utilisation_profile``.

    A box is over the seconds of the runs with one queue_limit_packets; seconds are not repetitions, so the label has
    the number of runs too. Excluded runs and seconds without utilisation are left out.
    """
    seconds: dict[int, list[float]] = {}
    runs: dict[int, set[str]] = {}
    for row in rows:
        size, value = row["queue_limit_packets"], row["utilisation_ratio"]
        if size is None or value is None or row["exclusion_reason"] is not None:
            continue
        seconds.setdefault(int(size), []).append(100 * float(value))
        runs.setdefault(int(size), set()).add(str(row["run_id"]))
    sizes = sorted(seconds)
    if sizes:
        axes.boxplot([seconds[size] for size in sizes], positions=range(len(sizes)), widths=0.55)
    labels = [f"{size}\n{len(runs[size])} runs\n{len(seconds[size])} s" for size in sizes]
    axes.set_xticks(range(len(sizes)), labels)
    axes.set_xlabel("buffer (packets)")
    axes.set_ylabel("utilisation of each second (%)")


def runs_in_order_of_time(axes: Axes, rows: Iterable[Mapping[str, Any]], label: str) -> None:
    """Draw a value of each run over the run's number in order of its start, one line of points for each setting.

    ``rows`` are of ``run_metric``, of one metric: setting, run_number (from 1, in order of start), metric_value and
    exclusion_reason. Two runs of one setting with one number raise ValueError. Excluded runs keep their place empty.
    Rows with a true is_restart (``run_application_start``) have a ring: the application has started again since the run
    before.
    """
    settings: dict[str, dict[int, float]] = {}
    restarted: list[tuple[int, float]] = []
    for row in rows:
        if row["exclusion_reason"] is not None or row["metric_value"] is None:
            continue
        of_setting = settings.setdefault(str(row["setting"]), {})
        if int(row["run_number"]) in of_setting:
            raise ValueError(f"two configurations are {row['setting']!r}; filter by rate, queue or direction")
        of_setting[int(row["run_number"])] = float(row["metric_value"])
        if row.get("is_restart"):
            restarted.append((int(row["run_number"]), float(row["metric_value"])))
    for number, (name, values) in enumerate(sorted(settings.items())):
        axes.plot(
            sorted(values), [values[run] for run in sorted(values)], marker="osD^vP"[number % 6], markersize=4,
            linewidth=0.6, color=f"C{number % 10}", label=f"{name}, n = {len(values)}",
        )  # fmt: skip
    if restarted:
        axes.plot(
            *zip(*restarted, strict=True), linestyle="none", marker="o", markersize=10, fillstyle="none", color="0.3",
            label=f"started again, n = {len(restarted)}",
        )  # fmt: skip
    last = max((run for values in settings.values() for run in values), default=1)
    axes.set_xlim(0.5, last + 0.5)
    axes.set_xlabel("run, in order of time")
    axes.set_ylabel(label)
