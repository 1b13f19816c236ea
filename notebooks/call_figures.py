"""Figures of TMA'23 for every study that has calls of several applications against TCP in both orders of start.

Each function returns a figure with a panel for each application, or None after saying in a line why there is none.
Rates are in Mbit/s, delays in ms, harm is a ratio, BRISQUE goes from 0 (best) to 100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import matplotlib.pyplot as plt
import pandas as pd
from figures import STATED, Look, looks, plain_name, runs_and_boxes, series_legend, whole_seconds
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: The study of these figures. Its figures have their number alone, and come first.
OWN = "tma23-imvca"
#: Of its runs against three congestion controls the study draws two.
CONTROLS_OF = {OWN: ("cubic", "bbr2")}
ORDERS = ("app_first", "tcp_first")
#: A link has the rate of the demand when both differ by at most this share: the study gave 0.75 Mbit/s to 0.77.
RATE_TOLERANCE = 0.1


class Rows(Protocol):
    """What reads the datasets of a build: the client of the API."""

    def rows(self, dataset: str, **filters: Any) -> pd.DataFrame:
        """Return the rows of a dataset under filters."""


@dataclass(frozen=True)
class Calls:
    """A study's calls against TCP: who called, against what, and on which links."""

    api: Rows
    study: str
    applications: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    rtt_ms: float
    full_bps: dict[str, int]
    """The fastest link of each application's calls against TCP, in bit/s."""

    def named(self, figure: str) -> str:
        """Return the name of a figure: its number, and the study where it is not the figure's own."""
        return figure if self.study == OWN else f"{figure}-{self.study}"

    def metric(self, name: str, **filters: Any) -> pd.DataFrame:
        """Return the runs' values of a metric that are not left out."""
        return self.api.rows("run_metric", study_id=self.study, metric=name, exclusion_reason__null=True, **filters)

    def demand_bps(self) -> dict[str, int]:
        """Return the link of each application that has just the rate of its demand, in bit/s, where it has one."""
        links = self.api.rows("run", study_id=self.study, application=list(self.applications), start_order=list(ORDERS))
        demands = self.api.rows("demand", study_id=self.study, role="app", workload="call", demand_bps__null=False)
        rates_bps = {}
        for application in self.applications:
            rates = links.bandwidth_bps[links.application == application].dropna().unique()
            wanted = demands.demand_bps[demands.application == application].unique()
            near = [(abs(rate / one - 1), int(rate)) for rate in rates for one in wanted]
            if near and min(near)[0] <= RATE_TOLERANCE:
                rates_bps[application] = min(near)[1]
        return rates_bps


def calls_of_studies(api: Rows) -> list[Calls]:
    """Return the studies whose calls can be drawn, the figures' own first; say which cannot, and why."""
    runs = api.rows("run", exclusion_reason__null=True)
    all_calls, reasons = [], {}
    for study, mine in sorted(runs.groupby("study_id"), key=lambda of: (of[0] != OWN, of[0])):
        calls = mine[mine.application.notna() & mine.congestion_control.notna() & mine.start_order.isin(ORDERS)]
        calls = calls[(calls.workload == "call") & calls.bandwidth_bps.notna() & calls.rtt_ms.notna()]
        applications = tuple(sorted(calls.application.unique()))
        if calls.empty:
            reasons[study] = "no call against TCP"
        elif len(applications) < 2:
            reasons[study] = f"calls of {applications[0]} only"
        elif set(calls.start_order) != set(ORDERS):
            reasons[study] = "only one start order"
        else:
            occurring = sorted(calls.congestion_control.unique(), key=lambda name: (name != "cubic", name))
            controls = CONTROLS_OF.get(study, tuple(occurring))
            rtt_ms = float(calls.rtt_ms.mode().min())
            fastest = calls[calls.rtt_ms == rtt_ms].groupby("application").bandwidth_bps.max().astype(int).to_dict()
            settings = tuple((control, order) for control in controls for order in ORDERS)
            all_calls.append(Calls(api, study, applications, settings, rtt_ms, fastest))
    if reasons:
        print("not drawn:", "; ".join(f"{study} ({why})" for study, why in reasons.items()))
    return all_calls


def behind(queue: Mapping[str, Any]) -> str:
    """Return a queue's filters as words."""
    size = f" of {queue['queue_size_bdp']:g} BDP" if "queue_size_bdp" in queue else ""
    return f"behind {queue['aqm']}{size}"


def not_drawn(calls: Calls, why: str) -> None:
    """Say in a line why a study's figure is not drawn."""
    print(f"{calls.study}: not drawn, because it has {why}")


