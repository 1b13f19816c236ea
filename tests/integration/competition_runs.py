"""Small synthetic runs in which the bytes of each second are known, and measured runs under another description."""

from __future__ import annotations

import json
import shutil
import socket
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

STUDY = "synthetic-competition"
START_S = 1_700_000_000
#: Length of every packet as it was on the wire; the capture holds only its headers.
PACKET_BYTES = 1000
PORTS = {"app": 5004, "rival": 5006, "tcp": 5008}
ENDS = ("10.0.1.2", "10.0.2.2")


def _packet(port: int) -> bytes:
    udp = struct.pack("!HHHH", port, port, PACKET_BYTES - 34, 0)
    addresses = (socket.inet_aton(end) for end in ENDS)
    return (
        bytes(12)
        + b"\x08\x00"
        + struct.pack("!BBHHHBBH4s4s", 0x45, 0, PACKET_BYTES - 14, 1, 0, 64, 17, 0, *addresses)
        + udp
    )


def write_capture(path: Path, packets_of_role: Mapping[str, Sequence[int]]) -> None:
    """Write a capture with the given number of packets of each role in each second of the run."""
    packets = sorted(
        (second * 10**9 + (2 * number + 1) * 10**9 // (2 * count), role)
        for role, counts in packets_of_role.items()
        for second, count in enumerate(counts)
        for number in range(count)
    )
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    for at_ns, role in packets:
        seconds, nanoseconds = divmod(at_ns, 10**9)
        head = _packet(PORTS[role])
        content += struct.pack("<IIII", START_S + seconds, nanoseconds, len(head), PACKET_BYTES) + head
    path.write_bytes(content)


def write_run(folder: Path, packets_of_role: Mapping[str, Sequence[int]], before: bool = False, **said: Any) -> Path:
    """Write a run: its capture after the bottleneck, and a manifest of its flows with what else is said.

    ``before``: also the capture before the bottleneck, in which each role sends one packet more in each second.
    """
    run = folder / str(said["run_id"])
    run.mkdir(parents=True)
    seconds = max(len(counts) for counts in packets_of_role.values())
    write_capture(run / "after.pcap", packets_of_role)
    if before:
        write_capture(
            run / "before.pcap",
            {role: [count + 1 for count in counts] for role, counts in packets_of_role.items()},
        )
    names = {"app": said.get("app"), "rival": said.get("rival"), "tcp": None}
    manifest = {
        "schema": "testbed-manifest/1",
        "study": STUDY,
        "direction": "downlink",
        "bandwidth_bps": 1_000_000,
        "rtt_ms": 50,
        "queue": {"discipline": "bfifo", "size_bytes": 12500},
        "t0": {"epoch_s": START_S},
        "window": {"start_epoch_s": START_S, "end_epoch_s": START_S + seconds},
        "flows": [
            {
                "role": role, "proto": "udp", "src": ENDS[0], "sport": PORTS[role], "dst": ENDS[1],
                "dport": PORTS[role], "app": names[role],
            }
            for role in packets_of_role
        ],
        **said,
    }  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def describe(folder: Path, study: str = STUDY, **more: Any) -> None:
    """Write the description of a synthetic study in which the solo runs of an application are its demand."""
    same_link = {"bandwidth_bps": "same", "rtt_ms": "same"}
    rule = {"role": "app", **same_link, "queue_size_bdp": "any", "aqm": "any", "congestion_control": "any"}
    description = {
        "sojourn_study": 1, "study_id": study, "title": "Synthetic competition", "licence": "CC0-1.0",
        "description": "Generated for a test.", "synthetic": True, "demand": [rule], **more,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{study}.yaml").write_text(yaml.safe_dump(description, sort_keys=False))


def describe_anew(run: Path, folder: Path, change: Any) -> None:
    """Copy a measured run with a manifest that ``change`` has altered."""
    copy = folder / run.name
    shutil.copytree(run, copy)
    copy.chmod(0o755)
    path = copy / "manifest.json"
    path.chmod(0o644)
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
