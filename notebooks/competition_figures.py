"""Figures of an application against its competitor, for whatever runs a build holds.

Each function takes rows of one study and returns a figure. A series has one look in all panels of a figure, and panels
without a run are not drawn. Times are in s, rates in Mbit/s, shares and harm ratios.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from figures import (
    STATED,
    Look,
    label_log_axis,
    looks,
    panels,
    plain_name,
    records,
    runs_by_rate,
    seconds_of_flow,
    series_legend,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

#: The study that the texts of the notebooks are about: its figures have their name alone.
TEXT_STUDY = "vca-fairness-vm-2026"
QUEUES = ("tail-drop 2 BDP", "tail-drop 10 BDP", "CoDel", "FQ-CoDel")
HARMS = ("throughput", "delay", "jitter", "loss")
DIRECTIONS = ("downlink", "uplink")
#: What a letter of a title takes.
TITLE_LETTER_INCHES = 0.085
#: Harm below this is drawn as a line.
LEAST_BAR = 0.01
WITHOUT_HARM: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 4, "color": "0.4"}
#: What tells configurations apart beside the rate of the link, the queue and who competes: a figure has one of each.
FACTORS = ("workload", "direction", "rtt_ms", "testbed", "congested_direction", "opposite_link", "participants",
           "call_view", "ecn", "l4s")  # fmt: skip


def named(figure: str, study: str, words: str = "", text_study: str = TEXT_STUDY) -> str:
    """Return the name of a figure of a study, with what tells it from the study's other figures of the kind.

    The study that the notebook's text is about (``text_study``) is not named.
    """
    whole = figure if study == text_study else f"{figure}-{study}"
    return whole + (f"-{slug}" if (slug := re.sub(r"[^\w.]+", "-", words).strip("-").lower()) else "")


def titled(study: str, *words: str) -> str:
    """Return the title of a figure: the study, and what else tells it."""
    return ", ".join(word for word in (study, *words) if word)


def parts(rows: pd.DataFrame, beside: Sequence[str] = ()) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of a study by its workload, direction, RTT and further factors, with the values that differ.

    The link of the other direction tells nothing where it follows from the queue, as it does if both are alike.
    Factors of ``beside`` are told apart within a figure.
    """
    varying = [name for name in FACTORS if name not in beside and name in rows and rows[name].nunique(dropna=False) > 1]
    if "opposite_link" in varying:
        others = ["queue_label", "bandwidth_bps", *(name for name in varying if name != "opposite_link")]
        if rows.groupby(others, dropna=False).opposite_link.nunique(dropna=False).max() == 1:
            varying.remove("opposite_link")
    if not varying:
        yield "", rows
        return
    for key, mine in rows.groupby(varying, dropna=False):
        values = [
            f"{value:g} ms" if name == "rtt_ms" else plain_name(value) for name, value in zip(varying, key, strict=True)
        ]
        yield ", ".join(text for text, value in zip(values, key, strict=True) if not pd.isna(value)), mine


def competitors(rows: pd.DataFrame) -> pd.Series:
    """Return who competes with the application of each row: the other application, or TCP's control; else missing."""
    controls = rows.congestion_control.map(plain_name, na_action="ignore")
    return rows.rival_application.map(plain_name, na_action="ignore").fillna(controls)


def competing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of applications with a competitor: ``competitor`` is the other application, or TCP's control.

    ``incumbent`` and ``other`` name who started first and who came later, ``incumbent_role`` the role of the first;
    it is missing where TCP started first.
    """
    pairs = rows[rows.start_order.ne("solo") & rows.application.notna()].copy()
    pairs["competitor"] = competitors(pairs)
    pairs = pairs[pairs.competitor.notna()]
    is_rival = pairs.start_order.eq("rival_first")
    pairs["incumbent_role"] = pairs.start_order.map({"app_first": "app", "rival_first": "rival"})
    pairs["incumbent"] = pairs.application.where(~is_rival, pairs.competitor)
    pairs["other"] = pairs.competitor.where(~is_rival, pairs.application)
    return pairs


def against(rows: pd.DataFrame) -> pd.Series:
    """Return who competes in each configuration, with the order of start where one competitor has several."""
    names = competitors(rows).where(rows.start_order != "solo", "no background")
    orders = rows.start_order.groupby([rows.study_id, names]).transform("nunique")
    return names.where(orders == 1, names + ", " + rows.start_order.map(plain_name))


def of_incumbents(rows: pd.DataFrame, study: str) -> pd.DataFrame:
    """Return the rows of runs in which an application, not TCP, was there first; say which applications have none."""
    against = competing(rows)
    first = against[against.incumbent_role.notna()]
    if left_out := sorted(set(against.application) - set(first.incumbent)):
        print(f"{study}: not drawn, because it is not the incumbent in any run: {', '.join(left_out)}")
    return first


def settings(rows: pd.DataFrame) -> pd.Series:
    """Return the setting of each row: the competitor of the application, and the order of start."""
    return "against " + competitors(rows) + ", " + rows.start_order.map(plain_name)


def in_order(queues: Iterable[Any]) -> list[str]:
    """Return the queues that occur: the four of the testbed in their order, then the others by size."""
    names = {str(queue) for queue in queues if isinstance(queue, str)}
    # Numbers in a name count as numbers: 16 packets are fewer than 128.
    parts_of = {name: [part.zfill(9) for part in re.split(r"(\d+)", name)] for name in names - set(QUEUES)}
    return [queue for queue in QUEUES if queue in names] + sorted(parts_of, key=lambda name: parts_of[name])


def of_links(rows: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield the rows by the columns ``names``, in their order; queues are in the order of the testbed's."""
    queues = pd.Categorical(rows.queue_label, in_order(rows.queue_label), ordered=True)
    yield from rows.assign(queue_label=queues).groupby(list(names), dropna=False, observed=True)


