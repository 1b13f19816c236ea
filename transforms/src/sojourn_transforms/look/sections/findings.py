"""The sentence of a page: what its runs say of the queues, in the words of the mart ``finding``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
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


#: What a sentence says of a run's application or, where it has none, of all of its packets.
_WHOSE = {"app": "the application's packets", "all": "packets", "tcp": "TCP's packets"}
#: Queues that the sentences of a page name.
_QUEUES_TOLD = 4


def delay_sentences(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each queue in rows of ``run_queuing_delay``, or of ``run_outcome`` if packets are unseen.

    They say the median over runs with its range, and no interval: a finding has one, from five runs on.
    """
    included = [row for row in rows if row["exclusion_reason"] is None]
    for column, text in (("p95_ms", "95 % of {whose} waited at most {value}"), ("added_delay_ms", "Load adds {value}")):
        with_value = [row for row in included if row.get(column) is not None]
        role = next((role for role in _WHOSE if any(row["role"] == role for row in with_value)), None)
        of_role = [row for row in with_value if role is None or row["role"] == role]
        if of_role:
            queues = sorted({row["queue_label"] or "" for row in of_role})
            return [
                f"{_of_queue(text.format(whose=_WHOSE.get(role or ''), value=_over_runs(values)), queue)}."
                for queue in queues[:_QUEUES_TOLD]
                if (values := [row[column] for row in of_role if (row["queue_label"] or "") == queue])
            ]
    return []


def _of_queue(text: str, queue: str) -> str:
    return f"With {queue}, {text if text[0].isdigit() else text[0].lower() + text[1:]}" if queue else text


def _over_runs(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.1f} ms"
    return f"{median(values):.1f} ms (median of {len(values)} runs, {min(values):.1f} to {max(values):.1f} ms)"
