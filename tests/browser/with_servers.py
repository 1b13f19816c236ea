"""Run the browser test against real servers over the warehouse that the integration tests built.

`make test-browser` calls this. The servers listen on free ports, so that a running `make run` is not in
the way, and are stopped in any case.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "infra"))

from launch import Servers, launch, say  # noqa: E402 - found through the line above


def free_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_browser_test(servers: Servers) -> int:
    """Run the test with Superset's environment, which has the browser driver; return its exit status."""
    say("driving the browser")
    screenshot = ROOT / "var" / "screenshots" / "aqm-comparison.png"
    screenshot.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        **servers.environment,
        "SOJOURN_SUPERSET_URL": servers.superset_url,
        "SOJOURN_SCREENSHOT": str(screenshot),
    }
    command = [str(ROOT / "dashboards/.venv/bin/pytest"), "-q", "-p", "no:cacheprovider", "tests/browser"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Start the servers, run the test, stop the servers."""
    var = Path(os.environ.get("SOJOURN_TEST_VAR") or ROOT / "var" / "test").resolve()
    if not (var / "snapshots" / "CURRENT").exists():
        print(f"error: no build below {var}; run make test-integration first", file=sys.stderr)
        return 1
    return launch(Servers(var, free_port(), free_port()), run_browser_test)


if __name__ == "__main__":
    sys.exit(main())
