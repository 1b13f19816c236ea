"""Where the parts of a run are: namespaces, addresses and ports, and how a process of a run is written down.

The sender's side is where the bottleneck's packets come from. With direction downlink it is the servers' side, with
uplink the home's; so the bottleneck is the same device in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

#: Namespaces of the dumbbell: sender, router, client.
SENDER, ROUTER, CLIENT = "s", "r", "c"
#: TCP, the application and its rival have an address each, on both sides of the bottleneck.
TCP_FROM, TCP_TO = "10.0.1.2", "10.0.2.2"
APP_FROM, APP_TO = "10.0.1.3", "10.0.2.3"
RIVAL_FROM, RIVAL_TO = "10.0.1.4", "10.0.2.4"
TCP_SOURCE_PORT, TCP_PORT, RTP_PORT, BACKGROUND_PORT, WEB_PORT = 40001, 5201, 5004, 5301, 80

#: The guest's own programme, by the name under which both backends have it on the path.
GUEST = "testbed-guest"

#: Queue logs of a run, by form. Both are names by which ingest knows them.
TEXT_LOG, BINARY_LOG = "queue_bpftrace.txt", "queue.qmon"

#: Name of a plan's clip where its runs are carried out.
CLIP_FILE = "clip.ts"

Direction = Literal["downlink", "uplink"]
Role = Literal["app", "rival"]
ADDRESSES: dict[Role, tuple[str, str]] = {"app": (APP_FROM, APP_TO), "rival": (RIVAL_FROM, RIVAL_TO)}


def home_namespace(direction: Direction) -> str:
    """Return the namespace of the side that downloads."""
    return CLIENT if direction == "downlink" else SENDER


def server_namespace(direction: Direction) -> str:
    """Return the namespace of the side that serves."""
    return SENDER if direction == "downlink" else CLIENT


def within(namespace: str, *argv: str) -> list[str]:
    """Return a command that runs in a network namespace."""
    return ["ip", "netns", "exec", namespace, *argv]


@dataclass(frozen=True)
class Place:
    """Where and when an application runs in a run; times are milliseconds after the run's start."""

    role: Role
    direction: Direction
    start_ms: int
    end_ms: int
    window_start_ms: int
    window_end_ms: int
    seed: int

    @property
    def near(self) -> str:
        """Address on the side from which the bottleneck's packets come."""
        return ADDRESSES[self.role][0]

    @property
    def far(self) -> str:
        """Address on the other side."""
        return ADDRESSES[self.role][1]

    @property
    def home(self) -> tuple[str, str]:
        """Namespace and address of the side that downloads."""
        namespace = home_namespace(self.direction)
        return namespace, self.address_in(namespace)

    @property
    def server(self) -> tuple[str, str]:
        """Namespace and address of the side that serves."""
        namespace = server_namespace(self.direction)
        return namespace, self.address_in(namespace)

    def address_in(self, namespace: str) -> str:
        """Address of the role in a namespace."""
        return self.near if namespace == SENDER else self.far

    def flow(self, name: str, protocol: str, source: str, source_port: int, destination_port: int) -> dict[str, Any]:
        """Return a flow of which ``source`` is the namespace that sends the data."""
        destination = CLIENT if source == SENDER else SENDER
        return {
            "role": self.role, "proto": protocol, "src": self.address_in(source), "sport": source_port,
            "dst": self.address_in(destination), "dport": destination_port, "app": name,
            "planned_start_s": self.start_ms / 1000,
        }  # fmt: skip


def process(name: str, argv: list[str], launch_ms: int, output: str, stop: str = "wait") -> dict[str, Any]:
    """Return one process of a specification; without an output file, its output goes where its errors go."""
    return {"name": name, "argv": argv, "launch_ms": launch_ms, "output": output, "errors": f"{name}.err", "stop": stop}


def recorder(name: str, argv: list[str], ready: str) -> dict[str, Any]:
    """Return a process that records from before the start to the end: the start waits until it printed ``ready``."""
    return process(name, argv, 0, "", "interrupt") | {"ready": ready}
