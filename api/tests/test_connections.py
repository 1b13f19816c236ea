"""Connections in the wild: distributions that pool no two bases, and shares compared between clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from api.tests.wild_connections import SYSTEMS, Delays, add_connections, drawn
from fastapi.testclient import TestClient


@pytest.fixture(scope="module")
def delays() -> Delays:
    return drawn()


@pytest.fixture
def served(publish: Any, serve: Any, build: Any, delays: Delays) -> TestClient:
    made = type(build)()
    add_connections(made, delays)
    return serve(folder=publish(made))


def get(client: TestClient, url: str) -> list[dict[str, Any]]:
    response = client.get(url)
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()["rows"]
    return rows


def of(delays: Delays, technology: str) -> Any:
    return np.concatenate([values for (kind, _), values in delays.items() if kind == technology])


def test_quantiles_are_those_of_the_connections_and_no_two_bases_are_pooled(served: TestClient, delays: Delays) -> None:
    rows = get(served, "/v1/distributions/connection_queuing_delay?group=access_technology&quantiles=0.25,0.5,0.95")
    assert len(rows) == 3 * (len(SYSTEMS) + 1)
    for row in rows:
        assert row["is_upper_bound"] is True
        if row["dataset"] == "polled":
            assert (row["n"], row["sample_basis"], row["synthetic"]) == (5, "polls", False)
            assert row["queuing_delay_ms"] == pytest.approx(1000, rel=0.01)
        else:
            values = of(delays, row["access_technology"])
            assert (row["n"], row["sample_basis"], row["synthetic"]) == (values.size, "rtt_samples", True)
            exact = np.quantile(values, row["quantile_ratio"], method="inverted_cdf") / 1000
            assert row["queuing_delay_ms"] == pytest.approx(exact, rel=0.01)


def test_any_threshold_is_enclosed(served: TestClient, delays: Delays) -> None:
    url = "/v1/distributions/connection_queuing_delay?statistic=thresholds&thresholds_ms=7.3,50,100&dataset=made-up"
    rows = get(served, f"{url}&group=access_technology")
    assert len(rows) == 3 * len(SYSTEMS)
    for row in rows:
        true = np.mean(of(delays, row["access_technology"]) > 1000 * row["threshold_ms"])
        assert row["share_above_bin_lower_ratio"] <= true <= row["share_above_bin_upper_ratio"]


def test_one_system_is_answered_from_the_dataset_that_knows_systems(served: TestClient, delays: Delays) -> None:
    (row,) = get(
        served,
        "/v1/distributions/connection_queuing_delay?asn=64500&access_technology=adsl&group=access_technology&quantiles=0.5",
    )
    exact = np.quantile(delays["adsl", 64500], 0.5, method="inverted_cdf") / 1000
    assert row["queuing_delay_ms"] == pytest.approx(exact, rel=0.01)


def test_shares_by_system_are_compared_and_few_systems_are_refused(served: TestClient, delays: Delays) -> None:
    url = "/v1/comparisons/connection_delay_share?factor=access_technology&baseline=cable&threshold_ms=20"
    rows = {row["treatment"]: row for row in get(served, url)}
    assert set(rows) == {"adsl", "ftth"}
    for technology, row in rows.items():
        limit_us = 1000 * row["effective_threshold_ms"]
        assert 0 <= limit_us - 20_000 <= 20_000 / 64
        shares = [np.mean(of(delays, name) > limit_us) for name in (technology, "cable")]
        assert row["effect"] == pytest.approx(shares[0] - shares[1])
        assert (row["treatment_n"], row["baseline_n"]) == (SYSTEMS[technology], 12)
        assert row["replication_unit"] == "autonomous system"
    assert rows["adsl"]["effect_lower"] > 0.8
    assert rows["adsl"]["p_value"] < 1e-6
    assert (rows["ftth"]["effect_lower"], rows["ftth"]["p_value"]) == (None, None)
    assert rows["ftth"]["interval_null_reason"] == "9 clusters: an interval needs 10"


@pytest.mark.parametrize(
    ("metric", "effect"), [("connection_delay_share_by_host", 0.1), ("host_delay_share", 0.2)], ids=str
)
def test_shares_by_host_are_compared_and_few_hosts_are_refused(served: TestClient, metric: str, effect: float) -> None:
    url = f"/v1/comparisons/{metric}?factor=access_technology&baseline=cable&threshold_ms=100"
    rows = {row["treatment"]: row for row in get(served, url)}
    assert set(rows) == {"adsl", "ftth"}
    assert rows["adsl"]["effect"] == pytest.approx(effect)
    assert rows["adsl"]["effect_lower"] > 0
    assert (rows["adsl"]["treatment_n"], rows["adsl"]["replication_unit"]) == (400, "host")
    assert rows["ftth"]["interval_null_reason"] == "9 clusters: an interval needs 10"
    assert rows["ftth"]["p_value"] is None


def test_a_threshold_that_hosts_were_not_counted_at_is_refused(served: TestClient) -> None:
    url = "/v1/comparisons/host_delay_share?factor=access_technology&baseline=cable&threshold_ms=123"
    response = served.get(url)
    assert response.status_code == 422
    assert "queuing_delay_share" in response.text
