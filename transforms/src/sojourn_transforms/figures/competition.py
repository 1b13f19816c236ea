"""Figures of competition and of reaction, after IMC'21 and PAM'21, from rows of any runs.

Where a figure has several panels, ``series`` are the looks of all its series (:func:`looks`). The legend is drawn once,
by :func:`series_legend`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sojourn_transforms.figures.series import Look, looks, plain_name, seconds_of_flow, whole_seconds

SIDES = ("incumbent", "competitor")
WITHOUT_RUNS = "0.92"
"""Colour of a cell that no run is of."""


def share_matrix(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw the incumbent's share of each pair, rows incumbents and columns competitors, as IMC'21's matrix of shares.

    ``rows`` are of ``competition_matrix``, of one link: two rows of one pair raise ValueError. The median over runs
    (ratio, 0 to 1) stands in the cell with its n, which is None of what is stated; a pair without runs is grey and says
    so.
    """
    cells: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        key = (str(row["incumbent"]), str(row["competitor"]))
        if key in cells:
            raise ValueError(f"two links have {key[0]} against {key[1]}; filter by competition_link_id")
        cells[key] = row
    incumbents, competitors = (sorted({key[place] for key in cells}) for place in (0, 1))
    shares = [
        [
            float("nan")
            if (cell := cells.get((incumbent, competitor))) is None or cell["incumbent_share_median_ratio"] is None
            else float(cell["incumbent_share_median_ratio"])
            for competitor in competitors
        ]
        for incumbent in incumbents
    ]
    if cells:
        axes.imshow(shares, vmin=0, vmax=1, cmap="RdBu", alpha=0.75, aspect="auto")
    axes.set_facecolor(WITHOUT_RUNS)
    for line, incumbent in enumerate(incumbents):
        for place, competitor in enumerate(competitors):
            row_of_pair = cells.get((incumbent, competitor))
            value = None if row_of_pair is None else row_of_pair["incumbent_share_median_ratio"]
            label = "no runs" if row_of_pair is None else "excluded" if value is None else f"{value:.2f}"
            if row_of_pair is not None and value is not None and row_of_pair["runs"] is not None:
                label += f"\nn = {row_of_pair['runs']}"
            axes.text(
                place, line, label, ha="center", va="center", fontsize=7.5, color="0.35" if value is None else "k"
            )
    axes.set_xticks(range(len(competitors)), [plain_name(name).replace(" ", "\n") for name in competitors])
    axes.set_yticks(range(len(incumbents)), [plain_name(name) for name in incumbents])
    axes.set_xlabel("competitor")
    axes.set_ylabel("incumbent")
    axes.grid(visible=False)


def pair_name(row: Mapping[str, Any]) -> str:
    """Return who is there in a row with ``incumbent`` and ``competitor``, as a figure writes it."""
    other = row["competitor"]
    return plain_name(row["incumbent"]) + (" alone" if other is None else f" against {plain_name(other)}")


def bitrate_over_capacity(
    axes: Axes, rows: Iterable[Mapping[str, Any]], series: Mapping[str, Look] | None = None
) -> None:
    """Draw the incumbent's rate over the link's, in Mbit/s, with the lines y = x and y = x / 2, as IMC'21 does.

    ``rows`` are of ``run_phase``: each run is a point, and the medians over the runs of one pair are joined. Excluded
    runs and runs without a rate are left out.
    """
    pairs: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        capacity, rate = row["phase_link_rate_bps"], row["incumbent_rate_bps"]
        if capacity is None or rate is None or row["exclusion_reason"] is not None:
            continue
        pairs.setdefault(pair_name(row), {}).setdefault(capacity / 1e6, []).append(rate / 1e6)
    chosen = looks(sorted(pairs)) if series is None else series
    for label, of_pair in sorted(pairs.items()):
        look = chosen[label]
        points = [(capacity, rate) for capacity, rates in sorted(of_pair.items()) for rate in rates]
        if len(points) > len(of_pair):
            axes.plot(*zip(*points, strict=True), linestyle="none", markersize=2.5, alpha=0.5, **look.line)
        middle = [(capacity, median(rates)) for capacity, rates in sorted(of_pair.items())]
        axes.plot(*zip(*middle, strict=True), label=label, **look.line)
    widest = max((capacity for of_pair in pairs.values() for capacity in of_pair), default=1.0)
    axes.plot([0, widest], [0, widest], color="0.5", linewidth=0.8, linestyle="--", label="y = x: all of the link")
    axes.plot([0, widest], [0, widest / 2], color="0.5", linewidth=0.8, linestyle=":", label="y = x / 2: a fair half")
    axes.set_xlabel("rate of the link (Mbit/s)")
    axes.set_ylabel("rate of the incumbent (Mbit/s)")


