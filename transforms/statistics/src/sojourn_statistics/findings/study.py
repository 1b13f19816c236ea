"""Which statements of a published study come out of its own runs."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import counted

_NAMES = {"imc14-buffers": "IMC'14", "pam21-zoom": "PAM'21", "imc21-vca": "IMC'21", "tma23-imvca": "TMA'23"}


def study_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each published study how many of its statements come out of the runs that the build has of it.

    Rows are those of ``published_comparison``. A statement with several groups, such as one for each application, comes
    out if all that can be judged are within its tolerance.
    """
    studies: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        studies.setdefault(row["study_id"], {}).setdefault(row["finding_id"], []).append(row)
    return [_finding(study, statements) for study, statements in studies.items()]


def _finding(study: str, statements: dict[str, list[Row]]) -> Finding:
    name = _NAMES.get(study, study)
    judged = [[row["is_inside_tolerance"] for row in rows] for rows in statements.values()]
    answered = [[inside for inside in groups if inside is not None] for groups in judged]
    answered = [groups for groups in answered if groups]
    agree = sum(all(groups) for groups in answered)
    differ = len(answered) - agree
    verdict: Verdict = (
        "cannot tell" if not answered else "agrees" if not differ else "mixed" if agree else "contradicts"
    )
    rest = len(statements) - len(answered)
    if not answered:
        headline, detail = f"No statement of {name} is answered:", f"{_reason(statements)}."
    else:
        of = f"of {counted(len(answered), 'statement')} of {name}"
        comes = "comes" if agree == 1 else "come"
        headline = f"{agree} {of} {comes} out again."
        detail = f"{counted(differ, 'statement')} {'differs' if differ == 1 else 'differ'}." if differ else ""
        if rest:
            detail += f" {rest} more cannot be answered: {_reason(statements)}."
    return Finding(
        question="study",
        setting={"study_id": study},
        verdict=verdict,
        subject=None,
        headline=headline,
        detail=detail.strip(),
        context=(
            f"{counted(len(statements), 'statement')} in all. A statement comes out again if what the runs give is "
            "within the tolerance with which it can be read from the text or figure."
        ),
        sources=("published_comparison",),
        numbers=(
            FindingNumber(None, "agreeing_statements", "all", float(agree), None, None, "statements", len(answered),
                          "statements"),
        ) if answered else (),
    )  # fmt: skip


def _reason(statements: dict[str, list[Row]]) -> str:
    """Return the reason of most of the statements without an answer."""
    reasons = [row["not_answered_reason"] for rows in statements.values() for row in rows if row["not_answered_reason"]]
    return max(sorted(set(reasons)), key=reasons.count) if reasons else "it has no tolerance"
