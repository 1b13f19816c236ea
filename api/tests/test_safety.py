"""Limits, names and keys of the service, and its page without scripts of other hosts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from sojourn_api.safety.admission import MOST_HEADERS, MOST_TARGET_BYTES, AdmissionMiddleware, is_loopback

from .service.real_server import serving
from .test_serve import COMMAND, environment, run

ANSWER = PlainTextResponse("answer")


def response_to(client_requests: int = 4, names: tuple[str, ...] = (), **request: Any) -> httpx.Response:
    async def ask() -> httpx.Response:
        app = AdmissionMiddleware(ANSWER, client_requests, names)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://10.0.0.1:8000") as client:
            return await client.request(request.pop("method", "GET"), request.pop("url", "/"), **request)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("request_", "status", "kind"),
    [
        ({"url": "/?q=" + "x" * MOST_TARGET_BYTES}, 414, "target-too-long"),
        ({"headers": {f"x-{number}": "1" for number in range(MOST_HEADERS + 1)}}, 431, "too-many-headers"),
        ({"content": b"x"}, 413, "body-not-allowed"),
        ({"headers": {"transfer-encoding": "chunked"}}, 413, "body-not-allowed"),
    ],
)
def test_a_request_that_is_too_large_is_refused_by_its_kind(request_: dict[str, Any], status: int, kind: str) -> None:
    refused = response_to(**request_)
    assert (refused.status_code, refused.json()["type"]) == (status, f"urn:sojourn:problem:{kind}")
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_request_at_the_limits_is_answered() -> None:
    url = "/?q=" + "x" * (MOST_TARGET_BYTES - len("/q="))
    assert response_to(url=url).text == "answer"
    headers = {f"x-{number}": "1" for number in range(MOST_HEADERS - 10)}
    assert response_to(headers={**headers, "content-length": "0"}).text == "answer"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("sojourn-api", 200),
        ("SOJOURN-API:8000", 200),
        ("localhost:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("192.0.2.7", 200),
        ("[2001:db8::1]:8000", 200),
        ("attacker.example", 421),
        ("sojourn-api.attacker.example", 421),
        ("192.0.2.7.attacker.example", 421),
        ("localhost.attacker.example:8000", 421),
        ("localhost.", 200),
        ("127.0.0.1:80@attacker.example", 421),
        ("localhost:8000, attacker.example", 421),
        ("localhost:attacker", 421),
        ("[::1]attacker.example", 421),
        ("2130706433", 421),
        ("", 421),
    ],
)
def test_only_known_names_and_addresses_are_hosts(host: str, status: int) -> None:
    assert response_to(names=("sojourn-api",), headers={"host": host}).status_code == status


@pytest.mark.parametrize("hosts", [(), ("localhost", "localhost"), ("evil.example", "localhost")])
def test_a_request_has_one_host_header(hosts: tuple[str, ...]) -> None:
    scope = {
        "type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "",
        "scheme": "http", "server": ("localhost", 80), "headers": [(b"host", host.encode()) for host in hosts],
    }  # fmt: skip
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing of it is read")

    asyncio.run(AdmissionMiddleware(ANSWER, 4)(scope, receive, send))
    assert sent[0]["status"] == 400
    assert (b"content-type", b"application/problem+json") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["detail"] == f"the request has {len(hosts)} Host headers; send one"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_loopback_is_not_read_through_a_name_of_an_attacker(
    example_folder: Path, tmp_path: Path, workers: str
) -> None:
    arguments = ("--processes", workers, "--allow-host", "sojourn.lab", "--allow-host", "figures.lab")
    with serving(example_folder, tmp_path / "log", arguments=arguments, SOJOURN_API_HOSTS="other.lab") as server:
        for host in ("sojourn.lab", "figures.lab:8000", "other.lab", f"localhost:{server.port}", "[::1]"):
            answer = httpx.get(f"http://127.0.0.1:{server.port}/v1/studies", headers={"Host": host}, timeout=60)
            assert answer.status_code == 200, host
        refused = httpx.get(f"http://127.0.0.1:{server.port}/v1/studies", headers={"Host": "evil.example"}, timeout=60)
        assert (refused.status_code, refused.json()["type"]) == (421, "urn:sojourn:problem:unknown-host")


def test_a_client_has_a_number_of_requests_at_a_time_and_gets_them_back() -> None:
    async def measure() -> tuple[list[int], int, str | None]:
        going = asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await going.wait()
            await ANSWER(scope, receive, send)

        transport = httpx.ASGITransport(AdmissionMiddleware(slow, 2))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            running = [asyncio.create_task(client.get("/")) for _ in range(2)]
            await asyncio.sleep(0.05)
            refused = await client.get("/")
            going.set()
            first = [response.status_code for response in await asyncio.gather(*running)]
            return [*first, (await client.get("/")).status_code], refused.status_code, refused.headers["retry-after"]

    assert asyncio.run(measure()) == ([200, 200, 200], 429, "1")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_the_loopback_is_recognised(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_beyond_the_loopback_it_needs_keys_or_says_that_it_is_open(example_folder: Path) -> None:
    refused = run("--snapshots", str(example_folder), "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 1
    why = "0.0.0.0 can be reached from other machines, but no key is set"
    assert refused.stderr == f"error: {why}; set SOJOURN_API_KEYS, or give --without-keys\n"


def test_a_key_may_be_kept_as_its_hash_and_the_hash_opens_nothing(serve: Any) -> None:
    hashed = f"sha256:{hashlib.sha256(b'secret').hexdigest()}"
    client = serve(api_keys=f"{hashed},plain")
    for key, status in (("secret", 200), ("plain", 200), (hashed, 401), ("other", 401)):
        assert client.get("/v1/studies", headers={"X-API-Key": key}).status_code == status


def test_the_page_of_documentation_loads_nothing_from_another_host(client: Any) -> None:
    page = client.get("/docs")
    loaded = re.findall(r"(?:src|href)=\"([^\"]+)\"", page.text)
    assert len(loaded) >= 3
    assert all(link.startswith("/docs/") for link in loaded)
    assert "://" not in re.sub(r"window\.location[^\n]*", "", page.text)
    for link in loaded:
        served = client.get(link)
        assert served.status_code == 200
        assert len(served.content) > 100
    assert "default-src 'none'" in page.headers["content-security-policy"]
    script = client.get("/docs/swagger-ui-bundle.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert client.get("/docs/%2e%2e%2fmain.py").status_code == 404
    assert client.get("/docs/main.py").status_code == 404


def test_it_serves_https_with_a_certificate(example_folder: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
         "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    wrong = run("--snapshots", str(example_folder), "--port", "0", "--tls-certificate", str(key), "--tls-key", str(key))
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("error: --tls-certificate or --tls-key cannot be used: ")
    assert wrong.stderr.count("\n") == 1
    options = ["--port", "0", "--snapshots", example_folder, "--tls-certificate", certificate, "--tls-key", key]
    process = subprocess.Popen(
        [*COMMAND, *options],
        env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout
        match = re.search(r"https://127\.0\.0\.1:\d+", process.stdout.readline())
        assert match, process.communicate()
        context = ssl.create_default_context(cafile=str(certificate))
        deadline = time.monotonic() + 300
        while True:
            try:
                assert httpx.get(f"{match.group()}/healthz", verify=context).json()["status"] == "ok"
                break
            except httpx.ConnectError:
                assert time.monotonic() < deadline
    finally:
        process.terminate()
        process.communicate(timeout=120)
