"""A finished run's folder: the manifest that ``sojourn ingest`` reads, and the files as they are kept."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import shutil
from pathlib import Path
from typing import Any, Literal

from sojourn_testbed.cells import Run
from sojourn_testbed.places import BINARY_LOG, TEXT_LOG
from sojourn_testbed.plan import Plan
from sojourn_testbed.run_check import Check
from sojourn_testbed.specification import BOTTLENECK, OPPOSITE, flows

Compression = Literal["gzip", "xz", "none"]
MEASUREMENTS = (
    "before.pcap",
    "after.pcap",
    TEXT_LOG,
    BINARY_LOG,
    "qdisc_stats.jsonl",
    "ss_raw.jsonl",
    "page_loads.jsonl",
    "get_stats.jsonl",
    "streaming.jsonl",
)
#: Small texts that say what was really set and with what; the rest of the raw files says nothing more.
RECORDS = (
    "router_setup.txt",
    "ping.txt",
    "versions.txt",
    "iperf3.json",
    *(f"{role}_{part}" for role in ("app", "rival") for part in ("sender.json", "receiver.json", "client.json")),
    *(f"{role}_targets.txt" for role in ("app", "rival")),
    "rival_streaming.txt",
    "background_downlink.json",
    "background_uplink.json",
    f"ifindex_{BOTTLENECK}.txt",
    f"ifindex_{OPPOSITE}.txt",
    f"tc_final_{BOTTLENECK}.json",
    f"tc_final_{OPPOSITE}.json",
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
    complaints = list(check.complaints)
    queue = cell.set_queue.manifest()
    if cell.opposite_queue is not None:
        # The log holds two queues.
        queue["interface"] = device_in_log(plan, raw, BOTTLENECK)
    manifest: dict[str, Any] = {
        "schema": "testbed-manifest/1",
        "run_id": run.run_id,
        "study": plan.study,
        "direction": cell.direction,
        "bandwidth_bps": cell.set_queue.rate_bps,
        "rtt_ms": cell.rtt_ms,
        "bdp_bytes": cell.set_queue.bdp_bytes,
        "queue": queue,
        "cc": cell.congestion_control,
        "app": cell.application,
        "order": "rival_first" if cell.rival and cell.start_order == "tcp_first" else cell.start_order,
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
        "flows": _flows(plan, run, raw, complaints),
        "clock": {
            "mono_to_realtime_offset_ns": result["monotonic_offset_ns"],
            "offset_at_end_ns": result["monotonic_offset_at_end_ns"],
        },
        "bottleneck": {
            "dev": BOTTLENECK,
            "ifindex": _number(raw / f"ifindex_{BOTTLENECK}.txt"),
            "netns_inum": _number(raw / "bottleneck_namespace.txt"),
        },
        "made_with": made_with | {"kernel": result["kernel"]},
        "check": {"counts": check.counts, "complaints": complaints},
        "steps": result["steps"],
    }
    manifest |= _parts_of_few_runs(plan, run, raw, queue)
    if complaints:
        manifest["exclusion_reason"] = "check_failed"
    return manifest


def _flows(plan: Plan, run: Run, raw: Path, complaints: list[str]) -> list[dict[str, Any]]:
    """Return the run's flows; where a process left no word of its own, a complaint instead."""
    try:
        return flows(plan, run, raw)
    except (OSError, ValueError, KeyError) as error:
        complaints.append(f"flows are not known: {type(error).__name__}: {error}")
        return []


def _parts_of_few_runs(plan: Plan, run: Run, raw: Path, queue: dict[str, Any]) -> dict[str, Any]:
    """Return what the manifests of some plans say besides: a rival, a workload, both directions, steps of the rate."""
    cell = run.cell
    parts: dict[str, Any] = {}
    if cell.rival is not None:
        parts["rival"] = cell.rival
    if cell.workload is not None:
        parts |= {"workload": cell.workload, "congested_direction": cell.congested}
    if plan.clip is not None:
        content = plan.clip.read_bytes()
        parts["clip"] = {
            "name": plan.clip.name,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    programme = plan.programme_name(cell.programme, cell.rate_mbps, cell.rtt_ms)
    if programme is not None:
        parts["bandwidth_programme"] = programme
    if cell.opposite_queue is not None:
        opposite = cell.opposite_queue.manifest() | {"interface": device_in_log(plan, raw, OPPOSITE)}
        own = {"bandwidth_bps": cell.set_queue.rate_bps, "delay_ms": cell.rtt_ms / 2, "queue": queue}
        other = {"bandwidth_bps": cell.opposite_queue.rate_bps, "delay_ms": cell.rtt_ms / 2, "queue": opposite}
        parts["links"] = (
            {"downlink": own, "uplink": other} if cell.direction == "downlink" else {"downlink": other, "uplink": own}
        )
    return parts


def device_in_log(plan: Plan, raw: Path, device: str) -> str:
    """Return a device as the log that ingest reads has it: the text has its number, the binary form its name."""
    number = _number(raw / f"ifindex_{device}.txt") if plan.has_text_log else None
    return device if number is None else str(number)


def _number(path: Path) -> int | None:
    """Return the number that a file holds; null where a run ended before it was written."""
    try:
        return int(path.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None
