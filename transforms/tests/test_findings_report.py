"""The table of published findings says what is stated, recomputed and judged, and why; kept verdicts are of today."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from testbed.results import keep

from sojourn_transforms.findings_report import _lines

ROW: dict[str, Any] = {
    "study_id": "s", "finding_id": "f-1", "reference": "table 2", "subject": "packets", "condition": "alone",
    "statistic": "median", "metric_unit": "packets", "stated_low": 2852.5, "stated_high": 2852.5, "is_band": True,
    "tolerance_low": 2800.0, "tolerance_high": 2900.0, "reading": "read so", "own_value": None, "units": 0,
    "population": "run", "is_inside_tolerance": None, "statement_verdict": "not answered",
    "not_answered_reason": "the build has no run of the study",
}  # fmt: skip
MEASURED = {
    "own_value": 2810.0, "units": 3, "is_inside_tolerance": True, "statement_verdict": "agrees",
    "not_answered_reason": None,
}  # fmt: skip


def cells(*rows: dict[str, Any], testbed: dict[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Return the cells of the summary's line of the study, and those of its finding."""
    lines = list(_lines(list(rows), testbed or {}))
    (summary,) = (line for line in lines if line.startswith("| s |"))
    (finding,) = (line for line in lines if line.startswith("| `f-1`"))
    return [cell.strip() for cell in summary.split("|")[2:-1]], [cell.strip() for cell in finding.split("|")[3:-1]]


def test_a_finding_without_data_is_not_answered_and_what_is_stated_is_not_rounded() -> None:
    summary, finding = cells(ROW)
    assert summary == ["1", "0", "0", "0", "1"]
    assert finding == ["2852.5 packets", "", "", "not answered", "the build has no run of the study", ""]


def test_a_verdict_says_the_tolerance_the_reading_and_how_many_groups_are_outside() -> None:
    agreeing = ROW | MEASURED
    summary, finding = cells(agreeing, testbed={"f-1": "cannot tell 2 (no interval: few)"})
    assert summary == ["1", "1", "0", "0", "0"]
    assert finding[1:] == [
        "2810", "3 runs", "agrees", "tolerance 2800 to 2900; read so", "cannot tell 2 (no interval: few)",
    ]  # fmt: skip
    differing = agreeing | {"statement_verdict": "differs"}
    summary, finding = cells(differing, differing | {"own_value": 3000.0, "is_inside_tolerance": False})
    assert summary == ["1", "0", "1", "0", "0"]
    assert finding[1:5] == [
        "2810 to 3000 (2 groups)", "6 runs", "differs", "outside in 1 of 2 groups; tolerance 2800 to 2900; read so",
    ]  # fmt: skip


def test_a_value_that_nothing_is_stated_of_is_not_judged() -> None:
    unjudged = {
        "is_inside_tolerance": None, "statement_verdict": "not judged", "tolerance_low": None, "tolerance_high": None
    }  # fmt: skip
    _, finding = cells(ROW | MEASURED | unjudged)
    assert finding[3:5] == ["not judged", "read so"]


@pytest.fixture(scope="module")
def judged(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the kept marts, judged by today's seeds and SQL."""
    results, folder = repository / "testbed" / "results", tmp_path_factory.mktemp("judged")
    for mart in ("run", "run_metric", "configuration_metric", "run_harm"):
        for source in results.glob(f"*/{mart}.parquet"):
            (folder / source.parent.name).mkdir(exist_ok=True)
            shutil.copy(source, folder / source.parent.name)
    for plan in results.glob("*/plan.yaml"):
        shutil.copy(plan, folder / plan.parent.name)
    kept = {one.parent.name for one in results.glob("*/published_replication.parquet")}
    assert set(keep.judge(folder)) == kept
    return folder


def test_kept_verdicts_are_what_todays_statements_say_of_the_kept_marts(repository: Path, judged: Path) -> None:
    results = repository / "testbed" / "results"
    for one in sorted(results.glob("*/published_replication.parquet")):
        made, committed = (
            duckdb.read_parquet(str(folder / one.parent.name / one.name)).fetchall() for folder in (judged, results)
        )
        assert made == committed, "run testbed/results/keep.py --judge"
    ratios = duckdb.read_parquet(str(results / "pam21-fairness" / "published_replication.parquet"))
    assert {
        one[0] for one in ratios.filter("baseline_configuration_id is not null").project("finding_id").fetchall()
    } == {"pam21-21"}


def test_kept_runs_answer_only_statements_about_their_like(judged: Path) -> None:
    paths = [str(path) for path in judged.glob("*/published_replication.parquet")]
    asked = duckdb.read_parquet(paths, union_by_name=True).project(
        "finding_id, stating_study_id, aqm, congestion_control, queue_size_bdp, bandwidth_bps, application"
    )
    rows = [dict(zip(asked.columns, row, strict=True)) for row in asked.fetchall()]
    # The calls on links of 0.5 Mbit/s fill them alone. TMA'23 states harm where half of the link covers the demand.
    assert not [row for row in rows if row["stating_study_id"] == "tma23-imvca"]
    # IMC'21 has no active queue management, and iPerf3 sends with CUBIC.
    against_iperf3 = [row for row in rows if row["finding_id"] in ("vca21-06", "vca21-12", "vca21-18")]
    assert {(row["aqm"], row["congestion_control"]) for row in against_iperf3} == {("tail-drop", "cubic")}
    # A queue of 2 BDP says nothing of one of 0.5 BDP.
    assert not [row for row in rows if row["finding_id"] == "pam21-20"]
    # Runs without background traffic load IMC'14's page.
    assert {row["application"] for row in rows if row["finding_id"] == "imc14-35"} == {"web"}
