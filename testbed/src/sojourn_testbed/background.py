"""Background workloads: sessions of short flows, or flows without end, in one direction or in both.

The named ones are those of the access testbed of IMC'14 (table 1): sessions up and down; short flows begin at
exponential times of mean 2 s in each session, with sizes of a Weibull distribution of mean 50.5 kB.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from sojourn_testbed.places import (
    BACKGROUND_PORT,
    GUEST,
    SENDER,
    TCP_FROM,
    TCP_TO,
    Direction,
    home_namespace,
    process,
    server_namespace,
    within,
)

#: The application alone.
NO_BACKGROUND = "noBG"
#: What fills which direction.
Congested = Literal["downstream", "upstream", "both"]
_DIRECTIONS: dict[str, tuple[Direction, ...]] = {
    "downstream": ("downlink",),
    "upstream": ("uplink",),
    "both": ("uplink", "downlink"),
}


class Sessions(BaseModel, extra="forbid", frozen=True):
    """How many sessions each direction has, and what their flows are; times in s, sizes in bytes."""

    uplink_sessions: Annotated[int, Field(ge=1, le=1000)] = 1
    downlink_sessions: Annotated[int, Field(ge=1, le=1000)] = 1
    flow_length: Literal["short", "long"]
    interarrival_mean_s: Annotated[float, Field(gt=0, le=3600)] = 2.0
    size_shape: Annotated[float, Field(gt=0, le=100)] = 0.35
    size_scale_bytes: Annotated[float, Field(gt=0, le=1e12)] = 10_039.0

    @property
    def mean_bytes(self) -> float:
        """Mean size of a short flow, that of the Weibull distribution."""
        return self.size_scale_bytes * math.gamma(1 + 1 / self.size_shape)

    def of(self, direction: Direction) -> int:
        """Sessions of a direction."""
        return self.uplink_sessions if direction == "uplink" else self.downlink_sessions


WORKLOADS: dict[str, Sessions] = {
    "short-few": Sessions(uplink_sessions=1, downlink_sessions=8, flow_length="short"),
    "short-many": Sessions(uplink_sessions=1, downlink_sessions=16, flow_length="short"),
    "long-few": Sessions(uplink_sessions=1, downlink_sessions=8, flow_length="long"),
    "long-many": Sessions(uplink_sessions=8, downlink_sessions=64, flow_length="long"),
}


def directions_of(congested: str) -> tuple[Direction, ...]:
    """Return the directions that background traffic goes."""
    return _DIRECTIONS[congested]


def _addresses(namespace: str) -> str:
    return TCP_FROM if namespace == SENDER else TCP_TO


def background_processes(
    sessions: Sessions, congested: str, bottleneck: Direction, congestion_control: str, end_ms: int, seed: int
) -> list[dict[str, Any]]:
    """Return the server and the clients of each direction; the clients are at home."""
    home, server = home_namespace(bottleneck), server_namespace(bottleneck)
    at = f"{_addresses(server)}:{BACKGROUND_PORT}"
    control = f"-congestion-control={congestion_control}"
    serve = within(server, GUEST, "background-serve", f"-at={at}", control)
    processes = [process("background_server", serve, -1000, "background_server.txt", "terminate")]
    for direction in directions_of(congested):
        run = [
            "background", f"-from={_addresses(home)}", f"-server={at}", f"-sessions={sessions.of(direction)}",
            f"-interarrival-s={sessions.interarrival_mean_s:g}", f"-shape={sessions.size_shape:g}",
            f"-scale-bytes={sessions.size_scale_bytes:g}", f"-seed={seed + (direction == 'uplink')}",
            "-start-ns={ns:0}", f"-end-ns={{ns:{end_ms}}}", control,
        ]  # fmt: skip
        run += ["-upload"] if direction == "uplink" else []
        run += ["-long"] if sessions.flow_length == "long" else []
        name = f"background_{direction}"
        processes.append(process(name, within(home, GUEST, *run), -700, f"{name}.json"))
    return processes


def background_flows(congested: str, bottleneck: Direction, congestion_control: str, raw: Path) -> list[dict[str, Any]]:
    """Return the flows whose data pass the bottleneck, as the run's TCP; those of the other direction are ``other``.

    Declared as TCP, they would add the rate of the other direction to that of the bottleneck.
    """
    if bottleneck not in directions_of(congested):
        return []
    listed = json.loads((raw / f"background_{bottleneck}.json").read_text(encoding="utf-8"))["flows"]
    ports = sorted({flow["local_port"] for flow in listed} - {0})
    ends = [(BACKGROUND_PORT, port) if bottleneck == "downlink" else (port, BACKGROUND_PORT) for port in ports]
    return [
        {
            "role": "tcp", "proto": "tcp", "src": TCP_FROM, "sport": source_port, "dst": TCP_TO,
            "dport": destination_port, "cc": congestion_control, "planned_start_s": 0.0,
        }
        for source_port, destination_port in ends
    ]  # fmt: skip


def described(name: str, sessions: Sessions, directions: tuple[Direction, ...]) -> dict[str, Any]:
    """Return a workload as a study's description has it, with a part a direction; runs say which of them they had."""
    parts = []
    for direction in directions:
        part: dict[str, Any] = {
            "direction": direction,
            "sessions": sessions.of(direction),
            "flow_length": sessions.flow_length,
        }
        if sessions.flow_length == "short":
            part["interarrival"] = {"distribution": "exponential", "mean_s": sessions.interarrival_mean_s}
            part["flow_size"] = {
                "distribution": "weibull",
                "shape": sessions.size_shape,
                "scale_bytes": sessions.size_scale_bytes,
                "mean_bytes": round(sessions.mean_bytes),
            }
        parts.append(part)
    return {"name": name, "parts": parts}
