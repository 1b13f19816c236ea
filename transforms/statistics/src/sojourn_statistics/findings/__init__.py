"""Findings: what the marts say of a question, as a verdict, a sentence and the numbers in it."""

from sojourn_statistics.findings.access import access_findings
from sojourn_statistics.findings.captures import capture_findings
from sojourn_statistics.findings.finding import Finding, FindingNumber, Verdict
from sojourn_statistics.findings.marks import mark_findings
from sojourn_statistics.findings.queue import queue_findings
from sojourn_statistics.findings.run import over_runs, run_findings
from sojourn_statistics.findings.study import study_findings
from sojourn_statistics.findings.tools import tool_findings
from sojourn_statistics.findings.trust import trust_findings
from sojourn_statistics.findings.wild import wild_findings

__all__ = [
    "Finding",
    "FindingNumber",
    "Verdict",
    "access_findings",
    "capture_findings",
    "mark_findings",
    "over_runs",
    "queue_findings",
    "run_findings",
    "study_findings",
    "tool_findings",
    "trust_findings",
    "wild_findings",
]
