"""Cells, blocks and their order."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sojourn_testbed.cells import blocks, cells
from sojourn_testbed.plan import Plan


def plan(**changed: Any) -> Plan:
    axes = {"queue": ["fq_codel", "cake"], "rate_mbps": [1, 4], "congestion_control": ["cubic", "bbr"]}
    return Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes} | changed)


def test_cells_are_all_combinations_and_the_solo_runs_that_give_demand() -> None:
    planned_cells = cells(plan())
    together = [cell for cell in planned_cells if cell.start_order != "solo"]
    assert len(together) == 2 * 2 * 2
    alone = {
        (cell.rate_mbps, cell.congestion_control, cell.application)
        for cell in planned_cells
        if cell.start_order == "solo"
    }
    assert alone == {(rate, *roles) for rate in (1, 4) for roles in (("cubic", None), ("bbr", None), (None, "voice"))}
    assert len({cell.label for cell in planned_cells}) == len(planned_cells)
    assert all(cell.start_order != "solo" for cell in cells(plan(solo=False)))


def test_each_block_holds_each_cell_once_in_an_order_of_the_seed_alone() -> None:
    ordered = blocks(plan())
    for number, block in enumerate(ordered, 1):
        assert Counter(run.cell for run in block) == Counter(cells(plan()))
        assert {run.repetition for run in block} == {number}
    assert ordered == blocks(plan())
    assert [run.cell for run in ordered[0]] != [run.cell for run in ordered[1]]
    assert [run.run_id for run in ordered[0]] != [run.run_id for run in blocks(plan(seed=2))[0]]


def test_more_repetitions_leave_the_earlier_runs_as_they_are() -> None:
    assert blocks(plan(), 7)[:5] == blocks(plan(), 5)
    seeds = [run.seed for block in blocks(plan(), 7) for run in block]
    assert len(set(seeds)) == len(seeds)


def test_cells_without_ecn_have_the_names_that_they_had_and_those_with_it_another() -> None:
    axes = {"queue": ["codel"], "rate_mbps": [1]}
    labels = [
        {cell.label for cell in cells(Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes | ecn}))}
        for ecn in ({}, {"ecn": ["none"]}, {"ecn": ["classic"]}, {"ecn": ["none", "classic"]})
    ]
    assert labels[0] == labels[1]
    assert not labels[0] & labels[2]
    assert all(label.endswith("_classicecn") for label in labels[2])
    # The application alone is the same in both, and runs once.
    assert len(labels[3]) == len(labels[0]) + len(labels[2]) - 1


def test_no_background_is_the_application_alone_at_each_queue_and_workloads_are_there_first() -> None:
    axes = {
        "queue": [{"discipline": "tail-drop", "size_packets": size} for size in (8, 256)],
        "workload": ["noBG", "short-many", "long-many"],
        "congested": ["downstream", "both"],
        "application": ["voice", "web"],
    }
    planned_cells = cells(plan(axes=axes, links={"downlink_mbps": 16, "uplink_mbps": 1}))
    assert len(planned_cells) == 2 * 2 * (1 + 2 * 2)
    assert len({cell.label for cell in planned_cells}) == len(planned_cells)
    for cell in planned_cells:
        assert (cell.workload == "noBG") == (cell.start_order == "solo") == (cell.congested == "none")
        assert cell.start_order in ("solo", "tcp_first")
        assert (cell.congestion_control is None) == (cell.workload == "noBG")
        assert (cell.rate_mbps, cell.opposite_mbps) == (16, 1)


def test_rivals_and_tcp_are_competitors_side_by_side_and_each_has_its_run_alone() -> None:
    axes = {
        "queue": ["codel"],
        "rate_mbps": [1],
        "application": ["webrtc"],
        "rival": ["webrtc", "streaming"],
        "congestion_control": ["cubic"],
        "start_order": ["app_first", "tcp_first"],
    }
    planned_cells = cells(plan(axes=axes))
    together = [(cell.rival, cell.congestion_control) for cell in planned_cells if cell.start_order != "solo"]
    assert Counter(together) == {("webrtc", None): 2, ("streaming", None): 2, (None, "cubic"): 2}
    alone = {(cell.application, cell.congestion_control) for cell in planned_cells if cell.start_order == "solo"}
    assert alone == {("webrtc", None), ("streaming", None), (None, "cubic")}


def test_labels_of_cells_that_earlier_versions_had_are_the_same() -> None:
    assert cells(plan())[0].label == "1000k_rtt50_fq_codel_cubic_voice_appfirst"


def test_each_programme_is_a_cell_with_its_own_steps_and_solo_runs() -> None:
    programmes = {"falls": {"rate_steps": [{"at_s": 10, "rate_mbps": 0.5}]}}
    axes = {"queue": ["codel"], "rate_mbps": [1], "programme": ["steady", "falls"]}
    planned = plan(axes=axes, programmes=programmes)
    planned_cells = cells(planned)
    assert (
        len({cell.label for cell in planned_cells})
        == len(planned_cells)
        == 2 * len(cells(plan(axes=axes | {"programme": []})))
    )
    assert {cell.programme for cell in planned_cells if cell.start_order == "solo"} == {"steady", "falls"}
    assert all(cell.label.endswith(f"_{cell.programme}") for cell in planned_cells)
    steps = {cell.programme: len(planned.steps(cell.programme).rate_steps) for cell in planned_cells}
    assert steps == {"steady": 0, "falls": 1}
    assert planned.programme_name("steady", 1, 50) is None
    assert planned.programme_name("falls", 1, 50) == "falls-1000k"
