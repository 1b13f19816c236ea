"""How long the packets of one run waited in the queue, and how many of them were lost."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from sojourn_statistics.findings.finding import RUN_SETTING, Finding, FindingNumber, Row
from sojourn_statistics.findings.wording import (
    conditions,
    congestion_control,
    link,
    listed,
    milliseconds,
    order_and_ecn,
    rounded,
    synthetic_note,
    words_of,
)

_SETTING = (*(column.name for column in RUN_SETTING), "run_id")
_RUN = ("study_id", "run_id")
_P95, _MEDIAN, _MEAN, _ADDED = (
    "queuing_delay_p95_ms", "queuing_delay_median_ms", "queuing_delay_mean_ms", "added_delay_ms"
)  # fmt: skip
_WHOSE = {"app": "the application's packets", "all": "all packets", "tcp": "TCP's packets"}
"""Roles whose wait is stated, the first that a run has."""

_NO_QUEUE = "Queue not stated"
_STATED = {
    _P95: "95 % of {whose} wait at most {value}",
    _MEAN: "{whose} wait {value} on average",
    _ADDED: "load adds {value}",
}
"""How numbers are stated over runs, the first that a run has."""

_ADDED_OF = ("app", "probe", "tcp")
"""Roles whose delay under load a tool measured, the first that a run has."""


def run_findings(
    runs: Iterable[Row], delays: Iterable[Row], drops: Iterable[Row], loads: Iterable[Row]
) -> list[Finding]:
    """Return for each run how long its application's packets waited and how many were lost.

    A run without an application's packets has all packets or TCP's, one without a queue log the delay that load adds by
    its tools, and one without any of these no finding.

    Parameters
    ----------
    runs
        Rows of ``run`` that are not excluded.
    delays
        Rows of ``run_queuing_delay``.
    drops
        Rows of ``run_packet_drop``.
    loads
        Rows of ``run_load_delay`` with an increase.
    """
    delays_of, drops_of, loads_of = _by_run(delays), _by_run(drops), _by_run(loads)
    findings = (_finding(run, *(rows.get(_key(run), []) for rows in (delays_of, drops_of, loads_of))) for run in runs)
    return [finding for finding in findings if finding.numbers]


def over_runs(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each queue of some runs: the median of their wait or of what load adds, with its range.

    Only runs that differ in nothing but their queue are summed up or set side by side; of others there is no sentence.
    """
    numbered = [(finding, finding.numbers[0]) for finding in findings if finding.numbers[0].metric in _STATED]
    quantity = min((_quantity(number) for _, number in numbered), default=None)
    stated = [(finding, number) for finding, number in numbered if _quantity(number) == quantity]
    if len({_all_but_queue(finding) for finding, _ in stated}) > 1:
        return []
    by_queue: dict[str, list[FindingNumber]] = {}
    for finding, number in stated:
        by_queue.setdefault(finding.subject or "", []).append(number)
    return [_over_runs(queue, by_queue[queue]) for queue in sorted(by_queue)]


def _all_but_queue(finding: Finding) -> tuple[object, ...]:
    competitor = finding.headline.removeprefix(finding.subject or _NO_QUEUE)
    return competitor, *(finding.setting[column.name] for column in RUN_SETTING)


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _RUN)


def _by_run(rows: Iterable[Row]) -> dict[tuple[object, ...], list[Row]]:
    by_run: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        by_run.setdefault(_key(row), []).append(row)
    return by_run


def _finding(run: Row, delays: list[Row], drops: list[Row], loads: list[Row]) -> Finding:
    waits = {row["role"]: row for row in delays if row["median_ms"] is not None or row["mean_ms"] is not None}
    lost = {row["role"]: row for row in drops if row["drop_ratio"] is not None}
    role = next((each for each in _WHOSE if each in waits), None) or next((each for each in _WHOSE if each in lost), "")
    numbers = [] if role not in waits else _waits(waits[role], run["queue_label"])
    if not numbers:
        numbers = _added([row for row in loads if row["median_increase_ms"] is not None])
    parts = [_in_words(numbers, _WHOSE.get(role, ""))] if numbers else []
    if role in lost:
        row = lost[role]
        numbers.append(
            _number(run["queue_label"], "drop_ratio", role, row["drop_ratio"], "ratio", row["offered_packets"])
        )
        of = "them" if role in waits else _WHOSE[role]
        share = f"{rounded(100 * row['drop_ratio'])} % of {of} are" if row["drop_ratio"] else f"none of {of} is"
        parts.append(f"{share} lost")
    return Finding(
        question="run",
        setting={name: run[name] for name in _SETTING},
        verdict="answered",
        subject=run["queue_label"],
        headline=f"{_queue_and_competitor(run)}.",
        detail=f"{'; '.join(parts)}.",
        context=_context(run),
        sources=("run", "run_queuing_delay", "run_packet_drop", "run_load_delay"),
        numbers=tuple(numbers),
    )