def setting_panels(
    calls: Calls, lines: Sequence[tuple[str, pd.DataFrame]], rates: Mapping[str, int], height: float
) -> tuple[Figure, list[list[Axes]]] | None:
    """Draw a panel for each application on its link: a box with every run for each control and order of start.

    Parameters
    ----------
    lines
        What each line of panels shows, and its rows of ``run_metric``.
    rates
        The link of each application, in bit/s; one without is left out, as is one without a run.
    height
        Height of the figure in inches.

    Returns
    -------
    tuple or None
        The figure and the panels of each line; None where no run is left.
    """
    settings = pd.MultiIndex.from_tuples(calls.settings)
    drawn = []
    for label, rows in lines:
        of_setting = pd.MultiIndex.from_frame(rows[["congestion_control", "start_order"]]).isin(settings)
        drawn.append((label, rows[of_setting & (rows.bandwidth_bps == rows.application.map(rates))]))
    with_rows = {name for _, rows in drawn for name in rows.application}
    applications = [name for name in calls.applications if name in with_rows]
    if not applications:
        return None
    figure, grid = plt.subplots(
        len(drawn), len(applications), sharex="col", sharey=len(drawn) == 1, squeeze=False,
        figsize=(max(3.2 * len(applications), 4.8), height),
    )  # fmt: skip
    for line, (label, rows) in zip(grid, drawn, strict=True):
        for one, application in zip(line, applications, strict=True):
            mine = rows[rows.application == application]
            groups = {
                f"{plain_name(control)}\n{plain_name(order)}": mine[
                    (mine.congestion_control == control) & (mine.start_order == order)
                ].metric_value
                for control, order in calls.settings
            }
            runs_and_boxes(one, groups)
            one.set_title(f"{plain_name(application)}, {rates[application] / 1e6:g} Mbit/s")
        line[0].set_ylabel(label)
    if calls.study != OWN:
        figure.suptitle(calls.study)
    return figure, [list(line) for line in grid]


def harm_figure(calls: Calls, rates: Mapping[str, int], findings: Sequence[str] = (), **queue: Any) -> Figure | None:
    """Draw throughput harm of each application behind a queue, with what the study states of its own."""
    harm = calls.metric("harm_throughput_ratio", role="app", workload="call", rtt_ms=calls.rtt_ms, **queue)
    drawn = setting_panels(calls, [("throughput harm (ratio)\nbelow 0: more than alone", harm)], rates, 3.4)
    if drawn is None:
        not_drawn(calls, f"no call with harm {behind(queue)} on such a link")
        return None
    figure, (line,) = drawn
    for one in line:
        one.axhline(0, color="0.75", linewidth=0.8, zorder=0.5)
    stated_settings(calls, line, findings)
    series_legend(figure)
    return figure


def delay_figure(calls: Calls, rates: Mapping[str, int], **queue: Any) -> Figure | None:
    """Draw mean queuing delay of each application, with a line at the time that a full queue takes to drain."""
    delay = calls.metric("queuing_delay_mean_ms", role="app", workload="call", rtt_ms=calls.rtt_ms, **queue)
    drawn = setting_panels(calls, [("mean queuing delay of the call (ms)", delay)], rates, 3.4)
    if drawn is None:
        not_drawn(calls, f"no call with queuing delay {behind(queue)} on such a link")
        return None
    figure, (line,) = drawn
    for one in line:
        full_ms = queue["queue_size_bdp"] * calls.rtt_ms
        one.axhline(full_ms, color="0.4", linewidth=0.8, label="time that a full queue takes to drain")
        one.set_ylim(bottom=0)
    series_legend(figure)
    return figure


def rate_figure(calls: Calls, rates: Mapping[str, int], **queue: Any) -> Figure | None:
    """Draw the rates of the application above those of TCP."""
    rate = calls.metric("rate_bps", role=["app", "tcp"], workload="call", rtt_ms=calls.rtt_ms, **queue)
    rate["metric_value"] /= 1e6
    lines = [
        (f"rate of {title}\n(Mbit/s)", rate[rate.role == role]) for role, title in (("app", "the call"), ("tcp", "TCP"))
    ]
    drawn = setting_panels(calls, lines, rates, 5.0)
    if drawn is None:
        not_drawn(calls, f"no call {behind(queue)} on such a link")
        return None
    figure, grid = drawn
    for one in (one for line in grid for one in line):
        one.set_ylim(bottom=0)
    return figure


def brisque_figure(calls: Calls, rates: Mapping[str, int], findings: Sequence[str] = (), **queue: Any) -> Figure | None:
    """Draw BRISQUE of calls that were recorded from the screen, with what the study states of its own."""
    score = calls.metric(
        "qoe_brisque", workload="screen_capture", rtt_ms=calls.rtt_ms, start_order=list(ORDERS), **queue
    )
    drawn = setting_panels(calls, [("BRISQUE (0 best, 100 worst)", score)], rates, 3.4)
    if drawn is None:
        not_drawn(calls, f"no call with a BRISQUE {behind(queue)} on such a link")
        return None
    figure, (line,) = drawn
    stated_lines(calls, line, findings)
    return figure


