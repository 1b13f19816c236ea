"""Which queue discipline an application waits least in, for each link and competitor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sojourn_statistics.findings.finding import SETTING, Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import (
    competitors,
    counted,
    link,
    listed,
    milliseconds,
    order_and_ecn,
    percent,
    range_of,
    synthetic_note,
)

HARM, USE = "harm_throughput_ratio", "utilisation_ratio"
WAITS = ("queuing_delay_p95_ms", "queuing_delay_mean_ms")
"""Metrics of the wait; the first that a setting has of the application decides."""

METRICS = (*WAITS, HARM, USE)
"""Metrics of ``configuration_metric`` that the finding needs."""

_STATISTIC = dict(zip(WAITS, ("95th percentile", "mean"), strict=True))
MOST_NAMED = 6
"""Queues whose waits are all named; of more, the first two and the last are."""


@dataclass(frozen=True)
class _Queue:
    """The worst case of a queue over the configurations with it.

    Waits are in ms, with bounds over all configurations; ``runs`` are those of the worst. ``kept`` is the share of its
    demand that the application keeps.
    """

    label: str
    wait: float
    lower: float | None
    upper: float | None
    runs: int
    kept: float | None
    other_wait: float | None


def queue_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each setting which queue has the shortest wait of the application's packets.

    Rows are those of ``configuration_metric`` with one of :data:`METRICS`. A setting is what runs against what on
    which link; solo configurations have none. Each queue counts with its worst case over the congestion controls of
    the TCP flow: the longest 95th percentile of the wait, or the longest mean where there are no percentiles, with the
    widest bounds of the intervals over runs. A queue is named alone only if its interval ends below that of the next.
    """
    settings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["metric"] in METRICS and row["start_order"] not in (None, "solo"):
            settings.setdefault(tuple(row[column.name] for column in SETTING), []).append(row)
    return [_finding(members) for members in settings.values()]


def _finding(rows: list[Row]) -> Finding:
    setting = {column.name: rows[0][column.name] for column in SETTING}
    of_application = {row["metric"] for row in rows if row["role"] == "app" and row["value_median"] is not None}
    wait = next((metric for metric in WAITS if metric in of_application), WAITS[0])
    queues = sorted(_queues(rows, wait), key=lambda queue: (queue.wait, queue.label))
    controls = {row["congestion_control"] for row in rows} - {None}
    verdict, headline, detail = _verdict(setting, queues, wait, len(controls) > 1)
    return Finding(
        question="queue",
        setting=setting,
        verdict=verdict,
        subject=queues[0].label if verdict == "best" else None,
        headline=headline,
        detail=detail,
        context=_context(setting, rows),
        sources=("configuration_metric",),
        numbers=tuple(
            FindingNumber(queue.label, wait, "app", queue.wait, queue.lower, queue.upper, "ms", queue.runs)
            for queue in queues
        ),
    )


def _queues(rows: list[Row], wait: str) -> Iterable[_Queue]:
    by_label: dict[str, list[Row]] = {}
    for row in rows:
        if row["value_median"] is not None:
            by_label.setdefault(row["queue_label"], []).append(row)
    for label, members in by_label.items():
        waits = [row for row in members if row["metric"] == wait and row["role"] == "app"]
        if not waits:
            continue
        others = [row["value_median"] for row in members if row["metric"] == wait and row["role"] in ("tcp", "rival")]
        harms = [row["value_median"] for row in members if row["metric"] == HARM and row["role"] == "app"]
        worst = max(waits, key=lambda row: (row["value_median"], row["configuration_id"]))
        # A cell without an interval leaves the worst case without one.
        has_intervals = all(row["value_lower"] is not None and row["value_upper"] is not None for row in waits)
        yield _Queue(
            label=label,
            wait=worst["value_median"],
            lower=min(row["value_lower"] for row in waits) if has_intervals else None,
            upper=max(row["value_upper"] for row in waits) if has_intervals else None,
            runs=worst["runs"],
            kept=1 - max(harms) if harms else None,
            other_wait=max(others, default=None),
        )


def _verdict(setting: Row, queues: list[_Queue], wait: str, several_controls: bool) -> tuple[Verdict, str, str]:
    if not queues:
        return "cannot tell", "Cannot tell:", "nothing measured how long the application's packets waited."
    first = queues[0]
    if len(queues) == 1:
        return "none", "Nothing to choose from:", f"only {first.label} was measured."
    second = queues[1]
    if first.upper is None or second.lower is None:
        waits = f"{milliseconds(first.wait)}, {second.label} {milliseconds(second.wait)}"
        return (
            "cannot tell",
            f"Cannot tell; {first.label} has the shortest wait",
            f"({_STATISTIC[wait]} {waits}), but there are too few runs for an interval: this may be chance.",
        )
    if first.upper >= second.lower:
        waits = f"{milliseconds(first.wait)} and {milliseconds(second.wait)}"
        return (
            "tied",
            f"{first.label} or {second.label}:",
            f"their waits cannot be told apart ({_STATISTIC[wait]} {waits}; the intervals overlap).",
        )
    return "best", f"Run {first.label}.", _reasons(setting, queues, wait, several_controls)


def _reasons(setting: Row, queues: list[_Queue], wait: str, several_controls: bool) -> str:
    first = queues[0]
    named = queues[1:] if len(queues) <= MOST_NAMED else [queues[1], queues[-1]]
    against = listed([f"{milliseconds(queue.wait)} with {queue.label}" for queue in named])
    waits = _waits("the application's", wait, first.wait)
    waits = f"Whichever TCP competes, {waits}" if several_controls else waits[0].upper() + waits[1:]
    text = f"{waits}, against {against}."
    if first.kept is not None:
        text += f" The application keeps {percent(first.kept)} of its demand."
    others = [queue for queue in queues if queue.other_wait is not None]
    if first.other_wait is not None:
        least = min(others, key=lambda queue: (queue.other_wait, queue.label))
        assert least.other_wait is not None
        if round(first.other_wait) <= round(least.other_wait):
            text += " What competes waits least with it, too."
        else:
            price = _waits(f"{setting['rival_application'] or 'TCP'}'s", wait, first.other_wait)
            text += f" The price: {price}, against {milliseconds(least.other_wait)} with {least.label}."
    return text


def _waits(whose: str, wait: str, value_ms: float) -> str:
    if wait == WAITS[0]:
        return f"95 % of {whose} packets wait at most {milliseconds(value_ms)}"
    return f"{whose} packets wait {milliseconds(value_ms)} on average"


def _context(setting: Row, rows: list[Row]) -> str:
    runs: dict[str, int] = {}
    for row in rows:
        runs[row["configuration_id"]] = max(runs.get(row["configuration_id"], 0), row["runs"])
    fewest, most = min(runs.values()), max(runs.values())
    each = f"{counted(fewest, 'run')} each" if fewest == most else f"{fewest} to {most} runs each"
    context = (
        f"{competitors(setting)} · {link(setting)} · {order_and_ecn(setting)} · "
        f"{counted(len(runs), 'configuration')}, {each}"
    )
    used = [100 * row["value_median"] for row in rows if _is_link_use(row)]
    if used:
        everywhere = " in every one" if round(min(used)) == round(max(used)) else ""
        context += f" · the link is {range_of(min(used), max(used), '%')} used{everywhere}"
    return (
        f"{context}{synthetic_note(setting)}. "
        "This holds for this setting: another rate, RTT or application may order the queues differently."
    )


def _is_link_use(row: Row) -> bool:
    return row["metric"] == USE and row["role"] == "all" and row["value_median"] is not None
