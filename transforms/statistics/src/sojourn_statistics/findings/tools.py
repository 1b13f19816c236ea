"""How high the delay under load is in the results of measurement tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row
from sojourn_statistics.findings.wording import counted, milliseconds, rounded, synthetic_note, words_of

_SETTING = ("study_id", "synthetic", "delay_basis")


def tool_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each study and kind of delay, which are never pooled, the lowest and the highest median under load.

    Rows are those of ``run_load_delay``; those without a median under load and those of excluded runs are left out.
    """
    settings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["loaded_median_ms"] is not None and row["exclusion_reason"] is None:
            settings.setdefault(tuple(row[name] for name in _SETTING), []).append(row)
    return [_finding(dict(zip(_SETTING, key, strict=True)), members) for key, members in settings.items()]


def _finding(setting: dict[str, Any], rows: list[Row]) -> Finding:
    in_order = sorted(rows, key=lambda row: (row["loaded_median_ms"], _name(row)))
    lowest, highest = in_order[0], in_order[-1]
    runs = len({row["run_id"] for row in rows})
    is_idle_known = any(row["idle_median_ms"] is not None for row in rows)
    context = (
        f"{setting['study_id']} · {words_of(setting['delay_basis'])}{synthetic_note(setting)}. This is the "
        "delay of the tool's own packets over the whole path, not the wait of another application."
    )
    if not is_idle_known:
        context += " No run has a value from before the load, so what the load adds is not known."
    least, most = rounded(lowest["loaded_median_ms"]), rounded(highest["loaded_median_ms"])
    names = {_name(row) for row in rows}
    over = "" if len(rows) == 1 else f"over {counted(runs, 'run')}"
    if least == most:
        headline = f"The median delay under load is {least} ms"
    else:
        headline = f"The median delay under load ranges from {least} to {most} ms"
    if len(names) == 1:
        detail = f"{over} ({_name(highest)})."
    elif least == most:
        detail = f"{over}."
    elif _name(lowest) == _name(highest):
        detail = f"{over}: {_name(highest)} has both the lowest and the highest."
    else:
        detail = f"{over}: lowest with {_name(lowest)}, highest with {_name(highest)}."
    return Finding(
        question="tools",
        setting=setting,
        verdict="answered",
        subject=None,
        headline=headline,
        detail=detail.lstrip() + _added(rows, is_idle_known),
        context=context,
        sources=("run_load_delay",),
        numbers=tuple(map(_number, [lowest] if len(rows) == 1 else [lowest, highest])),
    )


def _number(row: Row) -> FindingNumber:
    median_ms, samples = row["loaded_median_ms"], row["loaded_samples"]
    return FindingNumber(_name(row), "loaded_median_ms", row["role"], median_ms, None, None, "ms", samples, "samples")


def _name(row: Row) -> str:
    """Return the queue of a run, or the name of a run without one."""
    return str(row["queue_label"] or row["run_id"])


def _added(rows: list[Row], is_idle_known: bool) -> str:
    if not is_idle_known:
        return ""
    increase = max((row["median_increase_ms"] for row in rows if row["median_increase_ms"] is not None), default=0.0)
    if increase > 0:
        return f" Load adds {'' if len(rows) == 1 else 'up to '}{milliseconds(increase)} of delay."
    return " Load adds no delay."
