"""What a run does, and how it reaches the guest."""

from __future__ import annotations

import subprocess
from typing import Any

from sojourn_testbed.backend.qemu import archive
from sojourn_testbed.cells import blocks
from sojourn_testbed.plan import Plan
from sojourn_testbed.specification import flows, specification, starts_ms


def plan(**changed: Any) -> Plan:
    axes = {"queue": ["cake"], "rate_mbps": [1], "start_order": ["app_first", "tcp_first"]}
    return Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes} | changed)


def test_the_second_flow_starts_later_by_a_spread_of_the_run() -> None:
    planned = plan()
    seconds = set()
    for block in blocks(planned):
        for run in block:
            app_ms, tcp_ms = starts_ms(planned, run)
            if run.cell.start_order == "solo":
                assert {app_ms, tcp_ms} == {0, None}
            else:
                first, second = (app_ms, tcp_ms) if run.cell.start_order == "app_first" else (tcp_ms, app_ms)
                assert first == 0
                assert second is not None
                assert 5000 <= second <= 5500
                seconds.add(second)
    assert len(seconds) > 5


def test_every_flow_has_a_sender_and_every_run_its_recording() -> None:
    planned = plan(rate_steps=[{"at_s": 20, "rate_mbps": 0.5}])
    for run in blocks(planned)[0]:
        described = specification(planned, run)
        names = {one["name"] for one in described["processes"]}
        assert {"capture_before", "capture_after", "queue_polls"} <= names
        roles = {flow["role"] for flow in flows(planned, run)}
        assert ("app_sender" in names) == ("app" in roles)
        assert ("tcp_client" in names) == ("tcp" in roles)
        (step,) = described["steps"]
        assert step["at_ms"] == 20_000
        assert "500000bit" in step["argv"]


def test_hosts_ask_for_ecn_if_the_plan_says_so_and_the_manifest_has_it() -> None:
    axes = {"queue": [{"discipline": "codel", "ecn": True}], "rate_mbps": [1], "ecn": ["none", "classic"]}
    planned = plan(axes=axes, solo=False)
    asked = {}
    for run in blocks(planned)[0]:
        words = [word for command in specification(planned, run)["setup"] for word in command["argv"]]
        asked[run.cell.ecn] = words.count("net.ipv4.tcp_ecn=1")
    assert asked == {"none": 0, "classic": 2}


def test_the_archive_is_what_cpio_reads() -> None:
    files = {"job/job.json": b"{}", "job/0000.json": b"abc"}
    packed = archive(files)
    assert len(packed) % 512 == 0
    listed = subprocess.run(["cpio", "-t", "--quiet"], input=packed, capture_output=True, check=True).stdout
    assert listed.decode().split() == ["job", "job/0000.json", "job/job.json"]
