"""A dashboard opened in a real browser: its charts, what the browser asked and received for them, and its picture."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Request, Response, sync_playwright
from playwright.sync_api import TimeoutError as TookTooLongError

from sojourn_client import Client
from sojourn_superset import assets
from sojourn_superset.settings import ASSETS, REPOSITORY

CHART = '[data-test="chart-grid-component"]'
GRID = ".grid-container, .dashboard-grid"
EMPTY = '[data-test="slice-container"] [aria-label="empty"]'
"""What Superset draws in a card without rows."""
DRAWN = "canvas, table tbody tr, .header-line, svg.datamap path"
WIDTH = 1280
FIRST_SCREEN = 900
DRAWN_WITHIN_S = 240
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FEWEST_COLOURS = 20
"""Of a painted card: smoothed text alone has more shades; one that is not painted has one."""
NOT_DRAWN = "Not drawn, because this build has no data for it"
NOTHING = "Nothing to report"
"""Heading of charts of which it is good that they have no rows, such as sources that were refused."""
OF_ANOTHER_STUDY = {"Picture quality against throughput harm"}
"""Charts of which the study that a page begins with has no rows: the bundled sample has no BRISQUE scores."""


@dataclass
class Answer:
    """One answer to a chart's question for data."""

    form: dict[str, Any]
    queries: list[dict[str, Any]]
    result: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows that the chart draws."""
        return list(self.result["data"])

    def filters_on(self, column: str) -> list[Any]:
        """Return the values that the browser asked to filter a column by."""
        return [
            value
            for query in self.queries
            for condition in query.get("filters", [])
            if condition["col"] == column and condition["op"] == "IN"
            for value in condition["val"]
        ]


@dataclass
class Dashboard:
    """The opened dashboard, and all that the browser received for it."""

    page: Page
    api: Client
    expected: set[str]
    empty: set[str]
    notes: set[str]
    answers: list[Answer] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def answer(self, title: str) -> Answer:
        """Return the latest answer for the chart with this title."""
        chart = self.chart(title).get_attribute("data-test-chart-id")
        mine = [answer for answer in self.answers if str(answer.form.get("slice_id")) == chart]
        assert mine, f"the browser asked for no data for “{title}”"
        return mine[-1]

    def chart(self, title: str) -> Any:
        """Return the chart with this title."""
        return self.page.locator(f'{CHART}[data-test-chart-name="{title}"]')

    def grouped(self, dataset: str, group: str, aggregate: str, **filters: str) -> list[dict[str, Any]]:
        """Ask the API itself, by HTTP, for the statistic that a chart shows."""
        query = [("group", group), ("aggregate", aggregate), ("limit", "10000"), *filters.items()]
        answer = self.api.document(f"/v1/datasets/{dataset}/rows", query)
        assert answer["next_cursor"] is None
        return list(answer["rows"])

    def on_response(self, response: Response) -> None:
        """Remember what failed."""
        if response.status >= 400:
            self.failures.append(f"{response.status} {response.url}")

    def on_finished(self, request: Request) -> None:
        """Remember data for charts. A question that Superset takes back is answered without a body; it does not end."""
        response = request.response()
        if "/api/v1/chart/data" in request.url and response is not None and response.ok:
            posted = request.post_data_json
            self.answers.append(Answer(posted["form_data"], posted["queries"], response.json()["result"][0]))
        elif "/explore_json/" in request.url and response is not None and response.ok:
            # Superset's older charts, such as the world map, ask here; the answer repeats the form.
            answered = response.json()
            self.answers.append(Answer(answered["form_data"], [], answered))


def setting(name: str) -> str:
    """Return an environment variable that the test cannot do without."""
    value = os.environ.get(name)
    if not value:
        pytest.fail(f"{name} is not set: this test needs running servers (`make test-browser` starts them)")
    return value


def wait_until_nothing(missing: Callable[[], list[str]], page: Page) -> None:
    """Wait while the browser works, until nothing is missing; fail naming what still is."""
    deadline = time.monotonic() + DRAWN_WITHIN_S
    while still := missing():
        if time.monotonic() > deadline:
            pytest.fail(f"after {DRAWN_WITHIN_S} s still missing: {', '.join(still)}")
        page.wait_for_timeout(250)


def titles_on(name: str) -> set[str]:
    """Return the titles of the charts on one dashboard."""
    position = assets.read(ASSETS)[f"dashboards/{name}.yaml"]["position"]
    return {
        node["meta"]["sliceName"] for node in position.values() if isinstance(node, dict) and node["type"] == "CHART"
    }


@dataclass
class Browser:
    """A browser in which someone has logged in to Superset."""

    context: BrowserContext
    superset: str
    api: Client
    without_data: set[str]

    def open(
        self, name: str, query: str = "", drawn: set[str] | None = None, empty: set[str] | None = None
    ) -> Dashboard:
        """Open a dashboard, wait for its charts (or for those `drawn` and `empty`), and save a picture of it."""
        page = self.context.new_page()
        page.set_viewport_size({"width": WIDTH, "height": FIRST_SCREEN})
        titles, slug = titles_on(name), name.replace("_", "-")
        in_build = titles - self.without_data
        if drawn is None and empty is None:
            drawn, empty = in_build - OF_ANOTHER_STUDY, in_build & OF_ANOTHER_STUDY
        opened = Dashboard(page, self.api, drawn or set(), empty or set(), titles & self.without_data)
        page.on("response", opened.on_response)
        page.on("requestfinished", opened.on_finished)
        page.goto(f"{self.superset}/superset/dashboard/{slug}/{query}")
        page.wait_for_selector(CHART if opened.expected | opened.empty else GRID, timeout=DRAWN_WITHIN_S * 1000)
        _draw_everything(opened)
        screenshot = Path(
            os.environ.get("SOJOURN_SCREENSHOT") or REPOSITORY / "var" / "screenshots" / "aqm-comparison.png"
        ).with_name(f"{slug}.png")
        screenshot.parent.mkdir(parents=True, exist_ok=True)
        if not query:  # a picture is of the page as anyone opens it
            _save_picture(page, screenshot)
        return opened


@contextmanager
def logged_in(profile: Path) -> Iterator[Browser]:
    """Log in to Superset through the form, in a browser with a folder of its own."""
    api_url, superset = setting("SOJOURN_API_URL"), setting("SOJOURN_SUPERSET_URL").rstrip("/")
    user, password = setting("SUPERSET_ADMIN_USER"), setting("SUPERSET_ADMIN_PASSWORD")
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(chromium).is_file():
        pytest.fail(f"no browser at {chromium}: install Debian's chromium, or link yours as chromium")
    api = Client(api_url, unknown_values="allow")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=chromium,
            headless=True,
            args=FLAGS,
            viewport={"width": WIDTH, "height": FIRST_SCREEN},
        )
        context.set_default_timeout(DRAWN_WITHIN_S * 1000)
        page = context.new_page()
        _log_in(page, superset, user, password)
        yield Browser(context, superset, api, set(assets.render(ASSETS, api).without_data))
        context.close()


def _log_in(page: Page, superset: str, user: str, password: str) -> None:
    """Fill in the form, again if the session does not last.

    The form's page reports its own loading to Superset without a session. If that is answered after the log-in, the
    answer's cookie takes the place of the session: so it is not sent, and the session is asked for who it is of.
    """
    page.route("**/superset/log/**", lambda route: route.abort())
    for attempts_left in (2, 1, 0):
        page.goto(f"{superset}/login/")
        page.fill("#username", user)
        page.fill("#password", password)
        page.keyboard.press("Enter")
        try:
            page.wait_for_url(lambda url: "/login" not in url, timeout=DRAWN_WITHIN_S / 3 * 1000)
        except TookTooLongError:
            if not attempts_left:
                raise
        if page.request.get(f"{superset}/api/v1/me/").ok:
            return
    pytest.fail(f"Superset logged {user} in three times, and each session was gone at once")


def _draw_everything(opened: Dashboard) -> None:
    """Wait for all charts, then make the window as tall as the dashboard so that nothing is out of sight."""
    page = opened.page

    def undrawn() -> list[str]:
        answered = {
            chart.get_attribute("data-test-chart-name"): chart
            for chart in page.locator(CHART).all()
            if not chart.locator(".loading").count()
        }
        drawn = {title for title, chart in answered.items() if chart.locator(DRAWN).count()}
        empty = {title for title, chart in answered.items() if chart.locator(EMPTY).count()}
        missing = sorted(f"“{title}” drawn" for title in opened.expected - drawn)
        missing += sorted(f"“{title}” without rows" for title in opened.empty - empty)
        if opened.notes and not any(heading in page.locator("body").inner_text() for heading in (NOT_DRAWN, NOTHING)):
            missing.append("the note of what is not drawn")
        return missing

    wait_until_nothing(undrawn, page)
    height = page.evaluate(f"() => document.querySelector('{GRID}').scrollHeight")
    page.set_viewport_size({"width": WIDTH, "height": int(height) + 160})
    page.wait_for_timeout(2_500)  # ECharts lets its marks grow for a second
    wait_until_nothing(undrawn, page)


def _save_picture(page: Page, path: Path) -> None:
    """Save a picture of the whole page in which every card and text is painted.

    On a busy machine the document is laid out long before it is painted: a picture of it is then blank below the fold.
    """
    page.bring_to_front()
    bottom = page.locator(f"{CHART}, .dashboard-markdown").last.bounding_box()
    assert bottom is not None

    def unpainted() -> list[str]:
        page.screenshot(path=str(path), full_page=True)
        with Image.open(path) as picture:
            lowest = (bottom["x"], bottom["y"], bottom["x"] + bottom["width"], bottom["y"] + bottom["height"])
            colours = picture.convert("RGB").crop(tuple(map(int, lowest))).getcolors(1 << 24)
        return [] if colours is not None and len(colours) > FEWEST_COLOURS else [f"the lowest card in {path.name}"]

    wait_until_nothing(unpainted, page)