def stated_lines(calls: Calls, axes: Sequence[Axes], findings: Sequence[str], words: str = "stated") -> None:
    """Draw what a study states of each application as a dashed line; nothing where it states nothing."""
    if not findings:
        return
    rows = calls.api.rows("published_comparison", study_id=calls.study, finding_id=list(findings))
    if rows.empty:
        return
    for one in axes:
        title = one.get_title(loc="left")
        said = []
        for statistic, value in rows[is_of_panel(rows, one)].groupby(["statistic", "stated_low"]).groups:
            one.axhline(value, **STATED)
            said.append(f"{statistic} {value:g}")
        if said:
            where: dict[str, Any] = {"transform": one.transAxes, "va": "bottom", "fontsize": 7}
            one.text(0, 1.02, f"- - {words}: {', '.join(said)}", **where)
        # Above the text, and as high in the panels without one.
        one.set_title(title, pad=18)


def is_of_panel(rows: pd.DataFrame, axes: Axes) -> pd.Series:
    """Return which rows are of the application that a panel's title names first."""
    return rows.application.map(plain_name) == axes.get_title(loc="left").split(",")[0]


def stated_settings(calls: Calls, axes: Sequence[Axes], findings: Sequence[str]) -> None:
    """Draw the ends of what a study states across the box of each control and order of start that it states it of."""
    if not findings:
        return
    rows = calls.api.rows("published_comparison", study_id=calls.study, finding_id=list(findings))
    for one in axes:
        mine = rows[is_of_panel(rows, one)]
        for place, (control, order) in enumerate(calls.settings, 1):
            of_setting = mine[(mine.congestion_control == control) & (mine.start_order == order)]
            for end in sorted({*of_setting.stated_low.dropna(), *of_setting.stated_high.dropna()}):
                # The ends are marked, because a dashed line on that of no harm would not be seen.
                ends = {"marker": "|", "markersize": 9, "label": "stated, or the ends of its range"}
                one.plot([place - 0.42, place + 0.42], [end, end], **ends, **STATED)


def solo_figure(
    calls: Calls, rows: pd.DataFrame, factor: str, label: str, names: str, axis: str, least: int, height: float
) -> tuple[Figure, list[Axes]] | None:
    """Draw values of solo calls over a factor, a panel for each application; None with fewer than ``least`` levels.

    ``names`` writes a level, ``axis`` says what it is, ``label`` what is drawn.
    """
    levels = sorted(rows[factor].unique())
    applications = [name for name in calls.applications if (rows.application == name).any()]
    if len(levels) < least:
        return None
    figure, grid = plt.subplots(
        1, len(applications), sharey=True, squeeze=False, figsize=(max(3.2 * len(applications), 4.8), height)
    )
    for one, application in zip(grid[0], applications, strict=True):
        mine = rows[rows.application == application]
        runs_and_boxes(one, {names.format(level): mine[mine[factor] == level].metric_value for level in levels})
        one.set_title(plain_name(application))
        one.set_xlabel(axis)
    grid[0, 0].set_ylabel(label)
    if calls.study != OWN:
        figure.suptitle(calls.study)
    return figure, list(grid[0])


def solo_rate_figure(calls: Calls, findings: Sequence[str], words: str) -> Figure | None:
    """Draw the rate of a call alone by the RTT of the path, on its fastest link behind tail-drop with 2 BDP.

    What the study states of its own is a dashed line.
    """
    solo = calls.metric("rate_bps", role="app", start_order="solo", workload="call", aqm="tail-drop", queue_size_bdp=2)
    solo = solo[solo.bandwidth_bps == solo.application.map(calls.full_bps)]
    solo["metric_value"] /= 1e6
    drawn = solo_figure(
        calls, solo, "rtt_ms", "rate of the call (Mbit/s)", "{:g} ms", "round-trip time without queuing", 2, 3.4
    )
    if drawn is None:
        not_drawn(calls, "no solo calls behind tail-drop of 2 BDP at two round-trip times")
        return None
    figure, line = drawn
    for one in line:
        one.set_ylim(bottom=0)
    stated_lines(calls, line, findings, words)
    return figure


def solo_brisque_figure(calls: Calls, findings: Sequence[str], words: str) -> Figure | None:
    """Draw BRISQUE of solo calls by the rate of the link, with what the study states of its own."""
    alone = calls.metric(
        "qoe_brisque", workload="screen_capture", start_order="solo", aqm="tail-drop", queue_size_bdp=2,
        rtt_ms=calls.rtt_ms,
    )  # fmt: skip
    alone["link_mbits"] = alone.bandwidth_bps / 1e6
    drawn = solo_figure(
        calls, alone, "link_mbits", "BRISQUE (0 best, 100 worst)", "{:g}", "rate of the link (Mbit/s)", 1, 3.2
    )
    if drawn is None:
        not_drawn(calls, "no solo call with a BRISQUE behind tail-drop of 2 BDP")
        return None
    figure, line = drawn
    stated_lines(calls, line, findings, words)
    return figure


