"""The sentences of a page: what its runs say, in the words of the mart ``finding``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn_statistics.findings import Finding, over_runs, queue_findings, run_findings
from sojourn_statistics.findings.queue import METRICS
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


def run_sentences(view: View) -> list[str]:
    """Return what the packets of a run met, or of several runs a sentence for each queue; none without measurements."""
    findings = run_findings(
        view.rows("run", "exclusion_reason is null"),
        view.rows("run_queuing_delay"),
        view.rows("run_packet_drop"),
        view.rows("run_load_delay", "median_increase_ms is not null") if view.has("series") else [],
    )
    if len(findings) == 1:
        return [_with_context(findings[0])]
    return over_runs(findings)[:_QUEUES_SHOWN]


def _with_context(finding: Finding) -> str:
    return f"{finding.sentence} ({finding.context.split('. This holds')[0]}.)"
