"""The dashboard in a real browser, against running servers: is everything drawn, and drawn right?

Run with Superset's environment (`uv run --project dashboards pytest tests/browser`) and these variables:
SOJOURN_API_URL, SOJOURN_SUPERSET_URL, SUPERSET_ADMIN_USER, SUPERSET_ADMIN_PASSWORD; optional:
SOJOURN_SCREENSHOT (where the picture of the whole dashboard goes), SOJOURN_CHROMIUM.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, Response, sync_playwright

from sojourn_client import Client
from sojourn_superset import assets
from sojourn_superset.settings import ASSETS, REPOSITORY

pytestmark = pytest.mark.browser

CHART = '[data-test="chart-grid-component"]'
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
WIDTH = 1600
DRAWN_WITHIN_S = 90
FEWEST_COLOURS = 20
"""Of a painted card: smoothed text alone has more shades; one that is not painted has one."""
TROUBLE = ["No data", "No results", "Unexpected error", "Data error", "Error:", "An error occurred"]

# Marks have colours; axes, labels and grid lines are grey. Only the middle is looked at, where no legend is.
COLOURED_PIXELS = """canvas => {
  const w = canvas.width, h = canvas.height;
  const x = Math.round(w * 0.12), y = Math.round(h * 0.2);
  const part = canvas.getContext('2d').getImageData(x, y, Math.round(w * 0.58), Math.round(h * 0.6)).data;
  let coloured = 0;
  for (let i = 0; i < part.length; i += 4) {
    const low = Math.min(part[i], part[i + 1], part[i + 2]), high = Math.max(part[i], part[i + 1], part[i + 2]);
    if (part[i + 3] > 100 && high - low > 40) coloured++;
  }
  return coloured;
}"""


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
        """Remember data for charts, and what failed."""
        if response.status >= 400:
            self.failures.append(f"{response.status} {response.url}")
        if "/api/v1/chart/data" in response.url and response.ok:
            asked = response.request.post_data_json
            self.answers.append(Answer(asked["form_data"], asked["queries"], response.json()["result"][0]))


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

    def open(self, name: str) -> Dashboard:
        """Open a dashboard, wait until every chart has its answer, and save a picture of it."""
        page = self.context.new_page()
        titles, slug = titles_on(name), name.replace("_", "-")
        opened = Dashboard(page, self.api, titles - self.without_data, titles & self.without_data)
        page.on("response", opened.on_response)
        page.goto(f"{self.superset}/superset/dashboard/{slug}/")
        page.wait_for_selector(CHART, timeout=60_000)
        _draw_everything(opened)
        screenshot = Path(
            os.environ.get("SOJOURN_SCREENSHOT") or REPOSITORY / "var" / "screenshots" / "aqm-comparison.png"
        ).with_name(f"{slug}.png")
        screenshot.parent.mkdir(parents=True, exist_ok=True)
        _save_picture(page, screenshot)
        return opened


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Log in through the form."""
    api_url, superset = setting("SOJOURN_API_URL"), setting("SOJOURN_SUPERSET_URL").rstrip("/")
    user, password = setting("SUPERSET_ADMIN_USER"), setting("SUPERSET_ADMIN_PASSWORD")
    chromium = os.environ.get("SOJOURN_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(chromium).is_file():
        pytest.fail(f"no browser at {chromium}: install Debian's chromium, or set SOJOURN_CHROMIUM")
    api = Client(api_url)
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=chromium,
            headless=True,
            args=FLAGS,
            viewport={"width": WIDTH, "height": 1000},
        )
        page = context.new_page()
        page.goto(f"{superset}/login/")
        page.fill("#username", user)
        page.fill("#password", password)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/login" not in url, timeout=60_000)
        yield Browser(context, superset, api, set(assets.render(ASSETS, api).without_data))
        context.close()


@pytest.fixture(scope="module")
def dashboard(browser: Browser) -> Dashboard:
    """Open “AQM comparison”."""
    return browser.open("aqm_comparison")


@pytest.fixture(scope="module")
def wild(browser: Browser) -> Dashboard:
    """Open “Buffering in the wild”."""
    return browser.open("buffering_in_the_wild")


@pytest.fixture(scope="module")
def captures(browser: Browser) -> Dashboard:
    """Open “Captures”."""
    return browser.open("captures")


def _draw_everything(opened: Dashboard) -> None:
    """Wait for all charts, then make the window as tall as the dashboard so that nothing is out of sight."""
    page = opened.page

    def undrawn() -> list[str]:
        drawn = {
            chart.get_attribute("data-test-chart-name")
            for chart in page.locator(CHART).all()
            if chart.locator("canvas, table tbody tr, .header-line").count() and not chart.locator(".loading").count()
        }
        return sorted(f"“{title}” drawn" for title in opened.expected - drawn)

    wait_until_nothing(undrawn, page)
    height = page.evaluate("() => document.querySelector('.grid-container, .dashboard-grid').scrollHeight")
    page.set_viewport_size({"width": WIDTH, "height": int(height) + 160})
    page.wait_for_timeout(2_500)  # ECharts lets its marks grow for a second
    wait_until_nothing(undrawn, page)


