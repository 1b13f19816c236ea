"""A static host in a thread: files of a folder over HTTP with range requests, and a note of what was asked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

_RANGE = re.compile(r"^bytes=(\d+)-(\d*)$")


@dataclass
class RangeServer:
    """Where the folder is served; the bytes of each file that were sent, by its path."""

    url: str
    sent: dict[str, int] = field(default_factory=dict)
    ranges: int = 0


@contextmanager
def serving(folder: Path) -> Iterator[RangeServer]:
    """Serve a folder on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            name = unquote(urlsplit(self.path).path).lstrip("/")
            path = folder / name
            if not path.is_file():
                self.send_error(404)
                return
            content = path.read_bytes()
            match = _RANGE.match(self.headers.get("Range", ""))
            first, last = 0, len(content) - 1
            if match:
                first, last = int(match[1]), min(int(match[2] or last), last)
            self.send_response(206 if match else 200)
            self.send_header("Accept-Ranges", "bytes")
            if match:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
            self.send_header("Content-Length", str(last - first + 1))
            self.end_headers()
            if with_body:
                noted.ranges += bool(match)
                noted.sent[name] = noted.sent.get(name, 0) + last - first + 1
                self.wfile.write(content[first : last + 1])

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        noted = RangeServer(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield noted
        finally:
            server.shutdown()
            thread.join()
