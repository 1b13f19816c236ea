"""`sojourn serve` as a process of its own, for tests of what clients and disks do to it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.tests.test_serve import COMMAND, environment

HOST = "127.0.0.1"
SMALL = "/v1/datasets/run_harm/rows?limit=5"


@dataclass
class Server:
    """A server that answers."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def get(self, target: str, timeout: float = 60) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers in lower case, and body of one request on a connection of its own."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def is_serving(self) -> str:
        """Return the build that a small request is answered from; fails if it takes more than a few seconds."""
        started = time.monotonic()
        status, _, body = self.get(SMALL)
        assert status == 200, body
        # Generous for a busy machine: clients that are waited for would take minutes.
        assert time.monotonic() - started < 20
        build_id: str = json.loads(body)["build_id"]
        return build_id

    def connect(self) -> socket.socket:
        """Return a connection on which nothing was said."""
        return socket.create_connection((HOST, self.port), timeout=60)

    def wait_for(self, holds: Callable[[], bool], seconds: float = 90) -> None:
        """Return when something holds; fails if it does not after a time."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"still not after {seconds:g} s: {self.status_of_process()}"
            time.sleep(0.1)

    def settled_files(self) -> int:
        """Return the number of open files when no client is connected."""
        # Connections that are kept end after five seconds.
        seen = [self.status_of_process()["files"]]
        while len(seen) < 3 or len(set(seen[-3:])) > 1:
            time.sleep(2.5)
            seen.append(self.status_of_process()["files"])
        return seen[-1]

    def status_of_process(self) -> dict[str, int]:
        """Return the resident memory in bytes and the number of open files."""
        match = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
        assert match
        return {"bytes": int(match[1]) * 1024, "files": len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))}


@contextmanager
def serving(
    snapshots: Path, log: Path, *, before: Sequence[str] = (), arguments: Sequence[str] = (), **settings: str
) -> Iterator[Server]:
    """Hold a server; ``before`` is a command that runs it. It ends in order, and without a traceback."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*before, *COMMAND, "--port", "0", "--snapshots", str(snapshots), *arguments],
            env=environment(PYTHONUNBUFFERED="1", **settings), stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        try:
            assert process.stdout
            first = process.stdout.readline()
            match = re.search(r"http://127\.0\.0\.1:(\d+)", first)
            assert match, first + log.read_text()
            server = Server(process, int(match[1]), log)
            assert server.get("/healthz")[0] == 200
            yield server
            assert process.poll() is None, "the server has ended"
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=120)
            assert process.returncode in (0, -signal.SIGTERM)
            assert "Traceback" not in log.read_text()
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def read_until_closed(connection: socket.socket) -> bytes:
    """Return what still comes until the server closes the connection."""
    parts: list[Any] = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)
