"""The dashboard in a real browser, against running servers: is everything drawn, and drawn right?

Run with Superset's environment (`uv run --project dashboards pytest tests/browser`) and these variables:
SOJOURN_API_URL, SOJOURN_SUPERSET_URL, SUPERSET_ADMIN_USER, SUPERSET_ADMIN_PASSWORD; optional:
SOJOURN_SCREENSHOT (where the picture of the whole dashboard goes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from sojourn_superset import assets
from sojourn_superset.look import read_look
from sojourn_superset.settings import ASSETS, REPOSITORY

from .opened_dashboard import (
    CHART,
    EMPTY,
    FIRST_SCREEN,
    GRID,
    NOT_DRAWN,
    NOTHING,
    OF_ANOTHER_STUDY,
    WIDTH,
    Browser,
    Dashboard,
    logged_in,
    titles_on,
    wait_until_nothing,
)
from .pictures import difference, different_pixels, picture_around

pytestmark = pytest.mark.browser

FILTERS = '[data-test="dashboard-filters-panel"]'
OF_SUPERSET_ON_NO_ROWS = ["No results", "no information to display"]
TROUBLE = ["Unexpected error", "Data error", "Error:", "An error occurred"]

AXE_TAGS = ["wcag2a", "wcag2aa"]
OF_SUPERSET = {
    "scrollable-region-focusable",  # a table's body, which Superset scrolls without making it a stop of the keyboard
    "aria-allowed-attr", "aria-prohibited-attr", "aria-required-children", "nested-interactive", "label", "button-name",
}  # fmt: skip
"""Rules that parts of Superset break which a dashboard cannot change."""
MOST_DIFFERENT = 0.03
"""Another font or another number gives less; a card that is not painted, or a row more, gives more."""

STOPS_OF_TAB = 120
SEEN_PIXELS = 100
"""Of a focus: more than a caret of 16 by 2 pixels, less than a frame around the shortest link."""
FOCUSED = """([filters, chart]) => {
  const at = document.activeElement, panel = document.querySelector(filters);
  const boxes = [...panel.querySelectorAll('input[role=combobox]')];
  if (boxes.includes(at)) {
    const names = [...panel.querySelectorAll('[data-test="filter-control-name"]')];
    return {kind: 'filter', place: boxes.indexOf(at), name: names[boxes.indexOf(at)].innerText.trim()};
  }
  const links = [...document.querySelectorAll(`[data-test-chart-name="${chart}"] table tbody a`)];
  return links.includes(at) ? {kind: 'link', place: links.indexOf(at)} : null;
}"""

# Marks have colours, and the line of “all” is dark; axes and grid lines are of a lighter grey. Only the middle, which
# has no label and no legend, is looked at.
COLOURED_PIXELS = """canvas => {
  const w = canvas.width, h = canvas.height;
  const x = Math.round(w * 0.12), y = Math.round(h * 0.2);
  const part = canvas.getContext('2d').getImageData(x, y, Math.round(w * 0.58), Math.round(h * 0.6)).data;
  let coloured = 0;
  for (let i = 0; i < part.length; i += 4) {
    const low = Math.min(part[i], part[i + 1], part[i + 2]), high = Math.max(part[i], part[i + 1], part[i + 2]);
    if (part[i + 3] > 100 && (high - low > 40 || high < 100)) coloured++;
  }
  return coloured;
}"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Log in through the form."""
    with logged_in(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Callable[[str], Dashboard]:
    """Return what opens a dashboard, once for all tests."""
    dashboards: dict[str, Dashboard] = {}

    def open_once(name: str) -> Dashboard:
        if name not in dashboards:
            dashboards[name] = browser.open(name)
        return dashboards[name]

    return open_once


@pytest.fixture(scope="module")
def dashboard(opened: Callable[[str], Dashboard]) -> Dashboard:
    """Open “AQM comparison”."""
    return opened("aqm_comparison")


@pytest.fixture(scope="module")
def wild(opened: Callable[[str], Dashboard]) -> Dashboard:
    """Open “Buffering in the wild”."""
    return opened("buffering_in_the_wild")


@pytest.fixture(scope="module")
def captures(opened: Callable[[str], Dashboard]) -> Dashboard:
    """Open “Captures”."""
    return opened("captures")


def uncoloured(title: str, chart: Any) -> list[str]:
    """Say what is missing while a chart has too few coloured pixels: its marks may still grow."""
    coloured = chart.locator("canvas").evaluate(COLOURED_PIXELS)
    return [] if coloured > 60 else [f"marks of “{title}”, which has {coloured} coloured pixels"]


Opener = Callable[[str], Dashboard]
ONE_LINE = 120
"""Most pixels of the card of a chart without a row."""
ALL = ["aqm_comparison", "one_run", "buffering_in_the_wild", "studies", "trust"]
OF_FEW_BUILDS = ["captures", "marks", "access_network", "tool_results"]
"""Pages of inputs that a build need not have: they may have no chart at all."""


@pytest.mark.parametrize("name", ALL)
def test_the_charts_are_those_of_the_assets_and_every_one_has_drawn_marks(opened: Opener, name: str) -> None:
    dashboard = opened(name)
    shown = {chart.get_attribute("data-test-chart-name") for chart in dashboard.page.locator(CHART).all()}
    assert shown - OF_ANOTHER_STUDY == dashboard.expected
    heights = {title: dashboard.chart(title).bounding_box()["height"] for title in dashboard.empty}
    assert all(height < ONE_LINE for height in heights.values()), heights
    # The first study of the build has no scores of pictures.
    assert (heights.keys() == OF_ANOTHER_STUDY) == (name == "aqm_comparison")
    for title in sorted(dashboard.expected):
        answer, chart = dashboard.answer(title), dashboard.chart(title)
        assert answer.result["status"] == "success", (title, answer.result.get("error"))
        assert answer.result["rowcount"] > 0, title
        if chart.get_attribute("data-test-viz-type") == "table":
            assert chart.locator("table tbody tr").count() > 0, title
        elif chart.get_attribute("data-test-viz-type") == "world_map":
            assert chart.locator("svg path.datamaps-subunit").count() > 100, title
        elif chart.get_attribute("data-test-viz-type") == "big_number_total":
            assert chart.locator(".header-line").count() == 1, title
        else:
            assert chart.locator("canvas").count() == 1, title
            wait_until_nothing(lambda title=title, chart=chart: uncoloured(title, chart), dashboard.page)


@pytest.mark.parametrize("name", [*ALL, *OF_FEW_BUILDS])
def test_nothing_complains_and_what_is_not_drawn_is_told(opened: Opener, name: str) -> None:
    dashboard = opened(name)
    assert dashboard.failures == []
    alerts = dashboard.page.locator('.ant-alert-error, [role="alert"]:visible, [data-test="toast-container"] > *')
    assert [alert.inner_text() for alert in alerts.all()] == []
    text = dashboard.page.locator("body").inner_text()
    assert [phrase for phrase in TROUBLE if phrase in text] == []
    empty = {
        chart.get_attribute("data-test-chart-name")
        for chart in dashboard.page.locator(CHART).all()
        if chart.locator(EMPTY).count()
    }
    assert empty == dashboard.empty
    assert (NOT_DRAWN in text or NOTHING in text) == bool(dashboard.notes)
    assert [title for title in dashboard.notes if title not in text] == []


@pytest.mark.parametrize("name", OF_FEW_BUILDS)
def test_a_page_of_few_builds_draws_what_there_is_and_says_what_to_supply_for_the_rest(
    opened: Opener, name: str
) -> None:
    dashboard = opened(name)
    shown = {chart.get_attribute("data-test-chart-name") for chart in dashboard.page.locator(CHART).all()}
    assert shown == dashboard.expected
    assert shown | dashboard.notes == titles_on(name)
    supply = {
        chart["slice_name"]: chart["sojourn"]["supply"]
        for path, chart in assets.read(ASSETS).items()
        if path.startswith(f"charts/{name}/")
    }
    text = " ".join(dashboard.page.locator("body").inner_text().split())
    for title in sorted(dashboard.notes):
        # The first words: what follows may be code, which the page draws without its marks.
        first = " ".join(supply[title].split("`")[0].split())
        assert first in text, title


@pytest.mark.parametrize("name", [*ALL, *OF_FEW_BUILDS])
def test_axe_finds_nothing_serious_on_the_cards(opened: Opener, name: str) -> None:
    # Superset's own bars and menus are not ours to change; cards, their text and their tables are.
    assert of_axe(opened(name).page) == []


def of_axe(page: Page) -> list[tuple[str, Any, str]]:
    """Return what axe finds on the cards that a dashboard can change: rule, place and summary."""
    violations = Axe().run(page, context=GRID, options={"runOnly": AXE_TAGS}).response["violations"]
    return [
        (each["id"], node["target"], node["failureSummary"])
        for each in violations
        if each["impact"] in ("serious", "critical") and each["id"] not in OF_SUPERSET
        for node in each["nodes"]
    ]


def test_a_setting_without_rows_is_told_in_words_that_a_screen_reader_reads(browser: Browser) -> None:
    words = {
        "Each queue, for the application": "No run of this setting has this measurement.",
        "Picture quality against throughput harm": "No run of this setting has BRISQUE scores of the received video.",
    }
    expected = {title: text for title, text in words.items() if title not in browser.without_data}
    assert expected
    mask = "(extraFormData:(filters:!((col:queue_label,op:IN,val:!('no queue')))),"
    mask += "filterState:(value:!('no queue')),id:NATIVE_FILTER-queue,ownState:())"
    address = f"?native_filters=(NATIVE_FILTER-queue:{mask})".replace(" ", "%20")
    page = browser.open("aqm_comparison", address, empty=set(expected)).page
    for title, text in expected.items():
        read = page.locator(f'{CHART}[data-test-chart-name="{title}"]').aria_snapshot()
        assert text in read
        assert [phrase for phrase in OF_SUPERSET_ON_NO_ROWS if phrase in read] == []
    assert of_axe(page) == []
    page.close()


def test_tab_reaches_every_filter_and_the_grid_with_a_focus_that_is_seen(dashboard: Dashboard) -> None:
    page = dashboard.page
    page.bring_to_front()
    filters = page.locator(f"{FILTERS} input[role=combobox]")
    links = dashboard.chart("Each queue, for the application").locator("table tbody a")
    looked_at = {"filter": page.locator(f"{FILTERS} .ant-select").first, "link": links.first}
    unfocused = {kind: picture_around(page, place) for kind, place in looked_at.items()}
    reached: list[str] = []
    seen: dict[str, int] = {}
    for _ in range(STOPS_OF_TAB):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED, [FILTERS, "Each queue, for the application"])
        if at is None:
            continue
        kind = at["kind"]
        if kind == "filter":
            reached.append(at["name"])
        if at["place"] == 0:
            page.wait_for_timeout(500)  # a border changes its colour within 200 ms
            seen[kind] = different_pixels(unfocused[kind], picture_around(page, looked_at[kind]))
        if kind == "link":
            break
    names = [each.inner_text() for each in page.locator(f'{FILTERS} [data-test="filter-control-name"]').all()]
    assert reached == [name.strip() for name in names]
    assert len(reached) == filters.count() > 0
    assert set(seen) == {"filter", "link"}, f"Tab did not reach the grid within {STOPS_OF_TAB} stops"
    assert min(seen.values()) > SEEN_PIXELS, seen


