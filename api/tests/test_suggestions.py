"""A name or value that is not known is answered with what it may have meant."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from sojourn_api.suggestions import meant_or_expected

ROWS = "/v1/datasets/run_harm/rows"


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        (f"{ROWS}?bandwith_bps=1", "; did you mean 'bandwidth_bps'"),
        (f"{ROWS}?aqm__lik=codel", "'lik' is not an operator; did you mean 'like'"),
        (f"{ROWS}?select=harmratio", "did you mean 'harm_ratio'"),
        (f"{ROWS}?order=-harm_rtio", "did you mean 'harm_ratio'"),
        (f"{ROWS}?group=congestioncontrol", "did you mean 'congestion_control'"),
        (f"{ROWS}?aggregate=medain:harm_ratio", "did you mean 'median'"),
        (f"{ROWS}?aggregate=avg:harm_ratio", "nor function:column; functions: count, min, max, mean, median"),
        (f"{ROWS}?aggregate=median:harm_rato", "did you mean 'harm_ratio'"),
        (f"{ROWS}?format=jsn", "did you mean 'json'"),
        ("/v1/datasets/run-harm/rows", "did you mean 'run_harm'"),
        ("/v1/distributions/queueing_delay", "did you mean 'queuing_delay'"),
        ("/v1/outcomes/qo", "did you mean 'qoo'"),
        ("/v1/comparisons/harms?factor=aqm", "did you mean 'harm'"),
        ("/v1/comparisons/harm?factor=aqms", "did you mean 'aqm'"),
        ("/v1/distributions/queuing_delay?statistic=quantile", "did you mean 'quantiles'"),
    ],
)
def test_what_is_close_is_named(client: TestClient, address: str, meant: str) -> None:
    response = client.get(address)
    assert response.status_code in (404, 422)
    assert meant in response.json()["detail"]


def test_what_nothing_comes_close_to_is_not_guessed(client: TestClient) -> None:
    assert "did you mean" not in client.get(f"{ROWS}?zzz=1").json()["detail"]


def test_the_few_values_there_are_stand_where_nothing_comes_close(client: TestClient) -> None:
    detail = client.get("/v1/distributions/queuing_delay?statistic=median").json()["detail"]
    assert detail == "statistic: 'median' is not allowed; expected quantiles, cdf, pdf or thresholds"


@pytest.mark.parametrize("allowed", [(), ("codel",)])
def test_fewer_than_two_values_are_no_choice(allowed: tuple[str, ...]) -> None:
    assert meant_or_expected("zzz", allowed) == ""


def test_a_number_is_refused_with_its_unit(client: TestClient) -> None:
    assert client.get(f"{ROWS}?bandwidth_bps=fast").json()["detail"].endswith(", in bit/s")
