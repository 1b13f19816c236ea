"""Does the web server answer beside clients that are slow or ask for much, and does it say what it answered?"""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from sojourn_superset.turns import FREE_THREADS, THREADS_FOR_OTHERS, THREADS_OF_A_USER
from sojourn_superset.web_server import LARGEST_HEADER_BYTES, LARGEST_REQUEST_BYTES, MOST_AT_ONCE, listen

THREADS = 2
PROGRAM = """
import json, sys, time
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from sojourn_superset import web_server
from sojourn_superset.web_server import listen, log_to, serve

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] == "/slow":
        time.sleep(1)
    if environ["PATH_INFO"] == "/asleep":
        time.sleep(60)
    if environ["PATH_INFO"] in ("/large", "/static/large"):
        return [b"x" * 2**26]
    if environ["PATH_INFO"] == "/static/parts":
        return (b"x" * 2**20 for _ in range(2**6))
    return [environ["wsgi.input"].read()]

vars(web_server).update(json.loads(sys.argv[4]) if len(sys.argv) > 4 else {})
# The machine has no other address for certain: 127.0.0.2 is that of another one here.
web_server.ip_address = lambda text: SimpleNamespace(is_loopback=ip_address(text) == ip_address("127.0.0.1"))
log_to(Path(sys.argv[3]))
server = listen(application, "127.0.0.1", int(sys.argv[1]), int(sys.argv[2]))
add_task = server.add_task

def add(channel):
    if getattr(channel.requests[0], "path", "") == "/without-a-turn":
        raise ValueError
    add_task(channel)

server.add_task = add
serve(server)
"""
LARGE_BYTES = 2**26
OTHER = "127.0.0.2"


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving(port: int, threads: int, folder: Path, **settings: int) -> Iterator[subprocess.Popen[bytes]]:
    """Serve an application that answers with what it was sent, as a process of its own."""
    command = [sys.executable, "-c", PROGRAM, str(port), str(threads), str(folder), json.dumps(settings)]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def server(port: int, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve as installed."""
    with serving(port, THREADS, tmp_path) as process:
        yield process


def answer(
    port: int, method: str = "GET", path: str = "/", body: bytes | None = None, source: str = "127.0.0.1"
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(source, 0))
    connection.request(method, path, body)
    response = connection.getresponse()
    status, content = response.status, response.read()
    connection.close()
    return status, content


def test_the_server_may_open_more_files_than_it_takes_connections() -> None:
    program = (
        "import resource as r; of = r.RLIMIT_NOFILE; hard = r.getrlimit(of)[1]; r.setrlimit(of, (256, hard));"
        "from sojourn_superset.web_server import listen; listen(print, '127.0.0.1', 0, 1);"
        "print(r.getrlimit(of)[0] == min(4_000, hard))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"


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


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def seconds_until_closed(connection: socket.socket, send: Callable[[], object], most_s: float) -> float:
    """Return after how many seconds the server closes a connection on which something is sent ten times a second."""
    began = time.monotonic()
    while time.monotonic() < began + most_s and not is_closed(connection):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            send()
        time.sleep(0.1)
    return time.monotonic() - began


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nX: ",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3E7\r\n",
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nX: ",
    ],
    ids=["headers", "body", "chunks", "empty lines", "second request"],
)
def test_a_request_has_a_time_to_arrive(port: int, tmp_path: Path, begun: bytes) -> None:
    with serving(port, THREADS, tmp_path, REQUEST_S=2, LOOK_EACH_S=1):
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(begun)
            if begun.startswith(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
                assert slow.recv(100).startswith(b"HTTP/1.1 200 OK")
                slow.recv(2**16)
            more = b"\r\n" if begun == b"\r\n\r\n" else b"a"
            assert 1 < seconds_until_closed(slow, lambda: slow.sendall(more), 20) < 8
        assert answer(port) == (200, b"")


def test_a_large_request_may_take_longer(port: int, tmp_path: Path) -> None:
    with (
        serving(port, THREADS, tmp_path, REQUEST_S=1, LOOK_EACH_S=1, LEAST_BYTES_PER_S=1_000),
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.sendall(b"POST / HTTP/1.0\r\nContent-Length: 10000\r\n\r\n")
        for _ in range(10):
            slow.sendall(b"x" * 1_000)
            time.sleep(0.5)
        assert b"".join(iter(lambda: slow.recv(2**16), b"")).endswith(b"x" * 10_000)


def test_a_connection_without_requests_is_closed(port: int, tmp_path: Path) -> None:
    with (
        serving(port, THREADS, tmp_path, IDLE_S=2, LOOK_EACH_S=1),
        socket.create_connection(("127.0.0.1", port)) as idle,
    ):
        assert 1 < seconds_until_closed(idle, lambda: None, 20) < 8


def test_who_does_not_read_an_answer_loses_the_connection(port: int, tmp_path: Path) -> None:
    def connected() -> socket.socket:
        return held.enter_context(socket.create_connection(("127.0.0.1", port), source_address=(OTHER, 0)))

    settings = {"REQUEST_S": 2, "LOOK_EACH_S": 1, "CONNECTIONS_OF_AN_ADDRESS": 1}
    with serving(port, THREADS, tmp_path, **settings), ExitStack() as held:
        connected().sendall(b"GET /large HTTP/1.0\r\n\r\n")
        time.sleep(0.5)
        assert is_closed(connected())
        time.sleep(6)
        assert not is_closed(connected())


@pytest.mark.parametrize(("bytes_per_s", "is_whole"), [(1_000_000, False), (16_000_000, True)])
def test_an_answer_must_be_read_at_a_rate(port: int, tmp_path: Path, bytes_per_s: int, is_whole: bool) -> None:
    with (
        serving(port, THREADS, tmp_path, REQUEST_S=1, LOOK_EACH_S=1, LEAST_BYTES_PER_S=4_000_000),
        socket.socket() as slow,
    ):
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        slow.connect(("127.0.0.1", port))
        slow.sendall(b"GET /large HTTP/1.0\r\n\r\n")
        began, came = time.monotonic(), 0
        with contextlib.suppress(ConnectionResetError):
            while content := slow.recv(2**16):
                came += len(content)
                time.sleep(max(0, began + came / bytes_per_s - time.monotonic()))
        assert (came > LARGE_BYTES) == is_whole
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("path", ["/static/large", "/static/parts"])
def test_who_does_not_read_an_answer_has_no_thread(server: subprocess.Popen[bytes], port: int, path: str) -> None:
    with ExitStack() as held:
        for _ in range(2 * THREADS):
            connection = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode() * MOST_AT_ONCE)
        time.sleep(0.5)
        began = time.monotonic()
        assert answer(port, path="/health") == (200, b"")
        assert answer(port) == (200, b"")
        assert time.monotonic() - began < 5


def test_a_request_is_answered_once_the_answer_before_it_is_read(server: subprocess.Popen[bytes], port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\n\r\n" * 3 + b"GET / HTTP/1.0\r\n\r\n")
        time.sleep(1)
        assert kept_bytes(server) < 2 * LARGE_BYTES
        came = sum(map(len, iter(lambda: connection.recv(2**20), b"")))
    assert came > 3 * LARGE_BYTES


def kept_bytes(process: subprocess.Popen[bytes]) -> int:
    """Return the size of a process's temporary files."""
    sizes = 0
    for opened in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            sizes += opened.stat().st_size if "(deleted)" in str(opened.readlink()) else 0
    return sizes


def test_an_answer_that_was_read_is_not_kept(server: subprocess.Popen[bytes], port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/large")
    response = connection.getresponse()
    time.sleep(0.5)
    assert kept_bytes(server) >= LARGE_BYTES
    assert len(response.read()) == LARGE_BYTES
    time.sleep(0.5)
    assert kept_bytes(server) == 0
    connection.request("GET", "/")
    assert connection.getresponse().read() == b""


@pytest.mark.parametrize("bound", ["UNREAD_BYTES_OF_A_CLIENT", "UNREAD_BYTES"])
def test_of_many_unread_answers_the_clients_oldest_are_not_kept(port: int, tmp_path: Path, bound: str) -> None:
    sources = [OTHER, "127.0.0.1", OTHER, OTHER, OTHER]
    most = 3 if bound == "UNREAD_BYTES_OF_A_CLIENT" else 4
    with serving(port, THREADS, tmp_path, **{bound: (most + 1) * LARGE_BYTES - 1}) as process, ExitStack() as held:
        unread = []
        for source in sources:
            unread.append(held.enter_context(socket.create_connection(("127.0.0.1", port), 30, (source, 0))))
            unread[-1].sendall(b"GET /large HTTP/1.0\r\n\r\n")
            time.sleep(0.5)
        assert kept_bytes(process) <= 4 * (LARGE_BYTES + 1_000)
        assert [is_whole(each) for each in unread] == [False, True, True, True, True]


def is_whole(connection: socket.socket) -> bool:
    """Return whether all of a large answer comes."""
    came = 0
    with contextlib.suppress(ConnectionResetError):
        came = sum(map(len, iter(lambda: connection.recv(2**20), b"")))
    return came > LARGE_BYTES


def test_a_client_that_is_gone_gets_no_answer(port: int, tmp_path: Path) -> None:
    with serving(port, THREADS, tmp_path):
        # One thread at a time: the others wait.
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port)) as gone:
                gone.sendall(b"GET /slow HTTP/1.1\r\n\r\n")
        began = time.monotonic()
        assert answer(port) == (200, b"")
        assert time.monotonic() - began < 5