def _save_picture(page: Page, path: Path) -> None:
    """Save a picture of the whole page in which every card is painted.

    On a busy machine the document is laid out long before it is painted: a picture of it is then blank below the fold.
    """
    page.bring_to_front()
    bottom = page.locator(CHART).last.bounding_box()
    assert bottom is not None

    def unpainted() -> list[str]:
        page.screenshot(path=str(path), full_page=True)
        with Image.open(path) as picture:
            lowest = (bottom["x"], bottom["y"], bottom["x"] + bottom["width"], bottom["y"] + bottom["height"])
            colours = picture.convert("RGB").crop(tuple(map(int, lowest))).getcolors(1 << 24)
        return [] if colours is not None and len(colours) > FEWEST_COLOURS else [f"the lowest chart in {path.name}"]

    wait_until_nothing(unpainted, page)


def test_the_charts_on_the_dashboard_are_those_of_the_assets(dashboard: Dashboard) -> None:
    shown = {chart.get_attribute("data-test-chart-name") for chart in dashboard.page.locator(CHART).all()}
    assert shown == dashboard.expected


def test_every_chart_has_drawn_marks(dashboard: Dashboard) -> None:
    for title in sorted(dashboard.expected):
        answer, chart = dashboard.answer(title), dashboard.chart(title)
        assert answer.result["status"] == "success", (title, answer.result.get("error"))
        assert answer.result["rowcount"] > 0, title
        kind = chart.get_attribute("data-test-viz-type")
        if kind == "table":
            assert chart.locator("table tbody tr").count() > 0, title
        elif kind == "big_number_total":
            assert any(character.isdigit() for character in chart.locator(".header-line").inner_text()), title
        else:
            assert chart.locator("canvas").count() == 1, title
            coloured = chart.locator("canvas").evaluate(COLOURED_PIXELS)
            assert coloured > 60, f"“{title}”: {coloured} coloured pixels among {answer.result['rowcount']} rows"


def test_a_chart_without_data_says_what_to_supply(dashboard: Dashboard) -> None:
    scores = dashboard.api.document("/v1/datasets/harm_qoe/rows", [("limit", "1"), ("start_order__ne", "solo")])
    note = dashboard.page.get_by_text("Supply a study with BRISQUE scores")
    assert (note.count() == 1) == (scores["row_count"] == 0)
    for title in dashboard.notes:
        assert dashboard.page.get_by_role("heading", name=title).count() == 1


def test_nothing_complains(dashboard: Dashboard) -> None:
    page = dashboard.page
    assert dashboard.failures == []
    alerts = page.locator('.ant-alert-error, [role="alert"]:visible, [data-test="toast-container"] > *')
    assert [alert.inner_text() for alert in alerts.all()] == []
    text = page.locator("body").inner_text()
    assert [phrase for phrase in TROUBLE if phrase in text] == []


def test_the_number_of_runs_is_the_apis(dashboard: Dashboard) -> None:
    runs = dashboard.api.records(
        "run", [("start_order__ne", "solo"), ("exclusion_reason__null", "true")], select=["run_id"]
    )
    shown = dashboard.chart("Runs compared").locator(".header-line").inner_text()
    assert int(shown.replace(",", "")) == len(runs)


def test_every_bar_of_the_median_delay_is_the_apis(dashboard: Dashboard) -> None:
    title = "Median queuing delay (ms)"
    if title in dashboard.notes:
        assert dashboard.api.document("/v1/datasets/run_queuing_delay_quantile/rows", [("limit", "1")])["rows"] == []
        return
    expected = {
        (f"{row['congestion_control']}\n{row['bandwidth_bps'] / 1e6:g} Mbit/s", row["queue_label"]): row["median"]
        for row in _renamed(
            dashboard.grouped(
                "run_queuing_delay",
                "congestion_control,bandwidth_bps,queue_label",
                "median:median_ms",
                role="all",
                start_order__ne="solo",
                median_ms__null="false",
            )
        )
    }
    assert _bars(dashboard.answer(title)) == pytest.approx(expected, rel=1e-12)


def test_every_verdict_is_the_apis(dashboard: Dashboard) -> None:
    title = "What the queue discipline changes, compared with tail-drop"
    rows = dashboard.api.records(
        "comparison", [("factor", "aqm"), ("start_order__ne", "solo")], select=["verdict", "effect"]
    )
    assert rows
    drawn = sorted((row["verdict"], row["effect"]) for row in dashboard.answer(title).rows)
    assert drawn == sorted((row["verdict"], row["effect"]) for row in rows)
    shown = dashboard.chart(title).locator("table tbody tr").all_inner_texts()
    assert any(verdict in text for verdict, _ in drawn for text in shown)


