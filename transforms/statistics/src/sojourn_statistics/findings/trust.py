"""What was read of the sources, and in how many runs they agree."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import counted


def trust_findings(
    sources: Iterable[Row], runs: Iterable[Row], connections: Iterable[Row], passive: Iterable[Row]
) -> list[Finding]:
    """Return how many sources were read whole and runs agree, of everything in a build; nothing without sources.

    Parameters
    ----------
    sources
        Rows of ``ingest_outcome`` counted by ``status`` and ``format``: ``sources``, ``records``, ``records_refused``.
    runs
        Rows of ``run`` counted by ``reconciliation_verdict`` and ``is_excluded``: ``runs``, the latest ``start_ns``.
    connections
        Rows of ``connection_count`` summed by ``served_detail``: ``connections``.
    passive
        ``rtt_samples`` of ``access_delay`` that are synthetic, each counted once.
    """
    of_sources, of_runs = list(sources), list(runs)
    if not of_sources:
        return []
    count = sum(row["sources"] for row in of_sources)
    whole = sum(row["sources"] for row in of_sources if row["status"] == "ok")
    disagree = sum(row["runs"] for row in of_runs if row["reconciliation_verdict"] == "disagree")
    verdict: Verdict = "agrees" if whole == count and not disagree else "mixed"
    parts = [_agreement(of_runs), _excluded(of_runs), _synthetic(of_sources, passive), _uncounted(connections)]
    if whole == count:
        were = "The one source was" if count == 1 else f"All {count:,} sources were"
        headline = f"{were} read to the end."
    else:
        partial = sum(row["sources"] for row in of_sources if row["status"] == "partial")
        headline = f"{count - whole:,} of {counted(count, 'source')} {_was(count - whole)} not read completely:"
        parts.insert(0, f"{count - whole - partial:,} refused, {partial:,} read in part.")
    numbers = [FindingNumber(None, "sources_read_whole", "all", float(whole), None, None, "sources", count, "sources")]
    if of_runs:
        total = sum(row["runs"] for row in of_runs)
        numbers.append(FindingNumber(None, "disagreeing_runs", "all", float(disagree), None, None, "runs", total))
    return [
        Finding(
            question="trust",
            setting={},
            verdict=verdict,
            subject=None,
            headline=headline,
            detail=" ".join(part for part in parts if part),
            context=_context(of_sources, of_runs),
            sources=("ingest_outcome", "run", "connection_count", "access_delay"),
            numbers=tuple(numbers),
        )
    ]


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _agreement(runs: list[Row]) -> str:
    total = sum(row["runs"] for row in runs)
    by_verdict = dict.fromkeys(("agree", "disagree"), 0)
    for row in runs:
        if row["reconciliation_verdict"] in by_verdict:
            by_verdict[row["reconciliation_verdict"]] += row["runs"]
    agree, disagree = by_verdict["agree"], by_verdict["disagree"]
    if not total:
        return ""
    if disagree:
        return f"Queue log, captures and counters of {disagree:,} of {counted(total, 'run')} disagree."
    if not agree:
        return "No run has two kinds of record to compare."
    where = "the one run that has" if agree == 1 else f"all {agree:,} runs that have"
    rest = ""
    if agree < total:
        rest = f"; {total - agree:,} {'has' if total - agree == 1 else 'have'} only one"
    return f"Queue log, captures and counters agree within their bounds in {where} two of them{rest}."


def _excluded(runs: list[Row]) -> str:
    excluded = sum(row["runs"] for row in runs if row["is_excluded"])
    return f"Aggregates exclude {counted(excluded, 'run')}." if excluded else ""


def _records(sources: list[Row]) -> int:
    """Return the records that were read; those of a pair of captures are in the rows of its captures too."""
    return sum(row["records"] for row in sources if row["format"] != "capture_pair")


def _synthetic(sources: list[Row], passive: Iterable[Row]) -> str:
    synthetic = sum(row["records"] for row in sources if (row["format"] or "").startswith("synthetic"))
    synthetic += sum(row["rtt_samples"] for row in passive)
    if not synthetic:
        return ""
    return (
        f"{synthetic:,} of {counted(_records(sources), 'record')} {'is' if synthetic == 1 else 'are'} synthetic, "
        "generated and never measured."
    )


def _uncounted(connections: Iterable[Row]) -> str:
    by_detail = {row["served_detail"]: row["connections"] for row in connections}
    refused, withheld = by_detail.get("refused", 0), by_detail.get("withheld", 0)
    if not refused + withheld:
        return ""
    has, does = ("has", "does") if refused == 1 else ("have", "do")
    counts, is_ = ("counts", "is") if withheld == 1 else ("count", "are")
    return (
        f"Of {counted(sum(by_detail.values()), 'connection')}, {refused:,} {has} too few RTT samples or none and "
        f"{does} not count, and {withheld:,} {counts} but {is_} withheld."
    )


def _context(sources: list[Row], runs: list[Row]) -> str:
    refused = sum(row["records_refused"] for row in sources)
    context = (
        f"{counted(_records(sources), 'record')} read, those of capture pairs counted once, "
        f"{f'{refused:,}' if refused else 'none'} refused."
    )
    starts = [row["start_ns"] for row in runs if row["start_ns"] is not None]
    if starts:
        day = datetime.fromtimestamp(max(starts) // 10**9, tz=UTC).date()
        context += f" By the clock of its testbed, which may start at any date, the newest run is from {day}."
    return context
