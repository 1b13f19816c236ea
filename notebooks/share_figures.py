"""Figures of IMC'21: shares and bitrates of an application and its competitor by the rate of the link.

Rates are in Mbit/s, shares are ratios. A competitor has one look in all figures of a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from competition_figures import controls_first, in_order, one_direction, runs_of, titled
from figures import STATED, Look, looks, panels, plain_name, series_legend
from matplotlib.axes import Axes
from matplotlib.figure import Figure


def looks_of_competitors(rows: pd.DataFrame, stated: Sequence[Mapping[str, Any]] = ()) -> dict[str, Look]:
    """Return the looks of a notebook's figures: no competitor, each that joins an application, and what is stated.

    ``rows`` are of all studies, through ``competing``; ``stated`` the applications of ``share_figure``.
    """
    others = controls_first(rows[rows.incumbent_role.notna()].other)
    return looks(["alone", *others, *sorted(f"stated: {row['application']}" for row in stated)])


def points_and_medians(
    axes: Axes, rows: pd.DataFrame, places: Sequence[float], label: str, line: str = "-", **style: Any
) -> None:
    """Draw each run's ``metric_value`` at its place on the x axis, and join the medians of the places."""
    placed = rows.assign(place=list(places)).sort_values("place")
    medians = placed.groupby("place").metric_value.median()
    if len(placed) > len(medians):
        axes.plot(placed.place, placed.metric_value, **style | {"markersize": 2.5, "alpha": 0.5, "linestyle": "none"})
    axes.plot(medians.index, medians, line, label=label, **style)


def rate_axis(axes: Axes, rates: Sequence[float]) -> None:
    """Make x the rate of the link in Mbit/s, from 0 or, if the rates span more than a factor of five, logarithmic."""
    if max(rates) > 5 * min(rates):
        axes.set_xscale("log")
        axes.set_xlim(min(rates) / 1.25, max(rates) * 1.25)
        axes.minorticks_off()
    else:
        axes.set_xlim(0, max(rates) * (1.12 if len(rates) > 1 else 2))
    axes.set_xticks(list(rates), rate_labels(rates))
    axes.set_xlabel("rate of the link (Mbit/s)")


def rate_labels(rates: Sequence[float]) -> list[str]:
    """Return the labels of rates in ascending order: one less than 15 % above another stands beside its label."""
    labels: list[str] = []
    labelled = 0
    for place, rate in enumerate(rates):
        is_near = place > 0 and rate < 1.15 * rates[labelled]
        labels.append("" if is_near else f"{rate:g}")
        if is_near:
            labels[labelled] += f", {rate:g}"
        else:
            labelled = place
    return labels


def share_figure(
    rows: pd.DataFrame, title: str, series: Mapping[str, Look], stated: Sequence[Mapping[str, Any]] = (),
    stated_uplink: float | None = None,
) -> Figure:  # fmt: skip
    """Draw the incumbent's share of the link by the link's rate, as IMC'21: a panel for each application and direction.

    ``rows`` are those of ``of_incumbents`` behind one queue with the metric link_share_ratio; a line is a competitor,
    a small point a run. ``series`` are ``looks_of_competitors``. ``stated`` are the study's own applications with whom
    they are ``against`` and ``stated_low``, at 0.5 Mbit/s on the downlink, in a panel of their own; ``stated_uplink``
    is what it states up to 2 Mbit/s uplink.
    """
    mine = rows[rows.role == rows.incumbent_role]
    rates = [rate / 1e6 for rate in sorted(mine.bandwidth_bps.unique())]
    kinds = list(mine.groupby(["incumbent", "direction"], dropna=False))
    number = len(kinds) + bool(stated)
    figure, axes = panels(number, across=min(number, 4), width=3.7 * min(number, 4), height=3.4)
    for one, ((incumbent, direction), shown) in zip(axes, kinds, strict=False):
        for other in controls_first(shown.other):
            of_other = shown[shown.other == other]
            label = f"against {other}"
            points_and_medians(one, of_other, of_other.bandwidth_bps / 1e6, label, **series[other].line)
        where = "" if pd.isna(direction) else f", {direction}"
        one.set_title(f"{plain_name(incumbent)}{where}; {runs_of(shown, ['bandwidth_bps', 'other'])}")
        if direction == "uplink" and stated_uplink is not None:
            one.plot([0, 2], [stated_uplink] * 2, label="stated: Zoom and Meet, up to 2 Mbit/s uplink", **STATED)
        rate_axis(one, rates)
    if stated:
        stated_shares(axes[-1], stated, series)
    for one in axes:
        one.axhline(0.5, color="0.4", linewidth=0.8)
        one.set_ylim(0, 1)
        one.set_ylabel("share of the incumbent (ratio)")
    series_legend(figure)
    figure.suptitle(title + one_direction(mine))
    return figure


