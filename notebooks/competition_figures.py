"""Figures of an application against its competitor, for whatever runs a build holds.

Each function takes rows of one study and returns a figure with a panel for each application, queue or rate that it
finds. Times are in s, rates in Mbit/s, shares and harm ratios.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: The study that the texts of the notebooks are about: its figures have their name alone.
TOLD = "vca-fairness-vm-2026"
QUEUES = ("tail-drop 2 BDP", "tail-drop 10 BDP", "CoDel", "FQ-CoDel")
CONTROLS = {"cubic": "CUBIC", "bbr": "BBRv1", "bbr2": "BBRv2"}
HARMS = ("throughput", "delay", "jitter", "loss")
ORDERS = {"app_first": "application first", "tcp_first": "TCP first", "rival_first": "rival first"}
#: What tells configurations apart beside the rate of the link, the queue and who competes: a figure has one of each.
FACTORS = ("workload", "direction", "rtt_ms", "testbed", "congested_direction", "opposite_link", "participants",
           "call_view", "ecn", "l4s")  # fmt: skip


def named(figure: str, study: str, words: str = "", told: str = TOLD) -> str:
    """Return the name of a figure of a study, with what tells it from the study's other figures of the kind.

    The study that the notebook's text is about (``told``) is not named.
    """
    whole = figure if study == told else f"{figure}-{study}"
    return whole + (f"-{slug}" if (slug := re.sub(r"[^\w.]+", "-", words).strip("-")) else "")


def titled(study: str, *words: str) -> str:
    """Return the title of a figure: the study, and what else tells it."""
    return ", ".join(word for word in (study, *words) if word)


def parts(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of a study by its workload, direction, RTT and further factors, with the values that differ.

    The link of the other direction tells nothing where it follows from the queue, as it does if both are alike.
    """
    varying = [name for name in FACTORS if name in rows and rows[name].nunique(dropna=False) > 1]
    if "opposite_link" in varying:
        others = ["queue_label", "bandwidth_bps", *(name for name in varying if name != "opposite_link")]
        if rows.groupby(others, dropna=False).opposite_link.nunique(dropna=False).max() == 1:
            varying.remove("opposite_link")
    if not varying:
        yield "", rows
        return
    for key, mine in rows.groupby(varying, dropna=False):
        values = [f"{value:g} ms" if name == "rtt_ms" else str(value) for name, value in zip(varying, key, strict=True)]
        yield ", ".join(text for text, value in zip(values, key, strict=True) if not pd.isna(value)), mine


