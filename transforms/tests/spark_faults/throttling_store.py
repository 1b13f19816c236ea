"""A proxy before an object store that answers a share of requests with 503 SlowDown, as S3 does of hot prefixes.

It can also carry a request out and answer 500: the client cannot know whether it was done, and sends it again.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

ERROR = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
SLOW_DOWN = ERROR.format(code="SlowDown", message="Please reduce your request rate.").encode()
INTERNAL = ERROR.format(code="InternalError", message="We encountered an internal error. Please try again.").encode()
#: Headers of one connection, which are not handed on.
OF_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "expect"}


class ThrottlingStore:
    """The proxy. Use as a context manager; ``url`` is its address.

    ``refused`` and ``unsaid`` are the shares of requests that are not carried out, and that are carried out and
    answered as if they were not; ``unsaid_puts``: so many of the next puts in any case. ``counted`` counts answers by
    the request's method and status.
    """

    def __init__(self, upstream: str, *, refused: float, unsaid: float = 0.0, seed: int = 1) -> None:
        self.refused, self.unsaid = refused, unsaid
        self.unsaid_puts = 0
        self.counted: Counter[tuple[str, int]] = Counter()
        self._host = urlsplit(upstream).netloc
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def relay(self) -> None:
                store._relay(self)

            def log_message(self, format: str, *values: object) -> None:
                """Say nothing: a run has thousands of requests."""

        for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.relay)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ThrottlingStore:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _drawn(self, method: str) -> str:
        with self._lock:
            if method == "PUT" and self.unsaid_puts:
                self.unsaid_puts -= 1
                return "unsaid"
            chance = self._chance.random()
        if chance < self.refused:
            return "refused"
        return "unsaid" if chance < self.refused + self.unsaid else "told"

    def _relay(self, request: BaseHTTPRequestHandler) -> None:
        body = _body(request)
        outcome = self._drawn(request.command)
        if outcome == "refused":
            self._answer(request, 503, {"Content-Type": "application/xml"}, SLOW_DOWN)
            return
        connection = http.client.HTTPConnection(self._host, timeout=60)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in OF_CONNECTION}
        headers["Content-Length"] = str(len(body))
        connection.request(request.command, request.path, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        if outcome == "unsaid":
            self._answer(request, 500, {"Content-Type": "application/xml"}, INTERNAL)
            return
        by_name = {name: value for name, value in response.getheaders() if name.lower() not in OF_CONNECTION}
        self._answer(request, response.status, by_name, content)

    def _answer(self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes) -> None:
        with self._lock:
            self.counted[request.command, status] += 1
        request.send_response_only(status)
        for name, value in headers.items():
            if name.lower() != "content-length":
                request.send_header(name, value)
        # The length of what HEAD does not send is the object's.
        length = {name.lower(): value for name, value in headers.items()}.get("content-length")
        is_head = request.command == "HEAD" and length is not None
        request.send_header("Content-Length", length if is_head and length is not None else str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in (request.headers.get("Transfer-Encoding") or ""):
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    pieces = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        pieces.append(request.rfile.read(size))
        request.rfile.readline()
    while request.rfile.readline().strip():
        pass
    return b"".join(pieces)
