"""Scores of groups: of the percentile of each replicate, with the interval and rank over replicates."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import pytest
from api.tests.wild_connections import SYSTEMS, add_connections, drawn
from fastapi.testclient import TestClient

from sojourn_api.requests.outcomes import DEFAULT_PERCENTILES
from sojourn_statistics.quality.delay import bufferbloat_grade

URL = "/v1/outcomes/queuing_delay"


def get(client: TestClient, url: str) -> list[dict[str, Any]]:
    response = client.get(url)
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()["rows"]
    return rows


def of_runs(build: Any, percentile: int, **wanted: str) -> list[float]:
    """Return the percentile of each run that counts, in ms, in ascending order."""
    found = []
    for run in build.rows("run"):
        if run["exclusion_reason"] is None and all(run[name] == value for name, value in wanted.items()):
            delays = sorted(build.delays_us[run["run_id"], "app"])
            found.append(delays[max(1, math.ceil(percentile * len(delays) / 100)) - 1] / 1000)
    return sorted(found)


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
    assert all("no jitter" in row["aim_null_reason"] for row in rows)


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


@pytest.mark.parametrize(("score", "dataset"), [("aim", "configuration_aim"), ("iqb", "configuration_iqb")])
def test_asking_for_a_score_as_a_metric_says_where_it_is(client: TestClient, score: str, dataset: str) -> None:
    response = client.get(f"/v1/outcomes/{score}")
    assert response.status_code == 404
    assert dataset in response.json()["detail"]


def test_metric_without_scores_is_not_found(client: TestClient) -> None:
    assert client.get("/v1/outcomes/host_maximum_queuing_delay").status_code == 404


def test_no_matching_run_is_an_empty_result_with_its_columns(client: TestClient) -> None:
    body = client.get(f"{URL}?aqm=none").json()
    assert body["rows"] == []
    assert "bufferbloat_grade" in [column["name"] for column in body["columns"]]