def competing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of applications with a competitor: ``competitor`` is the other application, or TCP's control.

    ``incumbent`` and ``other`` name who started first and who came later, ``incumbent_role`` the role of the first;
    it is missing where TCP started first.
    """
    found = rows[rows.start_order.ne("solo") & rows.application.notna()].copy()
    controls = found.congestion_control.map(lambda name: CONTROLS.get(name, name), na_action="ignore")
    found["competitor"] = found.rival_application.fillna(controls)
    found = found[found.competitor.notna()]
    is_rival = found.start_order.eq("rival_first")
    found["incumbent_role"] = found.start_order.map({"app_first": "app", "rival_first": "rival"})
    found["incumbent"] = found.application.where(~is_rival, found.competitor)
    found["other"] = found.competitor.where(~is_rival, found.application)
    return found


def against(rows: pd.DataFrame) -> pd.Series:
    """Return who competes in each configuration, with the order of start where one competitor has several."""
    controls = rows.congestion_control.map(lambda name: CONTROLS.get(name, name), na_action="ignore")
    names = rows.rival_application.fillna(controls).where(rows.start_order != "solo", "no background")
    orders = rows.start_order.groupby([rows.study_id, names]).transform("nunique")
    return names.where(orders == 1, names + ", " + rows.start_order.map(ORDERS))


def of_incumbents(rows: pd.DataFrame, study: str) -> pd.DataFrame:
    """Return the rows of runs in which an application, not TCP, was there first; say which applications have none."""
    against = competing(rows)
    first = against[against.incumbent_role.notna()]
    if left_out := sorted(set(against.application) - set(first.incumbent)):
        print(f"{study}: not drawn, because it is the incumbent of no run: {', '.join(left_out)}")
    return first


def in_order(queues: Iterable[Any]) -> list[str]:
    """Return the queues that occur: the four of the testbed in their order, then the others by size."""
    found = {str(queue) for queue in queues if isinstance(queue, str)}
    # Numbers in a name count as numbers: 16 packets are fewer than 128.
    parts_of = {name: [part.zfill(9) for part in re.split(r"(\d+)", name)] for name in found - set(QUEUES)}
    return [queue for queue in QUEUES if queue in found] + sorted(parts_of, key=lambda name: parts_of[name])


def pairs_in_order(rows: pd.DataFrame, columns: Sequence[str] = ("incumbent", "other")) -> list[tuple[Hashable, ...]]:
    """Return who competes, by application, and CUBIC before other congestion controls."""
    found = rows[list(columns)].drop_duplicates().itertuples(index=False, name=None)
    return sorted(found, key=lambda pair: [(text != "CUBIC", str(text)) for text in pair])


def runs_of(rows: pd.DataFrame, groups: Sequence[str]) -> str:
    """Return how many runs a group of rows has, as words: the least and the most."""
    counts = rows.groupby(list(groups), dropna=False).run_id.nunique()
    least, most = int(counts.min()), int(counts.max())
    return f"n = {most}" if least == most else f"n = {least} to {most}"


def one_legend(figure: Figure, axes: Iterable[Axes], across: int) -> None:
    """Draw one legend below the figure, with each label once."""
    handles = {
        text: handle for one in axes for handle, text in zip(*one.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=across)


def points_and_medians(
    axes: Axes, rows: pd.DataFrame, places: Sequence[float], label: str, marker: str, line: str = "-", **style: Any
) -> None:
    """Draw each run's ``metric_value`` at its place on the x axis, and join the medians of the places."""
    placed = rows.assign(place=list(places)).sort_values("place")
    medians = placed.groupby("place").metric_value.median()
    several = len(placed) > len(medians)
    if several:
        axes.plot(placed.place, placed.metric_value, marker, markersize=2.5, alpha=0.5, linestyle="none", **style)
    axes.plot(medians.index, medians, line, marker=marker, label=label, **style)


