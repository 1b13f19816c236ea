"""Open every dashboard several times in a real browser, and print what each view took, one JSON object per line.

`dashboard_speed.py` runs this with Superset's environment, which has the browser driver, beside running servers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

WIDTH, HEIGHT = 1280, 900
DRAWN_WITHIN_S = 120
# A browser that says it is driven gets every chart of a page at once, as Superset's own pictures of a page do. A
# reader's browser does not, and is what is measured here.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-blink-features=AutomationControlled",
]
WATCH = """() => {
  performance.setResourceTimingBufferSize(5000);
  const seen = box => box.bottom > 0 && box.top < innerHeight && box.width > 0 && box.height > 0;
  const drawn = 'canvas, table tbody tr, .header-line, svg.datamap path, [aria-label="empty"]';
  const complete = () => {
    const charts = [...document.querySelectorAll('[data-test="chart-grid-component"]')]
      .filter(each => seen(each.getBoundingClientRect()));
    const loads = [...document.querySelectorAll('.loading, [data-test="loading-indicator"]')]
      .some(each => seen(each.getBoundingClientRect()));
    const texts = document.querySelectorAll('.dashboard-markdown').length;
    return charts.length + texts > 0 && !loads && charts.every(each => each.querySelector(drawn));
  };
  let since = null;
  window.sojournDrawnMs = null;
  const timer = setInterval(() => {
    if (!complete()) { since = null; return; }
    since ??= performance.now();
    if (performance.now() - since > 700) { window.sojournDrawnMs = since; clearInterval(timer); }
  }, 100);
}"""
"""Notes the time since the address was opened at which the first screen was drawn, and stayed so."""

ENTRIES = """() => ({
  drawn_ms: window.sojournDrawnMs,
  document: performance.getEntriesByType('navigation')[0].toJSON(),
  resources: performance.getEntriesByType('resource').map(each => each.toJSON()),
  long_tasks_ms: window.sojournLongTasksMs,
  charts: document.querySelectorAll('[data-test="chart-grid-component"]').length,
})"""
LONG_TASKS = """() => {
  window.sojournLongTasksMs = 0;
  new PerformanceObserver(list => list.getEntries().forEach(each => {
    if (window.sojournDrawnMs == null) window.sojournLongTasksMs += each.duration;
  })).observe({type: 'longtask', buffered: true});
}"""
KINDS = (("/static/", "static"), ("/api/v1/chart/data", "chart data"), ("/explore_json/", "chart data"))


@contextmanager
def reader(superset: str) -> Iterator[tuple[BrowserContext, int]]:
    """Log in with an empty profile, as someone does who opens the page for the first time.

    The second value is the process group of the browser.
    """
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium,
            headless=True,
            args=FLAGS,
            ignore_default_args=["--enable-automation"],
            viewport={"width": WIDTH, "height": HEIGHT},
        )
        context.set_default_timeout(DRAWN_WITHIN_S * 1000)
        page = context.new_page()
        # As tests/browser/opened_dashboard.py: an answer to this without a session would take the session's place.
        page.route("**/superset/log/**", lambda route: route.abort())
        page.goto(f"{superset}/login/")
        page.fill("#username", os.environ["SUPERSET_ADMIN_USER"])
        page.fill("#password", os.environ["SUPERSET_ADMIN_PASSWORD"])
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        page.close()
        context.add_init_script(f"({WATCH})(); ({LONG_TASKS})();")
        yield context, group_with(profile)
        context.close()


def group_with(argument: str) -> int:
    """Return the process group of the oldest process that was given an argument."""
    groups = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument in command.read_text():
                groups.append(int(command.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return os.getpgid(min(groups))


def cpu_s(groups: list[int]) -> list[float]:
    """Return the CPU time that the processes of each process group have used."""
    used = dict.fromkeys(groups, 0)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        if int(fields[2]) in used:
            used[int(fields[2])] += int(fields[11]) + int(fields[12])
    return [used[group] / os.sysconf("SC_CLK_TCK") for group in groups]


def view(page: Page, address: str, groups: list[int]) -> dict[str, Any]:
    """Open an address and return what its first screen took, in ms, requests and kB."""
    # From the address to an empty page in between: nothing of the last view is left.
    page.goto("about:blank")
    before = cpu_s(groups)
    page.goto(address, wait_until="commit")
    page.wait_for_function("() => window.sojournDrawnMs != null")
    after = cpu_s(groups)
    taken = page.evaluate(ENTRIES)
    drawn = taken["drawn_ms"]
    requests = [each for each in taken["resources"] if each["startTime"] < drawn]
    result: dict[str, Any] = {
        "drawn_ms": drawn,
        "document_ms": taken["document"]["responseEnd"],
        "long_tasks_ms": taken["long_tasks_ms"],
        "requests": len(requests),
        "transferred_kb": sum(each["transferSize"] for each in requests) / 1000,
        "decoded_kb": sum(each["decodedBodySize"] for each in requests) / 1000,
        "charts": taken["charts"],
        "cpu_s": [round(late - early, 2) for early, late in zip(before, after, strict=True)],
    }
    for kind in ("static", "chart data", "other"):
        mine = [each for each in requests if kind_of(each["name"]) == kind]
        result[kind] = {
            "requests": len(mine),
            "from_cache": sum(each["transferSize"] == 0 for each in mine),
            "transferred_kb": sum(each["transferSize"] for each in mine) / 1000,
            "first_ms": min((each["startTime"] for each in mine), default=None),
            "last_ms": max((each["responseEnd"] for each in mine), default=None),
            "waited_ms": sum(each["responseStart"] - each["requestStart"] for each in mine if each["requestStart"]),
        }
    result["asked"] = [
        [each["name"].partition("?")[0], each["startTime"], each["responseStart"], each["responseEnd"],
         each["transferSize"]]
        for each in requests if kind_of(each["name"]) != "static"
    ]  # fmt: skip
    return result


def kind_of(address: str) -> str:
    """Return what kind of thing was asked for."""
    return next((kind for part, kind in KINDS if part in address), "other")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("slugs", nargs="+", help="dashboards, by the last part of their address")
    parser.add_argument("--views", type=int, required=True, help="views of each after the first")
    parser.add_argument("--groups", type=int, nargs="*", default=[], help="process groups of the servers")
    parser.add_argument("--picture", type=Path, help="folder for a picture of the last view of each")
    arguments = parser.parse_args()
    superset = os.environ["SOJOURN_SUPERSET_URL"].rstrip("/")
    for slug in arguments.slugs:
        with reader(superset) as (context, browser):
            page = context.new_page()
            for number in range(arguments.views + 1):
                address = f"{superset}/superset/dashboard/{slug}/"
                line = {"slug": slug, "view": number, "load": os.getloadavg()[0]}
                json.dump(line | view(page, address, [*arguments.groups, browser]), sys.stdout)
                print(flush=True)
            if arguments.picture:
                arguments.picture.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=str(arguments.picture / f"{slug}.png"))


if __name__ == "__main__":
    main()
