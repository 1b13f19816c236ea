"""What a page says first, and where its links lead: in a real browser, against the API.

Run with the settings of `test_dashboard`, whose fixtures it uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from .opened_dashboard import Browser, Dashboard
from .test_dashboard import browser, captures, dashboard, grid, opened  # noqa: F401 - fixtures

pytestmark = pytest.mark.browser

# ruff: noqa: F811 - the arguments of tests are the fixtures imported above

RECORDINGS = "Recordings: what was read"
FLOWS = "The chosen recording: its flows"
RATES = "The chosen recording: rate of each service"


def said(page: Dashboard, title: str) -> str:
    """Return the text of the card with a page's finding."""
    return " ".join(page.chart(title).locator("table tbody").inner_text().split())


def test_captures_begins_with_the_recording_of_most_packets(captures: Dashboard) -> None:
    recordings = captures.api.records("capture_recording")
    most = max(recording["packets"] for recording in recordings)
    (shown,) = captures.answer(RATES).filters_on("recording_name")
    assert shown in {each["recording_name"] for each in recordings if each["packets"] == most}


def test_a_recording_leads_to_its_flows_and_its_rates(browser: Browser, captures: Dashboard) -> None:
    link = captures.chart(RECORDINGS).locator("table tbody tr a").nth(2)
    name, address = link.inner_text(), link.get_attribute("href")
    (begun,) = captures.answer(FLOWS).filters_on("recording_name")
    assert name != begun, "the page would show this recording without a click"
    chosen = browser.open("captures", "?" + address.partition("?")[2])
    assert chosen.answer(FLOWS).filters_on("recording_name") == [name]
    (dataset,) = chosen.answer(FLOWS).filters_on("dataset")
    of_recording = [("recording_name", name), ("dataset", dataset)]
    flows = chosen.api.records("capture_flow", of_recording)
    assert {row["flow_id"]: row["fwd_bytes"] for row in chosen.answer(FLOWS).rows} == {
        row["flow_id"]: row["fwd_bytes"] for row in flows
    }
    rates = chosen.api.records("capture_rate", of_recording)
    drawn = {
        (row["second"], series): value
        for row in chosen.answer(RATES).rows
        for series, value in row.items()
        if series != "second" and value is not None
    }
    assert drawn == pytest.approx(
        {(row["second"], f"{row['service']}, {row['protocol']}"): row["rate_bps"] / 1000 for row in rates}
    )
    chosen.page.close()


def test_what_the_captures_show_is_the_apis(captures: Dashboard) -> None:
    text = said(captures, "What do the captures show?")
    delays = captures.api.records("capture_service_delay", [("delay_kind", "queuing_delay"), ("connections__ge", "20")])
    worst = max(delays, key=lambda row: row["p95_ms"])
    found = re.search(r"queues for ([\d.]+) ms or more on the way to the (\w+), and half of them for ([\d.]+) ms", text)
    assert found, text
    assert found[2] == worst["leg"]
    assert float(found[1]) == pytest.approx(worst["p95_ms"], abs=0.51)
    assert float(found[3]) == pytest.approx(worst["median_ms"], abs=0.51)
    streams = [row["loss_ratio"] for row in captures.api.records("capture_rtp_stream", [("dataset", worst["dataset"])])]
    lossy = sum(loss is not None and loss > 0.01 for loss in streams)
    assert f"{lossy} of {len(streams)} RTP streams lose more than 1 %" in text


def test_what_studies_says_first_is_the_apis(opened: Callable[[str], Dashboard]) -> None:
    page = opened("studies")
    rows = page.api.records("published_comparison")
    inside = [row["is_inside_tolerance"] for row in rows if row["is_inside_tolerance"] is not None]
    text = said(page, "Do the studies' figures come out again?")
    assert f"{sum(inside)} of the {len(inside)} published figures" in text
    assert f"{len(rows) - len(inside)} cannot be recomputed" in text


def test_trust_says_what_was_read_and_lists_the_builds_that_are_kept(opened: Callable[[str], Dashboard]) -> None:
    page = opened("trust")
    text = said(page, "Can these figures be trusted?")
    outcomes = page.api.records("ingest_outcome")
    whole = sum(row["status"] == "ok" for row in outcomes)
    expected = (
        f"All {whole:,} sources were read to their end."
        if whole == len(outcomes)
        else f"{len(outcomes) - whole:,} of {len(outcomes):,} sources were not read whole:"
    )
    assert expected in text
    runs = page.api.records("run")
    disagree = sum(row["reconciliation_verdict"] == "disagree" for row in runs)
    assert (f"The sources of {disagree} of {len(runs)} runs disagree." in text) == (disagree > 0)
    build = page.api.document("/v1/builds")
    assert f"Build {build['build_id']}, published " in text
    listed = page.answer("Builds: the one served, and those kept").rows
    assert {row["build_id"]: row["state"] for row in listed} == {
        each["build_id"]: "served" if each["build_id"] == build["build_id"] else "kept" for each in build["kept"]
    }
    asked = {
        row["address"]: row["answers"] for row in page.answer("Queries to the service, and how long they took").rows
    }
    assert asked["/v1/datasets/{name}/rows"] > 0


def test_a_cell_leads_to_the_runs_of_its_own_setting(browser: Browser, dashboard: Dashboard) -> None:
    title = "Each queue, for the application"
    here = dashboard.answer(title)
    address = dashboard.chart(title).locator("table tbody tr").last.locator("a").get_attribute("href")
    runs = browser.open("one_run", "?" + address.partition("?")[2])
    there = runs.answer("Runs of the chosen cell")
    for column in ("study_id", "bandwidth_mbit", "rtt_ms", "application", "start_order"):
        assert there.filters_on(column) == here.filters_on(column), column
    assert there.filters_on("queue_label") == [list(grid(dashboard))[-1][0]]
    runs.page.close()


@pytest.mark.parametrize("name", ["aqm_comparison", "one_run", "marks"])
def test_ecn_and_l4s_are_filters(opened: Callable[[str], Dashboard], name: str) -> None:
    names = opened(name).page.locator('[data-test="filter-control-name"]').all_inner_texts()
    assert {"ECN", "L4S"} <= {each.strip() for each in names}