def _number(subject: str | None, metric: str, role: str, value: float, unit: str, packets: int | None) -> FindingNumber:
    """Return a number of a run; what a study published is of one run."""
    n, n_unit = (1, "runs") if packets is None else (packets, "packets")
    return FindingNumber(subject, metric, role, value, None, None, unit, n, n_unit)


def _waits(row: Row, queue: str | None) -> list[FindingNumber]:
    names = [(_P95, "p95_ms"), (_MEDIAN, "median_ms")] if row["median_ms"] is not None else [(_MEAN, "mean_ms")]
    return [_number(queue, metric, row["role"], row[column], "ms", row["packets"]) for metric, column in names]


def _added(loads: list[Row]) -> list[FindingNumber]:
    role = next((each for each in _ADDED_OF if any(row["role"] == each for row in loads)), None)
    return [
        FindingNumber(
            words_of(row["delay_basis"]), _ADDED, row["role"], row["median_increase_ms"], None, None, "ms",
            row["increase_series"], "series",
        )
        for row in sorted(loads, key=lambda row: row["delay_basis"])
        if row["role"] == role
    ]  # fmt: skip


def _in_words(numbers: list[FindingNumber], whose: str) -> str:
    by_metric = {number.metric: number.value for number in numbers}
    if _ADDED in by_metric:
        return f"Load adds {listed([_added_in_words(number) for number in numbers])}"
    if _MEAN in by_metric:
        return _capital(_STATED[_MEAN].format(whose=whose, value=milliseconds(by_metric[_MEAN])))
    return (
        f"Half of {whose} wait at most {milliseconds(by_metric[_MEDIAN])}, and 95 % of them at most "
        f"{milliseconds(by_metric[_P95])}"
    )


def _added_in_words(number: FindingNumber) -> str:
    return f"{_amount(_ADDED, number.value)} ({number.subject})"


def _amount(metric: str, value: float) -> str:
    """Return a duration in ms; load that shortens the delay adds none."""
    if metric != _ADDED:
        return milliseconds(value)
    return f"{milliseconds(value)} of delay" if value > 0 else "no delay"


def _queue_and_competitor(run: Row) -> str:
    queue = run["queue_label"] or _NO_QUEUE
    control = run["congestion_control"]
    opponent = run["rival_application"] or (
        _background(run) if control is None else f"{congestion_control(control)} TCP"
    )
    if run["application"] is None:
        return queue if opponent is None else f"{queue}, {opponent} alone"
    return f"{queue}, against {opponent or 'nothing'}"


def _background(run: Row) -> str | None:
    if run["congested_direction"] in (None, "none"):
        return None
    return "background traffic" if run["workload"] is None else f"workload “{run['workload']}”"


def _context(run: Row) -> str:
    parts = (run["run_id"], run["study_id"], run["application"], *conditions(run), link(run), order_and_ecn(run))
    return " · ".join(part for part in parts if part) + synthetic_note(run)


def _quantity(number: FindingNumber) -> tuple[int, int, str]:
    """Return which quantity a number is of; the smallest is the first to state."""
    if number.metric == _ADDED:
        return list(_STATED).index(_ADDED), _ADDED_OF.index(number.role), number.subject or ""
    return list(_STATED).index(number.metric), list(_WHOSE).index(number.role), ""


def _over_runs(queue: str, numbers: list[FindingNumber]) -> str:
    first, values = numbers[0], [number.value for number in numbers]
    notes = [first.subject] if first.metric == _ADDED and first.subject else []
    if len(values) > 1:
        least, most = rounded(max(min(values), 0)), milliseconds(max(*values, 0))
        spread = "all alike" if most == f"{least} ms" else f"range {least} to {most}"
        notes.append(f"median of {len(values):,} runs; {spread}")
    value = _amount(first.metric, median(values)) + (f" ({'; '.join(notes)})" if notes else "")
    text = _STATED[first.metric].format(whose=_WHOSE.get(first.role, ""), value=value)
    return f"With {queue}, {text}." if queue else f"{_capital(text)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