def chosen(dashboard: Dashboard) -> dict[str, str]:
    """Return the setting that the filters of AQM comparison begin with, as conditions of the API.

    A column in which the build's runs do not differ has no filter.
    """
    query = dashboard.answer("Each queue, for the application").queries[0]
    values = {each["col"]: each["val"][0] for each in query["filters"] if each["op"] == "IN" and len(each["val"]) == 1}
    setting = {
        name: str(values[name]) for name in ("study_id", "rtt_ms", "application", "start_order") if name in values
    }
    if "bandwidth_mbit" in values:
        setting["bandwidth_bps"] = str(round(float(values["bandwidth_mbit"]) * 1e6))
    return setting


def medians(dashboard: Dashboard, metric: str, role: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Ask the API itself for a metric of each queue and congestion control of the chosen setting."""
    conditions = {**chosen(dashboard), "metric": metric, "role": role, "runs__gt": "0"}
    rows = dashboard.api.records("configuration_metric", list(conditions.items()))
    return {(row["queue_label"], row["congestion_control"]): row for row in rows}


CONTROLS = {each["name"]: control for control, each in read_look(ASSETS).congestion_control.items()}
"""Congestion control, as the API has it, by the name that charts show."""


def grid(dashboard: Dashboard) -> dict[tuple[str, str], list[str]]:
    """Return the texts of the grid's cells by queue and congestion control."""
    rows = dashboard.chart("Each queue, for the application").locator("table tbody tr").all()
    cells = [[" ".join(cell.split()) for cell in row.locator("td").all_inner_texts()] for row in rows]
    return {(row[0].removeprefix("■ "), CONTROLS[row[1]]): row[2:] for row in cells}


@pytest.mark.parametrize(
    ("place", "metric", "role", "factor", "digits"),
    [
        (0, "queuing_delay_median_ms", "app", 1, 0),
        (1, "queuing_delay_p95_ms", "app", 1, 0),
        (2, "drop_ratio", "app", 100, 1),
        (3, "jitter_ms", "app", 1, 0),
        (5, "mos_g107-network", "app", 1, 1),
        (6, "link_share_ratio", "tcp", 100, 0),
    ],
)
def test_every_number_of_the_grid_is_the_apis(
    dashboard: Dashboard, place: int, metric: str, role: str, factor: float, digits: int
) -> None:
    shown = {key: cells[place] for key, cells in grid(dashboard).items()}
    rows = medians(dashboard, metric, role)
    assert set(shown) >= set(rows)
    for key, text in shown.items():
        if key not in rows:
            assert text == "no data", key
            continue
        numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)[:3]]
        expected = [rows[key][column] for column in ("value_median", "value_lower", "value_upper")]
        wanted = [factor * value for value in expected if value is not None]
        assert numbers[: len(wanted)] == pytest.approx(wanted, abs=0.51 * 10.0**-digits), key


