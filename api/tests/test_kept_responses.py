"""Whole responses kept in memory: the same bytes as computed ones, for whoever may read them, of the served build."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from sojourn_api.app import create_app
from sojourn_api.http.kept_responses import KeptResponse, KeptResponses
from sojourn_api.problems import ProblemError
from sojourn_api.queries.result_cache import ResultCache
from sojourn_api.settings import Settings
from sojourn_api.snapshot import ServedBuild

HARM = "/v1/datasets/run_harm/rows?select=run_id,role,harm_ratio&order=-harm_ratio&limit=3"
REQUESTS = [
    "/v1/studies",
    "/v1/builds",
    "/v1/datasets",
    "/v1/datasets/run_harm",
    HARM,
    "/v1/datasets/run_harm/rows?group=aqm,role&aggregate=median:harm_ratio",
    "/v1/datasets/run_harm/rows?limit=7",
    "/v1/distributions/queuing_delay?group=aqm",
]


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Callable[[TestClient], list[str]]:
    """A function that returns the list of queries that a service runs from then on."""

    def count(client: Any) -> list[str]:
        ran: list[str] = []
        runner = client.app.state.runner
        run = runner.run

        def counting(snapshot: Any, sql: str, *others: Any) -> Any:
            ran.append(sql)
            return run(snapshot, sql, *others)

        monkeypatch.setattr(runner, "run", counting)
        return ran

    return count


@pytest.fixture(scope="module")
def services(example_folder: Path) -> Iterator[tuple[TestClient, TestClient]]:
    """A service that keeps responses, and one that computes each."""
    with (
        TestClient(create_app(Settings(snapshots=example_folder))) as keeping,
        TestClient(create_app(Settings(snapshots=example_folder, api_kept_bytes=0))) as computing,
    ):
        yield keeping, computing


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
@pytest.mark.parametrize("format_name", ["json", "csv", "arrow"])
@pytest.mark.parametrize("address", REQUESTS)
def test_a_kept_response_is_the_computed_one(
    services: tuple[TestClient, TestClient], address: str, format_name: str, coding: str
) -> None:
    headers = {"Accept-Encoding": coding}
    if "rows" in address or "distributions" in address:
        address += ("&" if "?" in address else "?") + f"format={format_name}"
    keeping, computing = services
    first, kept = (keeping.get(address, headers=headers) for _ in range(2))
    computed = computing.get(address, headers=headers)
    assert len(keeping.app.state.kept) > 0
    assert len(computing.app.state.kept) == 0
    for response in (first, kept):
        assert response.status_code == computed.status_code == 200
        assert response.content == computed.content
        assert response.headers.raw == computed.headers.raw


def test_a_repeated_request_runs_no_query(serve: Any, queries: Any) -> None:
    client = serve()
    ran = queries(client)
    assert client.get(HARM).content == client.get(HARM).content
    assert len(ran) == 1
    metrics = client.get("/metrics").text
    assert "sojourn_http_kept_responses_total 1.0" in metrics
    # Both count as requests of their route.
    assert 'route="/v1/datasets/{name}/rows",status="200"} 2.0' in metrics


def test_the_order_of_parameters_changes_nothing(serve: Any, queries: Any) -> None:
    client = serve()
    ran = queries(client)
    one = client.get("/v1/datasets/run_harm/rows?role=app&limit=3&aqm=codel")
    other = client.get("/v1/datasets/run_harm/rows?aqm=codel&role=app&limit=3")
    assert one.headers["etag"] == other.headers["etag"]
    assert len([sql for sql in ran if "select distinct" not in sql]) == 1
    # Its cursor goes on from either.
    following = client.get(f"/v1/datasets/run_harm/rows?aqm=codel&role=app&limit=3&cursor={one.json()['next_cursor']}")
    assert following.status_code == 200
    assert following.json()["rows"]


def test_values_of_one_parameter_are_not_mixed_up(serve: Any) -> None:
    client = serve()
    for address in ("/v1/datasets/run/rows?aqm=codel", "/v1/datasets/run/rows?aqm=fq_codel"):
        for _ in range(2):
            assert {row["aqm"] for row in client.get(address).json()["rows"]} == {address.partition("aqm=")[2]}


def test_an_accept_header_is_part_of_the_request(serve: Any) -> None:
    client = serve()
    for _ in range(2):
        assert client.get(HARM, headers={"Accept": "text/csv"}).headers["content-type"].startswith("text/csv")
        assert client.get(HARM, headers={"Accept": "application/json"}).json()["row_count"]


def test_not_modified_from_memory(serve: Any, queries: Any) -> None:
    client = serve()
    etag = client.get(HARM).headers["etag"]
    ran = queries(client)
    kept = client.get(HARM, headers={"If-None-Match": etag})
    computed = serve(api_kept_bytes=0).get(HARM, headers={"If-None-Match": etag})
    assert (kept.status_code, kept.content) == (304, b"")
    assert sorted(kept.headers.raw) == sorted(computed.headers.raw)
    assert client.get(HARM, headers={"If-None-Match": 'W/"other"'}).status_code == 200
    assert ran == []


def test_a_kept_response_needs_the_key_too(serve: Any) -> None:
    client = serve(api_keys="secret,other")
    headers_with_key = {"X-API-Key": "secret"}
    assert client.get(HARM, headers=headers_with_key).status_code == 200
    assert client.get(HARM, headers={"Authorization": "Bearer other"}).status_code == 200
    assert len(client.app.state.kept) == 1
    for headers in ({}, {"X-API-Key": "secre"}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic other"}):
        assert client.get(HARM, headers=headers).status_code == 401


def test_a_new_build_is_answered_at_once(serve: Any, publish: Any, point: Any, build: Any, another_build: Any) -> None:
    folder = publish(build, "b1")
    client = serve(folder=folder)
    before = client.get(HARM)
    publish(another_build, "b2")
    after = client.get(HARM)
    assert (before.json()["build_id"], after.json()["build_id"]) == ("b1", "b2")
    assert before.json()["rows"] != after.json()["rows"]
    assert len(client.app.state.kept) == 1
    # The same build published again is another publication.
    assert client.get("/v1/builds").json()["published_at"] == "2026-11-21T01:02:03Z"
    point(folder, "b2", "2026-11-22T00:00:00Z")
    assert client.get("/v1/builds").json()["published_at"] == "2026-11-22T00:00:00Z"


def test_a_build_that_cannot_be_opened_leaves_what_is_kept(serve: Any, publish: Any, point: Any, build: Any) -> None:
    folder = publish(build, "b1")
    client = serve(folder=folder)
    before = client.get(HARM)
    point(folder, "nowhere")
    for _ in range(3):
        assert client.get(HARM).content == before.content
    assert client.get("/healthz").json() == {"status": "stale", "build_id": "b1"}


def test_problems_are_not_kept(serve: Any) -> None:
    client = serve()
    for address in ("/v1/datasets/none/rows", HARM + "&bandwith=1", "/v1/nothing"):
        assert client.get(address).status_code in (404, 422)
    client.get("/healthz")
    client.get("/metrics")
    assert len(client.app.state.kept) == 0


def test_memory_is_bounded() -> None:
    build = ServedBuild("b1", "now")
    kept = KeptResponses(80_000)
    for number in range(30):
        kept.put(build, (number,), KeptResponse(None, [], "e", bytes(4_000)))
        assert kept.get(build, (0,)) is not None, "the most recently used stays"
        assert kept.bytes <= 80_000
    assert 5 < len(kept) < 20
    assert kept.get(build, (29,)) is not None
    assert kept.get(build, (3,)) is None
    kept.put(build, ("large",), KeptResponse(None, [], "e", bytes(20_000)))
    assert kept.get(build, ("large",)) is None
    assert kept.get(ServedBuild("b1", "later"), (29,)) is None
    kept.put(ServedBuild("b2", "now"), (1,), KeptResponse(None, [], "e", b""))
    assert len(kept) == 1


def _at_once(app: Any, addresses: list[str]) -> list[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await asyncio.gather(*(client.get(address) for address in addresses))

    return asyncio.run(ask())


def test_requests_at_one_time_are_computed_once(serve: Any, queries: Any) -> None:
    client = serve()
    client.app.state.store.start()
    ran = queries(client)
    responses = _at_once(client.app, [HARM] * 8)
    assert {response.status_code for response in responses} == {200}
    assert len({response.content for response in responses}) == 1
    assert len(ran) == 1


def test_those_who_waited_for_a_failure_ask_for_themselves(
    example_folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(Settings(snapshots=example_folder))
    app.state.store.start()
    runner = app.state.runner
    run = runner.run
    failed = threading.Event()

    def failing_once(*arguments: Any) -> Any:
        if not failed.is_set():
            failed.set()
            raise ProblemError("busy", "no turn")
        return run(*arguments)

    monkeypatch.setattr(runner, "run", failing_once)
    assert sorted(response.status_code for response in _at_once(app, [HARM] * 4)) == [200, 200, 200, 503]


def test_a_result_is_computed_once_for_threads_that_wait() -> None:
    cache = ResultCache()
    started, go_on = threading.Event(), threading.Event()
    computed: list[int] = []
    results: list[Any] = []

    def compute() -> Any:
        computed.append(1)
        started.set()
        assert go_on.wait(10)
        return "result"

    threads = [threading.Thread(target=lambda: results.append(cache.get("b1", "key", compute))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert started.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert results == ["result"] * 4
    assert computed == [1]


def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    cache = ResultCache()

    def fail() -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("b1", "key", fail)
    assert cache.get("b1", "key", lambda: "later") == "later"  # type: ignore[arg-type,return-value]