def _above(axes: Axes) -> float:
    """Return an end of the y axis from 0 that leaves room above the highest line."""
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines] or [np.zeros(1)])
    return 1.08 * (float(np.nanmax(heights, initial=0.0)) or 1.0)


def rates_about_competition(
    axes: Axes, rows: Iterable[Mapping[str, Any]], start_s: int = -30, end_s: int = 150
) -> None:
    """Draw the median over runs of both rates, in Mbit/s, from ``start_s`` to ``end_s`` about the competitor's start.

    ``rows`` are of ``run_phase_second``, of one configuration. The seconds of a flow's first and last packet are
    partial and left out, as are those before and after, excluded runs and runs without a competition. The axis ends
    where the runs do.
    """
    flows: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        second = row["competition_second"]
        if second is None or row["side"] is None or row["exclusion_reason"] is not None:
            continue
        flows.setdefault((str(row["side"]), str(row["run_id"])), {})[int(second)] = row["rate_bps"] / 1e6
    styles = looks(SIDES)
    seen: set[int] = set()
    for side in SIDES:
        rates: dict[int, list[float]] = {}
        for (of_side, _), seconds in flows.items():
            if of_side == side:
                for second in seconds_of_flow(seconds):
                    if start_s <= second < end_s:
                        rates.setdefault(second, []).append(seconds[second])
        if rates:
            times = sorted(rates)
            axes.plot(times, [median(rates[time]) for time in times], color=styles[side].colour, label=side)
            seen |= set(times)
    axes.set_xlim(min(seen | {0}), max(seen | {1}))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, _above(axes))
    axes.axvline(0, color="0.5", linewidth=0.8, linestyle="--")
    axes.set_xlabel("time since the competitor's start (s)")
    axes.set_ylabel("rate (Mbit/s)")


def rates_under_a_programme(
    axes: Axes, rates: Iterable[Mapping[str, Any]], rtt_steps: Iterable[Mapping[str, Any]] = ()
) -> Axes | None:
    """Draw what one flow alone sent while the link's rate or RTT was stepped, as PAM'21's Figure 2.

    ``rates`` are rows of ``rate_profile`` of one profile (``rate_basis`` capture_before: sent), in order of second:
    the median over runs with the link's rate, both in Mbit/s; the first and the last second, within which runs begin
    and end, are left out. ``rtt_steps`` are rows of ``rtt_step_reaction``; they give the round-trip time (ms) a second
    axis, which is returned. Two profiles raise ValueError.
    """
    seconds = sorted(rates, key=lambda row: int(row["second"]))
    if len({row["rate_profile_id"] for row in seconds}) > 1:
        raise ValueError("rates of several profiles; filter by rate_profile_id")
    whole = whole_seconds([int(row["second"]) for row in seconds])
    seconds = [row for row in seconds if int(row["second"]) in whole]
    times = [int(row["second"]) for row in seconds]
    axes.set_xlabel("time (s)")
    axes.set_ylabel("rate (Mbit/s)")
    if not times:
        return None
    of_link = [float("nan") if row["link_rate_bps"] is None else row["link_rate_bps"] / 1e6 for row in seconds]
    sent = [float("nan") if row["rate_median_bps"] is None else row["rate_median_bps"] / 1e6 for row in seconds]
    axes.step(times, of_link, where="post", color="0.4", linestyle="--", label="link")
    axes.plot(times, sent, color="C0", label="sent, median over runs")
    axes.set_ylim(0, _above(axes))
    steps = {(int(row["step_second"]), float(row["from_rtt_ms"]), float(row["to_rtt_ms"])) for row in rtt_steps}
    if not steps:
        return None
    ordered = sorted(steps)
    at = [times[0], *(second for second, _, _ in ordered), times[-1] + 1]
    rtts = [ordered[0][1], *(to for _, _, to in ordered), ordered[-1][2]]
    second_axis = axes.twinx()
    second_axis.step(at, rtts, where="post", color="C1", label="RTT without queuing")
    second_axis.set_ylabel("RTT without queuing (ms)", color="C1")
    second_axis.grid(visible=False)
    # Above the lines of the rates, so that neither hides the other.
    second_axis.set_ylim(0, 1.25 * max(rtts))
    return second_axis


