"""Whether a run can be believed: its processes, its captures, its queue log and the counters of tc must agree.

The queue sees what the captures see, and ARP besides, which they leave out; counters and log see the same packets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest import _native
from sojourn_testbed.queue_disciplines import ROOT_HANDLE


@dataclass(frozen=True)
class Check:
    """What was counted, and what does not agree; no complaints: the run is good."""

    counts: dict[str, int | None]
    complaints: tuple[str, ...]


def check_run(folder: Path, rate_bps: int, devices: Sequence[str] = ("btl",)) -> Check:
    """Hold a run's raw files against each other; ``devices`` have the logged queues, the bottleneck's first."""
    complaints: list[str] = []
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    complaints += result["failures"]
    missing = [
        name
        for name in (
            "before.pcap",
            "after.pcap",
            "queue_bpftrace.txt",
            *(f"tc_final_{device}.json" for device in devices),
        )
        if not _holds(folder / name)
    ]
    if missing:
        return Check({}, (*complaints, f"nothing in {', '.join(missing)}"))
    counts: dict[str, int | None] = {}
    for name in ("before", "after"):
        lost = _dropped_by_tcpdump(folder / f"capture_{name}.err")
        counts[f"lost_by_capture_{name}"] = lost
        if lost:
            complaints.append(f"tcpdump lost {lost} packets of {name}.pcap")
    try:
        for device in devices:
            suffix = "" if device == devices[0] else f"_{device}"
            index = int((folder / f"ifindex_{device}.txt").read_text(encoding="utf-8"))
            found = _log_counts(folder / "queue_bpftrace.txt", index) | _counters(folder / f"tc_final_{device}.json")
            counts |= {f"{name}{suffix}": count for name, count in found.items()}
        counts |= _pair_counts(folder, rate_bps)
    except (_native.DecodeError, ValueError, KeyError) as error:
        return Check(counts, (*complaints, f"cannot be read: {error}"))
    if counts["lost_events"]:
        complaints.append(f"the probe lost {counts['lost_events']} events")
    for log, other, what in (
        ("log_dequeued", "tc_sent", "packets that left: log {}, tc {}"),
        ("log_dropped", "tc_dropped", "packets dropped: log {}, tc {}"),
        ("log_dropped", "captures_dropped", "packets dropped: log {}, captures {}"),
        *(
            (f"{log}_{device}", f"{tc}_{device}", f"packets {what} of {device}: log {{}}, tc {{}}")
            for device in devices[1:]
            for log, tc, what in (("log_dequeued", "tc_sent", "that left"), ("log_dropped", "tc_dropped", "dropped"))
        ),
    ):
        if counts[log] != counts[other]:
            complaints.append(what.format(counts[log], counts[other]))
    return Check(counts, tuple(complaints))


def _holds(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _dropped_by_tcpdump(path: Path) -> int | None:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.endswith("packets dropped by kernel"):
            return int(line.split()[0])
    return None


def _log_counts(path: Path, interface_index: int) -> dict[str, int | None]:
    decoder = _native.QueueLogDecoder(str(path), form="bpftrace")
    fates: dict[str, int] = {}
    lost = 0
    for table, batch in decoder:
        if table == "queue_packet":
            for fate, index in zip(
                *(batch.column(name).to_pylist() for name in ("fate", "interface_index")), strict=True
            ):
                if index == interface_index:
                    fates[fate] = fates.get(fate, 0) + 1
        elif table == "queue_log":
            lost += sum(batch.column("lost_events").to_pylist())
    fault = decoder.summary().fault
    if fault is not None:
        raise fault
    dropped = sum(count for fate, count in fates.items() if fate.startswith("dropped"))
    return {"log_dequeued": fates.get("dequeued", 0), "log_dropped": dropped, "lost_events": lost}


def _pair_counts(folder: Path, rate_bps: int) -> dict[str, int | None]:
    decoder = _native.PairDecoder(str(folder / "before.pcap"), str(folder / "after.pcap"), rate_bps=rate_bps)
    for table, batch in decoder:
        if table == "capture_pair":
            (row,) = batch.to_pylist()
            return {name.replace("_packets", ""): row[f"{name}"] for name in ("sent_packets", "delivered_packets")} | {
                "captures_dropped": row["dropped_packets"],
                "not_seen_before": row["not_seen_before_packets"],
            }
    raise ValueError("the captures hold no pair")


def _counters(path: Path) -> dict[str, int | None]:
    disciplines: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for one in disciplines:
        if one.get("handle") == ROOT_HANDLE:
            return {"tc_sent": one["packets"], "tc_dropped": one["drops"], "tc_left": one["qlen"]}
    raise ValueError(f"tc shows no discipline {ROOT_HANDLE}")
