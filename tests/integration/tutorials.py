"""Runs a tutorial as a user would: its blocks of `sh` in a clean folder, one after another."""

from __future__ import annotations

import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .conftest import SERVER_READY_S, SOJOURN, free_port

BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run|served)[^\n]*-->\n)?```sh\n(?P<command>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
PORT = "127.0.0.1:8000"


@dataclass(frozen=True)
class Block:
    """One block of commands: what it is marked as, and the output that the page shows of it, if it shows one."""

    command: str
    mark: str | None
    output: str | None


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in order."""
    return [Block(match["command"], match["mark"], match["output"]) for match in BLOCK.finditer(page)]


def plain(text: str) -> str:
    """Return an output without blanks at the ends of lines, which editors remove."""
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def run(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in ``folder``, and yield each with what it printed.

    A block that is marked as served is a server, which is stopped at the end; its port is a free one.
    """
    address = f"127.0.0.1:{free_port()}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SOJOURN_")}
    environment |= {
        "PATH": f"{SOJOURN.parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
    }
    server: subprocess.Popen[bytes] | None = None
    try:
        for block in blocks_of(page):
            if block.mark == "not run":
                continue
            if block.mark == "served":
                words = [*block.command.split(), "--port", address.partition(":")[2]]
                server = subprocess.Popen(
                    [str(SOJOURN), *words[1:]], cwd=folder, env=environment, stdout=subprocess.DEVNULL
                )
                _wait_for(address, server)
                continue
            command = block.command.replace(PORT, address)
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block.command}\n{done.stdout}{done.stderr}"
            yield block, done.stdout
    finally:
        if server is not None:
            server.terminate()
            server.wait(timeout=300)


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + SERVER_READY_S
    while True:
        try:
            urllib.request.urlopen(f"http://{address}/healthz", timeout=5).read()
        except OSError:
            assert server.poll() is None, "the service ended"
            assert time.monotonic() < ends, "the service does not answer"
            time.sleep(0.2)
        else:
            return
