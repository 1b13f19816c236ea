"""How long each dashboard takes until its first screen is drawn: the first view, and views after it.

API, Superset and a headless Chromium share the machine, as on a laptop. The first view is that of an empty profile; the
servers may have been asked for the page before. A view ends when no chart, filter or text in the window still loads.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from raw_results import ROOT, Results

sys.path.insert(0, str(ROOT / "infra"))

from launch import Servers, launch

ASSETS = ROOT / "dashboards" / "assets" / "dashboards"
GOAL_S = 2.5


def free_port() -> int:
    """Return a loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def views(servers: Servers, slugs: list[str], number: int, picture: Path | None) -> Iterator[dict[str, Any]]:
    """Open each dashboard in the browser, and return what each view took."""
    command = [str(ROOT / "dashboards/.venv/bin/python"), str(Path(__file__).with_name("dashboard_views.py"))]
    command += [*slugs, "--views", str(number), "--groups", *map(str, servers.process_groups)]
    command += ["--picture", str(picture)] if picture else []
    environment = {**servers.environment, "SOJOURN_SUPERSET_URL": servers.superset_url}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            yield json.loads(line)
    if process.returncode:
        raise RuntimeError(f"the browser ended with {process.returncode}")


def measure(servers: Servers, slugs: list[str], number: int, picture: Path | None, results: Results) -> int:
    """Fill the tables of the results."""
    taken: dict[str, list[dict[str, Any]]] = {}
    for each in views(servers, slugs, number, picture):
        taken.setdefault(each["slug"], []).append(each)
        print(f"{each['slug']} {each['view']}: {each['drawn_ms'] / 1000:.2f} s", file=sys.stderr, flush=True)
    whole = results.table(
        f"From the address to the first screen, {number} views after the first",
        {
            "dashboard": "", "charts": "d", "first view, s": ".2f", "median of further views, s": ".2f",
            "slowest of them, s": ".2f", "goal, s": ".0f", "requests": ".0f", "transferred, MB": ".2f",
            "transferred at the first view, MB": ".2f", "decoded, MB": ".1f",
        },
    )  # fmt: skip
    for slug, (first, *further) in taken.items():
        seconds = [each["drawn_ms"] / 1000 for each in further]
        whole.row(
            slug, first["charts"], first["drawn_ms"] / 1000, statistics.median(seconds), max(seconds), GOAL_S,
            middle(further, "requests"), middle(further, "transferred_kb") / 1000, first["transferred_kb"] / 1000,
            middle(further, "decoded_kb") / 1000,
        )  # fmt: skip
    parts = results.table(
        "Where the time of further views goes (medians)",
        {
            "dashboard": "", "document answered, s": ".2f", "browser busy (long tasks), s": ".2f",
            "static files": ".0f", "not from the browser's cache": ".0f", "chart data, requests": ".0f",
            "first asked, s": ".2f", "last answered, s": ".2f", "waited per request, s": ".3f",
            "other requests": ".0f", "CPU of the API, s": ".2f", "CPU of Superset, s": ".2f",
            "CPU of the browser, s": ".2f",
        },
    )  # fmt: skip
    for slug, (_, *further) in taken.items():
        data = [each["chart data"] for each in further]
        static = [each["static"] for each in further]
        parts.row(
            slug, middle(further, "document_ms") / 1000, middle(further, "long_tasks_ms") / 1000,
            middle(static, "requests"),
            statistics.median(each["requests"] - each["from_cache"] for each in static), middle(data, "requests"),
            middle(data, "first_ms") / 1000, middle(data, "last_ms") / 1000,
            statistics.median(each["waited_ms"] / max(1, each["requests"]) for each in data) / 1000,
            statistics.median(each["other"]["requests"] for each in further),
            statistics.median(each["cpu_s"][0] for each in further),
            statistics.median(each["cpu_s"][1] for each in further),
            statistics.median(each["cpu_s"][2] for each in further),
        )  # fmt: skip
    loads = [each["load"] for of_one in taken.values() for each in of_one]
    results.note(f"Load of {os.cpu_count()} cores before a view: {min(loads):.1f} to {max(loads):.1f}.")
    return 0


def middle(rows: list[dict[str, Any]], name: str) -> float:
    """Return the median of a number; of one that no row has, 0."""
    return statistics.median([each[name] for each in rows if each[name] is not None] or [0])


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="installation with a build")
    parser.add_argument("--views", type=int, default=5, help="views of each dashboard after the first")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of the last view of each")
    parser.add_argument("slugs", nargs="*", help="dashboards; all, if none is named")
    arguments = parser.parse_args()
    all_slugs = [yaml.safe_load(path.read_text(encoding="utf-8"))["slug"] for path in sorted(ASSETS.glob("*.yaml"))]
    slugs = arguments.slugs or all_slugs
    results = Results("dashboards")
    return launch(
        Servers(arguments.folder.resolve(), free_port(), free_port()),
        lambda servers: measure(servers, slugs, arguments.views, arguments.pictures, results),
    )


if __name__ == "__main__":
    sys.exit(main())