def share_figure(rows: pd.DataFrame, title: str) -> Figure:
    """Draw the incumbent's share of the link by the link's rate, a panel for each pair and a line for each queue.

    ``rows`` are those of ``of_incumbents`` with the metric link_share_ratio. Each small point is a run.
    """
    mine = rows[rows.role == rows.incumbent_role]
    pairs = pairs_in_order(mine)
    rates, queues = sorted(mine.bandwidth_bps.unique()), in_order(mine.queue_label)
    across = min(len(pairs), 3)
    down = -(-len(pairs) // across)
    width = {1: 4.8, 2: 9.6, 3: 11.7}[across]
    figure, grid = plt.subplots(down, across, sharey=True, squeeze=False, figsize=(width, 0.6 + 3.2 * down))
    for one in grid.flat[len(pairs) :]:
        one.set_axis_off()
    for one, (incumbent, other) in zip(grid.flat, pairs, strict=False):
        of_pair = mine[(mine.incumbent == incumbent) & (mine.other == other)]
        for place, queue in enumerate(queues):
            shown = of_pair[of_pair.queue_label == queue]
            shift = 0.5 * ((place + 0.5) / len(queues) - 0.5)
            places = [rates.index(rate) + shift for rate in shown.bandwidth_bps]
            points_and_medians(one, shown, places, queue, "os^Dv<>P"[place % 8], color=f"C{place % 7}")
        one.axhline(0.5, color="0.4", linewidth=0.8)
        one.set_xticks(range(len(rates)), [f"{rate / 1e6:g}" for rate in rates])
        one.set_xlim(-0.4, len(rates) - 0.6)
        one.set_ylim(0, 1)
        one.set_xlabel("rate of the link (Mbit/s)")
        one.set_title(f"{incumbent} (incumbent) against {other}; {runs_of(of_pair, ['bandwidth_bps', 'queue_label'])}")
    for one in grid[:, 0]:
        one.set_ylabel("link share of the incumbent (ratio)")
    one_legend(figure, grid.flat, 4)
    figure.suptitle(title)
    return figure


def bitrate_figure(rows: pd.DataFrame, alone: pd.DataFrame, title: str) -> Figure:
    """Draw the bitrates of both sides by the link's rate, a line of panels for each pair and a column for each queue.

    ``rows`` are those of ``of_incumbents`` with the metric rate_bps, ``alone`` solo runs of applications. The solo
    runs of an incumbent are those behind the same queue, or, where it has none, those behind any other.
    """
    pairs, queues = pairs_in_order(rows), in_order(rows.queue_label)
    rates = sorted(rows.bandwidth_bps.unique())
    figure, grid = plt.subplots(
        len(pairs), len(queues), sharex=True, sharey=True, squeeze=False,
        figsize=(max(4.8, 2.6 * len(queues)), 0.6 + 2.2 * len(pairs)),
    )  # fmt: skip
    for line, (incumbent, other) in zip(grid, pairs, strict=True):
        of_pair = rows[(rows.incumbent == incumbent) & (rows.other == other)]
        solo = alone[(alone.application == incumbent) & alone.bandwidth_bps.isin(rates)]
        for one, queue in zip(line, queues, strict=True):
            shown = of_pair[of_pair.queue_label == queue]
            same = solo[solo.queue_label == queue]
            behind = "" if len(same) else f" behind {' or '.join(in_order(solo.queue_label))}"
            for label, chosen, line_style, style in (
                (f"alone{behind}", same if len(same) else solo, "--", {"color": "0.55", "linewidth": 1}),
                ("incumbent", shown[shown.role == shown.incumbent_role], "-", {"color": "C0"}),
                ("competitor", shown[shown.role != shown.incumbent_role], "-", {"color": "C1"}),
            ):  # fmt: skip
                if len(chosen):
                    in_mbits = chosen.assign(metric_value=chosen.metric_value / 1e6)
                    marker = "x" if label.startswith("alone") else "o"
                    points_and_medians(one, in_mbits, chosen.bandwidth_bps / 1e6, label, marker, line_style, **style)
            if shown.empty:
                one.text(0.5, 0.5, "no such run", transform=one.transAxes, ha="center", color="0.4")
            one.set_title(f"{incumbent} against {other}\n{queue}", fontsize=8)
            if len(rates) <= 4:
                one.set_xticks([rate / 1e6 for rate in rates], [f"{rate / 1e6:g}" for rate in rates])
                one.tick_params(axis="x", rotation=60 if len(rates) > 2 else 0)
            one.set_xlim(0, max(rates) / 1e6 * 1.12)
            one.set_ylim(0, max(rates) / 1e6)
    for one in grid[:, 0]:
        one.set_ylabel("bitrate (Mbit/s)")
    for one in grid[-1]:
        one.set_xlabel("rate of the link (Mbit/s)")
    one_legend(figure, grid.flat, 4)
    figure.suptitle(titled(title, runs_of(rows, ["incumbent", "other", "bandwidth_bps", "queue_label"])))
    return figure


def rates_figure(rows: pd.DataFrame, title: str) -> Figure:
    """Draw the received rates of both sides by second, a line of panels for each pair and order of start.

    ``rows`` are of ``rate_profile`` with one rate of the link, through ``competing``. A column is a queue. Lines are
    medians over runs, bands quartiles where there are several.
    """
    kinds = pairs_in_order(rows, ("application", "competitor", "start_order"))
    queues = in_order(rows.queue_label)
    figure, grid = plt.subplots(
        len(kinds), len(queues), sharex=True, sharey=True, squeeze=False,
        figsize=(max(4.8, 2.6 * len(queues)), 0.6 + 2.2 * len(kinds)),
    )  # fmt: skip
    for line, (application, competitor, order) in zip(grid, kinds, strict=True):
        of_kind = rows[(rows.application == application) & (rows.competitor == competitor)]
        of_kind = of_kind[of_kind.start_order == order]
        for one, queue in zip(line, queues, strict=True):
            shown = of_kind[of_kind.queue_label == queue].sort_values("second")
            for side, colour, flow in (
                ("application", "C0", shown[shown.role == "app"]), ("competitor", "C1", shown[shown.role != "app"]),
            ):  # fmt: skip
                one.plot(flow.second, flow.rate_median_bps / 1e6, color=colour, label=side)
                if len(flow) and flow.runs.max() > 1:
                    band = (flow.second, flow.rate_q1_bps / 1e6, flow.rate_q3_bps / 1e6)
                    one.fill_between(*band, color=colour, alpha=0.25, linewidth=0)
            if shown.empty:
                one.text(0.5, 0.5, "no such run", transform=one.transAxes, ha="center", color="0.4")
            number = "" if shown.empty else f", n = {int(shown.runs.max())}"
            one.set_title(f"{application} against {competitor}, {ORDERS[str(order)]}\n{queue}{number}", fontsize=7)
    grid[0, 0].set_ylim(bottom=0)  # shared, and only now: it ends autoscaling
    for one in grid[:, 0]:
        one.set_ylabel("rate (Mbit/s)")
    for one in grid[-1]:
        one.set_xlabel("time (s)")
    one_legend(figure, grid.flat, 2)
    figure.suptitle(title)
    return figure


def harm_figure(rows: pd.DataFrame, title: str) -> Figure:
    """Draw the median harm to the incumbent by metric and queue, a panel for each pair and rate of the link.

    ``rows`` are those of ``of_incumbents`` of ``run_metric_harm``, with harm. Points are runs, where there are several.
    """
    mine = rows[rows.role == rows.incumbent_role]
    pairs, rates, queues = pairs_in_order(mine), sorted(mine.bandwidth_bps.unique()), in_order(mine.queue_label)
    metrics = [name for name in HARMS if (mine.harm_metric == name).any()]
    found = [
        (pair, rate, shown)
        for pair in pairs
        for rate in rates
        if len(shown := mine[(mine.incumbent == pair[0]) & (mine.other == pair[1]) & (mine.bandwidth_bps == rate)])
    ]
    # A line for each pair where all have the same rates.
    across = len(rates) if len(found) == len(pairs) * len(rates) and len(rates) <= 3 else 3
    down = -(-len(found) // across)
    size = ({1: 4.8, 2: 9.6, 3: 11.7}[across], 0.6 + 2.4 * down)
    figure, grid = plt.subplots(down, across, sharex=True, sharey=True, squeeze=False, figsize=size)
    for one in grid.flat[len(found) :]:
        one.set_axis_off()
    width = 0.76 / len(queues)
    for one, ((incumbent, other), rate, shown) in zip(grid.flat, found, strict=False):
        for place, queue in enumerate(queues):
            of_queue = shown[shown.queue_label == queue]
            shift = (place - (len(queues) - 1) / 2) * width
            of_queue = of_queue.assign(place=of_queue.harm_metric.map(metrics.index) + shift)
            medians = of_queue.groupby("place").harm_ratio.median()
            one.bar(medians.index, medians, width * 0.9, label=queue, color=f"C{place % 7}")
            if len(of_queue) > len(medians):
                one.plot(of_queue.place, of_queue.harm_ratio, ".", color="0.2", markersize=2.5)
        one.set_title(f"{incumbent} against {other}, {rate / 1e6:g} Mbit/s; {runs_of(shown, ['queue_label'])}")
        one.axhline(0, color="0.4", linewidth=0.8)
        one.set_xticks(range(len(metrics)), metrics)
        one.tick_params(axis="x", labelbottom=True)
    for one in grid[:, 0]:
        one.set_ylabel("harm to the incumbent (ratio)")
    one_legend(figure, grid.flat, 4)
    figure.suptitle(title)
    return figure


def say_left_out(studies: Iterable[str], drawn: Iterable[str], why: str) -> None:
    """Say in one line which studies of the build a figure leaves out, and why."""
    if names := sorted(set(studies) - set(drawn)):
        print(f"not drawn, because they have {why}: {', '.join(names)}")
