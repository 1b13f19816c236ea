"""What a run is expected to carry, and how many runs one boot of the guest takes."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn_testbed.backend.qemu import BOOT_BYTES, boots_of
from sojourn_testbed.cells import blocks, cells
from sojourn_testbed.plan import Plan
from sojourn_testbed.size import expected_bps, expected_raw_bytes


def plan(**axes: Any) -> Plan:
    content = {"queue": ["codel"], "application": ["voice"], "workload": ["noBG", "short-many", "long-many"]} | axes
    links = {"downlink_mbps": 16, "uplink_mbps": 1}
    return Plan.model_validate({"sojourn_testbed": 1, "study": "s", "links": links, "axes": content, "solo": False})


def test_a_cell_carries_what_is_offered_and_at_most_its_links() -> None:
    planned = plan(congested=["downstream", "upstream", "both"])
    carried = {(cell.workload, cell.congested): expected_bps(planned, cell) / 1e6 for cell in cells(planned)}
    voice = 0.0856
    short = 16 * 50_500 * 8 / 2 / 1e6
    assert carried["noBG", "none"] == pytest.approx(voice, rel=0.01)
    assert carried["short-many", "downstream"] == pytest.approx(short + voice, rel=0.01)
    assert carried["long-many", "downstream"] == 16
    assert carried["long-many", "upstream"] == pytest.approx(1 + voice, rel=0.01)
    assert carried["long-many", "both"] == 17


def test_a_queue_log_in_both_forms_is_as_large_as_both() -> None:
    texts, binaries, boths = (
        expected_raw_bytes(planned, blocks(planned)[0][0])
        for planned in (plan().model_copy(update={"queue_log": form}) for form in ("text", "binary", "both"))
    )
    assert texts < binaries < boths < texts + binaries


def test_a_boot_takes_as_many_runs_as_its_memory_and_each_run_once_in_its_order() -> None:
    planned = plan(workload=["long-many"], queue=[{"discipline": "tail-drop", "size_packets": n} for n in range(1, 60)])
    (runs, *_) = blocks(planned)
    boots = boots_of(planned, runs)
    assert [run for boot in boots for run in boot] == runs
    assert len(boots) > 1
    for boot in boots:
        assert sum(expected_raw_bytes(planned, run) for run in boot) <= BOOT_BYTES
    assert len(boots_of(planned, runs[:1])) == 1