def test_clients_that_are_gone_have_no_connections(port: int, tmp_path: Path) -> None:
    with serving(port, THREADS, tmp_path, CONNECTIONS_OF_AN_ADDRESS=20, LOOK_EACH_S=1), ExitStack() as held:
        gone = [socket.create_connection(("127.0.0.1", port), source_address=(OTHER, 0)) for _ in range(20)]
        for each in gone:
            each.sendall(b"GET /asleep HTTP/1.1\r\n\r\n")
        time.sleep(0.5)
        for each in gone:
            each.close()
        time.sleep(2)
        further = held.enter_context(socket.create_connection(("127.0.0.1", port), source_address=(OTHER, 0)))
        assert not is_closed(further)
        assert answer(port, path="/health") == (200, b"")


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\n\r\n"], ids=["alone", "second request"])
def test_a_connection_whose_request_gets_no_turn_is_closed(
    server: subprocess.Popen[bytes], port: int, before: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(before + b"GET /without-a-turn HTTP/1.1\r\n\r\n")
        while connection.recv(2**16):
            pass
    assert answer(port) == (200, b"")


def test_when_there_are_too_many_connections_the_slowest_makes_room(port: int, tmp_path: Path) -> None:
    with serving(port, THREADS, tmp_path, CONNECTIONS=60, SPARE_CONNECTIONS=10), ExitStack() as held:
        slow = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(100)]
        for each in slow:
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                each.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(20):
            assert answer(port) == (200, b"")
        assert sum(map(is_closed, slow)) >= 50
        assert is_closed(slow[0])


