"""docs/published-findings.md: what studies state, beside the same figure recomputed, for every finding.

``python -m sojourn_transforms.findings_report MODELS LAKE RESULTS DOCUMENT`` writes it. ``MODELS`` is the dbt project,
``LAKE`` a lake with the runs of TMA'23, ``RESULTS`` the folder with what is kept of the testbed's runs (one folder for
each plan, with a ``published_replication.parquet``). ``make validation`` makes that lake first.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from sojourn_ingest.lake import Lake
from sojourn_process.parquet_sql import parquet_rows
from sojourn_transforms.models_in_memory import ModelsInMemory

_INTRODUCTION = """\
`make validation` writes this page. *Stated* is the study's figure. *Recomputed* is the same figure from the study's
bundled data, which only TMA'23 has (half of its runs). The other three studies have published no data, so their
figures are recomputed only if you have that data. `published_selection` defines which values are used, and
`published_figure` lists the values. Tests plant values of all findings that data can answer in the tables that
`published_figure` reads (connections in the lake); for page loads, a step, counts of packets and a pair, they also
start from captures and files. The *verdict* is "agrees" if the recomputed figure is within the tolerance in every
group of runs. The studies state no intervals, so this compares the figure alone; only ratios are judged by an
interval. *Own testbed* counts the configurations in `testbed/results` to which the statement applies, by verdict, with
the reason (`published_replication`). It judges by intervals: "agrees" is within the tolerance, "same side" only on the
side of the statement, such as any harm. These are separate measurements and do not recompute the study's figure."""

_COLUMNS = ("finding", "quantity", "stated", "recomputed", "n", "verdict", "reason", "own testbed")
_VERDICTS = ("agrees", "differs", "not judged", "not answered")
_COUNTED = ("connections", "flows", "packets", "pairs", "runs", "subjects", "systems")
_SYMBOLS = {"mos": "MOS"}


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _exact(value: float) -> str:
    """Return a number as the study states it, not rounded."""
    return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.10g}"


def _unit(unit: str, number: float) -> str:
    if unit in ("ratio", "none"):
        return ""
    return f" {unit.removesuffix('s') if number == 1 and unit in _COUNTED else _SYMBOLS.get(unit, unit)}"


def _stated(row: dict[str, Any]) -> str:
    low, high, unit = row["stated_low"], row["stated_high"], row["metric_unit"]
    if low is None and high is None:
        return "no number"
    if low is None or high is None:
        bound = high if low is None else low
        return f"{'at most' if low is None else 'at least'} {_exact(bound)}{_unit(unit, bound)}"
    between = " to " if row["is_band"] else " and "
    return f"{_exact(low)}{'' if low == high else between + _exact(high)}{_unit(unit, high)}"


def _recomputed(groups: list[dict[str, Any]]) -> str:
    values = [row["own_value"] for row in groups if row["own_value"] is not None]
    if not values:
        return ""
    least, most = _number(min(values)), _number(max(values))
    return least if least == most else f"{least} to {most} ({len(values)} groups)"


def _reason(groups: list[dict[str, Any]]) -> str:
    """Return why the verdict is what it is: the tolerance and how the words are read, or what is missing."""
    first, verdict = groups[0], groups[0]["statement_verdict"]
    if verdict == "not answered":
        return str(first["not_answered_reason"])
    outside = [row["is_inside_tolerance"] for row in groups].count(False)
    low, high = first["tolerance_low"], first["tolerance_high"]
    within = f"{_exact(low)} to {_exact(high)}" if None not in (low, high) else ""
    words = [
        f"outside in {outside} of {len(groups)} groups" if outside else "",
        f"tolerance {within}" if within and verdict != "not judged" else "",
        str(first["reading"] or ""),
    ]
    return "; ".join(word for word in words if word)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _testbed(results: Path) -> dict[str, str]:
    """Return what the kept tables of own runs say of each finding, by the verdicts of configurations."""
    paths = sorted(path for path in results.glob("*/published_replication.parquet"))
    if not paths:
        return {}
    verdicts = duckdb.execute(
        "select finding_id, finding_verdict, verdict_reason, count(distinct configuration_id)"
        f" from {parquet_rows(paths, 'union_by_name = true')} where own_value is not null"
        " group by all order by finding_id, finding_verdict, verdict_reason"
    ).fetchall()
    values: dict[str, list[str]] = {}
    for finding, verdict, reason, configurations in verdicts:
        values.setdefault(finding, []).append(f"{verdict} {configurations} ({reason})")
    return {finding: "; ".join(texts) for finding, texts in values.items()}


def _summary(studies: dict[str, dict[str, list[dict[str, Any]]]]) -> Iterator[str]:
    """Yield how many findings of each study have which verdict."""
    yield "| study | findings | " + " | ".join(_VERDICTS) + " |"
    yield "| --- | --- | " + " | ".join("---" for _ in _VERDICTS) + " |"
    for study, findings in studies.items():
        counts = Counter(groups[0]["statement_verdict"] for groups in findings.values())
        yield f"| {study} | {len(findings)} | " + " | ".join(str(counts[verdict]) for verdict in _VERDICTS) + " |"


def _lines(rows: list[dict[str, Any]], testbed: dict[str, str]) -> Iterator[str]:
    studies: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        studies.setdefault(row["study_id"], {}).setdefault(row["finding_id"], []).append(row)
    yield "# Published findings"
    yield ""
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield from _summary(studies)
    for study, findings in studies.items():
        yield ""
        yield f"## {study}"
        yield ""
        yield "| " + " | ".join(_COLUMNS) + " |"
        yield "| " + " | ".join("---" for _ in _COLUMNS) + " |"
        for finding, groups in findings.items():
            first = groups[0]
            units = sum(row["units"] for row in groups)
            cells = (
                f"`{finding}`, {first['reference']}",
                f"{first['subject']}: {first['condition']} ({first['statistic']})",
                _stated(first),
                _recomputed(groups),
                "" if not units else f"{units} {first['population']}{'' if units == 1 else 's'}",
                groups[0]["statement_verdict"],
                _reason(groups),
                testbed.get(finding, ""),
            )
            yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def report(project: Path, lake: Path, results: Path) -> str:
    """Return the document for the live facts of a lake and the kept results of the testbed."""
    models = ModelsInMemory(project, Lake(lake))
    rows = models.rows("published_comparison", order="study_id, finding_id, published_comparison_id")
    models.close()
    return "\n".join(_lines(rows, _testbed(results))) + "\n"


def main(arguments: list[str]) -> int:
    """Write the document; return the status of the process."""
    if len(arguments) != 4:
        print("usage: python -m sojourn_transforms.findings_report MODELS LAKE RESULTS DOCUMENT", file=sys.stderr)
        return 2
    project, lake, results, document = (Path(argument) for argument in arguments)
    document.write_text(report(project, lake, results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
