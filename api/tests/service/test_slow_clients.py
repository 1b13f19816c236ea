"""Clients that send or read slowly or without end, break off, or are a thousand: others are served, these let go."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from api.tests.conftest import Build
from api.tests.service.real_server import HOST, Server, read_until_closed, serving

pytestmark = pytest.mark.integration

REQUEST_SECONDS = 2.0
STALLED_SECONDS = 2.0
ROWS = 60_000
CHUNKED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
LARGE = f"/v1/datasets/wide/rows?limit={ROWS}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, write: Callable[..., Path], build: Build) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("service")
    both = Build(dict(build.tables), dict(build.keys))
    random = np.random.default_rng(1)
    columns: dict[str, Any] = {"id": np.arange(ROWS)}
    columns |= {f"value_{number}_ms": random.random(ROWS) for number in range(10)}
    both.tables["wide"], both.keys["wide"] = pa.table(columns), ["id"]
    settings = {
        "SOJOURN_API_REQUEST_SECONDS": str(REQUEST_SECONDS),
        "SOJOURN_API_STALLED_SECONDS": str(STALLED_SECONDS),
        "SOJOURN_API_CONNECTIONS": "1500",
    }
    with serving(write(folder / "snapshots", both, "b1"), folder / "log", **settings) as made:
        yield made


@pytest.fixture
def connections() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def test_a_byte_a_second_is_let_go_after_the_stated_time(server: Server, connections: contextlib.ExitStack) -> None:
    slow = [connections.enter_context(server.connect()) for _ in range(100)]
    silent = [connections.enter_context(server.connect()) for _ in range(100)]
    started = time.monotonic()
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 100
    for place in range(6):
        for connection in slow:
            with contextlib.suppress(OSError):
                connection.send(request[place : place + 1])
        assert server.is_serving() == "b1"
        time.sleep(max(0.0, started + 0.5 * (place + 1) - time.monotonic()))
    for connection in (*slow, *silent):
        connection.settimeout(30)
        response = read_until_closed(connection)
        head, _, body = response.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["type"] == "urn:sojourn:problem:slow-request"
    assert time.monotonic() - started >= REQUEST_SECONDS


@pytest.mark.parametrize(
    "endless",
    [b"a: b\r\n", b"a" * 1000 + b": b\r\n", b"a: " + b"b" * 1000 + b"\r\n", b"a"],
    ids=["headers", "long names", "long values", "one name"],
)
@pytest.mark.parametrize("begun", [b"GET /healthz HTTP/1.1\r\n", b"GET /"], ids=["header", "target"])
def test_a_head_without_end_is_refused_while_it_comes(
    server: Server, connections: contextlib.ExitStack, begun: bytes, endless: bytes
) -> None:
    _send_until_closed(server, connections.enter_context(server.connect()), begun, endless)


def _send_until_closed(server: Server, connection: socket.socket, begun: bytes, endless: bytes) -> None:
    before = server.status_of_process()["bytes"]
    started = time.monotonic()
    block = endless * (65536 // len(endless))
    with contextlib.suppress(OSError):
        connection.sendall(begun)
        while time.monotonic() - started < 30:
            connection.sendall(block)
            # Generous for what an allocator keeps; all that is sent would be a gigabyte.
            assert server.status_of_process()["bytes"] < before + 100_000_000
    assert time.monotonic() - started < 30
    assert server.is_serving() == "b1"


@pytest.mark.parametrize(
    ("headers", "detail"),
    [
        (b"".join(b"X-%d: 1\r\n" % number for number in range(100)), "the request has more than 100 headers"),
        (b"X: " + b"a" * 70_000 + b"\r\n", "the head of the request is longer than 65536 bytes"),
    ],
    ids=["headers", "bytes"],
)
def test_a_head_that_is_too_large_is_refused_in_words(
    server: Server, connections: contextlib.ExitStack, headers: bytes, detail: str
) -> None:
    connection = connections.enter_context(server.connect())
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n")
    head, _, body = read_until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert b"x-content-type-options: nosniff" in head
    problem = json.loads(body)
    assert (problem["type"], problem["detail"]) == ("urn:sojourn:problem:too-many-headers", detail)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"200"),
        (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", b"404"),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", b"400"),
        (b"no request at all\r\n\r\n", b"400"),
        (b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET http://[::1/x HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET http:///x HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * 150 + b"\r\n", b"413"),
        (CHUNKED + b"no length\r\n\r\n", b"413"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"no request at all\r\n\r\n", b"200"),
    ],
    ids=[
        "answer",
        "unknown address",
        "unknown host",
        "hosts",
        "no request",
        "tunnel",
        "half an address",
        "no host",
        "trailers",
        "chunk",
        "behind a request",
    ],
)
def test_every_answer_is_taken_for_what_it_says(
    server: Server, connections: contextlib.ExitStack, request_: bytes, status: bytes
) -> None:
    connection = connections.enter_context(server.connect())
    connection.sendall(request_.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
    head, _, body = read_until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert head.lower().count(b"x-content-type-options: nosniff") == 1
    if status != b"200":
        assert b"content-type: application/problem+json\r\n" in head
        assert json.loads(body)["status"] == int(status)


def test_heads_at_the_bounds_are_answered_one_after_the_other(server: Server) -> None:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    # With Host and Accept-Encoding, which are sent with each, a hundred headers.
    large = {f"X-{number}": "a" * 600 for number in range(98)}
    with contextlib.closing(connection):
        # On one connection, so that a count that went on from a request to the next would be seen.
        for headers in (large, *[{}] * 120, large):
            connection.request("GET", "/healthz", headers=headers)
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["status"]) == (200, "ok")


def test_head_gets_the_headers_of_get_and_no_body(server: Server) -> None:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
    with contextlib.closing(connection):
        for target in ("/v1/studies", "/v1/datasets/wide/rows?limit=5", "/nothing"):
            # On one connection, so that a body that was sent would be read as the next response.
            answers = []
            for method in ("HEAD", "GET"):
                connection.request(method, target)
                answer = connection.getresponse()
                headers = {name.lower(): value for name, value in answer.getheaders()}
                answers.append((answer.status, headers.get("content-type"), headers.get("etag"), bool(answer.read())))
            assert answers[0] == (*answers[1][:3], False)
            assert answers[1][3]


def test_trailers_without_end_are_not_kept(server: Server, connections: contextlib.ExitStack) -> None:
    begun = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: "
    _send_until_closed(server, connections.enter_context(server.connect()), begun, b"a")


@pytest.mark.parametrize(
    ("before", "begun", "endless", "status"),
    [
        (b"", b"", b"\r\n", b"431"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", b"\r\n", b"431"),
        (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a", b"413"),
        (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", b"413"),
        (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n", b"a", b"413"),
    ],
    ids=["empty lines", "empty lines behind a request", "extension of a chunk", "chunks", "body"],
)
def test_what_belongs_to_no_head_is_bounded_too(
    server: Server, connections: contextlib.ExitStack, before: bytes, begun: bytes, endless: bytes, status: bytes
) -> None:
    held = server.status_of_process()["bytes"]
    connection = connections.enter_context(server.connect())
    connection.settimeout(0.05)
    if before:
        connection.sendall(before)
        server.wait_for(lambda: bool(select.select([connection], [], [], 0)[0]))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    connection.sendall(begun)
    answer, sent, block = b"", 0, endless * (65536 // len(endless))
    with contextlib.suppress(OSError):
        while sent < 60_000_000:
            with contextlib.suppress(TimeoutError):
                sent += connection.send(block)
            if select.select([connection], [], [], 0)[0]:
                part = connection.recv(65536)
                answer += part
                if not part:
                    break
    # It is not read to its end: what was sent is in the buffers of the system.
    assert sent < 60_000_000
    assert answer.startswith(b"HTTP/1.1 " + status), answer[:200]
    assert server.status_of_process()["bytes"] < held + 20_000_000
    assert server.is_serving() == "b1"


def test_a_second_request_and_a_body_have_the_same_time(server: Server, connections: contextlib.ExitStack) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    # A byte again and again, which would keep a connection that only idleness ends.
    for begun, more in ((head + b"X-Long: ", b"a"), (head + b"Content-Length: 9000\r\n\r\n", b"a"), (b"\r\n", b"\r\n")):
        connection = connections.enter_context(server.connect())
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(begun)
        started = time.monotonic()
        while time.monotonic() - started < 30:
            with contextlib.suppress(OSError):
                connection.send(more)
            if select.select([connection], [], [], 0.2)[0] and not _received(connection):
                break
        assert REQUEST_SECONDS * 0.9 <= time.monotonic() - started < 30


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""


def test_a_client_that_does_not_read_is_let_go_and_its_answer_too(
    server: Server, connections: contextlib.ExitStack
) -> None:
    before = server.settled_files()
    for number in range(8):
        connection = connections.enter_context(server.connect())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET {LARGE}&id__ge={number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    server.wait_for(lambda: server.status_of_process()["files"] >= before + 8)
    assert server.is_serving() == "b1"
    server.wait_for(lambda: server.log.read_text().count("received too little of its response") == 8)
    server.wait_for(lambda: server.status_of_process()["files"] <= before)


def test_connections_that_break_in_the_middle_of_an_answer_leave_nothing(
    server: Server, connections: contextlib.ExitStack
) -> None:
    before = server.settled_files()
    for number in range(30):
        connection = connections.enter_context(server.connect())
        connection.sendall(f"GET {LARGE}&id__ge={number % 3} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        if number % 2:
            connection.recv(1000)
        # With a reset, as of a client that crashed.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    status, _, body = server.get(LARGE, timeout=120)
    assert (status, json.loads(body)["row_count"]) == (200, ROWS)
    server.wait_for(lambda: server.status_of_process()["files"] <= before)


def test_a_thousand_connections_at_a_time_are_answered(server: Server, connections: contextlib.ExitStack) -> None:
    request = b"GET /v1/datasets/run_harm/rows?limit=5 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    opened = [connections.enter_context(server.connect()) for _ in range(1000)]
    for connection in opened:
        connection.sendall(request)
    statuses = [int(read_until_closed(connection)[9:12]) for connection in opened]
    # One address has so many requests under way; the others are told to come again.
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 64
    assert server.is_serving() == "b1"


def test_one_connection_too_many_is_refused_in_words(
    tmp_path: Path, write: Callable[..., Path], build: Build, connections: contextlib.ExitStack
) -> None:
    folder = write(tmp_path / "snapshots", build, "b1")
    with serving(folder, tmp_path / "log", SOJOURN_API_CONNECTIONS="10") as server:
        kept = [connections.enter_context(server.connect()) for _ in range(10)]
        for connection in kept:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        status, headers, body = server.get("/healthz")
        assert (status, headers["retry-after"]) == (503, "5")
        assert json.loads(body)["type"] == "urn:sojourn:problem:busy"
        for connection in kept:
            connection.close()
        time.sleep(0.5)
        assert server.is_serving() == "b1"
