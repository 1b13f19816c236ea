"""A finished run's folder: the manifest that ``sojourn ingest`` reads, and the files as they are kept."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import shutil
from pathlib import Path
from typing import Any, Literal

import yaml

from sojourn_testbed.cells import Run
from sojourn_testbed.plan import Plan
from sojourn_testbed.run_check import Check
from sojourn_testbed.specification import BOTTLENECK, flows

Compression = Literal["gzip", "xz", "none"]
MEASUREMENTS = ("before.pcap", "after.pcap", "queue_bpftrace.txt", "qdisc_stats.jsonl", "ss_raw.jsonl")
#: Small texts that say what was really set and with what; the rest of the raw files says nothing more.
RECORDS = (
    "router_setup.txt",
    "ping.txt",
    "versions.txt",
    "iperf3.json",
    "app_sender.json",
    "app_receiver.json",
    "tc_final.json",
    "capture_before.err",
    "capture_after.err",
    "result.json",
)
LARGE_BYTES = 60_000


def keep_run(
    plan: Plan, run: Run, raw: Path, kept: Path, check: Check, made_with: dict[str, Any], compression: Compression
) -> None:
    """Move a run's files to where they are kept, compressed, and write its manifest last.

    ``kept`` appears whole or not at all.
    """
    partial = kept.with_name(kept.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    sums: dict[str, dict[str, Any]] = {}
    for name in (*MEASUREMENTS, *RECORDS):
        path = raw / name
        if not path.is_file() or path.stat().st_size == 0:
            continue
        content = path.read_bytes()
        if name in MEASUREMENTS:
            sums[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        _write(partial / name, content, compression if len(content) > LARGE_BYTES else "none")
    manifest = _manifest(plan, run, raw, check, made_with) | {"files": sums}
    (partial / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(kept, ignore_errors=True)
    partial.rename(kept)
    shutil.rmtree(raw)


def _write(path: Path, content: bytes, compression: Compression) -> None:
    # Without names and times: the same run gives the same bytes.
    if compression == "gzip":
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(content, 9, mtime=0))
    elif compression == "xz":
        path.with_name(path.name + ".xz").write_bytes(lzma.compress(content, preset=9))
    else:
        path.write_bytes(content)


def _manifest(plan: Plan, run: Run, raw: Path, check: Check, made_with: dict[str, Any]) -> dict[str, Any]:
    cell = run.cell
    result = json.loads((raw / "result.json").read_text(encoding="utf-8"))
    start_s = result["start_ns"] / 1e9
    found: dict[str, Any] = {
        "schema": "testbed-manifest/1",
        "run_id": run.run_id,
        "study": plan.study,
        "direction": "downlink",
        "bandwidth_bps": cell.set_queue.rate_bps,
        "rtt_ms": cell.rtt_ms,
        "bdp_bytes": cell.set_queue.bdp_bytes,
        "queue": cell.set_queue.manifest(),
        "cc": cell.congestion_control,
        "app": cell.application,
        "order": cell.start_order,
        "ecn": cell.ecn,
        "l4s": "neither",
        # Not "repetition": runs of the same number would be compared as pairs, and those of a block share no cause of
        # variation, since each has a seed of its own.
        "block": run.repetition,
        "seed": run.seed,
        "t0": {"epoch_s": start_s},
        "window": {
            "start_epoch_s": start_s + plan.timing.window_start_s,
            "end_epoch_s": start_s + plan.timing.window_end_s,
        },
        "flows": flows(plan, run),
        "clock": {
            "mono_to_realtime_offset_ns": result["monotonic_offset_ns"],
            "offset_at_end_ns": result["monotonic_offset_at_end_ns"],
        },
        "bottleneck": {
            "dev": BOTTLENECK,
            "ifindex": _number(raw / "bottleneck_ifindex.txt"),
            "netns_inum": _number(raw / "bottleneck_namespace.txt"),
        },
        "made_with": made_with | {"kernel": result["kernel"]},
        "check": {"counts": check.counts, "complaints": list(check.complaints)},
        "steps": result["steps"],
    }
    if check.complaints:
        found["exclusion_reason"] = "check_failed"
    return found


def _number(path: Path) -> int:
    return int(path.read_text(encoding="utf-8").strip())


def study_description(plan: Plan) -> str:
    """Return the study's description for ``sojourn ingest``: who it is, and which solo runs give demand."""
    any_queue = {"queue_size_bdp": "any", "aqm": "any"}
    rules: list[dict[str, str]] = []
    if plan.solo:
        same_link = {"bandwidth_bps": "same", "rtt_ms": "same"}
        rules.append({"role": "tcp", **same_link, **any_queue, "congestion_control": "same"})
        for application in plan.axes.application:
            rule = {"role": "app", "application": application, **same_link, **any_queue, "congestion_control": "any"}
            rules.append(rule)
    description = {
        "sojourn_study": 1,
        "study_id": plan.study,
        "title": plan.title or f"Testbed study {plan.study}",
        "description": "Runs of the testbed over real Linux queue disciplines: a dumbbell of network namespaces, delay "
        f"by netem, the bottleneck on the downlink; {plan.repetitions} repetitions in randomised complete blocks.",
        "citation": "made with sojourn testbed",
        "licence": "Apache-2.0",
        "synthetic": False,
        "demand": rules,
    }
    return yaml.safe_dump(description, sort_keys=False, width=120)
