"""What the API says of itself, as tables of SQL."""

from __future__ import annotations

from typing import Any

import pytest
from contract_server import Contract, serving
from sqlalchemy import create_engine, text

from sojourn_client import ApiError
from sojourn_superset.catalogue_memory import types_of
from sojourn_superset.pushdown import rewrite
from sojourn_superset.security import API_URL_VARIABLE
from sojourn_superset.service import requests_of

METRICS = """
# HELP sojourn_http_requests_total Responses by route and status
sojourn_http_requests_total{method="GET",route="/v1/datasets/{name}/rows",status="200"} 38.0
sojourn_http_requests_total{method="GET",route="/v1/datasets/{name}/rows",status="404"} 1.0
sojourn_http_requests_total{method="GET",route="/v1/datasets/{name}/rows",status="503"} 1.0
sojourn_http_requests_total{method="GET",route="/healthz",status="200"} 2.0
sojourn_http_requests_created{method="GET",route="/healthz",status="200"} 1.7953845258447304e+09
sojourn_http_request_seconds_bucket{le="0.01",route="/v1/datasets/{name}/rows"} 20.0
sojourn_http_request_seconds_bucket{le="0.025",route="/v1/datasets/{name}/rows"} 38.0
sojourn_http_request_seconds_bucket{le="+Inf",route="/v1/datasets/{name}/rows"} 40.0
sojourn_http_request_seconds_sum{route="/v1/datasets/{name}/rows"} 0.4
sojourn_http_request_seconds_bucket{le="0.01",route="/healthz"} 1.0
sojourn_http_request_seconds_bucket{le="+Inf",route="/healthz"} 2.0
sojourn_http_request_seconds_sum{route="/healthz"} 90.0
sojourn_queries_running 0.0
"""


def test_requests_are_counted_by_address_and_a_time_above_all_bounds_has_none() -> None:
    rows = "/v1/datasets/{name}/rows"
    assert requests_of(METRICS) == [
        {"route": "/healthz", "requests": 2, "refused": 0, "failed": 0, "mean_ms": 45_000, "p95_at_most_ms": None},
        {"route": rows, "requests": 40, "refused": 1, "failed": 1, "mean_ms": 10, "p95_at_most_ms": 25},
    ]


def test_a_text_without_requests_is_an_error() -> None:
    with pytest.raises(ApiError, match="has no sojourn_http_requests_total"):
        requests_of("sojourn_queries_running 0.0\n")


def test_builds_are_a_table_of_sql_that_is_not_pushed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    build: dict[str, Any] = {
        "build_id": "b", "published_at": "2026-01-02T00:00:00Z", "engine": "duckdb", "inputs": [{}, {}],
        "studies": ["s"], "dbt": {"models": 7, "tests_passed": 9},
        "kept": [
            {"build_id": "b", "written_at": "2026-01-01T23:59:00Z"},
            {"build_id": "a", "written_at": "2025-12-31T00:00:00Z"},
        ],
    }  # fmt: skip
    contract = Contract()
    answer = contract.answer
    contract.answer = lambda path, query: build if path == "/v1/builds" else answer(path, query)  # type: ignore[method-assign]
    query = "SELECT build_id, sources, is_served, age_s > 0 FROM service_build ORDER BY published_at DESC"
    counted = "SELECT COUNT(*) FROM service_build WHERE is_served = 1"
    assert rewrite(counted, types_of) == counted
    with serving(contract):
        monkeypatch.setenv(API_URL_VARIABLE, contract.url)
        engine = create_engine("shillelagh+safe://", adapters=["sojourn"])
        with engine.connect() as connection:
            assert connection.execute(text(query)).fetchall() == [("b", 2, 1, 1), ("a", None, 0, 1)]
            assert connection.execute(text(counted)).scalar() == 1
        engine.dispose()
