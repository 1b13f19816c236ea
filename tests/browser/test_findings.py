"""What a page says first, and where its links lead: in a real browser, against the API.

Run with the settings of `test_dashboard`, whose fixtures it uses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from sojourn_superset.countries import country_names

from .opened_dashboard import Browser, Dashboard
from .test_dashboard import browser, captures, dashboard, grid, opened  # noqa: F401 - fixtures

pytestmark = pytest.mark.browser

# ruff: noqa: F811 - the arguments of tests are the fixtures imported above

RECORDINGS = "Recordings: what was read, most packets first"
FLOWS = "The chosen recording: its flows"
RATES = "The chosen recording: rate of each service"
MAP_OF_SPEED_TESTS = (
    "% of the needs of six uses that the median speed test meets (grey: not in these files, or fewer than 100 tests)"
)


def said(page: Dashboard, title: str) -> str:
    """Return the text of the card with a page's finding."""
    return " ".join(page.chart(title).locator("table tbody").inner_text().split())


def of_data_set(captures: Dashboard) -> list[tuple[str, str]]:
    """Return the condition of the data set that the page shows; where all are of one, there is no filter for it."""
    return [("dataset", each) for each in captures.answer("What do the captures show?").filters_on("dataset")]


def test_captures_begins_with_the_recording_of_most_packets(captures: Dashboard) -> None:
    chosen = of_data_set(captures)
    everywhere = captures.api.records("capture_recording")
    datasets = sorted({row["dataset"] for row in everywhere})
    assert chosen == ([("dataset", datasets[0])] if len(datasets) > 1 else [])
    recordings = captures.api.records("capture_recording", chosen)
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
    # Where all recordings are of one data set, there is no filter for it.
    datasets = chosen.answer(FLOWS).filters_on("dataset")
    all_datasets = {row["dataset"] for row in chosen.api.records("capture_recording", [])}
    assert len(datasets) == (len(all_datasets) > 1)
    of_recording = [("recording_name", name), *(("dataset", each) for each in datasets)]
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
    chosen = of_data_set(captures)
    points = {row["source_hash"]: row for row in captures.api.records("capture_recording", chosen)}
    # Captures before and after a bottleneck see the same packets: delays are of each point by itself.
    delays: dict[tuple[Any, ...], list[float]] = {}
    for flow in captures.api.records("capture_flow", chosen):
        point = points[flow["source_hash"]]["measurement"]
        for leg in ("initiator", "responder"):
            if flow[f"{leg}_queuing_delay_ms"] is not None:
                place = (flow["dataset"], point, flow["service"], leg)
                delays.setdefault(place, []).append(flow[f"{leg}_queuing_delay_ms"])
    match = re.search(
        r"rises by ([\d.]+) ms or more on the path to the (\w+), and that of half of them by ([\d.]+) ms or more "
        r"\((\d+) connections captured (\w+) the bottleneck",
        text,
    )
    assert match, text
    # The nearest rank: the smallest delay that 95 % of the connections do not exceed.
    ranked = {place: sorted(values) for place, values in delays.items() if len(values) >= 20}
    p95_ms = {place: values[math.ceil(0.95 * len(values)) - 1] for place, values in ranked.items()}
    worst = max(p95_ms, key=lambda place: p95_ms[place])
    assert (match[2], int(match[4]), f"capture_{match[5]}") == (worst[3], len(ranked[worst]), worst[1])
    assert float(match[1]) == pytest.approx(p95_ms[worst], abs=0.51)
    assert float(match[3]) == pytest.approx(median(ranked[worst]), abs=0.51)
    paired = {row["run_id"] for row in points.values() if row["measurement"] == "capture_after"}
    streams = [
        row["loss_ratio"]
        for row in captures.api.records("capture_rtp_stream", [("dataset", worst[0])])
        if points[row["source_hash"]]["measurement"] != "capture_before"
        or points[row["source_hash"]]["run_id"] not in paired
    ]
    lossy = sum(loss is not None and loss > 0.01 for loss in streams)
    assert f"{lossy} of {len(streams)} RTP streams lose more than 1 %" in text


