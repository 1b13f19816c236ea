"""How long the delay under load is in the results of measurement tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row
from sojourn_statistics.findings.wording import counted, milliseconds, rounded, synthetic_note, words_of

_SETTING = ("study_id", "synthetic", "delay_basis")


def tool_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each study and kind of delay, which are never pooled, the shortest and the longest median under load.

    Rows are those of ``run_load_delay``; those without a median under load and those of excluded runs are left out.
    """
    settings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["loaded_median_ms"] is not None and row["exclusion_reason"] is None:
            settings.setdefault(tuple(row[name] for name in _SETTING), []).append(row)
    return [_finding(dict(zip(_SETTING, key, strict=True)), members) for key, members in settings.items()]


def _finding(setting: dict[str, Any], rows: list[Row]) -> Finding:
    in_order = sorted(rows, key=lambda row: (row["loaded_median_ms"], _name(row)))
    shortest, longest = in_order[0], in_order[-1]
    runs = len({row["run_id"] for row in rows})
    is_idle_known = any(row["idle_median_ms"] is not None for row in rows)
    context = (
        f"{setting['study_id']} · {words_of(setting['delay_basis'])}{synthetic_note(setting)}. This is the "
        "delay of the tool's own packets over the whole path, not the wait of another application."
    )
    if not is_idle_known:
        context += " No run has a value from before the load, so what the load adds is not known."
    if len(rows) == 1:
        headline = f"Half of the values under load are at least {milliseconds(longest['loaded_median_ms'])}"
        detail = f"({_name(longest)})."
    else:
        least, most = rounded(shortest["loaded_median_ms"]), rounded(longest["loaded_median_ms"])
        headline = f"The runs' medians under load are {least} to {most} ms,"
        names = f"the shortest with {_name(shortest)}, the longest with {_name(longest)}"
        if _name(shortest) == _name(longest):
            names = f"the shortest and the longest with {_name(longest)}"
        detail = f"over {counted(runs, 'run')}: {names}."
    return Finding(
        question="tools",
        setting=setting,
        verdict="answered",
        subject=None,
        headline=headline,
        detail=detail + _before(rows, is_idle_known),
        context=context,
        sources=("run_load_delay",),
        numbers=tuple(map(_number, [shortest] if len(rows) == 1 else [shortest, longest])),
    )


def _number(row: Row) -> FindingNumber:
    median_ms, samples = row["loaded_median_ms"], row["loaded_samples"]
    return FindingNumber(_name(row), "loaded_median_ms", row["role"], median_ms, None, None, "ms", samples, "samples")


def _name(row: Row) -> str:
    """Return the queue of a run, or the name of a run without one."""
    return str(row["queue_label"] or row["run_id"])


def _before(rows: list[Row], is_idle_known: bool) -> str:
    if not is_idle_known:
        return ""
    increase = max((row["median_increase_ms"] for row in rows if row["median_increase_ms"] is not None), default=0.0)
    if increase > 0:
        return f" Before the load it is up to {milliseconds(increase)} shorter."
    return " It is not shorter before the load."
