"""Outcome scores: the barometer against its reference calculator, and grades of the sample against its queue logs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sojourn_statistics.quality.outcome import (
    Better,
    OutcomeBounds,
    Requirement,
    iqb,
    quality_of_outcome,
    responsiveness_rpm,
)
from sojourn_transforms.validation_report import Snapshot

from .test_queue_marts import built

pytestmark = pytest.mark.integration

USE_CASES = (
    "web browsing", "video streaming", "audio streaming", "video conferencing", "online backup", "gaming"
)  # fmt: skip
REQUIREMENTS = Path(__file__).parents[2] / "models/seeds/quality/quality_requirement.csv"
#: Two queues of the sample that differ most.
RUNS = (
    "1000k_rtt50_fq_codel_cubic_video_appfirst_rep1",
    "1000k_rtt50_codel_cubic_video_appfirst_rep1",
)


@pytest.fixture(scope="module")
def reference(shared: Path) -> tuple[Path, list[dict[str, str]]]:
    (path,) = (shared / "data/public/m-lab__iqb").rglob("iqb_scores.csv")
    with path.open(encoding="utf-8") as handle:
        return path.parent, list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def snapshot(
    reference: tuple[Path, list[dict[str, str]]], sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> Snapshot:
    folder, rows = reference
    documents = sorted({folder / row["file"] for row in rows})
    return Snapshot(built(tmp_path_factory.mktemp("outcome"), *documents, *(sample / run for run in RUNS)))


def test_the_barometer_is_that_of_the_reference_calculator_on_every_row(
    snapshot: Snapshot, reference: tuple[Path, list[dict[str, str]]]
) -> None:
    _, rows = reference
    assert len(rows) == 756
    scores = {
        (row["file_name"], row["percentile"]): row["iqb_score"]
        for row in snapshot.rows("select file_name, percentile, iqb_score from iqb_score")
    }
    cases = {
        (row["file_name"], row["percentile"], row["use_case"]): row["use_case_score"]
        for row in snapshot.rows(
            "select file_name, percentile, use_case, use_case_score"
            " from iqb_use_case inner join iqb_score using (source_hash, percentile)"
        )
    }
    for row in rows:
        key = (row["file"], float(row["percentile"].removeprefix("p")))
        assert scores[key] == pytest.approx(float(row["iqb_score"]), abs=1e-9), key
        for case in USE_CASES:
            assert cases[(*key, case)] == pytest.approx(float(row[case.replace(" ", "_")]), abs=1e-9), (key, case)


def test_ranks_change_with_the_percentile(snapshot: Snapshot, reference: tuple[Path, list[dict[str, str]]]) -> None:
    """By hand from the reference calculator's scores, rounded as they are published."""
    _, rows = reference
    score = {(row["file"], row["percentile"]): round(float(row["iqb_score"]), 9) for row in rows}
    files = sorted({row["file"] for row in rows})
    rank = {
        (name, percentile): 1 + sum(score[other, percentile] > score[name, percentile] for other in files)
        for name in files
        for percentile in ("p50", "p95")
    }
    scores = snapshot.rows("select * from iqb_score where percentile = 50")
    assert len(scores) == len(files)
    for row in scores:
        name = row["file_name"]
        assert (row["score_rank"], row["score_rank_at_p95"]) == (rank[name, "p50"], rank[name, "p95"]), name
        assert row["is_rank_changed"] == (rank[name, "p50"] != rank[name, "p95"])
    assert {row["is_rank_changed"] for row in scores} == {True, False}


def test_what_binds_is_unmet_and_a_full_score_has_nothing_that_does(snapshot: Snapshot) -> None:
    rows = snapshot.rows("select * from iqb_score")
    for row in rows:
        assert (row["binding_requirement"] is None) == (row["requirements_unmet"] == 0)
        assert (row["iqb_score"] == pytest.approx(1)) == (row["requirements_unmet"] == 0)
        assert row["interval_null_reason"] == "only percentiles were given, no tests"


def test_outcome_of_runs_is_that_of_the_functions_on_their_queuing_delay(snapshot: Snapshot) -> None:
    bounds = [OutcomeBounds("latency_p99_ms", 150, 400), OutcomeBounds("loss_ratio", 0.001, 0.05)]
    rows = snapshot.rows(
        "select o.*, d.median_ms, d.p99_ms, p.drop_ratio from run_outcome o"
        " inner join run_queuing_delay d"
        " on d.run_id = o.run_id and d.role = o.role and d.delay_basis = o.delay_basis"
        " inner join run_packet_drop p on p.run_id = o.run_id and p.role = o.role"
        " where o.role = 'app'"
    )
    assert {row["run_id"] for row in rows} == set(RUNS)
    for row in rows:
        assert row["responsiveness_rpm"] == pytest.approx(responsiveness_rpm(50 + row["median_ms"]))
        expected = quality_of_outcome({"latency_p99_ms": 50 + row["p99_ms"], "loss_ratio": row["drop_ratio"]}, bounds)
        assert (row["qoo_score"], row["qoo_binding_quantity"]) == (pytest.approx(expected[0]), expected[1])
        grades = ((5, "A+"), (30, "A"), (60, "B"), (200, "C"), (400, "D"))
        assert row["bufferbloat_grade"] == next((name for top, name in grades if row["median_ms"] < top), "F")


@pytest.mark.parametrize("statistic", ["idle", "loaded_median", "loaded_p95", "loaded_p99"])
def test_barometer_of_runs_is_that_of_the_function_at_both_ends_of_what_is_not_known(
    snapshot: Snapshot, statistic: str
) -> None:
    column = {"idle": "o.idle_rtt_ms"}.get(statistic, f"o.loaded_rtt_{statistic.removeprefix('loaded_')}_ms")
    rows = snapshot.rows(
        f"select i.*, {column} as wanted_ms, o.loss_ratio as loss, r.rate_bps from run_iqb i"
        " inner join run_outcome o using (study_id, run_id, role, delay_basis)"
        " inner join run_rate r on r.run_id = i.run_id and r.role = 'tcp'"
        f" where i.role = 'app' and i.latency_statistic = '{statistic}'"
    )
    requirements = [
        Requirement(
            row["use_case"], float(row["use_case_weight"]), row["requirement"], float(row["requirement_weight"]),
            Better(row["better"]), float(row["threshold"]),
        )
        for row in csv.DictReader(REQUIREMENTS.read_text(encoding="utf-8").splitlines())
    ]  # fmt: skip
    assert {row["run_id"] for row in rows} == set(RUNS)
    for row in rows:
        assert (row["missing_quantities"], row["iqb_score"], row["download_bps"]) == (
            "upload", None, pytest.approx(row["rate_bps"])
        )  # fmt: skip
        inputs = {
            "download_throughput_mbps": row["rate_bps"] / 1e6,
            "latency_ms": row["wanted_ms"],
            "packet_loss": row["loss"],
        }  # fmt: skip
        for upload, name in ((0.0, "iqb_lower_score"), (1e9, "iqb_upper_score")):
            assert row[name] == pytest.approx(iqb({**inputs, "upload_throughput_mbps": upload}, requirements).score)


def test_one_run_of_a_configuration_has_no_interval(snapshot: Snapshot) -> None:
    rows = snapshot.rows("select * from configuration_outcome where role = 'app'")
    assert len(rows) == len(RUNS)
    for row in rows:
        assert (row["runs"], row["responsiveness_lower_rpm"], row["interval_null_reason"]) == (1, None, "one run")
        assert row["responsiveness_median_rpm"] > 0
        assert row["is_rank_changed"] is not None
