"""Start the API and Superset, say where they are, and stop both cleanly on Ctrl-C or SIGTERM.

Each server runs in a process group of its own, so that Ctrl-C in the terminal
reaches only this launcher, which can stop them in order.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from sojourn_ingest.secrets_file import read_secrets

ROOT = Path(__file__).resolve().parent.parent
# Bounds for machines that are busy; a server that ends is reported at once.
API_READY_S = 300
SUPERSET_READY_S = 600
STOP_S = 15


class LaunchError(RuntimeError):
    """A server did not come up; the message says which and where its log is."""


class Servers:
    """The API and Superset of one launch."""

    def __init__(self, var: Path, api_port: int, superset_port: int) -> None:
        self.var = var
        self.api_url = f"http://127.0.0.1:{api_port}"
        self.superset_url = f"http://127.0.0.1:{superset_port}"
        self._api_port = api_port
        self._superset_port = superset_port
        self._logs = var / "logs"
        self._logs.mkdir(parents=True, exist_ok=True)
        self._processes: list[tuple[str, subprocess.Popen[bytes]]] = []
        self.secrets = self._read_secrets()
        self.environment = {
            **os.environ,
            **self.secrets,
            "SOJOURN_VAR": str(var),
            "SOJOURN_API_URL": self.api_url,
        }

    def _read_secrets(self) -> dict[str, str]:
        sojourn = str(ROOT / ".venv/bin/sojourn")
        subprocess.run([sojourn, "secrets", "--var", str(self.var)], check=True, stdout=subprocess.DEVNULL)
        return read_secrets(self.var / "secrets.env")

    def start(self) -> None:
        """Start both and return when both respond."""
        for port, setting in ((self._api_port, "API_PORT"), (self._superset_port, "SUPERSET_PORT")):
            if not port_is_free(port):
                raise LaunchError(f"port {port} is in use by another program; choose one with make run {setting}=…")
        serve = [str(ROOT / ".venv/bin/sojourn"), "serve", "--port", str(self._api_port)]
        superset = str(ROOT / "dashboards/.venv/bin/sojourn-superset")
        say("starting the API")
        self._begin("api", serve)
        self._wait_for("api", f"{self.api_url}/healthz", API_READY_S)
        say(f"API ready at {self.api_url}; preparing Superset and its dashboard")
        self._finish("superset-prepare", [superset, "prepare", "--api", self.api_url])
        say("starting Superset")
        self._begin("superset", [superset, "serve", "--port", str(self._superset_port)])
        self._wait_for("superset", f"{self.superset_url}/health", SUPERSET_READY_S)

    @property
    def process_groups(self) -> list[int]:
        """The process groups of the servers that run, the API's first."""
        return [process.pid for _, process in self._processes]

    def _begin(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        log = (self._logs / f"{name}.log").open("wb")
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        log.close()
        self._processes.append((name, process))
        return process

    def _finish(self, name: str, command: list[str]) -> None:
        process = self._begin(name, command)
        if process.wait() != 0:
            raise LaunchError(self.failure(name))
        self._processes = [item for item in self._processes if item[1] is not process]

    def failure(self, name: str) -> str:
        """Return one line on a server that ended: the last line of its log, and where that is."""
        log = self._logs / f"{name}.log"
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        return f"{name} failed: {lines[-1] if lines else 'no output'} (log: {log})"

    def _wait_for(self, name: str, url: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        process = dict(self._processes)[name]
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise LaunchError(self.failure(name))
            if answers(url):
                return
            time.sleep(0.3)
        raise LaunchError(f"{name} did not respond at {url} within {seconds:.0f} s (log: {self._logs / name}.log)")

    def watch(self) -> str:
        """Wait until a server ends, and return its name."""
        while True:
            for name, process in self._processes:
                if process.poll() is not None:
                    return name
            time.sleep(0.5)

    def stop(self) -> None:
        """Ask every server to end, the last started first, and wait; what does not end is killed."""
        for _, process in reversed(self._processes):
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        for name, process in reversed(self._processes):
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                say(f"{name} did not stop within {STOP_S} s; killing it")
                _signal_group(process, signal.SIGKILL)
                process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        os.killpg(process.pid, number)


def answers(url: str) -> bool:
    """Return whether the server at ``url`` responds with status 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 - a loopback URL made above
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def port_is_free(port: int) -> bool:
    """Return whether a server can listen on a loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"==> {text}", flush=True)


def _build_line(servers: Servers) -> str:
    with urllib.request.urlopen(f"{servers.api_url}/v1/builds", timeout=60) as response:  # noqa: S310
        build = json.load(response)
    served = build.get("builds", [build])[0]
    return f"build {served['build_id']}, studies: {', '.join(served['studies']) or 'none'}"


def launch(servers: Servers, ready: Callable[[Servers], int]) -> int:
    """Start the servers, call ``ready``, and stop them in any case; return the exit status."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    # Also SIGINT: a shell that starts this in the background has it ignored.
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)  # the terminal was closed
    try:
        servers.start()
        return ready(servers)
    except KeyboardInterrupt:
        print(flush=True)
        return 0
    except LaunchError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        # A second Ctrl-C must not leave servers behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        say("stopping")
        servers.stop()
        say("stopped")


def _serve_until_interrupted(servers: Servers) -> int:
    print(
        f"""
  Superset   {servers.superset_url}/superset/dashboard/aqm-comparison/
             {servers.superset_url}/superset/dashboard/buffering-in-the-wild/
             {servers.superset_url}/superset/dashboard/tool-results/
             {servers.superset_url}/superset/dashboard/access-network/
             {servers.superset_url}/superset/dashboard/captures/
             {servers.superset_url}/superset/dashboard/marks/
             {servers.superset_url}/superset/dashboard/studies/
             {servers.superset_url}/superset/dashboard/trust/
             user {servers.secrets["SUPERSET_ADMIN_USER"]}, password {servers.secrets["SUPERSET_ADMIN_PASSWORD"]}
  API        {servers.api_url}/v1/studies   (documentation: {servers.api_url}/docs)
  serving    {_build_line(servers)}

  Ctrl-C stops both.
""",
        flush=True,
    )
    ended = servers.watch()
    raise LaunchError(servers.failure(ended))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Start the API and Superset until Ctrl-C.")
    parser.add_argument("--api-port", type=int, default=8000)
    parser.add_argument("--superset-port", type=int, default=8088)
    options = parser.parse_args()
    var = Path(os.environ.get("SOJOURN_VAR") or ROOT / "var").resolve()
    return launch(Servers(var, options.api_port, options.superset_port), _serve_until_interrupted)


if __name__ == "__main__":
    sys.exit(main())
