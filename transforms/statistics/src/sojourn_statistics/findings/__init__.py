"""Findings: what the marts say of a question, as a verdict, a sentence and the numbers in it."""

from sojourn_statistics.findings.finding import Finding, FindingNumber, Verdict
from sojourn_statistics.findings.marks import mark_findings
from sojourn_statistics.findings.queue import queue_findings
from sojourn_statistics.findings.study import study_findings

__all__ = ["Finding", "FindingNumber", "Verdict", "mark_findings", "queue_findings", "study_findings"]
