"""A question has one answer over the sample: that of the API, a look, a comparison, a report and a dashboard."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import SOJOURN, Service

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def findings(service: Service) -> list[dict[str, Any]]:
    """Return what the API answers."""
    answer = service.client.get("/v1/findings", params={"limit": 10_000})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["rows"])


@pytest.fixture(scope="module")
def which_queue(findings: list[dict[str, Any]]) -> str:
    """Return the API's answer for the one link of the sample, with what it holds for, as a page has both."""
    (finding,) = (row for row in findings if row["question"] == "queue" and row["study_id"] == "sojourn-sample")
    assert finding["verdict"] == "best"
    return f"{finding['sentence']} ({finding['context'].split('. This holds')[0]}.)"


def lead_of(*arguments: str | Path) -> str:
    """Return the first sentences of the section of runs, or of the comparison, on a page of `sojourn look`."""
    done = subprocess.run(
        [str(SOJOURN), "look", *map(str, arguments), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (section,) = (each for each in json.loads(done.stdout)["sections"] if each["key"] in ("runs", "comparison"))
    return str(section["lead"])


def test_dashboards_begin_with_the_answers_of_the_api(
    service: Service, findings: list[dict[str, Any]], superset_python: Path
) -> None:
    """Each question has a page, and its card has the sentence and the context of every finding that it is of.

    Only where the page's filter chooses the link or the run are there more findings than the card has rows.
    """
    done = subprocess.run(
        [str(superset_python), str(Path(__file__).with_name("dashboard_findings.py"))],
        env={**os.environ, "SOJOURN_API_URL": str(service.client.base_url).rstrip("/")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cards = json.loads(done.stdout)
    expected: dict[str, set[str]] = {question: set() for question in cards}
    for row in findings:
        # The page of connections in the wild leaves synthetic ones to its other charts, that of a run solo runs out.
        is_left_out = row["synthetic"] if row["question"] == "wild" else row["start_order"] == "solo"
        if not is_left_out:
            expected.setdefault(row["question"], set()).add(f"{row['sentence']} {row['context']}")
    assert expected.keys() == cards.keys()
    for question, (limit, shown) in cards.items():
        assert set(shown) <= expected[question]
        assert len(shown) == min(limit, len(expected[question])), question
    assert {question for question, (limit, _) in cards.items() if len(expected[question]) > limit} <= {"queue", "run"}
    answered = {question for question, (_, shown) in cards.items() if shown}
    assert answered >= {"captures", "queue", "run", "study", "trust"}


def test_a_look_answers_as_the_api(sample: Path, which_queue: str) -> None:
    assert lead_of(sample).startswith(f"{which_queue} ")


def test_a_look_at_a_run_answers_as_the_api(service: Service, sample: Path) -> None:
    run = "1000k_rtt50_codel_bbr_video_appfirst_rep1"
    (finding,) = service.client.get("/v1/findings", params={"run_id": run}).json()["rows"]
    assert finding["sentence"].startswith("CoDel, against BBRv1 TCP. Half of the application's packets wait at most ")
    assert lead_of(sample / run).startswith(f"{finding['sentence']} ({finding['context']}.) ")


@pytest.mark.long
def test_a_comparison_answers_as_the_api(sample: Path, tmp_path: Path, which_queue: str) -> None:
    for run in sample.iterdir():
        # Harm is judged by runs alone, which each side needs.
        for side in "AB" if "_solo_" in run.name else "A" if "taildrop" in run.name else "B":
            shutil.copytree(run, tmp_path / side / run.name)
    lead = lead_of("--compare", tmp_path / "A", tmp_path / "B")
    assert "FQ-CoDel (B)" in lead
    assert lead.replace(" (A)", "").replace(" (B)", "").startswith(f"{which_queue} ")


def test_a_report_answers_as_the_api(service: Service, findings: list[dict[str, Any]]) -> None:
    printed = service.sojourn("report", "sojourn-sample", "--json", "--scale", "log")
    points = next(each["points"] for each in json.loads(printed)["sections"] if each["key"] == "findings")
    of_study = {
        row["sentence"]
        for row in findings
        if row["study_id"] == "sojourn-sample"
        and row["run_id"] is None
        and row["verdict"] not in ("none", "cannot tell")
    }
    assert points
    assert {point for point in points if "/v1/findings" not in point} <= of_study
