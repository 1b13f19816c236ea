"""The pages "Marks" and "Access network" over data of theirs: every chart is drawn, with the numbers of the API.

`tests/browser/with_servers.py marks` ingests the sample's runs with ECN and a generated access network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from .opened_dashboard import CHART, Dashboard, logged_in, titles_on, wait_until_nothing
from .test_dashboard import uncoloured

pytestmark = pytest.mark.browser

PAGES = ["marks", "access_network"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Dashboard]]:
    """Open each page once."""
    with logged_in(tmp_path_factory.mktemp("profile")) as browser:
        yield cache(browser.open)


@pytest.mark.parametrize("name", PAGES)
def test_every_chart_of_the_page_is_drawn(opened: Callable[[str], Dashboard], name: str) -> None:
    page = opened(name)
    assert page.expected == titles_on(name)
    assert page.notes == set()
    assert page.failures == []
    for title in sorted(page.expected):
        chart = page.chart(title)
        assert page.answer(title).result["rowcount"] > 0, title
        if chart.get_attribute("data-test-viz-type") in ("table", "big_number_total"):
            assert chart.locator("table tbody tr, .header-line").count() > 0, title
        else:
            wait_until_nothing(lambda title=title, chart=chart: uncoloured(title, chart), page.page)


def test_the_ledger_has_the_apis_marks_of_each_run(opened: Callable[[str], Dashboard]) -> None:
    page = opened("marks")
    runs = page.api.records("run_mark", [("mark_direction", "data")])
    assert {(run["ecn"], run["mark_verdict"]) for run in runs} == {("classic", "agree")}
    assert all(run["queue_log_marked_packets_min"] == run["queue_log_marked_packets_max"] > 0 for run in runs)
    shown = page.answer("Packets marked (CE) in each run: queue, wire, echo").rows
    drawn = {run["run_id"]: row["queue log"] for run in runs for row in shown if run["run_id"] in row["run"]}
    assert drawn == {run["run_id"]: str(run["queue_log_marked_packets_min"]) for run in runs}
    assert len(drawn) == len(shown) == 8, "only the direction of the data"


def test_the_first_sentence_is_of_the_site_with_the_largest_lower_end(opened: Callable[[str], Dashboard]) -> None:
    page = opened("access_network")
    sites = page.api.records(
        "access_delay", [("period_kind", "day"), ("group_kind", "site"), ("metric", "rtt_increase")]
    )
    worst = max((site for site in sites if site["lower_ms"] is not None), key=lambda site: site["lower_ms"])
    said = " ".join(page.chart("Which part is worst?").locator("table tbody").inner_text().split())
    assert said.startswith(f"Site {worst['group_name'][:15]} ")
    assert f"{worst['median_ms']:.0f} ms or more [{worst['lower_ms']:.0f}–{worst['upper_ms']:.0f}]" in said
    assert "SYNTHETIC, not measured" in said
    assert page.page.locator(CHART).count() == len(titles_on("access_network"))
