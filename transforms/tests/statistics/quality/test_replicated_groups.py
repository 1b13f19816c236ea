"""Scores over replicates, against the seeds and by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sojourn_statistics.quality.outcome import IQB_LATENCY_SHARES, VIDEO_CALL_LATENCY, iqb_bounds_by_latency
from sojourn_statistics.quality.replicated_groups import competition_ranks, replicated_median


def test_median_of_six_is_enclosed_by_the_least_and_the_greatest() -> None:
    estimate = replicated_median([6.0, 1.0, 5.0, 2.0, 4.0, 3.0], "day")
    assert (estimate.replicates, estimate.median, estimate.lower, estimate.upper, estimate.null_reason) == (
        6,
        3.5,
        1.0,
        6.0,
        None,
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [([7.0], "one month"), ([1.0, 2.0], "fewer than 6 months: an exact 95% interval of the median needs 6")],
)
def test_few_replicates_have_a_reason(values: list[float], reason: str) -> None:
    estimate = replicated_median(values, "month")
    assert (estimate.lower, estimate.upper, estimate.null_reason) == (None, None, reason)


def test_no_replicate_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        replicated_median([], "day")


def test_equal_values_share_a_rank_and_none_has_none() -> None:
    assert competition_ranks([3.0, None, 1.0, 3.0, 9.0]) == [2, None, 1, 2, 4]


def test_latency_shares_are_those_of_the_requirements(repository: Path) -> None:
    with (repository / "models/seeds/quality/quality_requirement.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    cases = {row["use_case"]: float(row["use_case_weight"]) for row in rows}
    wanted: dict[float, float] = {}
    for row in rows:
        if row["requirement"] == "latency_ms":
            total = sum(float(one["requirement_weight"]) for one in rows if one["use_case"] == row["use_case"])
            share = cases[row["use_case"]] / sum(cases.values()) * float(row["requirement_weight"]) / total
            wanted[float(row["threshold"])] = wanted.get(float(row["threshold"]), 0.0) + share
    assert dict(IQB_LATENCY_SHARES) == pytest.approx(wanted)


@pytest.mark.parametrize(("latency_ms", "met"), [(9.9, (100, 50, 10)), (10.0, (100, 50)), (50.0, (100,)), (100.0, ())])
def test_latency_bounds_the_barometer(latency_ms: float, met: tuple[float, ...]) -> None:
    shares = dict(IQB_LATENCY_SHARES)
    lower, upper = iqb_bounds_by_latency(latency_ms)
    assert lower == pytest.approx(sum(shares[threshold] for threshold in met))
    assert 1 - upper == pytest.approx(sum(share for threshold, share in shares.items() if threshold not in met))


def test_bounds_of_a_video_call_are_those_of_the_seed(repository: Path) -> None:
    with (repository / "models/seeds/quality/outcome_bound.csv").open(encoding="utf-8") as handle:
        (row,) = [row for row in csv.DictReader(handle) if row["quantity"] == VIDEO_CALL_LATENCY.quantity]
    assert (VIDEO_CALL_LATENCY.perfect, VIDEO_CALL_LATENCY.useless) == (float(row["perfect"]), float(row["useless"]))