def test_the_verdict_names_the_queue_with_the_lowest_delay_and_fits_the_first_screen(dashboard: Dashboard) -> None:
    worst: dict[str, float] = {}
    for (queue, _), row in medians(dashboard, "queuing_delay_p95_ms", "app").items():
        worst[queue] = max(worst.get(queue, 0.0), row["value_median"])
    best = min(worst, key=lambda queue: worst[queue])
    card = dashboard.chart("Which queue should I run?")
    text = " ".join(card.inner_text().split())
    assert f"Run {best}." in text or f"{best} or " in text or f"{best} has the lowest queuing delay" in text
    # The same sentence as the API's, for the setting that the filters choose.
    conditions = [("question", "queue"), *chosen(dashboard).items()]
    findings = dashboard.api.records("finding", conditions)
    assert [finding["sentence"] for finding in findings if finding["sentence"] in text], (text, findings)
    assert "This holds for this setting" in text
    box = dashboard.chart("Each queue, for the application").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= FIRST_SCREEN


def test_the_first_screen_looks_like_the_picture_of_the_readme(dashboard: Dashboard, tmp_path: Path) -> None:
    assert chosen(dashboard)["study_id"] == "sojourn-sample", "the README shows the bundled sample"
    taken = tmp_path / "first-screen.png"
    picture = REPOSITORY / "docs" / "images" / "aqm-comparison.png"

    def unlike() -> list[str]:
        dashboard.page.screenshot(path=str(taken), clip={"x": 0, "y": 0, "width": WIDTH, "height": FIRST_SCREEN})
        differing_share = difference(taken, picture)
        return (
            []
            if differing_share < MOST_DIFFERENT
            else [f"{picture.name}, from which the page differs by {differing_share:.3f}"]
        )

    dashboard.page.bring_to_front()
    wait_until_nothing(unlike, dashboard.page)


