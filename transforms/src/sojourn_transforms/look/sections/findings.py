"""The sentences of a page: what its runs say, in the words of the mart ``finding``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from sojourn_statistics.findings import Finding, over_runs, queue_findings, run_findings
from sojourn_statistics.findings.queue import METRICS
from sojourn_statistics.findings.settings import settings_finding
from sojourn_transforms.look.differences import STATED, differences
from sojourn_transforms.look.sections.configurations import setting
from sojourn_transforms.look.texts import in_words
from sojourn_transforms.look.view import View

#: Queues that the sentences of a page name.
_QUEUES_SHOWN = 4


def queue_metrics(view: View) -> list[dict[str, Any]]:
    """Return what the finding needs of each configuration; none without runs."""
    if not view.has("run", "run_source"):
        return []
    return view.rows("configuration_metric", f"metric in ({', '.join(repr(name) for name in METRICS)})")


def queue_sentences(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each setting in which two or more queues were measured, with its context."""
    return [_with_context(finding) for finding in queue_findings(rows) if len(finding.numbers) > 1]


def run_sentences(view: View, runs: Sequence[Mapping[str, Any]], absent: list[str]) -> list[str]:
    """Return what the packets of a run met; none without measurements.

    Of several runs, it is what two configurations differ by, and a sentence for each queue. ``absent`` gets the reason
    where the interval of a difference cannot be computed.
    """
    findings = run_findings(
        view.rows("run", "exclusion_reason is null"),
        view.rows("run_queuing_delay"),
        view.rows("run_packet_drop"),
        view.rows("run_load_delay", "median_increase_ms is not null") if view.has("series") else [],
    )
    if len(findings) == 1:
        return [_with_context(findings[0])]
    return [*_difference(view, runs, absent), *over_runs(findings)[:_QUEUES_SHOWN]]


def _difference(view: View, runs: Sequence[Mapping[str, Any]], absent: list[str]) -> list[str]:
    """Return which of two configurations has the lower delay and the higher rate; nothing of one or of more."""
    by_configuration: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["exclusion_reason"] is None:
            by_configuration.setdefault(run["configuration_id"], []).append(run)
    if len(by_configuration) != 2:
        return []
    first, second = by_configuration.values()
    if len(first) + len(second) > 2 and find_spec("scipy") is None:
        absent.append("Difference of the two configurations: SciPy is not installed; pip install 'sojourn[build]'.")
        return []
    names = _names(first[0], second[0])
    if names[0] == names[1]:
        absent.append("Difference of the two configurations: no name tells them apart; name them with --compare.")
        return []
    metric_differences = differences((view, first), (view, second), names, STATED)
    if not any(one.shift is not None for one in metric_differences):
        return []
    return [settings_finding(*names, metric_differences).sentence]


def _names(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, str]:
    """Return names of the configurations of two runs: what they differ in."""
    described = [run | {"folder": run["study_id"]} for run in (dict(first), dict(second))]
    parts = ("queue_label", "congestion_control", "bandwidth_bps", "rtt_ms")
    if sum(described[0][part] != described[1][part] for part in parts) > 1:
        return setting(first), setting(second)
    for part in ("queue_label", "congestion_control", "application", "workload", "folder"):
        names = [in_words(run[part] or f"no {in_words(part)}") for run in described]
        if names[0] != names[1]:
            return names[0], names[1]
    return setting(first), setting(second)


def _with_context(finding: Finding) -> str:
    return f"{finding.sentence} ({finding.context.split('. This holds')[0]}.)"
