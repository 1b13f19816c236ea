"""How many packets each configuration marks, and whether the sources of marks agree."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from sojourn_statistics.findings.finding import RUN_SETTING, Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import congestion_control, counted, link, listed, rounded, synthetic_note

_CELL = (*(column.name for column in RUN_SETTING), "queue_label", "congestion_control")
_COUNTS = ("queue_log_marked_packets_max", "queue_counters_marked_packets_max", "wire_marked_packets_max")
_NAMES = {"app": "the application", "tcp": "TCP"}


def mark_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each setting which queue marks most packets (CE), in the median run.

    Rows are those of ``run_mark``; those of acknowledgements and of excluded runs are left out. The queue log counts
    before the counters of tc, these before captures.
    """
    cells: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["mark_direction"] == "data" and row["exclusion_reason"] is None:
            cells.setdefault(tuple(row[name] for name in _CELL), []).append(row)
    settings: dict[tuple[Any, ...], list[list[Row]]] = {}
    for key, members in cells.items():
        settings.setdefault(key[: len(RUN_SETTING)], []).append(members)
    return [_finding(members) for members in settings.values()]


def _packets(row: Row) -> int | None:
    return next((row[name] for name in _COUNTS if row[name] is not None), None)


def _median_packets(cell: list[Row]) -> float | None:
    counts = [packets for packets in map(_packets, cell) if packets is not None]
    return median(counts) if counts else None


def _finding(cells: list[list[Row]]) -> Finding:
    setting = {column.name: cells[0][0][column.name] for column in RUN_SETTING}
    counts = [(packets, cell) for cell in cells if (packets := _median_packets(cell)) is not None]
    in_order = sorted(counts, key=lambda each: (-each[0], _name(each[1][0])))
    verdict: Verdict
    subject = None
    if not in_order:
        verdict, headline = "cannot tell", "No source counts the marks."
    elif in_order[0][0] == 0:
        verdict, headline = "none", "No packet is marked in the median run."
    else:
        packets, most = in_order[0]
        queue, control = most[0]["queue_label"], most[0]["congestion_control"]
        numbers = "1 packet" if packets == 1 else f"{rounded(packets)} packets"
        where = "in the median run" + ("" if control is None else f" against {congestion_control(control)}")
        if len({cell[0]["queue_label"] for cell in cells}) == 1:
            verdict, headline = "none", f"Only {queue} was measured: {numbers} marked {where}{_ecn(setting)}."
        elif any(count == packets and cell[0]["queue_label"] != queue for count, cell in in_order):
            tied = sorted({cell[0]["queue_label"] for count, cell in in_order if count == packets})
            verdict, headline = "tied", f"{listed(tied)} mark alike: {numbers} {where}{_ecn(setting)}."
        else:
            verdict, subject = "best", queue
            headline = f"{queue} marks most: {numbers} {where}{_ecn(setting)}."
    runs = [row for cell in cells for row in cell]
    return Finding(
        question="marks",
        setting=setting,
        verdict=verdict,
        subject=subject,
        headline=headline,
        detail=_agreement(runs),
        context=(
            f"{link(setting)} · {setting['application'] or 'TCP only'} · {counted(len(runs), 'run')}"
            f"{synthetic_note(setting)}. Marks (CE) are counted by the queue log, the counters of tc, captures before "
            "and after the queue, and what the receiver echoes."
        ),
        sources=("run_mark",),
        numbers=tuple(
            FindingNumber(_name(cell[0]), "marked_packets", "all", float(packets), None, None, "packets", len(cell))
            for packets, cell in in_order
        ),
    )


def _name(row: Row) -> str:
    control = row["congestion_control"]
    return str(row["queue_label"]) + ("" if control is None else f", {congestion_control(control)}")


def _ecn(setting: Row) -> str:
    ecn, l4s = setting["ecn"], setting["l4s"]
    text = "" if ecn is None else ", without ECN" if ecn == "none" else f", with {ecn} ECN"
    if l4s == "both":
        text += " and L4S on both sides"
    elif l4s not in (None, "neither"):
        text += f" and L4S of {_NAMES.get(l4s, l4s)}"
    return text


def _agreement(runs: list[Row]) -> str:
    agree = sum(row["mark_verdict"] == "agree" for row in runs)
    disagree = sum(row["mark_verdict"] == "disagree" for row in runs)
    of = f"of {counted(len(runs), 'run')}"
    if disagree:
        return f"The sources of marks disagree in {disagree} {of}."
    if not agree:
        return "No two sources of marks can be compared."
    rest = "." if agree == len(runs) else "; the others cannot be compared."
    return f"The sources of marks agree in {agree} {of}{rest}"
