from __future__ import annotations

import zlib
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from sojourn_api import distribution_metrics
from sojourn_api.app import create_app
from sojourn_api.requests.outcomes import SCORED
from sojourn_api.requests.run_scores import RUN_SCORES
from sojourn_api.settings import Settings
from sojourn_api.share_metrics import SHARE_METRICS
from sojourn_statistics.comparison.metrics import METRICS

ROWS = "/v1/datasets/run_harm/rows"
DATA = [
    "/v1/studies",
    "/v1/builds",
    "/v1/datasets",
    "/v1/datasets/run_harm",
    ROWS,
    ROWS + "?group=aqm",
    "/v1/distributions/queuing_delay",
    "/v1/comparisons/harm?factor=aqm&baseline=tail-drop",
]
PLAIN = [
    "/",
    "/healthz",
    "/metrics",
    "/v1/studies",
    "/v1/builds",
    "/v1/datasets",
    "/v1/datasets/run_harm",
    "/v1/distributions",
    "/v1/outcomes",
    "/v1/comparisons",
]


def test_index_links_lead_somewhere(client: TestClient) -> None:
    body = client.get("/").json()
    assert body["service"] == "sojourn"
    for link in body["links"].values():
        link = link.replace("comparisons/{metric}", "comparisons/harm?factor=aqm&baseline=tail-drop")
        filled = link.replace("{name}", "run_harm").replace("{metric}", "queuing_delay")
        answer = client.get(filled)
        # This build has no mart of findings.
        assert answer.status_code == (404 if link == "/v1/findings" else 200), link
        assert answer.status_code == 200 or answer.json()["type"].endswith(":unknown-dataset")


def test_the_index_lists_every_address(client: TestClient) -> None:
    links = set(client.get("/").json()["links"].values())
    assert set(client.get("/openapi.json").json()["paths"]) - {"/"} <= links


def test_every_metric_of_an_address_is_listed_with_the_datasets_that_the_build_has(client: TestClient) -> None:
    names = {"run_harm", "queuing_delay_histogram"}
    for address, metrics in {
        "distributions": distribution_metrics.METRICS,
        "outcomes": [*SCORED, *RUN_SCORES],
        "comparisons": {**METRICS, **SHARE_METRICS},
    }.items():
        listed = client.get(f"/v1/{address}").json()["metrics"]
        assert [metric["name"] for metric in listed] == list(metrics)
        assert all(metric["description"] and set(metric["datasets"]) <= names for metric in listed)
    by_name = {metric["name"]: metric for metric in listed}
    assert by_name["harm"]["datasets"] == ["run_harm"]
    assert (by_name["harm"]["unit"], by_name["harm"]["replication_units"]) == ("ratio", ["run"])
    assert "aqm" in by_name["harm"]["factors"]


def test_studies_builds_and_datasets(client: TestClient, build: Any) -> None:
    assert client.get("/v1/studies").json() == {"build_id": "b1", "studies": build.rows("study")}
    served = client.get("/v1/builds").json()
    assert (served["build_id"], served["published_at"]) == ("b1", "2026-11-21T01:02:03Z")
    assert served["inputs"][0]["source_path"] == "a.pcap"
    catalogue = client.get("/v1/datasets").json()
    assert catalogue == {"build_id": "b1", **build.catalogue()}
    entry = client.get("/v1/datasets/run").json()
    assert entry == {
        "build_id": "b1",
        **next(d for d in build.catalogue()["datasets"] if d["name"] == "run"),
        "first_rows": entry["first_rows"],
    }


def test_every_column_of_every_result_is_in_the_catalogue(client: TestClient) -> None:
    for dataset in client.get("/v1/datasets").json()["datasets"]:
        described = [(c["name"], c["type"], c["unit"]) for c in dataset["columns"]]
        assert all(column["description"] for column in dataset["columns"])
        body = client.get(f"/v1/datasets/{dataset['name']}/rows?limit=1").json()
        assert [(c["name"], c["type"], c["unit"]) for c in body["columns"]] == described
        assert list(body["rows"][0]) == [name for name, _, _ in described]
        whole = client.get(f"/v1/datasets/{dataset['name']}/rows?limit=100000").json()
        assert whole["row_count"] == dataset["rows"]