def stated_shares(axes: Axes, stated: Sequence[Mapping[str, Any]], series: Mapping[str, Look]) -> None:
    """Draw the shares that a study states of its own applications, in a column for each competitor."""
    others = list(dict.fromkeys(str(row["against"]) for row in stated))
    applications = sorted({str(row["application"]) for row in stated})
    for number, application in enumerate(applications):
        mine = [row for row in stated if row["application"] == application]
        across = [others.index(str(row["against"])) + 0.22 * (number - (len(applications) - 1) / 2) for row in mine]
        shares = [row["stated_low"] for row in mine]
        label = f"stated: {application}"
        axes.plot(across, shares, linestyle="none", fillstyle="none", label=label, **series[label].line)
    for edge in range(len(others) - 1):
        axes.axvline(edge + 0.5, color="0.8", linewidth=0.8)
    axes.set_xticks(range(len(others)), others, fontsize=7)
    axes.set_xlim(-0.5, len(others) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("against")
    axes.set_title("stated of others, 0.5 Mbit/s, downlink")


def bitrate_figure(rows: pd.DataFrame, alone: pd.DataFrame, title: str, series: Mapping[str, Look]) -> Figure:
    """Draw the bitrates of both sides by the link's rate, a panel for each incumbent and queue.

    ``rows`` are those of ``of_incumbents`` with the metric rate_bps, ``alone`` solo runs of applications, ``series``
    ``looks_of_competitors``. Solid is the
    incumbent, dashed its competitor in the same colour. The solo runs of an incumbent are those behind the same queue,
    or, where it has none, those behind any other.
    """
    queues, rates = in_order(rows.queue_label), sorted(rows.bandwidth_bps.unique())
    kinds = [
        (incumbent, queue, shown)
        for incumbent, mine in rows.groupby("incumbent")
        for queue in queues
        if len(shown := mine[mine.queue_label == queue])
    ]
    figure, axes = panels(len(kinds), across=min(4, len(queues)), width=2.9 * min(4, len(queues)), height=2.6)
    for one, (incumbent, queue, shown) in zip(axes, kinds, strict=True):
        solo = alone[(alone.application == incumbent) & alone.bandwidth_bps.isin(shown.bandwidth_bps)]
        same = solo[solo.queue_label == queue]
        lines = [("alone", same if len(same) else solo, ":", series["alone"].line | {"fillstyle": "none"})]
        for other in controls_first(shown.other):
            pair, look = shown[shown.other == other], series[other].line
            lines.append((f"incumbent, against {other}", pair[pair.role == pair.incumbent_role], "-", look))
            sent = pair[pair.role != pair.incumbent_role]
            lines.append((f"{other}", sent, "--", look | {"fillstyle": "none"}))
        for label, chosen, line, style in lines:
            if len(chosen):
                in_mbits = chosen.assign(metric_value=chosen.metric_value / 1e6)
                points_and_medians(one, in_mbits, chosen.bandwidth_bps / 1e6, label, line, markersize=4, **style)
        behind = "" if len(same) or solo.empty else f"\nalone behind {' or '.join(in_order(solo.queue_label))}"
        one.set_title(f"{plain_name(incumbent)}, {queue}{behind}", fontsize=8)
        one.set_ylim(0, max(rates) / 1e6 * 1.05)
        one.set_ylabel("bitrate (Mbit/s)")
        rate_axis(one, [rate / 1e6 for rate in rates])
    series_legend(figure)
    figure.suptitle(titled(title, runs_of(rows, ["incumbent", "other", "bandwidth_bps", "queue_label"])))
    return figure