def test_an_address_has_a_number_of_connections(port: int, tmp_path: Path) -> None:
    def connected(source: str) -> socket.socket:
        return held.enter_context(socket.create_connection(("127.0.0.1", port), source_address=(source, 0)))

    with serving(port, THREADS, tmp_path, CONNECTIONS_OF_AN_ADDRESS=20), ExitStack() as held:
        of_other = [connected(OTHER) for _ in range(30)]
        of_proxy = [connected("127.0.0.1") for _ in range(30)]
        assert answer(port) == (200, b"")
        assert [is_closed(each) for each in of_other] == [False] * 20 + [True] * 10
        assert not any(map(is_closed, of_proxy))
        of_other[0].close()
        time.sleep(0.2)
        assert answer(port, source=OTHER) == (200, b"")


def test_a_users_requests_wait_while_others_are_answered(port: int, tmp_path: Path) -> None:
    threads = THREADS_OF_A_USER + THREADS_FOR_OTHERS + FREE_THREADS
    with serving(port, threads, tmp_path), ThreadPoolExecutor(20) as clients:
        began = time.monotonic()
        slow = [clients.submit(answer, port, path="/slow") for _ in range(4 * THREADS_OF_A_USER)]
        time.sleep(0.5)
        assert answer(port, path="/health") == (200, b"")
        assert answer(port, source=OTHER) == (200, b"")
        assert time.monotonic() - began < 1.5
        assert [each.result() for each in slow] == [(200, b"")] * len(slow)
        assert 3.9 < time.monotonic() - began < 8


