"""Run the notebooks over a real API: ``python notebooks/execute.py`` ingests, builds, serves and writes the figures.

The notebooks need the testbed's runs of the reference data; the bundled sample comes with the repository. The
notebooks themselves are read, never written: their outputs stay stripped.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
SAMPLE = (ROOT / "ingest" / "sample" / "runs", ROOT / "ingest" / "sample" / "tma23" / "data")
SOJOURN = Path(sys.executable).parent / "sojourn"
TESTBED = "data/testbed"
"""Runs that the notebooks draw from, below the folder of reference data."""
WORLD = ("--rows", "200000", "--days", "14", "--seed", "1")
"""The small synthetic data set of connections that `make run` includes too, for studies without public data."""
CELL_TIMEOUT_S = 120
#: A server beside other work on two cores has taken more than a minute.
SERVER_READY_S = 240


def notebooks() -> list[Path]:
    """Return the notebooks, by name."""
    return sorted(FOLDER.glob("*.ipynb"))


def build(var: Path, shared: Path) -> None:
    """Ingest the sample and the runs of the testbed below ``shared``, and publish a build of them below ``var``."""
    testbed = shared / TESTBED
    if not testbed.exists():
        raise SystemExit(f"{testbed} is missing; give the folder with the reference data: make figures SHARED=FOLDER")
    world = var / "generated" / "connections"
    for arguments in (
        ["generate", "connections", *WORLD, "--out", world],
        ["ingest", *SAMPLE, testbed, world, "--var", var],
        ["build", "--var", var],
    ):
        subprocess.run([SOJOURN, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def serving(var: Path) -> Iterator[str]:
    """Serve the build below ``var`` on a free port; yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_SNAPSHOTS": str(var / "snapshots")}
    server = subprocess.Popen([SOJOURN, "serve", "--port", str(port)], env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait(url, server)
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SERVER_READY_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    status = server.poll()
    ended = f"no answer in {SERVER_READY_S} s" if status is None else f"it ended with status {status}"
    raise SystemExit(f"sojourn serve did not respond: {ended}")


def execute(path: Path, url: str, figures: Path | None = None) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run over the API at ``url``; figures go to ``figures`` if given.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    environment = {**os.environ, "SOJOURN_API_URL": url, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    environment.pop("SOJOURN_FIGURES", None)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        environment["SOJOURN_FIGURES"] = str(figures.resolve())
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute(env=environment)
    return notebook


def main() -> None:
    """Build, serve, and write every figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True, help="folder of reference data")
    parser.add_argument("--var", type=Path, required=True, help="folder for the lake and the build")
    parser.add_argument("--figures", type=Path, default=ROOT / "docs" / "figures")
    parser.add_argument("names", nargs="*", help="notebooks to run, without .ipynb; all without any")
    arguments = parser.parse_args()
    chosen = [path for path in notebooks() if not arguments.names or path.stem in arguments.names]
    build(arguments.var, arguments.shared)
    with serving(arguments.var) as url:
        for path in chosen:
            started = time.monotonic()
            execute(path, url, arguments.figures)
            print(f"{path.name}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