def test_series_have_the_names_of_the_field_and_the_hue_of_their_queue(dashboard: Dashboard) -> None:
    shown = set(CONTROLS)
    metadata = assets.render(ASSETS, dashboard.api).contents["dashboards/aqm_comparison.yaml"]
    colours = yaml.safe_load(metadata)["metadata"]["label_colors"]
    for title in (
        "How many of the application's packets wait at most this long, median over runs",
        "How many of TCP's packets wait at most this long, median over runs",
    ):
        series = {name for row in dashboard.answer(title).rows for name in row} - {"quantile_percent"}
        assert {name.rpartition(", ")[2] for name in series} <= shown, title
        assert series <= set(colours), title
    bars = {
        row["queue and competitor"].rpartition(", ")[2]
        for row in dashboard.answer("Who wins the bandwidth, by queue and competitor").rows
    }
    assert bars
    assert bars <= shown


def test_a_filter_of_a_queue_leaves_its_rows_alone(browser: Browser, dashboard: Dashboard) -> None:
    queue = sorted(key[0] for key in grid(dashboard))[0]
    chosen_queue = f"(extraFormData:(filters:!((col:queue_label,op:IN,val:!('{queue}')))),"
    mask = f"{chosen_queue}filterState:(value:!('{queue}')),id:NATIVE_FILTER-queue,ownState:())"
    filtered = browser.open("aqm_comparison", f"?native_filters=(NATIVE_FILTER-queue:{mask})".replace(" ", "%20"))
    assert {key[0] for key in grid(filtered)} == {queue}
    assert filtered.answer("Each queue, for the application").filters_on("queue_label") == [queue]
    filtered.page.close()


