"""Scores over distributions: those of the reference calculator on every row, and drafts' definitions by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sojourn_statistics.quality.outcome import (
    AIM_CLASSES,
    AIM_POINTS,
    AIM_USE_CASES,
    Better,
    OutcomeBounds,
    Requirement,
    aim,
    iqb,
    quality_of_outcome,
    responsiveness_rpm,
)

USE_CASES = (
    "web browsing", "video streaming", "audio streaming", "video conferencing", "online backup", "gaming"
)  # fmt: skip
QUANTITIES = ("download_throughput_mbps", "upload_throughput_mbps", "latency_ms", "packet_loss")


@pytest.fixture(scope="module")
def requirements(repository: Path) -> list[Requirement]:
    with (repository / "models/seeds/quality/quality_requirement.csv").open(encoding="utf-8") as handle:
        return [
            Requirement(
                row["use_case"], float(row["use_case_weight"]), row["requirement"], float(row["requirement_weight"]),
                Better(row["better"]), float(row["threshold"]),
            )
            for row in csv.DictReader(handle)
        ]  # fmt: skip


def test_seed_is_what_is_published(requirements: list[Requirement], shared: Path) -> None:
    with (shared / "published/iqb_requirements.csv").open(encoding="utf-8") as handle:
        stated = [
            (row["use_case"], float(row["use_case_weight"]), row["requirement"], float(row["requirement_weight"]),
             float(row["threshold"]))
            for row in csv.DictReader(handle)
        ]  # fmt: skip
    assert [(r.use_case, r.use_case_weight, r.quantity, r.weight, r.threshold) for r in requirements] == stated


def test_iqb_equals_the_reference_calculator_on_every_row(requirements: list[Requirement], shared: Path) -> None:
    (path,) = (shared / "data/public/m-lab__iqb").rglob("iqb_scores.csv")
    with path.open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 756
    for row in rows:
        score = iqb({name: float(row[name]) for name in QUANTITIES}, requirements)
        expected = {case: float(row[case.replace(" ", "_")]) for case in USE_CASES}
        assert score.by_use_case == pytest.approx(expected, abs=1e-9), row["file"]
        assert score.score == pytest.approx(float(row["iqb_score"]), abs=1e-9), row["file"]


def test_what_binds_is_named_and_a_threshold_itself_is_not_enough(requirements: list[Requirement]) -> None:
    good = {"download_throughput_mbps": 100, "upload_throughput_mbps": 100, "latency_ms": 10, "packet_loss": 0.0}
    score = iqb(good, requirements)
    assert [(unmet.use_case, unmet.quantity) for unmet in score.unmet] == [("gaming", "latency_ms")]
    assert score.by_use_case["gaming"] == pytest.approx(12 / 17)
    assert score.score == pytest.approx((5 + 12 / 17) / 6)
    with pytest.raises(KeyError):
        iqb({"latency_ms": 1.0}, requirements)
    with pytest.raises(ValueError, match="at least one requirement"):
        iqb(good, [])


def test_quality_of_outcome_is_the_worst_of_its_requirements() -> None:
    bounds = [OutcomeBounds("latency_p99_ms", 100, 500), OutcomeBounds("loss_ratio", 0.001, 0.05)]
    assert quality_of_outcome({"latency_p99_ms": 300, "loss_ratio": 0}, bounds) == (50, "latency_p99_ms")
    assert quality_of_outcome({"latency_p99_ms": 50, "loss_ratio": 0.06}, bounds) == (0, "loss_ratio")
    assert quality_of_outcome({"latency_p99_ms": 50, "loss_ratio": 0}, bounds) == (100, "latency_p99_ms")
    with pytest.raises(ValueError, match="expected less"):
        OutcomeBounds("latency_ms", 500, 100)
    with pytest.raises(ValueError, match="at least one bound"):
        quality_of_outcome({}, [])


def test_responsiveness_in_round_trips_a_minute() -> None:
    assert responsiveness_rpm(100) == 600
    with pytest.raises(ValueError, match="more than 0"):
        responsiveness_rpm(0)


TEST = {"latency_ms": 10.0, "added_delay_ms": 50.0, "jitter_ms": 0.5, "loss_ratio": 0.005, "download_bps": 1e8}


def test_aim_adds_up_points_and_a_bound_belongs_to_the_step_above_it() -> None:
    # 10 ms 10, +50 ms 0, 0.5 ms 10, 0.5 % 10, 100 Mbit/s 30.
    assert aim(TEST, "aim-streaming") == (50, "good")
    assert aim(TEST, "aim-gaming") == (20, "average")
    assert aim(TEST, "aim-rtc") == (30, "good")
    assert aim(TEST | {"latency_ms": 9.999, "added_delay_ms": 0}, "aim-gaming") == (50, "great")
    assert aim(TEST | {"loss_ratio": 0.01}, "aim-gaming") == (15, "average")


def test_aim_has_no_negative_sum_and_no_score_of_what_was_not_measured() -> None:
    bad = {"latency_ms": 500.0, "added_delay_ms": 2000.0, "loss_ratio": 0.5, "jitter_ms": 500.0}
    assert aim(bad, "aim-rtc") == (0, "bad")
    with pytest.raises(KeyError):
        aim(bad, "aim-streaming")
    with pytest.raises(ValueError, match="jitter_ms is not a number"):
        aim(bad | {"jitter_ms": float("nan")}, "aim-rtc")


def test_the_seeds_of_aim_are_those_of_the_function(repository: Path) -> None:
    def seed(name: str) -> list[dict[str, str]]:
        with (repository / f"models/seeds/quality/{name}.csv").open(encoding="utf-8") as handle:
            return list(csv.DictReader(handle))

    for quantity, (bounds, points) in AIM_POINTS.items():
        mine = [row for row in seed("aim_point") if row["quantity"] == quantity]
        assert [row["lower_bound"] and float(row["lower_bound"]) for row in mine] == ["", *bounds]
        assert tuple(int(row["points"]) for row in mine) == points
    for model, (quantities, fewest) in AIM_USE_CASES.items():
        assert tuple(row["quantity"] for row in seed("aim_input") if row["qoe_model_id"] == model) == quantities
        classes = [row for row in seed("qoe_class") if row["qoe_model_id"] == model]
        assert tuple(row["quality_class"] for row in classes) == AIM_CLASSES
        assert [row["lower_bound"] and float(row["lower_bound"]) for row in classes] == [*fewest, ""]
