"""Scores of groups: of the percentile of each replicate, with the interval and rank over replicates."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import pyarrow as pa
import pytest
from api.tests.conftest import Build
from api.tests.wild_connections import SYSTEMS, add_connections, drawn
from fastapi.testclient import TestClient

from sojourn_api.requests.outcomes import DEFAULT_PERCENTILES
from sojourn_api.requests.run_scores import PERCENTILES
from sojourn_statistics.quality.delay import bufferbloat_grade
from sojourn_statistics.quality.outcome import VIDEO_CALL_LATENCY, VIDEO_CALL_LOSS, aim_class, quality_of_outcome

URL = "/v1/outcomes/queuing_delay"


def get(client: TestClient, url: str) -> list[dict[str, Any]]:
    response = client.get(url)
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()["rows"]
    return rows


def of_runs(build: Any, percentile: int, **wanted: str) -> list[float]:
    """Return the percentile of each run that counts, in ms, in ascending order."""
    percentiles_ms = []
    for run in build.rows("run"):
        if run["exclusion_reason"] is None and all(run[name] == value for name, value in wanted.items()):
            delays = sorted(build.delays_us[run["run_id"], "app"])
            percentiles_ms.append(delays[max(1, math.ceil(percentile * len(delays) / 100)) - 1] / 1000)
    return sorted(percentiles_ms)


def test_score_is_of_the_median_over_runs_with_its_exact_interval(client: TestClient, build: Any) -> None:
    rows = get(client, f"{URL}?group=aqm&role=app&percentiles=50,90")
    assert len(rows) == 3 * 2
    #: Ranks of the order statistics that enclose the median of 9 and of 12 with 95 %.
    ranks = {9: (2, 8), 12: (3, 10)}
    for row in rows:
        values = of_runs(build, row["percentile"], aqm=row["aqm"])
        lower, upper = ranks[row["replicates"]]
        assert (row["replicates"], row["replication_unit"]) == (len(values), "run")
        assert row["queuing_delay_ms"] == pytest.approx(median(values), rel=0.01)
        assert row["queuing_delay_lower_ms"] == pytest.approx(values[lower - 1], rel=0.01)
        assert row["queuing_delay_upper_ms"] == pytest.approx(values[upper - 1], rel=0.01)
        assert row["bufferbloat_grade"] == bufferbloat_grade(row["queuing_delay_ms"])
        assert (row["level_ratio"], row["interval_null_reason"]) == (0.95, None)


def test_group_of_one_run_has_no_interval(client: TestClient) -> None:
    rows = get(client, f"{URL}?group=run_id&role=app&percentiles=95")
    assert len(rows) > 10
    for row in rows:
        assert (row["replicates"], row["queuing_delay_lower_ms"], row["interval_null_reason"]) == (1, None, "one run")


def test_ranks_are_of_the_answer_and_compared_with_the_95th_percentile(client: TestClient) -> None:
    rows = get(client, f"{URL}?group=aqm,congestion_control&role=app")
    assert sorted({row["percentile"] for row in rows}) == [int(one) for one in DEFAULT_PERCENTILES]
    at_95 = {(row["aqm"], row["congestion_control"]): row["group_rank"] for row in rows if row["percentile"] == 95}
    assert sorted(at_95.values())[0] == 1
    for row in rows:
        others = [one["queuing_delay_ms"] for one in rows if one["percentile"] == row["percentile"]]
        assert row["group_rank"] == 1 + sum(one < row["queuing_delay_ms"] for one in others)
        assert row["group_rank_at_p95"] == at_95[row["aqm"], row["congestion_control"]]
        assert row["is_rank_changed"] is (row["group_rank"] != row["group_rank_at_p95"])


def test_percentile_without_the_95th_still_knows_its_rank(client: TestClient) -> None:
    alone = get(client, f"{URL}?group=aqm&role=app&percentiles=50")
    among = [row for row in get(client, f"{URL}?group=aqm&role=app") if row["percentile"] == 50]
    assert alone == among


def test_networks_are_counted_by_month(publish: Any, serve: Any, build: Any) -> None:
    made = type(build)()
    add_connections(made, drawn())
    served = serve(folder=publish(made))
    rows = get(served, "/v1/outcomes/connection_queuing_delay?group=asn&percentiles=95&dataset=made-up")
    assert len(rows) == len({row["asn"] for row in rows}) == max(SYSTEMS.values())
    assert {(row["replication_unit"], row["replicates"], row["interval_null_reason"]) for row in rows} == {
        ("month", 1, "one month")
    }
    assert {row["is_upper_bound"] for row in rows} == {True}
    assert all("jitter, loss and download rate" in row["aim_null_reason"] for row in rows)


REFUSED = [
    ("percentiles=0", "percentiles"),
    ("percentiles=100", "percentiles"),
    ("percentiles=9.5", "percentiles"),
    ("percentiles=50,050", "percentiles"),
    ("percentiles=" + ",".join(map(str, range(1, 40))), "percentiles"),
    ("group=nope", "group"),
    ("quantiles=0.5", "quantiles"),
]


@pytest.mark.parametrize(("query", "parameter"), REFUSED)
def test_requests_that_are_refused(client: TestClient, query: str, parameter: str) -> None:
    response = client.get(f"{URL}?{query}")
    assert response.status_code == 422
    assert response.json()["parameter"] == parameter


def test_points_of_aim_are_refused_with_the_reason(client: TestClient) -> None:
    rows = get(client, f"{URL}?role=app&percentiles=50")
    assert rows
    assert all("configuration_aim" in row["aim_null_reason"] for row in rows)


RUN_OUTCOME = pa.schema(
    [(name, pa.string()) for name in ("study_id", "run_id", "role", "delay_basis", "queue_label", "exclusion_reason")]
    + [("bandwidth_bps", pa.int64())]
    + [(name, pa.float64()) for name in ("idle_rtt_ms", "loss_ratio", *PERCENTILES.values())]
)
RUN_IQB = pa.schema(
    [(name, pa.string()) for name in ("study_id", "run_id", "role", "delay_basis", "queue_label", "latency_statistic")]
    + [("binding_requirement", pa.string())]
    + [(name, pa.float64()) for name in ("iqb_lower_score", "iqb_upper_score")]
)
RUN_AIM = pa.schema(
    [(name, pa.string()) for name in ("study_id", "run_id", "role", "delay_basis", "queue_label", "qoe_model_id")]
    + [("binding_quantity", pa.string()), ("aim_points", pa.int64())]
)
KEY = ["study_id", "run_id", "role", "delay_basis"]


def run_of(queue: str, number: int) -> dict[str, Any]:
    return {"study_id": "s", "run_id": f"{queue}-{number}", "role": "app", "delay_basis": "q", "queue_label": queue}


@pytest.fixture
def with_scores(publish: Any, serve: Any) -> TestClient:
    """Seven runs of each of two queues: the one with the shorter median has the longer tail."""
    made = Build()
    outcomes, barometers, points = [], [], []
    for queue, middle, tail in (("short", 60.0, 900.0), ("steady", 90.0, 120.0)):
        for number in range(7):
            run = run_of(queue, number)
            delays = zip(PERCENTILES.values(), (middle + number, tail + number, tail + 10 * number), strict=True)
            outcomes.append(
                {**run, "bandwidth_bps": 10**6 if number < 4 else 10**7, "idle_rtt_ms": 50.0, "loss_ratio": 0.01}
                | dict(delays)
            )
            for statistic, low in (("idle", 0.5), ("loaded_median", 0.4), ("loaded_p95", 0.1), ("loaded_p99", 0.0)):
                worse = 0.2 if (queue == "short") == (statistic in ("loaded_p95", "loaded_p99")) else 0.0
                barometers.append(
                    {**run, "latency_statistic": statistic, "iqb_lower_score": low + 0.3 - worse + number / 100}
                    | {"iqb_upper_score": 0.95 + number / 1000}
                    | {"binding_requirement": "packet_loss" if number < 3 else "latency_ms" if number < 5 else None}
                )
            points += [
                {**run, "qoe_model_id": "aim-gaming", "aim_points": 10 + number if number else None}
                | {"binding_quantity": ("latency_ms", "loss_ratio")[number % 2] if number else None}
            ]
    outcomes.append({**run_of("short", 7), "idle_rtt_ms": 50.0, "exclusion_reason": "broken"})
    made.add("run_outcome", KEY, RUN_OUTCOME, outcomes)
    made.add("run_iqb", [*KEY, "latency_statistic"], RUN_IQB, barometers)
    made.add("run_aim", [*KEY, "qoe_model_id"], RUN_AIM, points)
    served: TestClient = serve(folder=publish(made))
    return served


def test_scores_of_runs_over_any_column_have_interval_and_the_rank_at_the_95th(with_scores: TestClient) -> None:
    rows = get(with_scores, "/v1/outcomes/responsiveness?group=queue_label")
    by_group = {(row["queue_label"], row["percentile"]): row for row in rows}
    assert len(by_group) == 2 * 3
    short = by_group["short", 50]
    # Of seven runs, the smallest and the largest enclose the median with 95 %; the excluded run is in none.
    assert (short["replicates"], short["runs_without_score"]) == (7, 0)
    assert [short[f"responsiveness_{bound}rpm"] for bound in ("lower_", "", "upper_")] == pytest.approx(
        [60_000 / rtt for rtt in (66, 63, 60)]
    )
    assert (short["group_rank"], short["group_rank_at_p95"], short["is_rank_changed"]) == (1, 2, True)
    assert not by_group["short", 99]["is_rank_changed"]


def test_one_grouping_more_divides_the_runs(with_scores: TestClient) -> None:
    rows = get(with_scores, "/v1/outcomes/added_delay?group=bandwidth_bps,queue_label&percentiles=50")
    assert {(row["queue_label"], row["bandwidth_bps"]): row["replicates"] for row in rows} == {
        (queue, rate): runs for queue in ("short", "steady") for rate, runs in ((10**6, 4), (10**7, 3))
    }
    assert {row["interval_null_reason"] for row in rows} == {
        "fewer than 6 runs: an exact 95% interval of the median needs 6"
    }
    assert {row["bufferbloat_grade"] for row in rows} == {"A", "B"}


def test_quality_of_outcome_of_runs_is_that_of_the_function(with_scores: TestClient) -> None:
    (row,) = get(with_scores, "/v1/outcomes/qoo?run_id=steady-0&percentiles=99")
    expected, _ = quality_of_outcome(
        {"latency_p99_ms": 120.0, "loss_ratio": 0.01}, [VIDEO_CALL_LATENCY, VIDEO_CALL_LOSS]
    )
    assert row["qoo_score"] == pytest.approx(expected)
    assert (row["binding_quantity"], row["binding_runs"]) == ("loss_ratio", 1)
    assert row["interval_null_reason"] == "one run"


def test_barometer_of_groups_of_runs_has_both_ends_and_its_ranks(with_scores: TestClient) -> None:
    rows = get(with_scores, "/v1/outcomes/iqb?group=queue_label&role=app")
    by_group = {(row["queue_label"], row["percentile"]): row for row in rows}
    assert {percentile for _, percentile in by_group} == {None, 50, 95, 99}
    short = by_group["short", 50]
    assert short["iqb_lower_score"] == pytest.approx(0.73)
    assert short["iqb_upper_score"] == pytest.approx(0.953)
    assert (short["iqb_interval_lower"], short["iqb_interval_upper"]) == (pytest.approx(0.7), pytest.approx(0.956))
    assert (short["group_rank"], short["group_rank_at_p95"], short["is_rank_changed"]) == (1, 2, True)
    assert (short["binding_quantity"], short["binding_runs"]) == ("packet_loss", 3)


def test_points_of_aim_of_groups_of_runs_have_a_class_and_no_percentile(with_scores: TestClient) -> None:
    rows = get(with_scores, "/v1/outcomes/aim?group=queue_label")
    for row in rows:
        assert (row["replicates"], row["runs_without_score"], row["percentile"]) == (6, 1, None)
        assert (row["aim_points"], row["aim_points_lower"], row["aim_points_upper"]) == (13.5, 11, 16)
        assert row["quality_class"] == aim_class(13.5, "aim-gaming") == "poor"
        assert row["is_rank_changed"] is None
        # Each binds in three runs: the first by name stands.
        assert (row["binding_quantity"], row["binding_runs"]) == ("latency_ms", 3)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [("iqb?percentiles=75", "percentiles"), ("aim?percentiles=50", "percentiles"), ("qoo?group=country", "group")],
)
def test_scores_of_runs_that_are_not_known_are_refused(with_scores: TestClient, query: str, parameter: str) -> None:
    response = with_scores.get(f"/v1/outcomes/{query}")
    assert response.status_code == 422
    assert response.json()["parameter"] == parameter


def test_metric_without_scores_is_not_found(client: TestClient) -> None:
    assert client.get("/v1/outcomes/host_maximum_queuing_delay").status_code == 404


def test_no_matching_run_is_an_empty_result_with_its_columns(client: TestClient) -> None:
    body = client.get(f"{URL}?aqm=none&unknown_values=allow").json()
    assert body["rows"] == []
    assert "bufferbloat_grade" in [column["name"] for column in body["columns"]]
