"""Which statements of a published study come out of its own runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import counted

_NAMES = {"imc14-buffers": "IMC'14", "pam21-zoom": "PAM'21", "imc21-vca": "IMC'21", "tma23-imvca": "TMA'23"}


def study_findings(rows: Iterable[Row], described: Iterable[Row]) -> list[Finding]:
    """Return for each published study how many of its statements come out of the runs that the build has of it.

    Rows are those of ``published_comparison``, and ``described`` those of ``study``: its runs and excluded_runs. A
    statement with several groups, such as one for each application, has one verdict.
    """
    studies: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        studies.setdefault(row["study_id"], {}).setdefault(row["finding_id"], []).append(row)
    runs = {row["study_id"]: row["runs"] - row["excluded_runs"] for row in described}
    return [_finding(study, statements, runs.get(study, 0)) for study, statements in studies.items()]


def _finding(study: str, statements: dict[str, list[Row]], runs: int) -> Finding:
    name = _NAMES.get(study, study)
    counts = Counter(rows[0]["statement_verdict"] for rows in statements.values())
    agree, differ, recomputed, unanswered = (
        counts[verdict] for verdict in ("agrees", "differs", "not judged", "not answered")
    )
    judged = agree + differ
    verdict: Verdict = "cannot tell"
    headline = f"No statement of {name} can be judged."
    if judged:
        verdict = "agrees" if not differ else "mixed" if agree else "contradicts"
        are = "is" if agree == 1 else "are"
        # A study may publish a part of its runs, so the number belongs to the sentence.
        of_runs = f" from {runs:,} of its runs" if _are_of_runs(statements.values()) else ""
        headline = f"{agree} of {counted(judged, 'statement')} of {name} {are} reproduced{of_runs}."
    of_study = f"The build has {counted(runs, 'run')} of the study that are not excluded. " if runs else ""
    details = []
    if differ:
        details.append(f"{counted(differ, 'statement')} {'differs' if differ == 1 else 'differ'}.")
    if recomputed:
        more = counted(recomputed, "more statement" if judged else "statement")
        details.append(f"{more} {'has' if recomputed == 1 else 'have'} no tolerance to judge by.")
    if unanswered:
        details.append(_unanswered(statements.values(), unanswered))
    return Finding(
        question="study",
        setting={"study_id": study},
        verdict=verdict,
        subject=None,
        headline=headline,
        detail=" ".join(details),
        context=(
            f"{counted(len(statements), 'statement')} in all. {of_study}A statement is reproduced if the recomputed "
            "figure is within the tolerance with which it can be read from the text or figure. The study states no "
            "intervals, so this compares the figure alone; only ratios are judged by an interval."
        ),
        sources=("published_comparison", "study"),
        numbers=(
            FindingNumber(None, "agreeing_statements", "all", float(agree), None, None, "statements", judged,
                          "statements"),
        ) if judged else (),
    )  # fmt: skip


def _are_of_runs(statements: Iterable[list[Row]]) -> bool:
    """Return whether all verdicts of a study are from runs, and none from connections or flows."""
    judged = (row for rows in statements for row in rows if row["statement_verdict"] in ("agrees", "differs"))
    return all(row["population"] == "run" for row in judged)


def _unanswered(statements: Iterable[list[Row]], count: int) -> str:
    """Return how many statements the build does not answer, with the reason that most of them have."""
    reasons = [
        row["not_answered_reason"] for rows in statements for row in rows if row["statement_verdict"] == "not answered"
    ]
    text = f"{counted(count, 'statement')} {'is' if count == 1 else 'are'} not answered"
    usual = max(sorted(set(reasons)), key=reasons.count)
    return f"{text}{': ' if len(set(reasons)) == 1 else ', most because '}{usual}."