@pytest.mark.parametrize(
    ("name", "title", "conditions"),
    [
        ("captures", "What do the captures show?", [("question", "captures")]),
        ("tool_results", "How high is the delay under load?", [("question", "tools")]),
        ("trust", "Can these figures be trusted?", [("question", "trust")]),
        ("buffering_in_the_wild", "How long does a connection in the wild wait?",
            [("question", "wild"), ("synthetic", "false")]),
    ],
)  # fmt: skip
def test_a_page_begins_with_findings_of_the_api(
    opened: Callable[[str], Dashboard], name: str, title: str, conditions: list[tuple[str, str]]
) -> None:
    page = opened(name)
    findings = page.api.records("finding", conditions)
    # A card without rows gives its place away to a note.
    assert (title in page.notes) == (not findings)
    if findings:
        text = said(page, title)
        assert [each for each in findings if each["sentence"] in text and each["context"] in text], text


def test_what_studies_says_first_is_the_apis(opened: Callable[[str], Dashboard]) -> None:
    page = opened("studies")
    findings = page.api.records("finding", [("question", "study")])
    text = said(page, "Are the studies' figures reproduced?")
    assert "of 25 statements of TMA'23 are reproduced from 3,808 of its runs." in text
    assert {finding["sentence"] for finding in findings if finding["sentence"] not in text} == set()
    assert len(findings) == 4


def test_trust_says_what_was_read_and_lists_the_builds_that_are_kept(opened: Callable[[str], Dashboard]) -> None:
    page = opened("trust")
    text = said(page, "Can these figures be trusted?")
    outcomes = page.api.records("ingest_outcome")
    whole = sum(row["status"] == "ok" for row in outcomes)
    expected = (
        f"All {whole:,} sources were read to the end."
        if whole == len(outcomes)
        else f"{len(outcomes) - whole:,} of {len(outcomes):,} sources were not read completely:"
    )
    assert expected in text
    runs = page.api.records("run")
    disagree = sum(row["reconciliation_verdict"] == "disagree" for row in runs)
    assert (f"Queue log, captures and counters of {disagree} of {len(runs)} runs disagree." in text) == (disagree > 0)
    build = page.api.document("/v1/builds")
    listed = page.answer("Builds: the one served, and those kept").rows
    assert {row["build_id"]: row["state"] for row in listed} == {
        each["build_id"]: "served" if each["build_id"] == build["build_id"] else "kept" for each in build["kept"]
    }
    requests = {
        row["endpoint"]: row["responses"] for row in page.answer("Queries to the service, and how long they took").rows
    }
    assert requests["/v1/datasets/{name}/rows"] > 0


def test_a_cell_leads_to_the_runs_of_its_own_setting(browser: Browser, dashboard: Dashboard) -> None:
    title = "Each queue, for the application"
    here = dashboard.answer(title)
    address = dashboard.chart(title).locator("table tbody tr").last.locator("a").get_attribute("href")
    runs = browser.open("one_run", "?" + address.partition("?")[2])
    there = runs.answer("Runs that match the filters, highest 95th percentile first")
    for column in ("study_id", "bandwidth_mbit", "rtt_ms", "application", "start_order"):
        assert there.filters_on(column) == here.filters_on(column), column
    assert there.filters_on("queue_label") == [list(grid(dashboard))[-1][0]]
    runs.page.close()


@pytest.mark.parametrize(
    ("name", "dataset", "conditions"),
    [
        ("aqm_comparison", "configuration_metric", [("start_order__ne", "solo")]),
        ("one_run", "run_metric", [("start_order__ne", "solo"), ("excluded", "include")]),
        ("marks", "run_mark", [("excluded", "include")]),
    ],
)
def test_ecn_and_l4s_are_filters_where_runs_differ_in_them(
    opened: Callable[[str], Dashboard], name: str, dataset: str, conditions: list[tuple[str, str]]
) -> None:
    page = opened(name)
    shown = {each.strip() for each in page.page.locator('[data-test="filter-control-name"]').all_inner_texts()}
    for title, column in (("ECN", "ecn"), ("L4S", "l4s")):
        query = [("group", column), ("aggregate", "count"), *conditions]
        values = page.api.document(f"/v1/datasets/{dataset}/rows", query)["rows"]
        assert (title in shown) == (len(values) > 1), title


def competing(row: dict[str, Any]) -> bool:
    return row["start_order"] not in (None, "solo") and row["exclusion_reason"] is None