@pytest.mark.parametrize("requests", [MOST_AT_ONCE, 200])
def test_of_many_requests_at_once_the_first_are_answered(
    server: subprocess.Popen[bytes], port: int, requests: int
) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * requests)
        came = b""
        while came.count(b"200 OK") < MOST_AT_ONCE:
            came += connection.recv(2**16)
        assert came.count(b"200 OK") == MOST_AT_ONCE
        time.sleep(0.5)
        assert is_closed(connection) == (requests > MOST_AT_ONCE)
    body = b"\r\n\r\n" * (LARGEST_REQUEST_BYTES // 4 - 1)
    began = time.monotonic()
    assert answer(port, "POST", "/", body) == (200, body)
    assert time.monotonic() - began < 5


def test_the_log_has_each_answer_without_its_query(server: subprocess.Popen[bytes], port: int, tmp_path: Path) -> None:
    assert answer(port, path="/superset/dashboard/a/?native_filters=secret%0Aline") == (200, b"")
    assert answer(port, path="/with%0Aline")[0] == 200
    assert answer(port, path="/" + "long" * 1_000)[0] == 200
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=30) == 0
    lines = (tmp_path / "access.log").read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == [
        "127.0.0.1 GET '/superset/dashboard/a/' 200",
        r"127.0.0.1 GET '/with\nline' 200",
        f"127.0.0.1 GET '/{('long' * 50)[:-1]}' 200",
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


def test_large_headers_are_refused(server: subprocess.Popen[bytes], port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nCookie: " + b"a;" * (LARGEST_HEADER_BYTES // 2) + b"\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.0 431 ")


@pytest.mark.parametrize("blanks", [b" " * 31_000, b"\t" * 31_000, b"\r\n " * 10_000], ids=["blanks", "tabs", "lines"])
def test_a_header_of_blanks_takes_no_time(server: subprocess.Popen[bytes], port: int, blanks: bytes) -> None:
    """Waitress takes the square of them, in the thread that all connections have."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: a" + blanks + b"x\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.0 400 ")
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize("end", [b" HTTP/1.x", b" HTTP/1", b" HTTP/11.1", b" HTTP/..", b" HTTP/1.1 x", b" "])
def test_a_malformed_first_line_takes_no_time(server: subprocess.Popen[bytes], port: int, end: bytes) -> None:
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET a://" + b"1" * 30_000 + end + b"\r\nHost: a\r\n\r\n")
        # Without a version it is one of HTTP 0.9, which waitress answers.
        assert connection.recv(100).startswith(b"HTTP/1.0 200 " if end == b" " else b"HTTP/1.0 400 ")
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize(
    ("begun", "more"),
    [(b"5;a=", b"0"), (b"0" * 40, b"0"), (b"0\r\nX: ", b"0"), (b"", b"1\r\na\r\n")],
    ids=["extension", "size", "trailer", "chunks"],
)
def test_what_is_not_content_of_a_body_is_bounded(
    server: subprocess.Popen[bytes], port: int, begun: bytes, more: bytes
) -> None:
    """Waitress looks through all of a line with each piece that comes, and at each chunk."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + begun)
        sent = 0
        with contextlib.suppress(OSError):
            for _ in range(5_000):
                connection.sendall(more * 2_000)
                sent += len(more) * 2_000
                time.sleep(0.02)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
        assert sent < 2**23


def test_a_malformed_address_is_refused(server: subprocess.Popen[bytes], port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET http://[::1/x HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


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


def test_all_connections_that_wait_are_accepted_at_once() -> None:
    server = listen(lambda environ, start: [], "127.0.0.1", 0, 0)
    waiting = [socket.create_connection(server.socket.getsockname()) for _ in range(50)]
    server.handle_accept()
    assert len(server.active_channels) == len(waiting)
    for each in (*waiting, server):
        each.close()
