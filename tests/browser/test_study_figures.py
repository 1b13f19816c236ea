"""Figures 4 and 5 of IMC'14 and the matrix of IMC'21 on the page of studies, over runs that have their axes.

`tests/browser/with_servers.py studies` plants them and starts the servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

from .opened_dashboard import Browser, Dashboard, logged_in

pytestmark = pytest.mark.browser

STUDY = "synthetic-buffers"
HEAT_MAP = "Mean queuing delay in ms by buffer in packets: both congested"
WITHOUT_RUNS = {f"Mean queuing delay in ms by buffer in packets: {side} congested" for side in ("downlink", "uplink")}
BOXES = "Utilisation of each second, by buffer and direction"
COMPETITION = "synthetic-competition"
MATRIX = (
    "Incumbents against competitors on the chosen link: the incumbent's share of both rates, "
    "while both are active, in %"
)
CHECK = "Do pairs with swapped roles share the whole link?"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Log in through the form."""
    with logged_in(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def studies(browser: Browser) -> Dashboard:
    """Open “Studies”, of which these figures have data."""
    return browser.open("studies", drawn={HEAT_MAP, BOXES, MATRIX, CHECK}, empty=set())


def test_a_heat_map_has_the_apis_delay_of_each_buffer_direction_and_workload(studies: Dashboard) -> None:
    rows = studies.api.records("configuration_queuing_delay", [("study_id", STUDY), ("role", "all")])
    expected: dict[tuple[str, int], float] = {}
    runs: dict[str, int] = {}
    for row in rows:
        line = f"{row['direction']}, {row['workload']}"
        expected[line, row["queue_limit_packets"]] = row["mean_ms"]
        runs[line] = runs.get(line, 0) + row["runs"]
    shown = {(row["line"].strip(), row["queue_limit_packets"]): row["ms"] for row in studies.answer(HEAT_MAP).rows}
    named = {(f"{line}, n = {runs[line]}", size): value for (line, size), value in expected.items()}
    assert shown == pytest.approx(named)
    assert len(shown) == 12


def test_a_map_without_runs_is_told_and_only_filters_with_a_choice_ask(studies: Dashboard) -> None:
    assert studies.notes >= WITHOUT_RUNS
    assert studies.failures == []
    # One study of the build states its buffers: a filter that chooses among one is not there.
    assert studies.answer(HEAT_MAP).filters_on("study_id") == []
    answer = studies.answer(BOXES)
    # Each congested direction of that study has one workload, which the direction therefore chooses too.
    assert (answer.filters_on("congested_direction"), answer.filters_on("workload")) == (["both"], [])


def test_a_box_has_the_seconds_of_its_buffer_and_direction(studies: Dashboard) -> None:
    conditions: list[tuple[str, Any]] = [("study_id", STUDY), ("workload", "long-many")]
    seconds: dict[tuple[int, str], list[float]] = {}
    for row in studies.api.records("run_utilisation_profile", conditions):
        seconds.setdefault((row["queue_limit_packets"], row["direction"]), []).append(row["utilisation_ratio"])
    shown = {(row["queue_limit_packets"], row["direction"]): row for row in studies.answer(BOXES).rows}
    assert {key: row["utilisation__count"] for key, row in shown.items()} == {
        key: len(values) for key, values in seconds.items()
    }
    assert {key: row["utilisation__median"] for key, row in shown.items()} == pytest.approx(
        {key: median(values) for key, values in seconds.items()}
    )


def test_the_matrix_has_the_apis_share_of_each_incumbent_and_competitor(studies: Dashboard) -> None:
    link = studies.answer(MATRIX).filters_on("link")
    assert link == ["tail-drop 1 BDP, 2 Mbit/s, 50 ms, downlink, call"]
    rows = studies.api.records("competition_matrix", [("study_id", COMPETITION), ("bandwidth_bps", "2000000")])
    expected = {(row["incumbent"], row["competitor"]): 100 * row["incumbent_share_median_ratio"] for row in rows}
    assert set(expected) == {("zoom", "meet"), ("meet", "zoom"), ("meet", "meet")}
    shown = {
        (row["incumbent"], row["competitor"]): row["incumbent's share in %"] for row in studies.answer(MATRIX).rows
    }
    assert shown == pytest.approx(expected)
    checked = {(row["incumbent"], row["competitor"]): row for row in studies.answer(CHECK).rows}
    assert checked["zoom", "meet"]["both shares beyond 100 %"] == "+5.0 points"
    assert checked["zoom", "meet"]["share of the incumbent"] == "75.0 % (one run)"
