"""Which queue discipline an application waits least in, for each link and competitor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sojourn_statistics.findings.finding import RUN_SETTING, Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.order import Measured, verdicts
from sojourn_statistics.findings.wording import (
    competitors,
    congestion_control,
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
class _Wait(Measured):
    """The highest queuing delay over configurations, in ms, with the widest bounds; ``runs`` are the runs of it."""

    runs: int


@dataclass(frozen=True)
class _Queue:
    """The worst case of a queue over the congestion controls that all queues were measured against.

    ``kept`` is the share of its demand that the application keeps, ``other`` the wait of what competes.
    """

    label: str
    wait: _Wait
    kept: float | None
    other: _Wait | None


def queue_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each setting which queue has the lowest queuing delay of the application's packets.

    Rows are those of ``configuration_metric`` with one of :data:`METRICS`. A setting is what runs against what on
    which link; solo configurations have none. Each queue counts with its worst case over the congestion controls of
    the TCP flow that all queues were measured against: the highest 95th percentile of the queuing delay, or the
    highest mean where there are no percentiles, with the widest bounds of the intervals over runs. A queue is named
    alone only if its interval ends below those of all others.
    """
    settings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["metric"] in METRICS and row["start_order"] not in (None, "solo"):
            settings.setdefault(tuple(row[column.name] for column in RUN_SETTING), []).append(row)
    return [_finding(members) for members in settings.values()]


def _finding(rows: list[Row]) -> Finding:
    setting = {column.name: rows[0][column.name] for column in RUN_SETTING}
    of_application = {row["metric"] for row in rows if row["role"] == "app" and row["value_median"] is not None}
    metric = next((each for each in WAITS if each in of_application), WAITS[0])
    controls = _controls_of_all(rows, metric)
    queues = sorted(_queues(rows, metric, controls), key=lambda queue: (queue.wait.value, queue.label))
    verdict, headline, detail = _verdict(setting, queues, metric, controls)
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
            FindingNumber(
                queue.label, metric, "app", queue.wait.value, queue.wait.lower, queue.wait.upper, "ms", queue.wait.runs
            )
            for queue in queues
        ),
    )


def _controls_of_all(rows: list[Row], metric: str) -> set[str | None]:
    """Return the congestion controls against which every queue with a wait of the application was measured."""
    by_queue: dict[str, set[str | None]] = {}
    for row in rows:
        if row["metric"] == metric and row["role"] == "app" and row["value_median"] is not None:
            by_queue.setdefault(row["queue_label"], set()).add(row["congestion_control"])
    return set.intersection(*by_queue.values()) if by_queue else set()


def _highest(rows: list[Row]) -> _Wait | None:
    if not rows:
        return None
    worst = max(rows, key=lambda row: (row["value_median"], row["configuration_id"]))
    # A configuration without an interval leaves the worst case without one.
    has_intervals = all(row["value_lower"] is not None and row["value_upper"] is not None for row in rows)
    return _Wait(
        value=worst["value_median"],
        lower=min(row["value_lower"] for row in rows) if has_intervals else None,
        upper=max(row["value_upper"] for row in rows) if has_intervals else None,
        runs=worst["runs"],
    )


def _queues(rows: list[Row], metric: str, controls: set[str | None]) -> Iterable[_Queue]:
    by_label: dict[str, list[Row]] = {}
    for row in rows:
        if row["value_median"] is not None and row["congestion_control"] in controls:
            by_label.setdefault(row["queue_label"], []).append(row)
    for label, members in by_label.items():
        waits = [row for row in members if row["metric"] == metric]
        wait = _highest([row for row in waits if row["role"] == "app"])
        if wait is None:
            continue
        harms = [row["value_median"] for row in members if row["metric"] == HARM and row["role"] == "app"]
        yield _Queue(
            label=label,
            wait=wait,
            kept=1 - max(harms) if harms else None,
            other=_highest([row for row in waits if row["role"] in ("tcp", "rival")]),
        )


def _verdict(setting: Row, queues: list[_Queue], metric: str, controls: set[str | None]) -> tuple[Verdict, str, str]:
    if not queues:
        return (
            "cannot tell",
            "Cannot tell:",
            "the queuing delay of the application's packets was not measured in the same way for all queues.",
        )
    first, others = queues[0], queues[1:]
    if not others:
        return "none", "Nothing to choose from:", f"only {first.label} was measured."
    without = [queue.label for queue in queues if queue.wait.lower is None or queue.wait.upper is None]
    if without:
        waits = f"{milliseconds(first.wait.value)}, {others[0].label} {milliseconds(others[0].wait.value)}"
        have = "has" if len(without) == 1 else "have"
        return (
            "cannot tell",
            f"Cannot tell; {first.label} has the lowest queuing delay",
            f"({_STATISTIC[metric]} {waits}), but {listed(without)} {have} too few runs for an interval: this may be "
            "chance.",
        )
    verdict_of = zip(queues, verdicts([queue.wait for queue in queues]), strict=True)
    tied = [queue for queue, verdict in verdict_of if verdict == "tied"]
    if tied:
        names = [queue.label for queue in tied]
        waits = listed([milliseconds(queue.wait.value) for queue in tied])
        return (
            "tied",
            f"{', '.join(names[:-1])} or {names[-1]}:",
            f"their queuing delays cannot be told apart ({_STATISTIC[metric]} {waits}; the intervals overlap).",
        )
    return "best", f"Run {first.label}.", _reasons(setting, queues, metric, controls)


def _reasons(setting: Row, queues: list[_Queue], metric: str, controls: set[str | None]) -> str:
    first = queues[0]
    named = queues[1:] if len(queues) <= MOST_NAMED else [queues[1], queues[-1]]
    against = listed([f"{milliseconds(queue.wait.value)} with {queue.label}" for queue in named])
    waits = _waits("the application's", metric, first.wait.value)
    names = sorted(congestion_control(name) for name in controls if name is not None)
    if len(names) > 1:
        waits = f"Whichever of {listed(names)} competes, {waits}"
    else:
        waits = f"With {names[0]} competing, {waits}" if names else waits[0].upper() + waits[1:]
    text = f"{waits}, against {against}."
    if first.kept is not None:
        text += f" The application keeps {percent(first.kept)} of its demand."
    others = [(queue.other, queue.label) for queue in queues[1:] if queue.other is not None]
    if first.other is None or not others:
        return text
    if all(first.other.is_below(other) for other, _ in others):
        return f"{text} What competes waits least with it, too."
    least, label = min(others, key=lambda each: (each[0].value, each[1]))
    if least.is_below(first.other):
        price = _waits(f"{setting['rival_application'] or 'TCP'}'s", metric, first.other.value)
        text += f" The price: {price}, against {milliseconds(least.value)} with {label}."
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
