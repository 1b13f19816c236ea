"""Whether a run can be believed: its processes, its captures, its queue log and the counters of tc must agree.

The queue sees what the captures see, and ARP besides, which they leave out; counters and log see the same packets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest import _native
from sojourn_testbed.places import BINARY_LOG, TEXT_LOG
from sojourn_testbed.plan import QueueLog
from sojourn_testbed.queue_disciplines import ROOT_HANDLE

_COMPARED = (("log_dequeued", "tc_sent", "that left"), ("log_dropped", "tc_dropped", "dropped"))
#: Forms of a run's queue log: the decoder's name of it, and the file.
_TEXT = ("bpftrace", TEXT_LOG)
_BINARY = ("qmon", BINARY_LOG)
#: The logs of a run, and what the names of their counts begin with.
_LOGS: dict[QueueLog, dict[str, tuple[str, str]]] = {
    "text": {"": _TEXT},
    "binary": {"": _BINARY},
    "both": {"": _TEXT, "binary_": _BINARY},
}


@dataclass(frozen=True)
class Check:
    """What was counted, and what does not agree; no complaints: the run is good."""

    counts: dict[str, int | None]
    complaints: tuple[str, ...]


def check_run(folder: Path, rate_bps: int, devices: Sequence[str] = ("btl",), queue_log: QueueLog = "text") -> Check:
    """Hold a run's raw files against each other; ``devices`` have the logged queues, the bottleneck's first."""
    complaints: list[str] = []
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    complaints += result["failures"]
    missing = [
        name
        for name in (
            "before.pcap",
            "after.pcap",
            *(file for _, file in _LOGS[queue_log].values()),
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
        logs = {prefix: _log_counts(folder / file, form) for prefix, (form, file) in _LOGS[queue_log].items()}
        for device in devices:
            suffix = "" if device == devices[0] else f"_{device}"
            # The text knows a device by its number alone, the binary form by its name.
            number = (folder / f"ifindex_{device}.txt").read_text(encoding="utf-8").strip()
            counters = _counters(folder / f"tc_final_{device}.json")
            for prefix, (queues, _) in logs.items():
                dequeued, dropped = queues.get(device, queues.get(number, (0, 0)))
                counters |= {f"{prefix}log_dequeued": dequeued, f"{prefix}log_dropped": dropped}
            counts |= {f"{name}{suffix}": count for name, count in counters.items()}
        counts |= {f"{prefix}lost_events": lost for prefix, (_, lost) in logs.items()}
        pair = _pair_counts(folder, rate_bps)
        counts |= pair
    except (_native.DecodeError, OSError, ValueError, KeyError) as error:
        return Check(counts, (*complaints, f"cannot be read: {error}"))
    compared = [("log_dropped", "captures_dropped", "packets dropped: log {}, captures {}")]
    for prefix, (_, file) in _LOGS[queue_log].items():
        if counts[f"{prefix}lost_events"]:
            complaints.append(f"the probe lost {counts[f'{prefix}lost_events']} events of {file}")
        for device in devices:
            suffix, of = ("", "") if device == devices[0] else (f"_{device}", f" of {device}")
            compared += [
                (f"{prefix}{log}{suffix}", f"{tc}{suffix}", f"packets {what}{of}: {file} {{}}, tc {{}}")
                for log, tc, what in _COMPARED
            ]
    # All that goes in comes out or is dropped before recording ends: the drain is as long as the fullest queue.
    accounted = pair["delivered"] + pair["captures_dropped"]
    if pair["sent"] != accounted:
        complaints.append(f"packets of before.pcap: {pair['sent']}, in after.pcap or dropped: {accounted}")
    if pair["not_seen_before"]:
        complaints.append(f"{pair['not_seen_before']} packets of after.pcap are not in before.pcap")
    for left, right, what in compared:
        if counts[left] != counts[right]:
            complaints.append(what.format(counts[left], counts[right]))
    return Check(counts, tuple(complaints))


def _holds(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _dropped_by_tcpdump(path: Path) -> int | None:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.endswith("packets dropped by kernel"):
            return int(line.split()[0])
    return None


def _log_counts(path: Path, form: str) -> tuple[dict[str, tuple[int, int]], int]:
    """Return packets that left and packets dropped of each queue, by its device, and the events lost of the log."""
    decoder = _native.QueueLogDecoder(str(path), form=form)
    fates: Counter[tuple[int, str]] = Counter()
    counts: dict[str, tuple[int, int]] = {}
    lost = 0
    for table, batch in decoder:
        if table == "queue_packet":
            fates.update(zip(*(batch.column(name).to_pylist() for name in ("queue_number", "fate")), strict=True))
        elif table == "queue":
            for queue in batch.to_pylist():
                number, device = queue["queue_number"], queue["interface_name"] or str(queue["interface_index"])
                dropped = sum(fates[number, fate] for fate in ("dropped_at_enqueue", "dropped_in_queue"))
                before = counts.get(device, (0, 0))
                counts[device] = (before[0] + fates[number, "dequeued"], before[1] + dropped)
        elif table == "queue_log":
            lost += sum(batch.column("lost_events").to_pylist())
    fault = decoder.summary().fault
    if fault is not None:
        raise fault
    return counts, lost


def _pair_counts(folder: Path, rate_bps: int) -> dict[str, int]:
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