def looks_of_applications(rows: pd.DataFrame) -> dict[str, Look]:
    """Return the looks of a notebook's applications in all its figures, those of the figures' own study first."""
    applications = rows[rows.application.notna()].sort_values(
        ["study_id", "application"], key=lambda column: column.where(column != OWN, "")
    )
    return looks(applications.application)


def stepped_figure(study: str, rows: pd.DataFrame, series: Mapping[str, Look]) -> Figure:
    """Draw the rate of calls alone while the link changes its rate, a panel for each queue and a line for each call.

    ``rows`` are of ``rate_profile`` of one study and programme. Lines are medians over runs, bands quartiles; seconds
    within which runs begin and end are left out. ``series`` are ``looks_of_applications``.
    """
    queues = list(rows.groupby(["queue_size_bytes", "queue_label", "rtt_ms"], dropna=False))
    figure, grid = plt.subplots(len(queues), 1, sharex=True, squeeze=False, figsize=(9.0, 2.6 * max(len(queues), 1.3)))
    for one, ((size, label, rtt), rows_of_queue) in zip(grid[:, 0], queues, strict=True):
        # The seconds that all runs of an application have, without the first and the last.
        of_all = rows_of_queue[rows_of_queue.runs == rows_of_queue.groupby("application").runs.transform("max")]
        chosen = of_all[of_all.second.isin(whole_seconds(list(of_all.second)))].sort_values("second")
        link = chosen.groupby("second").link_rate_bps.max()
        one.step(link.index, link / 1e6, where="post", color="0.6", linewidth=1.2, label="link")
        counts = []
        for application, mine in chosen.groupby("application"):
            colour = series[application].colour
            name = plain_name(application)
            one.plot(mine.second, mine.rate_median_bps / 1e6, linewidth=1.2, color=colour, label=name)
            band = (mine.second, mine.rate_q1_bps / 1e6, mine.rate_q3_bps / 1e6)
            one.fill_between(*band, color=colour, alpha=0.25, linewidth=0)
            counts.append(f"{name} n = {mine.runs.max()}")
        queue = f"tail-drop queue of {size / 1000:g} kB" if study == OWN else label
        one.set_title(f"{queue}, {rtt:g} ms; {', '.join(counts)}")
        one.set_ylabel("rate (Mbit/s)")
        one.set_ylim(0, 1.1 * max(link.max(), chosen.rate_q3_bps.max()) / 1e6)
    grid[-1, 0].set_xlabel("time since the start of the run (s)")
    series_legend(figure)
    if study != OWN:
        figure.suptitle(study)
    return figure


def harm_and_brisque_figure(calls: Calls, rates: Mapping[str, int], series: Mapping[str, Look]) -> Figure | None:
    """Draw each run's BRISQUE over its throughput harm, a panel for each queue; series: ``looks_of_applications``."""
    pairs = calls.api.rows(
        "harm_qoe", study_id=calls.study, qoe_metric="brisque", exclusion_reason__null=True, harm_ratio__null=False
    )
    pairs = pairs[pairs.bandwidth_bps == pairs.application.map(rates)]
    queues = [queue for queue in ("tail-drop 2 BDP", "CoDel", "FQ-CoDel") if (pairs.queue_label == queue).any()]
    if not queues:
        not_drawn(calls, "no call with harm and a BRISQUE on a link that has the rate of its demand")
        return None
    figure, grid = plt.subplots(
        1, len(queues), sharex=True, sharey=True, squeeze=False, figsize=(3.2 * len(queues), 3.4)
    )
    for one, queue in zip(grid[0], queues, strict=True):
        counts = []
        for application in calls.applications:
            mine = pairs[(pairs.queue_label == queue) & (pairs.application == application)]
            if mine.empty:
                continue
            look, name = series[application].line, plain_name(application)
            one.plot(mine.harm_ratio, mine.qoe_score, linestyle="none", markersize=3, alpha=0.6, label=name, **look)
            counts.append(str(len(mine)))
        one.set_title(f"{queue}; n = {', '.join(counts)}")
        one.set_xlabel("throughput harm (ratio)")
    series_legend(figure)
    grid[0, 0].set_ylabel("BRISQUE (0 best, 100 worst)")
    grid[0, 0].set_ylim(20, 100)
    if calls.study != OWN:
        figure.suptitle(calls.study)
    return figure
