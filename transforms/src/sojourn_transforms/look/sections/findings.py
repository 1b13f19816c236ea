"""The sentence of a page: what its runs say of the queues, in the words of the mart ``finding``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn_statistics.findings import queue_findings
from sojourn_statistics.findings.queue import METRICS
from sojourn_transforms.look.view import View


def queue_metrics(view: View) -> list[dict[str, Any]]:
    """Return what the finding needs of each configuration; none without runs."""
    if not view.has("run", "run_source"):
        return []
    return view.rows("configuration_metric", f"metric in ({', '.join(repr(name) for name in METRICS)})")


def queue_sentences(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each setting in which two or more queues were measured, with its context."""
    findings = (finding for finding in queue_findings(rows) if len(finding.numbers) > 1)
    return [f"{finding.sentence} ({finding.context.split('. This holds')[0]}.)" for finding in findings]
