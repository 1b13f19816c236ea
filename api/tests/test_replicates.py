"""Distributions with intervals over replicates: runs and months, and hosts that are counted themselves."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from api.tests.conftest import Build
from api.tests.wild_connections import BASIS, MADE_UP, TEXT, UPPER_BOUND, WHOLE, add_connections, binned, drawn
from fastapi.testclient import TestClient

from sojourn_statistics.intervals.order_statistics import quantile_ranks
from sojourn_statistics.intervals.proportions import proportion

URL = "/v1/distributions"
OF_HOSTS = pa.schema(
    [("period_kind", TEXT), ("period", TEXT), *BASIS, ("access_technology", TEXT)]
    + [(name, WHOLE) for name in ("bin_index", "bin_lower_us", "bin_upper_us", "hosts")]
    + UPPER_BOUND
)
BY_SYSTEM = pa.schema([*OF_HOSTS, ("country", TEXT), ("asn", WHOLE)])


def get(client: TestClient, url: str) -> list[dict[str, Any]]:
    response = client.get(f"{URL}/{url}")
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()["rows"]
    return rows


def test_quantiles_over_runs_are_medians_with_their_exact_interval(client: TestClient, build: Any) -> None:
    rows = get(client, "queuing_delay?group=aqm&role=app&over=run&quantiles=0.5,0.9")
    assert len(rows) == 3 * 2
    for row in rows:
        runs = [run for run in build.rows("run") if run["exclusion_reason"] is None and run["aqm"] == row["aqm"]]
        values = []
        for run in runs:
            delays = sorted(build.delays_us[run["run_id"], "app"])
            values.append(delays[math.ceil(row["quantile_ratio"] * len(delays)) - 1] / 1000)
        values.sort()
        ranks = quantile_ranks(len(values))
        assert ranks is not None
        expected = (values[ranks[0] - 1], median(values), values[ranks[1] - 1])
        bounds = [row[f"queuing_delay_{bound}ms"] for bound in ("lower_", "", "upper_")]
        assert bounds == pytest.approx(expected, rel=0.01)
        assert (row["replication_unit"], row["replicates"]) == ("run", len(runs))
        assert row["studies"] == len({run["study_id"] for run in runs})
        assert (row["level_ratio"], row["interval_null_reason"]) == (0.95, None)


def test_values_over_runs_are_those_that_are_scored(client: TestClient) -> None:
    query = "queuing_delay?group=aqm,congestion_control"
    rows = get(client, f"{query}&over=run&quantiles=0.95")
    scored = client.get(f"/v1/outcomes/{query}&percentiles=95").json()["rows"]
    shared = set(rows[0]) & set(scored[0])
    assert {"queuing_delay_lower_ms", "replicates", "n", "studies", "interval_null_reason"} <= shared
    assert [{name: row[name] for name in shared} for row in rows] == [
        {name: row[name] for name in shared} for row in scored
    ]


def test_shares_over_runs(client: TestClient, build: Any) -> None:
    (row,) = get(client, "queuing_delay?aqm=codel&role=app&over=run&statistic=thresholds&thresholds_ms=5")
    shares = [
        float(np.mean(np.array(build.delays_us[run["run_id"], "app"]) > 5000))
        for run in build.rows("run")
        if run["exclusion_reason"] is None and run["aqm"] == "codel"
    ]
    assert row["share_above_ratio"] == pytest.approx(median(shares), abs=0.01)
    assert row["share_above_lower_ratio"] <= row["share_above_ratio"] <= row["share_above_upper_ratio"]


@pytest.fixture
def wild(publish: Any, serve: Any) -> TestClient:
    """Maxima of 300 hosts of each technology, of which ADSL's are in two countries."""
    made = Build()
    whole = {**MADE_UP, "period_kind": "all", "period": "all", "is_upper_bound": True}
    delays = {technology: maxima(technology) for technology in ("adsl", "ftth")}
    of_technologies = [
        {**whole, "access_technology": technology, **counted}
        for technology, values in delays.items()
        for counted in of_hosts(values)
    ]
    of_systems = [
        {**whole, "access_technology": "adsl", "country": country, "asn": asn, **counted}
        for country, asn, values in (("DE", 1, delays["adsl"][:100]), ("FR", 2, delays["adsl"][100:]))
        for counted in of_hosts(values)
    ]
    key = ["dataset", "access_technology"]
    made.add("host_maximum_queuing_delay_histogram", [*key, "bin_index"], OF_HOSTS, of_technologies)
    made.add("host_maximum_queuing_delay_as_histogram", [*key, "asn", "bin_index"], BY_SYSTEM, of_systems)
    add_connections(made, drawn())
    served: TestClient = serve(folder=publish(made))
    return served


