"""Figures of competition and of reaction, after IMC'21 and PAM'21, from rows of any runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from matplotlib.axes import Axes


def share_matrix(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw the incumbent's share of each pair, rows incumbents and columns competitors, as IMC'21's matrix of shares.

    ``rows`` are of ``competition_matrix``, of one link: two rows of one pair raise ValueError. The median over runs
    (ratio, 0 to 1) stands in the cell with its n; a pair without runs stays empty.
    """
    cells: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        key = (str(row["incumbent"]), str(row["competitor"]))
        if key in cells:
            raise ValueError(f"two links have {key[0]} against {key[1]}; filter by competition_link_id")
        cells[key] = row
    names = sorted({name for key in cells for name in key})
    shares = [
        [
            float("nan")
            if (cell := cells.get((incumbent, competitor))) is None or cell["incumbent_share_median_ratio"] is None
            else float(cell["incumbent_share_median_ratio"])
            for competitor in names
        ]
        for incumbent in names
    ]
    if names:
        axes.imshow(shares, vmin=0, vmax=1, cmap="RdBu", alpha=0.75, aspect="auto")
    for (incumbent, competitor), row in cells.items():
        value = row["incumbent_share_median_ratio"]
        label = "excluded" if value is None else f"{value:.2f}\nn = {row['runs']}"
        axes.text(names.index(competitor), names.index(incumbent), label, ha="center", va="center", fontsize=7.5)
    axes.set_xticks(range(len(names)), [name.replace(" ", "\n", 1).replace("-", "-\n", 1) for name in names])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("competitor")
    axes.set_ylabel("incumbent")
    axes.grid(visible=False)


