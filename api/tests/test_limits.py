from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sojourn_api.settings import Settings, memory_that_fits

ROWS = "/v1/datasets/run_harm/rows"


def test_most_rows_of_a_response(serve: Any) -> None:
    client = serve(api_max_rows=10)
    body = client.get(ROWS).json()
    assert body["row_count"] == 10
    assert body["next_cursor"]
    problem = client.get(ROWS + "?limit=11").json()
    assert (problem["status"], problem["maximum"]) == (422, 10)


def test_a_slow_query_is_stopped(serve: Any, publish: Any, many: Any) -> None:
    slow = "/v1/datasets/many/rows?group=id&aggregate=sum:x,mean:x,median:x,q95:x,q05:x&order=-mean_x&limit=1"
    client = serve(folder=publish(many), api_query_seconds=0.01)
    assert client.get("/healthz").status_code == 200
    problem = client.get(slow).json()
    assert (problem["status"], problem["type"]) == (503, "urn:sojourn:problem:query-timeout")
    # It was stopped for want of time and of nothing else, and the service goes on.
    client.app.state.runner._seconds = 60
    assert client.get(slow).status_code == 200


def test_a_query_that_needs_too_much_memory_is_a_problem(serve: Any, publish: Any, many: Any) -> None:
    client = serve(folder=publish(many), api_memory="48MB")
    problem = client.get("/v1/datasets/many/rows?group=id,x,g&aggregate=median:x,sum:x&order=-median_x").json()
    assert (problem["status"], problem["type"]) == (503, "urn:sojourn:problem:query-memory")
    assert client.get("/v1/datasets/many/rows?limit=1").status_code == 200


def test_a_query_without_a_turn_is_told_to_come_again(serve: Any) -> None:
    client = serve(api_concurrent_queries=1, api_query_seconds=0.2)
    client.app.state.runner._turns.acquire()
    response = client.get(ROWS)
    assert (response.status_code, response.json()["type"]) == (503, "urn:sojourn:problem:busy")
    assert response.headers["retry-after"] == "5"
    assert client.get("/healthz").status_code == 200
    client.app.state.runner._turns.release()
    assert client.get(ROWS).status_code == 200


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("SOJOURN_VAR", str(tmp_path))
    monkeypatch.setenv("SOJOURN_API_KEYS", "a, b,,")
    monkeypatch.setenv("SOJOURN_API_MAX_ROWS", "")
    settings = Settings()
    assert settings.snapshots_folder == tmp_path.resolve() / "snapshots"
    assert [key.get_secret_value() for key in settings.api_keys] == ["a", "b"]
    assert "a, b" not in repr(settings)
    assert settings.api_max_rows == 100_000
    monkeypatch.setenv("SOJOURN_SNAPSHOTS", str(tmp_path / "s"))
    assert Settings().snapshots_folder == tmp_path.resolve() / "s"
    monkeypatch.setenv("SOJOURN_API_MEMORY", "lots")
    with pytest.raises(ValidationError):
        Settings()


def test_memory_is_half_of_what_there_is_and_shared_among_workers() -> None:
    assert memory_that_fits("819.1 MiB") == "536MB"
    assert memory_that_fits("819.1 MiB", workers=2) == "268MB"
    assert memory_that_fits("3.2 GiB") == "2000MB"
    assert memory_that_fits("25.0 GiB", workers=4) == "2000MB"