def maxima(technology: str) -> list[int]:
    random = np.random.default_rng(7)
    return [int(value) for value in random.lognormal(11.0 if technology == "adsl" else 9.0, 0.7, 300)]


def of_hosts(values: list[int]) -> list[dict[str, Any]]:
    return [{name.replace("connections", "hosts"): value for name, value in row.items()} for row in binned(values)]


def test_quantiles_over_hosts_enclose_the_order_statistics_of_the_hosts(wild: TestClient) -> None:
    rows = get(wild, "host_maximum_queuing_delay?group=access_technology&over=host&quantiles=0.5,0.999,1")
    assert [(row["access_technology"], row["replicates"]) for row in rows] == [("adsl", 300)] * 3 + [("ftth", 300)] * 3
    for row in rows[::3]:
        values = sorted(maxima(row["access_technology"]))
        ranks = quantile_ranks(300, 0.5)
        assert ranks is not None
        assert row["queuing_delay_ms"] == pytest.approx(values[149] / 1000, rel=0.01)
        # Widened to the edges of the bins of the order statistics.
        assert values[ranks[0] - 1] * 0.98 <= row["queuing_delay_lower_ms"] * 1000 <= values[ranks[0] - 1]
        assert values[ranks[1] - 1] <= row["queuing_delay_upper_ms"] * 1000 <= values[ranks[1] - 1] * 1.02
    assert rows[1]["queuing_delay_lower_ms"] is None
    assert "n = 300" in rows[1]["interval_null_reason"]
    assert rows[2]["interval_null_reason"] == "no interval encloses the smallest or the largest value"


def test_share_of_hosts_by_technology_and_country_is_one_query(wild: TestClient) -> None:
    rows = get(
        wild,
        "host_maximum_queuing_delay?group=access_technology,country&over=host&statistic=thresholds&thresholds_ms=100",
    )
    values = maxima("adsl")
    for row, hosts in zip(rows, (values[:100], values[100:]), strict=True):
        above = sum(value > 100_000 for value in hosts)
        interval = proportion(above, len(hosts)).interval
        assert interval is not None
        assert (row["replication_unit"], row["replicates"], row["n"]) == ("host", len(hosts), len(hosts))
        # A bin holds at most a few of the hosts, of which some are above and some below.
        assert row["share_above_ratio"] == pytest.approx(above / len(hosts), abs=0.02)
        assert row["share_above_lower_ratio"] <= interval.lower
        assert row["share_above_upper_ratio"] >= interval.upper


def test_months_are_replicates_where_no_dataset_has_days(wild: TestClient) -> None:
    (row,) = get(wild, "connection_queuing_delay?dataset=made-up&asn=64500&over=month&quantiles=0.5")
    assert (row["replication_unit"], row["replicates"], row["interval_null_reason"]) == ("month", 1, "one month")
    response = wild.get(f"{URL}/connection_queuing_delay?asn=64500&over=day")
    assert (response.status_code, response.json()["parameter"]) == (422, "over")


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("over=host", "queuing_delay has intervals over run"),
        ("over=packet", "'packet' is not allowed"),
        ("over=run&statistic=cdf", "applies to statistic=quantiles and thresholds only"),
    ],
)
def test_units_that_have_no_meaning_are_refused(client: TestClient, query: str, detail: str) -> None:
    problem = client.get(f"{URL}/queuing_delay?{query}").json()
    assert (problem["status"], problem["parameter"]) == (422, "over")
    assert detail in problem["detail"]


def test_no_matching_run_is_an_empty_result_with_its_columns(client: TestClient) -> None:
    body = client.get(f"{URL}/queuing_delay?aqm=none&over=run&unknown_values=allow").json()
    assert body["rows"] == []
    assert "queuing_delay_lower_ms" in [column["name"] for column in body["columns"]]