def bitrate_over_capacity(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw the incumbent's rate over the link's, in Mbit/s, with the lines y = x and y = x / 2, as IMC'21 does.

    ``rows`` are of ``run_phase``: each run is a point, and the medians over the runs of one pair are joined. Excluded
    runs and runs without a rate are left out.
    """
    pairs: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        capacity, rate = row["phase_link_rate_bps"], row["incumbent_rate_bps"]
        if capacity is None or rate is None or row["exclusion_reason"] is not None:
            continue
        against = "alone" if row["competitor"] is None else f"against {row['competitor']}"
        of_pair = pairs.setdefault(f"{row['incumbent']} {against}", {})
        of_pair.setdefault(capacity / 1e6, []).append(rate / 1e6)
    for number, (label, of_pair) in enumerate(sorted(pairs.items())):
        colour = f"C{number}"
        points = [(capacity, rate) for capacity, rates in sorted(of_pair.items()) for rate in rates]
        axes.plot(*zip(*points, strict=True), linestyle="none", marker="o", markersize=3, alpha=0.6, color=colour)
        runs = len(points)
        middle = [(capacity, median(rates)) for capacity, rates in sorted(of_pair.items())]
        axes.plot(*zip(*middle, strict=True), color=colour, label=f"{label}, n = {runs} runs")
    widest = max((capacity for of_pair in pairs.values() for capacity in of_pair), default=1.0)
    axes.plot([0, widest], [0, widest], color="0.5", linewidth=0.8, linestyle="--", label="y = x")
    axes.plot([0, widest], [0, widest / 2], color="0.5", linewidth=0.8, linestyle=":", label="y = x / 2")
    axes.set_xlabel("rate of the link (Mbit/s)")
    axes.set_ylabel("rate of the incumbent (Mbit/s)")
    axes.legend(fontsize=7)


def rates_about_competition(
    axes: Axes, rows: Iterable[Mapping[str, Any]], start_s: int = -30, end_s: int = 150
) -> None:
    """Draw the median over runs of both rates, in Mbit/s, from ``start_s`` to ``end_s`` about the competitor's start.

    ``rows`` are of ``run_phase_second``, of one configuration. Excluded runs and runs without a competition are left
    out. n, in the legend, is the number of runs.
    """
    sides: dict[str, dict[int, list[float]]] = {}
    runs: dict[str, set[str]] = {}
    for row in rows:
        second = row["competition_second"]
        if second is None or row["side"] is None or row["exclusion_reason"] is not None:
            continue
        if start_s <= second < end_s:
            sides.setdefault(row["side"], {}).setdefault(int(second), []).append(row["rate_bps"] / 1e6)
            runs.setdefault(row["side"], set()).add(str(row["run_id"]))
    for side, seconds in sorted(sides.items(), reverse=True):
        times = sorted(seconds)
        axes.plot(times, [median(seconds[time]) for time in times], label=f"{side}, n = {len(runs[side])} runs")
    axes.axvline(0, color="0.5", linewidth=0.8, linestyle="--")
    axes.set_xlim(start_s, end_s)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time since the competitor's start (s)")
    axes.set_ylabel("rate (Mbit/s)")
    if sides:
        axes.legend(fontsize=7)


def rates_under_a_programme(
    axes: Axes, rates: Iterable[Mapping[str, Any]], rtt_steps: Iterable[Mapping[str, Any]] = ()
) -> Axes | None:
    """Draw what one flow alone sent while the link's rate or RTT was stepped, as PAM'21's Figure 2.

    ``rates`` are rows of ``rate_profile`` of one profile (``rate_basis`` capture_before: sent), in order of second:
    the median over runs with the link's rate, both in Mbit/s. ``rtt_steps`` are rows of ``rtt_step_reaction``; they
    give the round-trip time (ms) a second axis, which is returned. Two profiles raise ValueError.
    """
    seconds = sorted(rates, key=lambda row: int(row["second"]))
    if len({row["rate_profile_id"] for row in seconds}) > 1:
        raise ValueError("rates of several profiles; filter by rate_profile_id")
    times = [int(row["second"]) for row in seconds]
    runs = max((int(row["runs"]) for row in seconds), default=0)
    of_link = [float("nan") if row["link_rate_bps"] is None else row["link_rate_bps"] / 1e6 for row in seconds]
    sent = [float("nan") if row["rate_median_bps"] is None else row["rate_median_bps"] / 1e6 for row in seconds]
    axes.step(times, of_link, where="post", color="0.4", linestyle="--", label="link")
    axes.plot(times, sent, color="C0", label=f"sent, n = {runs} runs")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("rate (Mbit/s)")
    axes.legend(fontsize=7)
    steps = {(int(row["step_second"]), float(row["from_rtt_ms"]), float(row["to_rtt_ms"])) for row in rtt_steps}
    if not steps or not times:
        return None
    ordered = sorted(steps)
    at = [times[0], *(second for second, _, _ in ordered), times[-1] + 1]
    rtts = [ordered[0][1], *(to for _, _, to in ordered), ordered[-1][2]]
    second_axis = axes.twinx()
    second_axis.step(at, rtts, where="post", color="C1", label="RTT")
    second_axis.set_ylabel("RTT without queuing (ms)", color="C1")
    second_axis.grid(visible=False)
    second_axis.set_ylim(bottom=0)
    return second_axis


def share_boxes(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw both sides' share of the shaped rate over the seconds of the competition, as IMC'21's box plots.

    ``rows`` are of ``run_phase_second``. Boxes are quartiles, whiskers reach from 5 to 95 % of the seconds. Seconds are
    not repetitions, so nothing is an interval; the label has the number of runs and of seconds. Excluded runs, other
    phases and seconds without a rate of the link are left out.
    """
    seconds: dict[tuple[str, str], list[float]] = {}
    runs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        share, side = row["share_of_link_ratio"], row["side"]
        if share is None or side is None or row["run_phase"] != "competing" or row["exclusion_reason"] is not None:
            continue
        key = (str(row["pair"]), str(side))
        seconds.setdefault(key, []).append(100 * float(share))
        runs.setdefault(key, set()).add(str(row["run_id"]))
    keys = sorted(seconds, key=lambda key: (key[0], key[1] != "incumbent"))
    if keys:
        axes.boxplot(
            [seconds[key] for key in keys], positions=range(len(keys)), widths=0.55, whis=(5, 95), showfliers=False
        )
    labels = [f"{pair}\n{side}\n{len(runs[pair, side])} runs, {len(seconds[pair, side])} s" for pair, side in keys]
    axes.set_xticks(range(len(keys)), labels)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share of the shaped rate in a second (%)")


def times_to_recovery(axes: Axes, rows: Iterable[Mapping[str, Any]]) -> None:
    """Draw how long each run took to recover from a disruption, over the rate that the link fell to, as IMC'21 does.

    ``rows`` are of ``step_recovery``, of one definition: another one raises ValueError. Each run is a point, and the
    medians over the runs of one application are joined. Runs that did not recover are counted in the legend.
    """
    found: dict[str, dict[float, list[float]]] = {}
    missing: dict[str, int] = {}
    definitions: set[str] = set()
    for row in rows:
        if row["exclusion_reason"] is not None:
            continue
        definitions.add(str(row["recovery_definition"]))
        name = str(row["application"] or row["congestion_control"])
        of_name = found.setdefault(name, {})
        if row["recovery_ms"] is None:
            missing[name] = missing.get(name, 0) + 1
        else:
            of_name.setdefault(row["disruption_bps"] / 1e6, []).append(row["recovery_ms"] / 1e3)
    if len(definitions) > 1:
        raise ValueError(f"times of {len(definitions)} definitions; filter by recovery_definition")
    for number, (name, of_name) in enumerate(sorted(found.items())):
        points = [(rate, time) for rate, times in sorted(of_name.items()) for time in times]
        label = f"{name}, n = {len(points)} runs"
        if name in missing:
            label += f", {missing[name]} did not recover"
        middle = [(rate, median(times)) for rate, times in sorted(of_name.items())]
        axes.plot(*(zip(*middle, strict=True) if middle else ([], [])), color=f"C{number}", label=label)
        if points:
            axes.plot(*zip(*points, strict=True), linestyle="none", marker="o", markersize=3, color=f"C{number}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rate of the link in the disruption (Mbit/s)")
    axes.set_ylabel("time to recovery (s)")
    if found:
        axes.legend(fontsize=7)
