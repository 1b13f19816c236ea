"""The catalogue says what a dataset is about, and one entry shows its first rows."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient


def test_an_entry_shows_the_first_rows_by_the_key(client: TestClient) -> None:
    entry = client.get("/v1/datasets/run_harm").json()
    rows = client.get("/v1/datasets/run_harm/rows?limit=3").json()["rows"]
    assert len(rows) == 3
    assert entry["first_rows"] == rows


def test_a_key_of_a_study_sees_the_first_rows_of_it_alone(serve: Any, build: Any) -> None:
    studies = sorted({run["study_id"] for run in build.rows("run")})
    served = serve(api_keys=f"secret;studies={studies[-1]}")
    entry = served.get("/v1/datasets/run", headers={"X-API-Key": "secret"}).json()
    assert [row["study_id"] for row in entry["first_rows"]] == [studies[-1]] * 3
