"""Run the browser tests against real servers: over the warehouse of the integration tests, an empty one, and others.

`make test-browser` calls it with `sample`, `make test-browser-planted` with `growing`, `studies` and `marks`. The
servers listen on free ports, so that a running `make run` is not in the way, and are stopped in any case.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "infra"), str(ROOT)]

from dashboards.tests.prepared_database import put_prepared_database  # noqa: E402 - as that
from launch import Servers, launch, say  # noqa: E402 - found through the line above

from tests.integration.study_runs import write_studies  # noqa: E402 - as that

GROWING = "tests/browser/test_builds.py"
STUDIES = "tests/browser/test_study_figures.py"
MARKS = "tests/browser/test_marks_and_lines.py"


def free_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def launch_and_test(var: Path, tests: list[str], **settings: str) -> int:
    """Run tests over the build below ``var``; return the exit status."""
    put_prepared_database(var)
    return launch(Servers(var, free_port(), free_port()), lambda servers: run_browser_test(servers, tests, **settings))


def run_browser_test(servers: Servers, tests: list[str], **settings: str) -> int:
    """Run tests with Superset's environment, which has the browser driver; return the exit status."""
    say(f"driving the browser: {' '.join(tests)}")
    environment = {**servers.environment, "SOJOURN_SUPERSET_URL": servers.superset_url, **settings}
    # A browser waits for most of its time, so two of them share the servers.
    parallel = ["-n", "2", "--dist", "loadfile"] if len(tests) > 1 else []
    command = [str(ROOT / "dashboards/.venv/bin/pytest"), "-q", "-p", "no:cacheprovider", *parallel, *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def over_the_sample(var: Path) -> int:
    """Test the pages over the build of the integration tests; return the exit status."""
    screenshot = ROOT / "var" / "screenshots" / "aqm-comparison.png"
    screenshot.parent.mkdir(parents=True, exist_ok=True)
    tests = ["tests/browser", f"--ignore={GROWING}", f"--ignore={STUDIES}", f"--ignore={MARKS}"]
    return launch_and_test(var, tests, SOJOURN_SCREENSHOT=str(screenshot))


def over_a_growing_build(var: Path) -> int:
    """Test the pages over a build in which nothing fits, to which the tests then add; return the exit status."""
    shutil.rmtree(var, ignore_errors=True)
    offered = var.with_name(f"{var.name}-offered")
    offered.mkdir(parents=True, exist_ok=True)
    (offered / "nothing.pcap").write_bytes(b"")
    sojourn, where = str(ROOT / ".venv/bin/sojourn"), ["--var", str(var)]
    # It ends with a status of its own, because the only file is refused.
    subprocess.run([sojourn, "ingest", str(offered), *where], check=False, stdout=subprocess.DEVNULL)
    subprocess.run([sojourn, "build", *where], check=True, stdout=subprocess.DEVNULL)
    screenshot = str(var / "screenshots" / "empty.png")
    return launch_and_test(var, [GROWING], SOJOURN_GROWING_VAR=str(var), SOJOURN_SCREENSHOT=screenshot)


def over_planted_studies(var: Path, shared: Path) -> int:
    """Test the figures of studies over runs that have the axes of these; return the exit status."""
    # Beside the lake: an ingest reads nothing below its own folder.
    runs = var.with_name(f"{var.name}-runs")
    for folder in (var, runs):
        shutil.rmtree(folder, ignore_errors=True)
    write_studies(runs, shared / "data" / "testbed")
    sojourn, where = str(ROOT / ".venv/bin/sojourn"), ["--var", str(var)]
    subprocess.run([sojourn, "ingest", str(runs), *where], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sojourn, "build", *where], check=True, stdout=subprocess.DEVNULL)
    screenshot = str(var / "screenshots" / "planted.png")
    return launch_and_test(var, [STUDIES], SOJOURN_SCREENSHOT=screenshot)


def over_marks_and_lines(var: Path) -> int:
    """Test "Marks" over the sample's runs with ECN, "Access network" over a generated one; return the exit status."""
    shutil.rmtree(var, ignore_errors=True)
    sojourn, where = str(ROOT / ".venv/bin/sojourn"), ["--var", str(var)]
    network = var / "generated"
    size = ["--samples", "60000", "--circuits", "600", "--sites", "12", "--seed", "1"]
    look_up = ["--circuits", str(network / "ShapedDevices.csv"), "--prefix-table", str(network / "prefixes.csv")]
    for arguments in (
        ["generate", "passive-rtt", *size, "--out", str(network)],
        ["ingest", str(ROOT / "ingest/sample/marks"), *where],
        ["ingest", str(network / "pping"), *look_up, *where],
        ["build", *where],
    ):
        subprocess.run([sojourn, *arguments], check=True, stdout=subprocess.DEVNULL)
    screenshot = str(var / "screenshots" / "marks.png")
    return launch_and_test(var, [MARKS], SOJOURN_SCREENSHOT=screenshot)


def main() -> int:
    """Run all; return the first exit status that is not zero."""
    var = Path(os.environ.get("SOJOURN_TEST_VAR") or ROOT / "var" / "test").resolve()
    wanted = sys.argv[1:] or ["sample", "growing", "studies", "marks"]
    shared = Path(os.environ.get("SOJOURN_SHARED") or ROOT.parent / "shared").resolve()
    if "sample" in wanted and not (var / "snapshots" / "CURRENT").exists():
        print(f"error: no build below {var}; run make test-integration first", file=sys.stderr)
        return 1
    statuses: list[int] = []
    if "sample" in wanted:
        statuses.append(over_the_sample(var))
    if "growing" in wanted:
        statuses.append(over_a_growing_build(var.with_name(f"{var.name}-growing")))
    if "studies" in wanted and not (shared / "data" / "testbed").is_dir():
        # As tests that read reference data in place: skipped without it, but not in CI.
        print(f"{shared} has no reference data for the figures of studies; set SOJOURN_SHARED", file=sys.stderr)
        statuses.append(int(os.environ.get("CI") == "true"))
    elif "studies" in wanted:
        statuses.append(over_planted_studies(var.with_name(f"{var.name}-planted"), shared))
    if "marks" in wanted:
        statuses.append(over_marks_and_lines(var.with_name(f"{var.name}-marks")))
    return next((status for status in statuses if status), 0)


if __name__ == "__main__":
    sys.exit(main())
