"""docs/how-to/add-a-study.md, run as it is: its tables and its description, ingested, built and served."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import SOJOURN, Service, serving

pytestmark = pytest.mark.integration

STUDY = "example-calls"


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "how-to" / "add-a-study.md").read_text()


@pytest.fixture(scope="module")
def example(page: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service over the page's files alone."""
    folder = tmp_path_factory.mktemp("example")
    files = dict(re.findall(r"^```(?:csv|yaml) (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert set(files) == {
        "runs.csv",
        "results.csv",
        "quality.csv",
        "ratings.csv",
        "panel.csv",
        "questions.csv",
        "study.yaml",
    }
    (folder / "my-study").mkdir()
    for name, text in files.items():
        (folder / "my-study" / name).write_text(text)
    var = folder / "var"
    for arguments in (["ingest", str(folder / "my-study")], ["build"]):
        done = subprocess.run([SOJOURN, *arguments, "--var", str(var)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
    with serving(var) as running:
        yield running


def test_every_row_of_every_file_is_read(example: Service) -> None:
    outcomes = {Path(str(row["source_path"])).name: row for row in example.rows("ingest_outcome")}
    read = {name: row["records_read"] for name, row in outcomes.items() if name.endswith(".csv")}
    assert read == {
        "runs.csv": 8, "results.csv": 13, "quality.csv": 4, "ratings.csv": 3, "panel.csv": 9, "questions.csv": 8,
    }  # fmt: skip
    assert {row["status"] for row in outcomes.values()} == {"ok"}
    assert {row["records_refused"] for row in outcomes.values()} == {0}


def test_licence_and_citation_are_served_with_the_study(example: Service) -> None:
    (study,) = (study for study in example.client.get("/v1/studies").json()["studies"] if study["study_id"] == STUDY)
    assert study["licence"] == "CC0-1.0"
    assert study["citation"] == "A. Nobody: Calls against TCP. Nowhere, 2026."
    assert study["synthetic"] is True
    assert (study["runs"], study["excluded_runs"]) == (8, 1)


def test_harm_is_what_the_page_says(example: Service, page: str) -> None:
    stated = dict.fromkeys(("FQ-CoDel", "tail-drop 2 BDP"), (0.0, 0, 0))
    for queue in stated:
        (cells,) = re.findall(rf"^\| {queue} \| (\S+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
        stated[queue] = (float(cells[0]), int(cells[1]), int(cells[2]))
    served = {
        row["queue_label"]: (pytest.approx(row["value_median"]), row["runs"], row["excluded_runs"])
        for row in example.rows("configuration_metric", study_id=STUDY, metric="harm_throughput_ratio", role="app")
    }
    assert served == stated
    (demand,) = example.rows("demand", study_id=STUDY, role="app")
    assert (demand["demand_bps"], demand["demand_runs"]) == (1_000_000, 3)
    (tcp,) = example.rows("demand", study_id=STUDY, role="tcp")
    assert tcp["demand_null_reason"] == "the study has no solo TCP runs"


def test_units_are_converted_and_the_restarted_run_stays_with_its_reason(example: Service) -> None:
    runs = {str(row["run_id"]): row for row in example.rows("run", study_id=STUDY)}
    assert {name: row["exclusion_reason"] for name, row in runs.items() if row["exclusion_reason"]} == {
        "r06": "restarted"
    }
    assert (runs["r04"]["bandwidth_bps"], runs["r04"]["rtt_ms"], runs["r04"]["queue_size_bdp"]) == (2_000_000, 50, 2)
    assert runs["r01"]["start_ns"] == 1_777_629_600 * 10**9
    values = {
        (str(row["run_id"]), row["metric"], row["role"]): row["metric_value"]
        for row in example.rows("run_metric", study_id=STUDY)
    }
    assert values["r04", "rate_bps", "app"] == pytest.approx(400_000)
    assert values["r04", "queuing_delay_mean_ms", "app"] == pytest.approx(80)
    assert values["r04", "drop_ratio", "app"] == pytest.approx(0.04)
    # Alone 25 ms of path and 5 ms of queue, against TCP 25 and 80 ms.
    assert values["r04", "harm_delay_ratio", "app"] == pytest.approx((105 - 30) / 105)


def test_scores_find_their_runs_by_session_and_by_time(example: Service) -> None:
    joined = {(row["run_id"], row["qoe_metric"]): row["join_basis"] for row in example.rows("harm_qoe", study_id=STUDY)}
    assert joined == {
        ("r04", "ssim"): "session_id", ("r05", "ssim"): "session_id", ("r07", "ssim"): "session_id",
        ("r08", "ssim"): "session_id", ("r04", "mos"): "time_overlap", ("r07", "mos"): "time_overlap",
    }  # fmt: skip
    counts = {row["qoe_metric"]: row for row in example.rows("qoe_join", study_id=STUDY)}
    assert (counts["mos"]["joined_by_time_scores"], counts["mos"]["scores_without_run"]) == (2, 1)
    assert (counts["ssim"]["joined_by_session_scores"], counts["ssim"]["scores_without_run"]) == (4, 0)
    assert counts["ssim"]["competing_runs_without_score"] == 1


def test_one_run_in_a_cell_has_neither_spread_nor_interval(example: Service) -> None:
    for row in example.rows("harm_qoe_correlation", study_id=STUDY):
        assert int(str(row["runs"])) < 3
        assert row["pearson_lower"] is row["spearman_lower"] is None
        assert row["pearson_null_reason"]


def test_ratings_of_people_have_their_summary_both_contrasts_and_the_share_of_yes(example: Service) -> None:
    summaries = {row["condition"]: row for row in example.rows("rating_summary", study_id=STUDY)}
    drop, fair = summaries["tail-drop"], summaries["FQ-CoDel"]
    assert (drop["rating_mean"], drop["subjects"], drop["ratings"], drop["training_ratings"]) == (3, 4, 4, 1)
    # 2, 4, 3, 3: deviation sqrt(2/3), t of 3 degrees of freedom 3.182446.
    assert drop["rating_lower"] == pytest.approx(3 - 3.182446305 * (2 / 3) ** 0.5 / 2)
    assert (fair["rating_mean"], fair["synthetic"]) == (5.5, True)
    (contrast,) = example.rows("rating_contrast", study_id=STUDY)
    assert (contrast["baseline_condition"], contrast["condition"]) == ("FQ-CoDel", "tail-drop")
    assert (contrast["is_apart"], contrast["difference_mean"], contrast["verdict"]) == (True, -2.5, "lower")
    shares = {row["condition"]: row for row in example.rows("answer_share", study_id=STUDY)}
    assert (shares["FQ-CoDel"]["yes_subjects"], shares["tail-drop"]["yes_subjects"]) == (4, 1)
    assert {row["subject_number"] for row in example.rows("subject_rating", study_id=STUDY)} == {1, 2, 3, 4}
