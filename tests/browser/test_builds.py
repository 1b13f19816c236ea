"""From a build in which nothing fits to one of connections, in a real browser: nothing fails, and the new one is shown.

`with_servers.py` starts servers over an empty warehouse of its own, SOJOURN_GROWING_VAR, to which these tests add.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn_superset import assets
from sojourn_superset.look import mixed, read_look
from sojourn_superset.settings import ASSETS, REPOSITORY

from .opened_dashboard import CHART, DRAWN_WITHIN_S, NOT_DRAWN, NOTHING, Browser, Dashboard, logged_in, setting

pytestmark = pytest.mark.browser

NAMES = sorted(Path(path).stem for path in assets.read(ASSETS) if path.startswith("dashboards/"))
READ = "What was read"
MAP = "Measured connections: % above 100 ms, on the map (grey: none, or withheld)"
COUNTRIES = "Measured connections above 100 ms, by country"
WILD = "buffering_in_the_wild"

HAS_ROWS = {
    "studies": {
        "Are the studies' figures reproduced?",
        "Published findings: how many can this build recompute?",
        "What studies state, and what this build recomputes",
    },
    "trust": {
        READ,
        "Sources that were refused, or read in part",
        "Can these figures be trusted?",
        "When were the ingested files last changed?",
        "Sources shown",
        "Builds: the one served, and those kept",
        "Queries to the service, and how long they took",
    },
}
"""Charts of a build without measurements: what publications state, what was refused, and the service."""

HOSTS = {"DE": 20, "BR": 20, "JP": 20, "FR": 3, "ES": 4, "NL": 5}
"""Hosts by country. Cells of fewer than ten give up their country; together these have enough to be served."""
ABOVE = {"DE": 10, "BR": 5}
"""Of them, hosts whose connections exceed 100 ms."""
DAYS = ("2026-03-01", "2026-03-02")
DESCRIPTION = """sojourn_connections: 1
dataset: of-a-test
title: Connections made up by a test, which is the only one to see them
licence: CC0-1.0
synthetic: false
tables:
  - name: connections
    rtt_basis: smoothed
    sample_basis: rtt_samples
    fields:
      start_ns: { from: time, unit: rfc3339 }
      client_host: { from: host }
      country: { from: country }
      rtt_min_us: { from: least, unit: ms }
      rtt_max_us: { from: most, unit: ms }
      rtt_samples: { from: samples }