def share_boxes(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw both sides' share of the shaped rate over the seconds of the competition, as IMC'21's box plots.

    ``rows`` are of ``run_phase_second`` with ``incumbent`` and ``competitor``. Boxes are quartiles, whiskers reach from
    5 to 95 % of the seconds. Seconds are not repetitions, so nothing is an interval; the label has the number of runs
    and of seconds. The first and the last second of a competition are partial and left out, as are excluded runs, other
    phases and seconds without a rate of the link.
    """
    shares: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in rows:
        share, side = row["share_of_link_ratio"], row["side"]
        if share is None or side is None or row["run_phase"] != "competing" or row["exclusion_reason"] is not None:
            continue
        of_run = shares.setdefault((pair_name(row), str(side), str(row["run_id"])), {})
        of_run[int(row["competition_second"])] = 100 * float(share)
    boxes: dict[str, dict[str, list[float]]] = {}
    runs: dict[str, set[str]] = {}
    for (pair, side, run), of_run in sorted(shares.items()):
        if whole := whole_seconds(list(of_run)):
            boxes.setdefault(pair, {}).setdefault(side, []).extend(of_run[second] for second in sorted(whole))
            runs.setdefault(pair, set()).add(run)
    styles = looks(SIDES)
    for place, of_sides in enumerate(boxes.values()):
        for side in SIDES:
            values = of_sides.get(side)
            if not values:
                continue
            colour = styles[side].colour
            axes.boxplot(
                [values], positions=[place - 0.18 if side == SIDES[0] else place + 0.18], widths=0.28, whis=(5, 95),
                showfliers=False, orientation="horizontal", patch_artist=True, manage_ticks=False,
                boxprops={"facecolor": colour, "edgecolor": colour}, whiskerprops={"color": colour},
                capprops={"color": colour}, label=side,
            )  # fmt: skip
    labels = [
        f"{pair}\nn = {len(runs[pair])}, {max(len(values) for values in boxes[pair].values())} s" for pair in boxes
    ]
    axes.set_yticks(range(len(boxes)), labels)
    axes.set_ylim(len(boxes) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("share of the shaped rate in a second (%)")


def times_to_recovery(
    axes: Axes, rows: Iterable[Mapping[str, Any]], series: Mapping[str, Look] | None = None
) -> tuple[int, int]:
    """Draw how long each run took to recover from a disruption, over the rate that the link fell to, as IMC'21 does.

    ``rows`` are of ``step_recovery``, of one definition: another one raises ValueError. Each run is a point, and the
    medians over the runs of one application are joined. Returned is how many runs have a time, and how many have none.
    """
    times_s: dict[str, dict[float, list[float]]] = {}
    timed = without = 0
    definitions: set[str] = set()
    for row in rows:
        if row["exclusion_reason"] is not None:
            continue
        definitions.add(str(row["recovery_definition"]))
        if row["recovery_ms"] is None:
            without += 1
            continue
        timed += 1
        name = plain_name(row["application"] or row["congestion_control"])
        times_s.setdefault(name, {}).setdefault(row["disruption_bps"] / 1e6, []).append(row["recovery_ms"] / 1e3)
    if len(definitions) > 1:
        raise ValueError(f"times of {len(definitions)} definitions; filter by recovery_definition")
    chosen = looks(sorted(times_s)) if series is None else series
    for name, of_name in sorted(times_s.items()):
        points = [(rate, time) for rate, times in sorted(of_name.items()) for time in times]
        middle = [(rate, median(times)) for rate, times in sorted(of_name.items())]
        axes.plot(*zip(*middle, strict=True), label=name, **chosen[name].line)
        if len(points) > len(middle):
            axes.plot(*zip(*points, strict=True), linestyle="none", markersize=2.5, alpha=0.5, **chosen[name].line)
    highest = max((time for of_name in times_s.values() for times in of_name.values() for time in times), default=1.0)
    axes.set_ylim(-0.04 * highest, 1.1 * highest)
    axes.set_xlim(0, 1.15 * max((rate for of_name in times_s.values() for rate in of_name), default=1.0))
    axes.set_xlabel("rate of the link in the disruption (Mbit/s)")
    axes.set_ylabel("time to recovery (s)")
    return timed, without
