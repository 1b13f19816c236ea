"""A row that pools studies says how many, from memory and from SQL alike."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

ADDRESSES = (
    "/v1/datasets/run_harm/rows?aggregate=median:harm_ratio&group=aqm",
    "/v1/distributions/queuing_delay?quantiles=0.5&group=aqm",
    "/v1/outcomes/queuing_delay?percentiles=50&group=aqm",
)


@pytest.fixture(scope="module", params=["memory", "files"])
def service(request: Any, example_folder: Any) -> Any:
    """A service that holds histograms in memory, and one that reads files."""
    from sojourn_api.app import create_app
    from sojourn_api.settings import Settings

    rows = 0 if request.param == "memory" else 10**9
    with TestClient(create_app(Settings(snapshots=example_folder, api_cells_rows=rows))) as client:
        yield client


@pytest.mark.parametrize("address", ADDRESSES)
def test_rows_count_the_studies_that_they_pool(service: TestClient, address: str) -> None:
    pooled, of_one, by_study = (service.get(f"{address}{more}").json() for more in ("", "&study_id=s-2", ",study_id"))
    assert {row["studies"] for row in pooled["rows"]} == {2}
    assert {row["studies"] for row in of_one["rows"]} == {1}
    assert {"name": "studies", "type": "BIGINT", "unit": "studies"} in pooled["columns"]
    assert "studies" not in by_study["rows"][0]
    assert {row["study_id"] for row in by_study["rows"]} == {"s-1", "s-2"}


def test_a_dataset_without_studies_counts_none(client: TestClient) -> None:
    assert "studies" not in client.get("/v1/datasets/types/rows?group=flag").json()["rows"][0]
