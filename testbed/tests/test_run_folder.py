"""What is kept of a run, also of one that failed before anything was recorded."""

from __future__ import annotations

import json
from pathlib import Path

from sojourn_testbed.cells import blocks
from sojourn_testbed.plan import Plan
from sojourn_testbed.run_check import check_run
from sojourn_testbed.run_folder import keep_run


def test_a_run_whose_set_up_failed_is_kept_with_the_reason(tmp_path: Path) -> None:
    axes = {"queue": ["fq_codel"], "rate_mbps": [1]}
    plan = Plan.model_validate({"sojourn_testbed": 1, "study": "s", "axes": axes})
    run = blocks(plan, 1)[0][0]
    raw = tmp_path / "raw"
    raw.mkdir()
    result = {
        "failures": ["ip netns add r: exit status 1"], "start_ns": 10**18, "monotonic_offset_ns": 0,
        "monotonic_offset_at_end_ns": 0, "kernel": "Linux", "steps": [],
    }  # fmt: skip
    (raw / "result.json").write_text(json.dumps(result))
    check = check_run(raw, run.cell.set_queue.rate_bps)
    assert check.complaints[0] == "ip netns add r: exit status 1"
    assert check.complaints[1].startswith("nothing in before.pcap, after.pcap, queue_bpftrace.txt")
    keep_run(plan, run, raw, tmp_path / "kept", check, {}, "gzip")
    manifest = json.loads((tmp_path / "kept" / "manifest.json").read_text())
    assert manifest["exclusion_reason"] == "check_failed"
    assert manifest["check"]["complaints"][:2] == list(check.complaints)
    assert manifest["bottleneck"] == {"dev": "btl", "ifindex": None, "netns_inum": None}