def test_another_study_shows_its_own_runs(browser: Browser) -> None:
    conditions = [("qoe_metric", "brisque"), ("harm_ratio__null", "false"), ("qoe_score__null", "false")]
    conditions += [("start_order__ne", "solo"), ("exclusion_reason__null", "true")]
    rows = browser.api.records("harm_qoe", conditions)
    setting = {
        "study": ("study_id", rows[0]["study_id"]),
        "bandwidth": ("bandwidth_mbit", rows[0]["bandwidth_bps"] / 1e6),
        "rtt": ("rtt_ms", rows[0]["rtt_ms"]),
        "application": ("application", rows[0]["application"]),
        "start_order": ("start_order", rows[0]["start_order"]),
    }
    masks = ",".join(
        f"NATIVE_FILTER-{name}:(extraFormData:(filters:!((col:{column},op:IN,val:!({value})))),"
        f"filterState:(value:!({value})),id:NATIVE_FILTER-{name},ownState:())"
        for name, (column, setting_value) in setting.items()
        for value in [f"'{setting_value}'" if isinstance(setting_value, str) else f"{setting_value:g}"]
    )
    (title,) = OF_ANOTHER_STUDY
    opened = browser.open("aqm_comparison", f"?native_filters=({masks})", {title})
    columns = ("study_id", "bandwidth_bps", "rtt_ms", "application", "start_order")
    runs = {row["run_id"] for row in rows if all(row[column] == rows[0][column] for column in columns)}
    assert {row["run_id"] for row in opened.answer(title).rows} == runs
    opened.page.close()


