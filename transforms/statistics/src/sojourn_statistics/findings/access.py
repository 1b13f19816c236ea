"""Which site of an access network has the largest rise of the RTT."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import counted, milliseconds, rounded

_DAY = ("dataset", "day", "synthetic")
_UNNAMED = ("withheld", "unknown")
_KEYED, _KEY_LENGTH = "sk-", 15


def access_findings(rows: Iterable[Row]) -> list[Finding]:
    """Return for each data set and day which site has the largest rise of the RTT of its lines.

    Rows are those of ``access_delay`` with the metric ``rtt_increase``, of sites and of all lines. A site is named the
    worst only if the interval of its median over lines lies above those of all other sites.
    """
    days: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        days.setdefault(tuple(row[name] for name in _DAY), []).append(row)
    return [
        _finding(whole, [row for row in members if row["group_kind"] == "site" and row["lower_ms"] is not None])
        for members in days.values()
        for whole in members
        if whole["group_kind"] == "all" and whole["period_kind"] == "day"
    ]


def _finding(whole: Row, sites: list[Row]) -> Finding:
    named = [row for row in sites if row["period_kind"] == "day" and row["group_name"] not in _UNNAMED]
    in_order = sorted(named, key=lambda row: (-row["lower_ms"], row["group_name"]))
    hours = [row for row in sites if row["period_kind"] == "hour"]
    verdict, headline, detail = _verdict(whole, in_order, hours)
    synthetic = "SYNTHETIC, not measured · " if whole["synthetic"] else ""
    return Finding(
        question="access",
        setting={name: whole[name] for name in _DAY},
        verdict=verdict,
        subject=in_order[0]["group_name"] if verdict == "worst" else None,
        headline=headline,
        detail=detail,
        context=(
            f"{synthetic}{whole['dataset']} · {whole['day']} · {counted(whole['lines'], 'line')} · "
            f"{counted(whole['rtt_samples'], 'RTT sample')}. A line is a circuit, or a host where no circuit is known. "
            "The rise of its mean RTT above its minimum is an upper bound on its mean queuing delay; intervals (95 %) "
            "are for the median over lines."
        ),
        sources=("access_delay",),
        numbers=tuple(
            FindingNumber(
                row["group_name"], "rtt_increase_median_ms", "all", row["median_ms"], row["lower_ms"], row["upper_ms"],
                "ms", row["lines"], "lines",
            )
            for row in in_order
        ),
    )  # fmt: skip


def _verdict(whole: Row, sites: list[Row], hours: list[Row]) -> tuple[Verdict, str, str]:
    if not sites:
        return (
            "cannot tell",
            "No site can be named:",
            "no lookup assigns lines to sites, or no site has six lines. The RTT of half of all lines "
            f"rises by {milliseconds(whole['median_ms'])} or more.",
        )
    first, others = sites[0], sites[1:]
    name = _name(first)
    if not others:
        return (
            "none",
            "Nothing to compare:",
            f"only site {name} has six lines. The RTT of half of them rises by {milliseconds(first['median_ms'])} or "
            "more.",
        )
    rise = (
        f"the RTT of half of its {counted(first['lines'], 'line')} rises by {milliseconds(first['median_ms'])} or more "
        f"{_interval(first)}"
    )
    widest = max(sites, key=lambda row: row["upper_ms"])
    if first["lower_ms"] > max(row["upper_ms"] for row in others):
        following = others[0]
        against = f"against {milliseconds(following['median_ms'])} at {_name(following)}, the next."
        return "worst", f"Site {name} is the worst:", f"{rise}, {against}{_worst_hour(first, hours)}"
    if widest is not first:
        return (
            "tied",
            f"Site {name} has the largest certain rise:",
            f"{rise}.{_worst_hour(first, hours)} {_name(widest)} may be worse: its interval over "
            f"{counted(widest['lines'], 'line')} is {_interval(widest)}.",
        )
    return (
        "tied",
        "No site is certainly the worst:",
        f"the interval of {name} [{_bounds(first)} ms, {counted(first['lines'], 'line')}] overlaps that of another "
        "site.",
    )


def _name(site: Row) -> str:
    """Return a site's name, or the beginning of its key."""
    name = str(site["group_name"])
    return name[:_KEY_LENGTH] if name.startswith(_KEYED) else name


def _bounds(row: Row) -> str:
    return f"{rounded(row['lower_ms'])}–{rounded(row['upper_ms'])}"


def _interval(row: Row) -> str:
    return f"[{_bounds(row)}]"


def _worst_hour(site: Row, hours: list[Row]) -> str:
    of_site = [row for row in hours if row["group_name"] == site["group_name"]]
    if not of_site:
        return ""
    worst = max(of_site, key=lambda row: (row["lower_ms"], -row["hour_of_day"]))
    return (
        f" Its worst hour begins at {worst['hour_of_day']:02d}:00 UTC: {milliseconds(worst['median_ms'])} "
        f"{_interval(worst)}."
    )
