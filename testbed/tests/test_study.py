"""The description of a study: what demand is, and what workloads and programmes its runs name."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn_ingest.formats.study.study_description import parse_description
from sojourn_testbed.plan import Plan
from sojourn_testbed.study import study_description

LINKS = {"downlink_mbps": 16, "uplink_mbps": 1}


def described(**changed: Any) -> Any:
    content = {"sojourn_testbed": 1, "study": "s", "axes": {"queue": ["codel"], "rate_mbps": [1]}} | changed
    # The reader of descriptions is the judge of what is written.
    return parse_description(study_description(Plan.model_validate(content)).encode())


def test_a_workload_has_its_parts_in_the_directions_of_the_plan_and_none_without_background() -> None:
    axes = {"queue": ["codel"], "workload": ["noBG", "short-many", "long-many"], "congested": ["both"]}
    by_name = {one.name: one.parts for one in described(axes=axes, links=LINKS).workloads}
    assert by_name["noBG"] == []
    assert [(part.direction, part.sessions) for part in by_name["short-many"]] == [("uplink", 1), ("downlink", 16)]
    assert [(part.direction, part.sessions, part.interarrival) for part in by_name["long-many"]] == [
        ("uplink", 8, None),
        ("downlink", 64, None),
    ]
    short = by_name["short-many"][0]
    assert short.interarrival.mean_s == 2
    # The mean that IMC'14 states is 50.5 kB.
    assert short.flow_size.mean_bytes == pytest.approx(50_500, rel=0.003)


def test_demand_of_an_application_with_background_is_that_of_its_runs_without() -> None:
    axes = {"queue": ["codel"], "workload": ["noBG", "long-many"], "application": ["voice", "web"]}
    tcp, voice, web = described(axes=axes, links=LINKS).demand
    assert (tcp.role, tcp.selects) == ("tcp", False)
    for rule, application in ((voice, "voice"), (web, "web")):
        assert (rule.role, rule.application, rule.workload, rule.bandwidth_bps) == ("app", application, "any", "same")


def test_a_rival_has_the_demand_of_its_application() -> None:
    axes = {"queue": ["codel"], "rate_mbps": [1], "application": ["webrtc"], "rival": ["webrtc", "streaming"]}
    rules = described(axes=axes).demand
    assert [rule.application for rule in rules if rule.role == "app"] == ["webrtc", "streaming"]
    assert all(rule.workload == "same" for rule in rules)


def test_steps_of_the_round_trip_time_are_a_programme_for_each_rate_and_round_trip_time() -> None:
    axes = {"queue": ["codel"], "rate_mbps": [1], "rtt_ms": [20, 50]}
    steps = {"rate_steps": [{"at_s": 10, "rate_mbps": 0.5}], "rtt_steps": [{"at_s": 5, "rtt_ms": 100}]}
    programmes = described(axes=axes, **steps).programmes
    assert {one.name: [(step.at_s, step.bandwidth_bps, step.rtt_ms) for step in one.steps] for one in programmes} == {
        f"steps-1000k-rtt{rtt}": [(0, 1_000_000, rtt), (5, 1_000_000, 100), (10, 500_000, 100)] for rtt in (20, 50)
    }


def test_steps_of_the_rate_are_a_programme_that_begins_with_the_rate_of_the_cell() -> None:
    steps = [{"at_s": 10, "rate_mbps": 0.5}, {"at_s": 20, "rate_mbps": 1}]
    axes = {"queue": ["codel"], "rate_mbps": [1, 2]}
    programmes = described(axes=axes, rate_steps=steps).programmes
    assert {one.name: [(step.at_s, step.bandwidth_bps) for step in one.steps] for one in programmes} == {
        "steps-1000k": [(0, 1_000_000), (10, 500_000), (20, 1_000_000)],
        "steps-2000k": [(0, 2_000_000), (10, 500_000), (20, 1_000_000)],
    }


def test_programmes_of_the_plan_are_those_of_the_study_and_give_no_demand_together() -> None:
    axes = {"queue": ["codel"], "rate_mbps": [5], "programme": ["steady", "to-a-half", "to-a-quarter"]}
    programmes = {
        "to-a-half": {"rate_steps": [{"at_s": 10, "rate_mbps": 0.5}, {"at_s": 20, "rate_mbps": 5}]},
        "to-a-quarter": {"rate_steps": [{"at_s": 10, "rate_mbps": 0.25}]},
    }
    description = described(axes=axes, programmes=programmes)
    assert {one.name: [(step.at_s, step.bandwidth_bps) for step in one.steps] for one in description.programmes} == {
        "to-a-half-5000k": [(0, 5_000_000), (10, 500_000), (20, 5_000_000)],
        "to-a-quarter-5000k": [(0, 5_000_000), (10, 250_000)],
    }
    assert [(rule.role, rule.selects) for rule in description.demand] == [("tcp", False), ("app", False)]
    one = described(
        axes=axes | {"programme": ["steady", "to-a-half"]}, programmes={"to-a-half": programmes["to-a-half"]}
    )
    assert all(rule.selects for rule in one.demand)