@pytest.mark.parametrize("url", PLAIN)
def test_addresses_without_parameters_refuse_any(client: TestClient, url: str) -> None:
    problem = client.get(url + "?pretty=1").json()
    assert (problem["status"], problem["parameter"], problem["allowed"]) == (422, "pretty", [])


@pytest.mark.parametrize("url", DATA)
def test_etag_spares_the_result(client: TestClient, url: str) -> None:
    first = client.get(url)
    etag = first.headers["etag"]
    for etags in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        again = client.get(url, headers={"If-None-Match": etags})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == etag
        assert again.headers["X-Sojourn-Build"] == "b1"
    assert client.get(url, headers={"If-None-Match": '"other"'}).status_code == 200


def test_etag_differs_by_query_and_format(client: TestClient) -> None:
    urls = [ROWS, ROWS + "?limit=5", ROWS + "?format=csv", ROWS + "?limit=5&aqm=codel", "/v1/datasets/run/rows"]
    assert len({client.get(url).headers["etag"] for url in urls}) == len(urls)


def test_errors_come_before_304(client: TestClient) -> None:
    assert client.get(ROWS + "?nope=1", headers={"If-None-Match": "*"}).status_code == 422


@pytest.mark.parametrize(
    ("method", "url", "status", "kind"),
    [
        ("GET", "/nope", 404, "not-found"),
        ("GET", "/v1/studies/", 404, "not-found"),
        ("GET", "/v1/datasets/a/b/c", 404, "not-found"),
        ("POST", "/v1/studies", 405, "method-not-allowed"),
        ("DELETE", ROWS, 405, "method-not-allowed"),
    ],
)
def test_errors_of_routing_are_problems(client: TestClient, method: str, url: str, status: int, kind: str) -> None:
    response = client.request(method, url)
    assert response.status_code == response.json()["status"] == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == f"urn:sojourn:problem:{kind}"
    assert set(response.json()) >= {"type", "title", "status", "detail", "instance"}
    if status == 405:
        assert response.headers["allow"] == "GET"


def test_an_unforeseen_error_shows_nothing_of_the_inside(example_folder: Any) -> None:
    app = create_app(Settings(snapshots=example_folder))

    def fails() -> None:
        raise RuntimeError("secret of the inside")

    def teapot() -> None:
        raise HTTPException(418, "short and stout")

    app.add_api_route("/fails", fails)
    app.add_api_route("/teapot", teapot)
    with TestClient(app, raise_server_exceptions=False) as client:
        response = client.get("/fails")
        other = client.get("/teapot").json()
        metrics = client.get("/metrics").text
    assert response.status_code == 500
    assert response.json()["type"] == "urn:sojourn:problem:internal-error"
    assert "secret" not in response.text
    assert (other["status"], other["type"]) == (418, "about:blank")
    assert 'route="/fails",status="500"' in metrics