"""
COLOUR_WITHIN = 4
"""Of 255: the browser mixes colours on the way between two of the eleven shades."""


@pytest.fixture(scope="module")
def var() -> Path:
    """Return the folder of the warehouse that these tests may add to."""
    return Path(setting("SOJOURN_GROWING_VAR"))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, var: Path) -> Iterator[Browser]:
    """Log in while the build has nothing but one refused file."""
    with logged_in(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def sources(browser: Browser) -> int:
    """Return how many sources the API says were offered."""
    rows = browser.api.document("/v1/datasets/ingest_outcome/rows", [("aggregate", "count")])["rows"]
    return int(rows[0]["n"]) if rows else 0


def shown_sources(dashboard: Dashboard) -> int:
    """Return how many sources the table of the page says were offered."""
    return sum(int(row["sources"]) for row in dashboard.answer(READ).rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_over_an_empty_build_opens_without_an_error_and_says_what_is_missing(empty: Browser, name: str) -> None:
    opened = empty.open(name, "?standalone=0")
    page = opened.page
    assert opened.failures == []
    alerts = page.locator('.ant-alert-error, [role="alert"]:visible, [data-test="toast-container"] > *')
    assert [alert.inner_text() for alert in alerts.all()] == []
    text = " ".join(page.locator("body").inner_text().split())
    assert NOT_DRAWN in text or NOTHING in text
    charts = {
        chart["slice_name"]: chart["sojourn"]["supply"]
        for path, chart in assets.read(ASSETS).items()
        if path.startswith(f"charts/{name}/")
    }
    drawn = {chart.get_attribute("data-test-chart-name") for chart in page.locator(CHART).all()}
    assert drawn == opened.expected
    assert drawn == HAS_ROWS.get(name, set())
    for title in set(charts) - drawn:
        assert title in text
        # The first words: what follows may be code, which the page draws without its marks.
        assert " ".join(charts[title].split("`")[0].split()) in text, title
    page.close()


def test_a_second_build_is_shown_at_once(empty: Browser, var: Path, tmp_path: Path) -> None:
    before = empty.open("trust")
    assert shown_sources(before) == sources(empty) == 1
    before.page.close()
    again = empty.open("trust")
    assert again.answer(READ).result["is_cached"], "the second look is answered from the cache"
    again.page.close()

    add_connections(var, tmp_path)
    wait_for_another_build(empty, was=empty.api.health())
    after = empty.open("trust")
    assert not after.answer(READ).result["is_cached"]
    assert shown_sources(after) == sources(empty) == 3
    after.page.close()


def add_connections(var: Path, folder: Path) -> None:
    """Ingest made-up connections of two days; the build is published by `wait_for_another_build`."""
    (folder / "description.yaml").write_text(DESCRIPTION, encoding="utf-8")
    with (folder / "connections.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["time", "host", "country", "least", "most", "samples"])
        for day in DAYS:
            for country, hosts in HOSTS.items():
                for number in range(hosts):
                    most = 220 if number < ABOVE.get(country, 0) else 60
                    table.writerow([f"{day}T12:00:00Z", f"{country}-{number}", country, 20, most, 12])
    sojourn(var, "ingest", str(folder))


def wait_for_another_build(browser: Browser, was: str) -> None:
    """Build, and wait until the API serves it."""
    sojourn(Path(setting("SOJOURN_GROWING_VAR")), "build")
    deadline = time.monotonic() + DRAWN_WITHIN_S
    while browser.api.health() == was:
        assert time.monotonic() < deadline, "the API does not serve the new build"
        time.sleep(0.2)


def sojourn(var: Path, *arguments: str) -> None:
    """Run the command of the checkout."""
    command = [str(REPOSITORY / ".venv/bin/sojourn"), *arguments, "--var", str(var)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.fixture(scope="module")
def wild(empty: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """Fit the pages to the build of connections, and open that of connections."""
    importer = str(REPOSITORY / "dashboards/.venv/bin/sojourn-superset")
    done = subprocess.run(
        [importer, "import-assets"], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    empty.without_data = set(assets.render(ASSETS, empty.api).without_data)
    opened = empty.open(WILD)
    yield opened
    opened.page.close()


def test_shares_are_shades_of_the_map_and_zero_missing_and_withheld_differ(wild: Dashboard) -> None:
    assert wild.failures == []
    light, dark = read_look(ASSETS).shares
    fills = {code: fill(wild, code) for code in ("DEU", "BRA", "JPN", "FRA", "ITA")}
    assert near(fills["DEU"], dark)
    assert near(fills["BRA"], mixed(light, dark, 0.5))
    assert near(fills["JPN"], light), "no connection above is a share of 0, which is a shade"
    # Of Italy there is no connection, and France has too few hosts: neither has a shade, and the table has the latter.
    assert fills["FRA"] == fills["ITA"]
    assert not any(near(fills["ITA"], mixed(light, dark, step / 10)) for step in range(11))

    table = wild.chart(COUNTRIES)
    rows = [[cell.inner_text().strip() for cell in row.locator("td").all()] for row in table.locator("tbody tr").all()]
    withheld = sum(hosts for hosts in HOSTS.values() if hosts < 10) * len(DAYS)
    assert sorted(rows) == sorted(
        [
            *([code, f"{100 * ABOVE.get(code, 0) / 20:.1f}", str(20 * len(DAYS))] for code in ("DE", "BR", "JP")),
            ["countries of too few hosts, together", "0.0", str(withheld)],
        ]
    )


def fill(wild: Dashboard, code: str) -> str:
    """Return the colour of a country on the map, by its code of three letters."""
    country = wild.chart(MAP).locator(f"path.datamaps-subunit.{code}")
    return str(country.first.evaluate("path => getComputedStyle(path).fill"))


def near(one: str, other: str) -> bool:
    """Whether two colours, as `#rrggbb` or `rgb(r, g, b)`, look the same."""
    pairs = zip(channels(one), channels(other), strict=True)
    return all(abs(a - b) <= COLOUR_WITHIN for a, b in pairs)


def channels(colour: str) -> list[int]:
    """Return red, green and blue."""
    if colour.startswith("#"):
        return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return [int(number) for number in re.findall(r"\d+", colour)[:3]]


def test_two_days_are_a_trend(wild: Dashboard) -> None:
    titles = {title for title in wild.expected if "by day" in title or "and day" in title}
    assert len(titles) == 2
    assert all(title.startswith("Measured") for title in titles)