def controls_first(names: Iterable[str]) -> list[str]:
    """Return competitors: CUBIC, the other congestion controls of TCP, and then applications."""
    controls = ("CUBIC", "Reno", "BBRv1", "BBRv2", "BBRv3")
    return sorted(set(names), key=lambda name: (controls.index(name) if name in controls else len(controls), name))


def runs_of(rows: pd.DataFrame, groups: Sequence[str]) -> str:
    """Return how many runs a group of rows has, as words: the least and the most."""
    counts = rows.groupby(list(groups), dropna=False).run_id.nunique()
    least, most = int(counts.min()), int(counts.max())
    return f"n = {most}" if least == most else f"n = {least} to {most}"


def one_direction(rows: pd.DataFrame) -> str:
    """Return a second line of a title: a direction that the paper draws and no row is of, or that none is stated."""
    stated = set(rows.direction.dropna())
    if not stated:
        return "\ndirection: not stated"
    missing = [name for name in DIRECTIONS if name not in stated]
    return f"\n{missing[0]}: no runs" if missing else ""


def drawn_and_single(kinds: Sequence[tuple[Any, ...]], unit: str) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Return the panels of a figure without those of a single run, and these as lines of the title.

    A panel is a tuple of words, of which the last is the direction, and its rows. A direction keeps its panels if none
    of them has several runs.
    """
    with_several = {direction for *_, direction, rows in kinds if len(rows) > 1}
    drawn = [kind for kind in kinds if len(kind[-1]) > 1 or kind[-2] not in with_several]
    singles = [
        ", ".join(filter(None, (*words, f"{rate / 1e6:g} Mbit/s", setting))) + f": {value:.3g}{unit}"
        for *words, rows in kinds
        if len(rows) == 1 and words[-1] in with_several
        for rate, setting, value in zip(rows.bandwidth_bps, rows.setting, rows.metric_value, strict=True)
    ]
    return drawn, [f"one run, not drawn: {single}" for single in singles]


def set_title(figure: Figure, title: str, lines: Sequence[str]) -> None:
    """Write a title with further lines above a figure, none of them wider than the figure."""
    letters = int(figure.get_figwidth() / TITLE_LETTER_INCHES)
    figure.suptitle("\n".join([title, *(part for line in lines for part in textwrap.wrap(line, letters))]))


def rates_figure(rows: pd.DataFrame, title: str) -> Figure:
    """Draw the received rates of both sides by second, a panel for each pair, order of start and queue.

    ``rows`` are of ``rate_profile`` with one rate of the link, through ``competing``. Lines are medians over runs,
    bands quartiles where there are several. The seconds in which a flow begins and ends are left out.
    """
    kinds = [
        (application, other, order, queue, shown)
        for (application, other, order), of_kind in rows.groupby(["application", "competitor", "start_order"])
        for queue in in_order(of_kind.queue_label)
        if len(shown := of_kind[of_kind.queue_label == queue])
    ]
    series = looks(["application", "competitor"])
    figure, axes = panels(len(kinds), across=4, width=11.6, height=2.3)
    highest = rows.rate_median_bps.max() / 1e6
    for one, (application, other, order, queue, shown) in zip(axes, kinds, strict=True):
        for side, flow in (("application", shown[shown.role == "app"]), ("competitor", shown[shown.role != "app"])):
            whole = flow[flow.second.isin(seconds_of_flow(dict(zip(flow.second, flow.rate_median_bps, strict=True))))]
            whole = whole.sort_values("second")
            if whole.empty:
                continue
            one.plot(whole.second, whole.rate_median_bps / 1e6, color=series[side].colour, label=side)
            if whole.runs.max() > 1:
                band = (whole.second, whole.rate_q1_bps / 1e6, whole.rate_q3_bps / 1e6)
                one.fill_between(*band, color=series[side].colour, alpha=0.25, linewidth=0)
        words = f"{plain_name(application)} against {other}, {plain_name(order)}"
        one.set_title(f"{words}\n{queue}, n = {int(shown.runs.max())}", fontsize=7)
        one.set_ylim(0, highest * 1.05)
        one.set_ylabel("rate (Mbit/s)")
        one.set_xlabel("time (s)")
        one.xaxis.set_major_locator(MaxNLocator(integer=True))
    series_legend(figure)
    figure.suptitle(title)
    return figure


def equality_figure(
    rows: pd.DataFrame, title: str, stated: Sequence[Mapping[str, Any]] = (), series: Mapping[str, Look] | None = None
) -> Figure:
    """Draw flow-rate equality behind one queue, as Figures 3, 4 and 7 of PAM'21, by direction and application.

    ``rows`` are of ``run_metric`` of one study and queue, with ``setting``; ``stated`` the rows of
    ``published_comparison`` that are of this queue, drawn in the panel of their direction as a band; ``series`` the
    looks of the settings in all figures that are to be compared, without it those of the rows.
    """
    kinds, singles = drawn_and_single(of_one_application(rows), "")
    rates = rates_of_applications(rows)
    series = looks(sorted(set(rows.setting))) if series is None else series
    across = min(len(kinds), 3)
    figure, axes = panels(
        len(kinds), across=across, width=across * max(5.6, 1.1 * max(map(len, rates.values()))), height=4.4
    )
    for one, (application, direction, shown) in zip(axes, kinds, strict=True):
        label = "flow-rate equality\n(competitor all −1 … application all 1)"
        runs_by_rate(one, records(shown), label, series, rates[application])
        one.axhline(0, color="0.4", linewidth=0.8)
        one.set_ylim(-1.05, 1.05)
        where = f", {direction}" if direction else ""
        one.set_title(
            f"{application}{where}; {runs_of(shown, ['setting', 'bandwidth_bps'])} for each configuration and rate"
        )
        for row in stated:
            if is_of_direction(row, direction):
                band_of_stated(one, row)
    series_legend(figure, 2)
    set_title(figure, title + one_direction(rows), singles)
    return figure


def of_one_application(rows: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """Return the rows of each application and direction, those that state none under an empty name."""
    return [
        (plain_name(application), str(direction), mine)
        for (direction, application), mine in rows.groupby([rows.direction.fillna(""), rows.application])
    ]


def rates_of_applications(rows: pd.DataFrame) -> dict[str, list[int]]:
    """Return the rates of the link that each application has runs at, in bit/s and ascending."""
    return {
        plain_name(application): sorted(int(rate) for rate in mine.bandwidth_bps.unique())
        for application, mine in rows.groupby("application")
    }


def is_of_direction(row: Mapping[str, Any], direction: str) -> bool:
    """Return whether a statement is of a direction: it names this one, or none."""
    return not any(name in row["condition"] and name != direction for name in DIRECTIONS)


def band_of_stated(axes: Axes, row: Mapping[str, Any]) -> None:
    """Draw what a study states of its own runs as a band, or as a line where it is one value."""
    label = f"stated: {row['subject']}, {row['condition']}"
    if row["stated_low"] == row["stated_high"]:
        axes.axhline(row["stated_low"], label=label, **STATED)
    else:
        axes.axhspan(row["stated_low"], row["stated_high"], color="0.6", alpha=0.25, linewidth=0, label=label)


def queue_figure(
    rows: pd.DataFrame, title: str, label: str, stated: Mapping[str, Sequence[Mapping[str, Any]]], *, log: bool = False,
    half_of: tuple[str, str] | None = None, series: Mapping[str, Look] | None = None,
) -> Figure:  # fmt: skip
    """Draw a value of each run by the link's rate, as Figures 5 and 6 of PAM'21, by application, queue and direction.

    ``rows`` are of ``run_metric`` of one study, with ``setting``; ``stated`` the rows of ``published_comparison`` of a
    queue, by its label. ``half_of`` is a queue and one whose delay at 0.5 Mbit/s against CUBIC is
    stated as twice of it. ``series`` are the looks of the settings in all figures that are to be compared, without it
    those of the rows.
    """
    every = [
        (application, queue, direction, shown)
        for queue in in_order(rows.queue_label)
        for application, direction, shown in of_one_application(rows[rows.queue_label == queue])
    ]
    kinds, singles = drawn_and_single(sorted(every, key=lambda kind: kind[0]), " ms" if log else "")
    rates = rates_of_applications(rows)
    series = looks(sorted(set(rows.setting))) if series is None else series
    width = max(5.6, (0.6 + 0.1 * len(series)) * max(map(len, rates.values())))
    figure, axes = panels(len(kinds), across=2, width=2 * width, height=3.4)
    low, high = rows.metric_value.min(), rows.metric_value.max()
    for one, (application, queue, direction, shown) in zip(axes, kinds, strict=True):
        columns = runs_by_rate(one, records(shown), label, series, rates[application])
        where = f", {direction}" if direction else ""
        words = runs_of(shown, ["setting", "bandwidth_bps"])
        one.set_title(f"{application}, {queue}{where}; {words} for each configuration and rate", fontsize=8)
        if log:
            one.set_yscale("log")
            one.set_ylim(low / 1.3, high * 1.3)
            label_log_axis(one.yaxis)
        else:
            one.set_ylim(0, 1.05)
        for row in stated.get(queue, ()):
            if is_of_direction(row, direction):
                band_of_stated(one, row)
        if half_of and queue == half_of[0]:
            is_stated = (rows.bandwidth_bps == 500_000) & (rows.congestion_control == "cubic")
            is_stated &= rows.application.map(plain_name) == application
            baseline = rows[is_stated & (rows.queue_label == half_of[1])].metric_value
            if len(baseline):
                words = f"stated: half of {half_of[1]}, Zoom and CUBIC, 0.5 Mbit/s"
                one.plot(columns[500_000], [baseline.median() / 2] * 2, label=words, **STATED)
    series_legend(figure, 3)
    set_title(figure, title + one_direction(rows), singles)
    return figure


def harm_figure(rows: pd.DataFrame, title: str, series: Mapping[str, Look]) -> Figure:
    """Draw the median harm to the incumbent by metric and queue, a panel for each pair and rate of the link.

    ``rows`` are those of ``of_incumbents`` of ``run_metric_harm``, with harm; ``series`` the looks of the queues in all
    figures that are to be compared. Points are runs, where there are several. A bar too low to be seen is a line; a
    cross is a queue without harm, because it has no run or its harm is not known.
    """
    mine = rows[rows.role == rows.incumbent_role]
    queues = in_order(mine.queue_label)
    metrics = [name for name in HARMS if (mine.harm_metric == name).any()]
    shown_pairs = [
        (incumbent, other, rate, shown)
        for incumbent, of_incumbent in mine.groupby("incumbent")
        for other in controls_first(of_incumbent.other)
        for rate, shown in of_incumbent[of_incumbent.other == other].groupby("bandwidth_bps")
    ]
    figure, axes = panels(len(shown_pairs), width=11.7, height=2.8)
    width = 0.76 / len(queues)
    lowest, highest = min(mine.harm_ratio.min(), 0), max(mine.harm_ratio.max(), 0)
    margin = 0.06 * ((highest - lowest) or 1)
    for one, (incumbent, other, rate, shown) in zip(axes, shown_pairs, strict=True):
        for place, queue in enumerate(queues):
            of_queue = shown[shown.queue_label == queue]
            shift = (place - (len(queues) - 1) / 2) * width
            unknown = [at + shift for at, name in enumerate(metrics) if not (of_queue.harm_metric == name).any()]
            if unknown:
                one.plot(unknown, [0] * len(unknown), label="no run, or harm not known", **WITHOUT_HARM)
            if of_queue.empty:
                continue
            of_queue = of_queue.assign(place=of_queue.harm_metric.map(metrics.index) + shift)
            medians = of_queue.groupby("place").harm_ratio.median()
            colour = series[queue].colour
            one.bar(medians.index, medians, width * 0.9, label=queue, color=colour)
            for at, median in medians[medians.abs() < LEAST_BAR].items():
                one.plot([at - 0.45 * width, at + 0.45 * width], [median, median], color=colour, linewidth=2.5)
            if len(of_queue) > len(medians):
                one.plot(of_queue.place, of_queue.harm_ratio, ".", color="0.2", markersize=2.5)
        pair = f"{plain_name(incumbent)} against {other}"
        one.set_title(f"{pair}, {rate / 1e6:g} Mbit/s; {runs_of(shown, ['queue_label'])}")
        one.axhline(0, color="0.4", linewidth=0.8, zorder=0.5)
        one.set_xticks(range(len(metrics)), metrics)
        one.set_xlim(-0.5, len(metrics) - 0.5)
        one.set_ylim(lowest - margin, highest + margin)
        one.set_ylabel("harm to the incumbent (ratio)")
    series_legend(figure, order=queues)
    figure.suptitle(title)
    return figure


def say_left_out(studies: Iterable[str], drawn: Iterable[str], why: str) -> None:
    """Say in one line which studies of the build a figure leaves out, and why."""
    if names := sorted(set(studies) - set(drawn)):
        print(f"not drawn, because they have {why}: {', '.join(names)}")