def test_a_cell_leads_to_its_runs_and_a_run_to_its_packets_over_time(browser: Browser, dashboard: Dashboard) -> None:
    (queue, control), cells = list(grid(dashboard).items())[-1]
    last = dashboard.chart("Each queue, for the application").locator("table tbody tr").last
    address = last.locator("a").get_attribute("href")
    runs = browser.open("one_run", "?" + address.partition("?")[2])
    title = "Runs that match the filters, highest 95th percentile first"
    assert runs.answer(title).filters_on("queue_label") == [queue]
    assert runs.answer(title).filters_on("congestion_control") == [control]
    listed = runs.chart(title).locator("table tbody tr a")
    assert listed.count() == int(cells[-1].split()[0])
    name = listed.nth(1).inner_text()
    one = browser.open("one_run", "?" + listed.nth(1).get_attribute("href").partition("?")[2])
    over_time = "95th percentile of the packets' wait, second by second"
    assert one.answer(over_time).filters_on("run_id") == [name]
    rows = dashboard.api.records("run_delay_over_time", [("run_id", name), ("role", "app"), ("p95_ms__null", "false")])
    drawn = {
        each["second"]: each["application"] for each in one.answer(over_time).rows if each["application"] is not None
    }
    assert drawn == pytest.approx({each["second"]: each["p95_ms"] for each in rows})
    runs.page.close()
    one.page.close()


def test_measured_and_synthetic_connections_are_counted_apart(wild: Dashboard) -> None:
    rows = wild.api.document(
        "/v1/datasets/connection_count/rows", [("group", "synthetic,dataset"), ("aggregate", "sum:connections")]
    )["rows"]
    columns = ("served", "withheld, only counted", "fewer than 10 samples", "no RTT")
    shown = {
        row["data set"].partition(" (")[0]: (row["kind"], sum(row[column] for column in columns))
        for row in wild.answer("What is in this build").rows
    }
    assert {dataset: (kind.startswith("synthetic"), n) for dataset, (kind, n) in shown.items()} == {
        row["dataset"]: (row["synthetic"], row["sum_connections"]) for row in rows
    }
    assert "were never measured" in wild.page.locator("body").inner_text()


def test_every_share_of_hosts_in_the_wild_is_the_apis(wild: Dashboard) -> None:
    rows = wild.api.records("queuing_delay_share", [("period_kind", "all"), ("synthetic", "true")])
    names = {"adsl": "ADSL", "ftth": "FTTH", "withheld": "too few hosts, together"}
    expected = {
        (f"{row['threshold_ms']:g} ms", names.get(row["access_technology"], row["access_technology"])): row[
            "host_share_above_ratio"
        ]
        for row in rows
    }
    drawn = {
        (row["above"], row["technology"]): float(re.match(r"[\d.]+", row["hosts above"])[0]) / 100
        for row in wild.answer("Synthetic connections: above each threshold").rows
    }
    assert drawn == pytest.approx(expected, abs=0.00051)


def test_everything_on_the_captures_dashboard_is_drawn(captures: Dashboard) -> None:
    # The sample's captures hold no handshake of TLS or QUIC and nothing that sets up a call, and none of them has
    # connections that start in two spans of ten seconds.
    assert captures.notes == {
        "The chosen recording: queuing delay of its connections",
        "The chosen recording: smoothed RTT of its connections",
        "Calls found: set-up and path",
        "Median queuing delay by server name (upper bound)",
        "Median smoothed RTT by server name",
        "Servers: RTT and queuing delay with n",
    }
    assert captures.failures == []
    for title in sorted(captures.expected - captures.notes):
        assert captures.answer(title).result["rowcount"] > 0, title


def test_the_numbers_of_recordings_and_flows_are_the_apis(captures: Dashboard) -> None:
    shown = captures.answer("What do the captures show?").filters_on("dataset")
    recordings = captures.api.records("capture_recording", [("dataset", each) for each in shown])
    text = " ".join(captures.chart("What do the captures show?").locator("table tbody").inner_text().split())
    # A run that was captured before and after its bottleneck has each flow in both, and it counts once.
    after = {recording["run_id"] for recording in recordings if recording["measurement"] == "capture_after"}
    counted = [each for each in recordings if each["measurement"] != "capture_before" or each["run_id"] not in after]
    assert len(counted) < len(recordings)
    assert f"{len(recordings):,} recordings · {sum(each['flows'] for each in counted):,} flows, each once" in text