def test_every_bar_of_harm_is_the_apis_also_for_one_study(dashboard: Dashboard) -> None:
    title = "Throughput harm to the application (median over runs)"
    assert _bars(dashboard.answer(title)) == pytest.approx(_harm(dashboard), rel=1e-12)
    assert dashboard.answer(title).filters_on("study_id") == []

    studies = dashboard.api.records("study", select=["study_id"])
    study = studies[-1]["study_id"]
    page, before = dashboard.page, len(dashboard.answers)
    page.locator('[data-test="filter-bar"]').get_by_role("combobox").first.click()
    page.locator(f'.ant-select-item-option[title="{study}"]').click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Apply filters").click()

    def filtered() -> list[str]:
        new = [answer for answer in dashboard.answers[before:] if answer.form.get("slice_id")]
        asked = bool(new) and dashboard.answer(title).filters_on("study_id") == [study]
        return [] if asked else [f"a question of “{title}” for the study {study} alone"]

    wait_until_nothing(filtered, page)
    assert _bars(dashboard.answer(title)) == pytest.approx(_harm(dashboard, study_id=study), rel=1e-12)


def _harm(dashboard: Dashboard, **filters: str) -> dict[tuple[str, str], float]:
    rows = dashboard.grouped(
        "run_harm",
        "congestion_control,study_id,queue_label",
        "median:harm_ratio",
        role="app",
        harm_metric="throughput",
        start_order__ne="solo",
        harm_ratio__null="false",
        **filters,
    )
    return {
        (f"{row['congestion_control']}\n{row['study_id']}", row["queue_label"]): row["median"] for row in _renamed(rows)
    }


def _renamed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Call the one aggregate of each row `median`."""
    return [
        {
            **row,
            "median": next(value for name, value in row.items() if name.startswith("median_") and name[-2:] != "_n"),
        }
        for row in rows
    ]


def _bars(answer: Answer) -> dict[tuple[str, str], float]:
    """Return what a bar chart got to draw: a column per queue, a row per place on the axis."""
    (axis,) = (name for name in answer.rows[0] if name.startswith("setting"))
    return {
        (row[axis], queue): value
        for row in answer.rows
        for queue, value in row.items()
        if queue != axis and value is not None
    }


def test_everything_on_the_wild_dashboard_is_drawn_and_said_to_be_synthetic(wild: Dashboard) -> None:
    assert wild.notes == set()
    assert wild.failures == []
    text = wild.page.locator("body").inner_text()
    assert [phrase for phrase in TROUBLE if phrase in text] == []
    assert "were never measured" in text
    for title in sorted(wild.expected):
        assert wild.answer(title).result["rowcount"] > 0, title
    assert "SYNTHETIC" in wild.chart("Thresholds with n: hosts and connections").inner_text()


def test_every_share_of_hosts_in_the_wild_is_the_apis(wild: Dashboard) -> None:
    rows = wild.api.records("queuing_delay_share", [("period_kind", "all")])
    assert {row["access_technology"] for row in rows} >= {"all", "adsl"}
    expected = {
        (
            f"{row['threshold_ms']:4g} ms",
            f"{row['access_technology']}{', SYNTHETIC' if row['synthetic'] else ''}, "
            f"{row['dataset']} ({row['rtt_basis']}, {row['sample_basis']})",
        ): row["host_share_above_ratio"]
        for row in rows
    }
    drawn = {
        (row["threshold"], series): value
        for row in wild.answer("Hosts with a connection above each threshold").rows
        for series, value in row.items()
        if series != "threshold" and value is not None
    }
    assert drawn == pytest.approx(expected, rel=1e-12)


def test_everything_on_the_captures_dashboard_is_drawn(captures: Dashboard) -> None:
    # The sample's captures hold no handshake of TLS or QUIC and nothing that sets up a call.
    assert captures.notes == {
        "Calls found: set-up and path",
        "Median queuing delay by server name (upper bound)",
        "Median smoothed RTT by server name",
    }
    assert captures.failures == []
    for title in sorted(captures.expected - captures.notes):
        assert captures.answer(title).result["rowcount"] > 0, title


def test_the_numbers_of_recordings_and_flows_are_the_apis(captures: Dashboard) -> None:
    recordings = captures.api.records("capture_recording")
    (shown,) = captures.answer("Recordings read").rows
    assert shown["recordings"] == len(recordings)
    (shown,) = captures.answer("Flows found").rows
    assert shown["flows"] == sum(recording["flows"] for recording in recordings)
