"""Does the web server answer beside clients that send a byte now and then, and does it say what it answered?"""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sojourn_superset.web_server import LARGEST_REQUEST_BYTES

THREADS = 2
PROGRAM = """
import sys
from pathlib import Path
from sojourn_superset.web_server import listen, log_to, serve

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]

log_to(Path(sys.argv[3]))
serve(listen(application, "127.0.0.1", int(sys.argv[1]), int(sys.argv[2])))
"""


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(port: int, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve an application that answers with what it was sent, as a process of its own."""
    command = [sys.executable, "-c", PROGRAM, str(port), str(THREADS), str(tmp_path)]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        yield process
        process.kill()


def answer(port: int, method: str = "GET", path: str = "/", body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body)
    response = connection.getresponse()
    status, content = response.status, response.read()
    connection.close()
    return status, content


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"]
)
def test_slow_clients_take_no_thread(server: subprocess.Popen[bytes], port: int, begun: bytes) -> None:
    with ExitStack() as held:
        slow = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(10 * THREADS)]
        for each in slow:
            each.sendall(begun)
        for _ in range(3):
            assert answer(port, "POST", "/", b"whole") == (200, b"whole")
            for each in slow if begun else []:
                each.sendall(b"a")


def test_the_log_has_each_answer_without_its_query(server: subprocess.Popen[bytes], port: int, tmp_path: Path) -> None:
    assert answer(port, path="/superset/dashboard/a/?native_filters=secret%0Aline") == (200, b"")
    assert answer(port, path="/with%0Aline")[0] == 200
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=30) == 0
    lines = (tmp_path / "access.log").read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == [
        "127.0.0.1 GET '/superset/dashboard/a/' 200",
        r"127.0.0.1 GET '/with\nline' 200",
    ]
    assert "secret" not in "".join(lines)


def test_a_request_beyond_all_forms_is_refused(server: subprocess.Popen[bytes], port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(LARGEST_REQUEST_BYTES + 1))
    connection.endheaders()
    refused = connection.getresponse()
    assert refused.status == 413
    assert refused.headers.get_all("X-Content-Type-Options") == ["nosniff"]
    connection.close()


@pytest.mark.parametrize(
    ("request_", "status"),
    [(b"GET / HTTP/1.0\r\n\r\n", b"200"), (b"GET / HTTP/1.0\r\nno header\r\n\r\n", b"400")],
    ids=["answer", "no request"],
)
def test_every_answer_is_taken_for_what_it_says(
    server: subprocess.Popen[bytes], port: int, request_: bytes, status: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request_)
        content = b"".join(iter(lambda: connection.recv(65536), b""))
    head = content.partition(b"\r\n\r\n")[0]
    assert head.split(b" ")[1] == status
    assert head.lower().count(b"x-content-type-options: nosniff") == 1


def test_an_address_in_use_ends_in_an_error(server: subprocess.Popen[bytes], port: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(port), "1", str(tmp_path)]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert second.returncode == 1
    assert "OSError" in second.stderr