def test_compression_is_by_agreement(client: TestClient) -> None:
    plain = client.get(ROWS, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    with client.stream("GET", ROWS, headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert zlib.decompress(b"".join(response.iter_raw()), 31) == plain.content
    for accepted in ("zstd", "gzip, deflate, br, zstd", "zstd;q=0.5"):
        with client.stream("GET", ROWS, headers={"Accept-Encoding": accepted}) as response:
            raw = b"".join(response.iter_raw())
        assert response.headers["content-encoding"] == "zstd"
        assert response.headers["content-length"] == str(len(raw))
        assert "Accept-Encoding" in response.headers["vary"]
        assert pa.decompress(raw, len(plain.content), "zstd", asbytes=True) == plain.content
    with client.stream("GET", ROWS, headers={"Accept-Encoding": "zstd;q=0, gzip"}) as response:
        assert response.headers["content-encoding"] == "gzip"
    small = client.get("/healthz", headers={"Accept-Encoding": "zstd"})
    assert "content-encoding" not in small.headers
    assert small.json()["status"] == "ok"


def test_keys_guard_data_and_metrics(serve: Any) -> None:
    client = serve(api_keys="first-key, sécond")
    for url in [*DATA, "/metrics"]:
        refused = client.get(url)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["type"] == "urn:sojourn:problem:unauthorized"
        for headers in (
            {"Authorization": "Bearer first-key"},
            {"X-API-Key": "first-key"},
            {"X-API-Key": "wrong", "Authorization": "Bearer first-key"},
        ):
            assert client.get(url, headers=headers).status_code == 200
        for headers in (
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic first-key"},
            {"X-API-Key": ""},
            {"X-API-Key": "first-key, sécond".encode()},
            {"X-API-Key": "first-ke"},
        ):
            assert client.get(url, headers=headers).status_code == 401
    assert client.get("/v1/datasets/nope").status_code == 401
    for open_url in ("/", "/healthz", "/docs", "/openapi.json"):
        assert client.get(open_url).status_code == 200
    assert "private" in client.get(DATA[0], headers={"X-API-Key": "first-key"}).headers["cache-control"]


def test_metrics_count_requests_by_route(serve: Any) -> None:
    client = serve()
    for url in (ROWS, ROWS + "?nope=1", "/v1/datasets/run", "/v1/made/up", "/also/made/up"):
        client.get(url)
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    text = response.text
    rows = 'sojourn_http_requests_total{method="GET",route="/v1/datasets/{name}/rows",status='
    assert rows + '"200"} 1.0' in text
    assert rows + '"422"} 1.0' in text
    assert 'route="unmatched",status="404"} 2.0' in text
    assert "made" not in text
    assert 'sojourn_build_info{build_id="b1"} 1.0' in text
    assert "sojourn_build_stale 0.0" in text
    assert 'sojourn_http_request_seconds_bucket{le="0.1",route="/v1/datasets/{name}"}' in text
    assert "sojourn_queries_running 0.0" in text


INJECTIONS = [
    "1; drop table run",
    "' or '1'='1",
    '" or 1=1 --',
    "codel'); attach '/etc/passwd' as x; --",
    "(select count(*) from run)",
    "read_csv('/etc/passwd')",
    'aqm"; select 1; --',
    "$1",
    "?",
    "%",
    "\x00",
    "*",
    "1 union select * from run",
    "median(harm_ratio)",
    "../../etc/passwd",
    "{{7*7}}",
    "mean:harm_ratio) from run; --",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_sql_in_any_parameter_is_text_or_refused(client: TestClient, text: str) -> None:
    before = client.get(ROWS).content
    names = ["select", "order", "limit", "cursor", "format", "group", "aggregate", "excluded"]
    for name in [*names, "bandwidth_bps", "rtt_ms__lt", "synthetic", "aqm__null", f"aqm__{text}", text]:
        assert client.get(ROWS, params={name: text}).status_code == 422, name
    for name in ("group", "statistic", "quantiles", "thresholds_ms", "bins_per_octave", "format", text):
        assert client.get("/v1/distributions/queuing_delay", params={name: text}).status_code == 422, name
    for name in ("aqm", "aqm__ne", "aqm__in", "run_id__lt"):
        if name != "run_id__lt":
            assert client.get(ROWS, params={name: text}).json()["type"] == "urn:sojourn:problem:unknown-value", name
        response = client.get(ROWS, params={name: text, "unknown_values": "allow"})
        assert response.status_code == 200
        if name in ("aqm", "aqm__in"):
            assert response.json()["rows"] == []
    assert client.get(f"/v1/datasets/{quote(text, safe='')}/rows").status_code == 404
    assert client.get(ROWS).content == before