REMAINING: dict[str, tuple[str, str, Callable[[dict[str, Any]], bool]]] = {
    "aqm_comparison": ("Compared runs shown", "run", competing),
    "one_run": ("Runs shown", "run", competing),
    "studies": ("Study runs shown", "run", competing),
    "marks": (
        "ECN runs shown",
        "run_mark",
        lambda row: row["mark_direction"] == "data" and row["exclusion_reason"] is None,
    ),
    "tool_results": (
        "Series shown",
        "run_series",
        lambda row: row["exclusion_reason"] is None,
    ),
    "captures": ("Flows shown", "capture_flow", lambda row: True),
    "access_network": (
        "Groups shown",
        "access_delay",
        lambda row: (row["period_kind"], row["metric"]) == ("day", "rtt_increase") and row["group_kind"] != "all",
    ),
    "trust": ("Sources shown", "ingest_outcome", lambda row: True),
}


@pytest.mark.parametrize("name", sorted(REMAINING))
def test_a_page_says_how_many_its_filters_leave(opened: Callable[[str], Dashboard], name: str) -> None:
    title, dataset, counts = REMAINING[name]
    page = opened(name)
    rows = [
        {
            **row,
            "bandwidth_mbit": row["bandwidth_bps"] and row["bandwidth_bps"] / 1e6 if "bandwidth_bps" in row else None,
        }
        for row in page.api.records(dataset)
        if counts(row)
    ]
    # A card without rows gives its place away to a note.
    assert (title in page.notes) == (not rows)
    if not rows:
        return
    chosen: dict[str, list[Any]] = {}
    for query in page.answer(title).queries:
        for condition in query["filters"]:
            if condition["op"] == "IN":
                chosen.setdefault(condition["col"], []).extend(condition["val"])
    left = [row for row in rows if all(row.get(column) in values for column, values in chosen.items())]
    text = " ".join(page.chart(title).inner_text().split())
    assert f"{len(left):,} of {len(rows):,} " in text


def test_the_line_below_the_finding_in_the_wild_says_what_part_of_all_it_is(
    opened: Callable[[str], Dashboard],
) -> None:
    page = opened("buffering_in_the_wild")
    rows = page.api.records(
        "queuing_delay_share", [("period_kind", "all"), ("access_technology", "all"), ("synthetic", "false")]
    )
    basis = ("dataset", "rtt_basis", "sample_basis")
    counts = {tuple(row[column] for column in basis): row["connections"] for row in rows}
    text = said(page, "How long does a connection in the wild wait?")
    match = re.search(r"([\d,]+) of ([\d,]+) measured connections of this build", text)
    assert match, text
    assert int(match[2].replace(",", "")) == sum(counts.values())
    assert int(match[1].replace(",", "")) in counts.values()


def test_one_run_says_what_its_chosen_run_met(opened: Callable[[str], Dashboard]) -> None:
    page = opened("one_run")
    (name,) = page.answer("95th percentile of the packets' wait, second by second").filters_on("run_id")
    of_run = [("run_id", name), ("role", "app")]
    met = {row["metric"]: row["metric_value"] for row in page.api.records("run_metric", of_run)}
    (finding,) = page.api.records("finding", [("run_id", name)])
    text = said(page, "What happened to the application's packets")
    assert f"{finding['sentence']} {finding['context']}" in text
    (half, most), *_ = re.findall(r"wait at most ([\d.]+) ms, and 95 % of them at most ([\d.]+) ms", text)
    assert float(half) == pytest.approx(met["queuing_delay_median_ms"], rel=0.05)
    assert float(most) == pytest.approx(met["queuing_delay_p95_ms"], rel=0.05)
    lost = re.search(r"([\d.]+) % of them are lost|none of them is lost", text)
    assert lost, text
    assert float(lost[1] or 0) == pytest.approx(100 * met["drop_ratio"], rel=0.05)


def test_the_map_of_speed_tests_and_its_table_are_the_barometers(opened: Callable[[str], Dashboard]) -> None:
    page = opened("buffering_in_the_wild")
    rows = page.api.records("iqb_score", [("percentile", "50")])
    drawn = {row["file_name"][:2].upper(): row for row in rows if row["tests"] >= 100}
    assert len(drawn) > 100
    # Two territories are not in the map's list of countries; the table has them.
    on_map = {row["code"]: row["m1"] for row in page.answer(MAP_OF_SPEED_TESTS).rows if row["country"] != "XXX"}
    countries = country_names()
    assert len(drawn.keys() - countries) < 3
    expected = {code: 100 * row["iqb_score"] for code, row in drawn.items() if code in countries}
    assert on_map == pytest.approx(expected, abs=0.51)
    text = said(page, "Countries by share of needs met, lowest first")
    assert re.search(rf"fewer than 100 tests \D*{len(rows) - len(drawn)} countries", text), text[:200]
