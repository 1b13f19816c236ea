"""What became of the models, seeds and data tests of the project, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class DbtError(RuntimeError):
    """A model or a test failed, or dbt could not start; the message names it."""


@dataclass
class DbtReport:
    """What a run of the project did."""

    models: int = 0
    tests_passed: int = 0
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class NodeOutcome:
    """What became of one model, seed or data test.

    ``error`` says why it failed; ``warnings`` is the number of rows that a test only warns of. Such a test says in
    ``meta`` what it counts and what to do.
    """

    name: str
    kind: str
    error: str | None = None
    warnings: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    passed: bool = False


def report_of(outcomes: Iterable[NodeOutcome]) -> DbtReport:
    """Count what was done.

    Raises
    ------
    DbtError
        If something failed, with the first of it.
    """
    report = DbtReport()
    failures = []
    for outcome in outcomes:
        if outcome.error is not None:
            failures.append(f"{outcome.name}: {outcome.error}")
        elif outcome.warnings:
            report.warnings.append(f"{outcome.meta['warning']}: {outcome.warnings}; {outcome.meta['advice']}")
        if outcome.kind == "model":
            report.models += 1
        elif outcome.passed:
            report.tests_passed += 1
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise DbtError(f"{failures[0]}{more}")
    return report


def one_line(text: str) -> str:
    """Return the first three lines of a message as one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:3])
