"""Record page loads of curl and wget on a loopback interface, with what the tools say of their time.

Run as root: ``unshare --net .venv/bin/python ingest/tests/golden/page_loads/record.py``. It needs curl, wget, dumpcap
and ip.
It writes ``page_loads.pcap``, ``curl.jsonl``, ``wget.log`` and ``loads.json`` beside itself.

The server waits and paces its answers, so that load times differ and last longer than the interval of the decoder.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

HERE = Path(__file__).parent
ADDRESS = "http://127.0.0.1"
#: The page of IMC 2014, section 9: text, a style sheet and two pictures.
OBJECTS = {"/style.css": 5_800, "/one.jpg": 30_000, "/two.jpg": 30_000}
PAGE_BYTES = 15_000
CHUNK_BYTES = 5_000
QUIET_SECONDS = 3.0


class Server(BaseHTTPRequestHandler):
    """A page and its objects; ``wait`` and ``pace`` of a query are seconds before an answer and between its chunks."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the bytes that the path names."""
        url = urlparse(self.path)
        query = {name: float(values[0]) for name, values in parse_qs(url.query).items()}
        time.sleep(query.get("wait", 0.0))
        if url.path == "/page.html":
            links = f'<link rel="stylesheet" href="/style.css?{url.query}">'
            links += "".join(f'<img src="{name}?{url.query}">' for name in ("/one.jpg", "/two.jpg"))
            body = f"<html><head>{links}</head></html>".encode().ljust(PAGE_BYTES)
        elif url.path in OBJECTS:
            body = bytes(OBJECTS[url.path])
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "text/html" if url.path == "/page.html" else "application/octet-stream")
        self.end_headers()
        for first in range(0, len(body), CHUNK_BYTES):
            self.wfile.write(body[first : first + CHUNK_BYTES])
            time.sleep(query.get("pace", 0.0))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass
class Load:
    """One page load: its tool, and the time that a clock around the tool's process shows."""

    tool: str
    what: str
    connections: int
    process_ms: float


def timed(tool: str, what: str, connections: int, command: list[str], folder: str | None = None) -> Load:
    """Run one load, with quiet after it."""
    began = time.perf_counter()
    subprocess.run(command, check=False, capture_output=True, cwd=folder)
    load = Load(tool, what, connections, (time.perf_counter() - began) * 1000)
    time.sleep(QUIET_SECONDS)
    return load


def curl(what: str, query: str) -> Load:
    """Load the text of the page with curl, which appends a line about it."""
    command = [
        "sh",
        "-c",
        f"curl -s -o /dev/null -w '%{{json}}\\n' '{ADDRESS}/page.html?{query}' >> {HERE / 'curl.jsonl'}",
    ]
    return timed("curl", what, 1, command)


def wget(what: str, query: str, connections: int, *options: str) -> Load:
    """Load the page with its objects with wget, which appends to its log."""
    with tempfile.TemporaryDirectory() as folder:
        # Relative names, so that the log has no path of the machine.
        command = ["wget", "-p", "--no-hsts", "-a", str(HERE / "wget.log"), *options, f"{ADDRESS}/page.html?{query}"]
        return timed("wget", what, connections, command, folder)


def main() -> None:
    """Record all loads."""
    os.environ |= {"LC_ALL": "C", "TZ": "UTC"}
    for name in ("curl.jsonl", "wget.log", "page_loads.pcap"):
        (HERE / name).unlink(missing_ok=True)
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 80), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "page_loads.pcap"
        recorder = subprocess.Popen(["dumpcap", "-q", "-P", "-i", "lo", "-s", "96", "-w", str(capture)])
        try:
            time.sleep(2.0)
            loads = [
                curl("at once", "wait=0"),
                curl("waits 0.4 s", "wait=0.4"),
                curl("waits 2.5 s, longer than the quiet that ends a load", "wait=2.5"),
                curl("three chunks, one in 0.3 s", "pace=0.3"),
                wget("one connection", "wait=0.15", 1),
                wget("one connection per object", "wait=0.15", 4, "--no-http-keep-alive"),
                # A page that is not there: an error of wget, and no answer with a page.
                timed("wget", "page that is not there", 1, missing_page()),
                wget("paced", "pace=0.1", 1),
                wget("paced, with wget's debug output", "pace=0.05", 1, "-d"),
            ]
        finally:
            recorder.terminate()
            recorder.wait()
        (HERE / "page_loads.pcap").write_bytes(capture.read_bytes())
    server.shutdown()
    (HERE / "loads.json").write_text(json.dumps([asdict(load) for load in loads], indent=1) + "\n")


def missing_page() -> list[str]:
    """Return the command that asks for a page that the server does not have."""
    return ["wget", "-p", "-O", "/dev/null", "-a", str(HERE / "wget.log"), f"{ADDRESS}/none.html"]


if __name__ == "__main__":
    main()
