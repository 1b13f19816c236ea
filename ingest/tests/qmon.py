"""Writes files to the record layout of the BCC queue monitor, out of a queue that is simulated here.

No public raw file of that probe is known, so what is read is held to the layout as published with the TMA'23 data set.
All data made here are synthetic.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

HANDLE = 0x80010000
INTERFACE = b"enp3s0"
CLOCK_OFFSET_NS = 1_700_000_000_000_000_000
LINK_NS = 1_000_000
PACKET_BYTES = 1000
SNAP_BYTES = 100

Fate = Literal["dequeued", "dropped_at_enqueue", "dropped_in_queue", "queued_at_end"]


def record(kind: int, body: bytes) -> bytes:
    """Return one record."""
    return struct.pack("<HB", 3 + len(body), kind) + body


def lost_record(count: int) -> bytes:
    """Return a loss report."""
    return record(1, struct.pack("<B", count))


def frame(flow: int, identification: int, *, ce: bool = False) -> bytes:
    """Return the first bytes of an Ethernet frame with UDP over IPv4."""
    udp = struct.pack("!HHHH", 4000 + flow, 5004, PACKET_BYTES - 34, 0) + struct.pack("!I", identification)
    ends = socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.0.2")
    total = PACKET_BYTES - 14
    ip = struct.pack("!BBHHHBBH", 0x45, 3 if ce else 2, total, identification & 0xFFFF, 0, 64, 17, 0) + ends
    return (bytes(12) + b"\x08\x00" + ip + udp + bytes(SNAP_BYTES))[:SNAP_BYTES]


def event_record(
    time_ns: int,
    *,
    enqueue: bool,
    skb: int,
    queued: int,
    returned: int = 0,
    drops: int = 0,
    packet: bytes = b"",
    handle: int = HANDLE,
    packet_bytes: int = PACKET_BYTES,
    interface: bytes = INTERFACE,
) -> bytes:
    """Return one enqueue or dequeue; ``queued`` is the length of the queue after it, in packets."""
    fields = (handle, 1000, queued, queued, queued * packet_bytes, drops, 0, 0, int(enqueue), returned, skb)
    body = struct.pack("<Q8IBQQ", time_ns, *fields)
    body += struct.pack("<HBH", packet_bytes, 16, len(packet)) + interface.ljust(16, b"\0") + packet
    return record(0, body)


@dataclass
class Planted:
    """A packet as the simulated queue had it; what a reader should find, if nothing is lost."""

    fate: Fate
    flow: int
    identification: int
    enqueue_ns: int | None = None
    dequeue_ns: int | None = None
    marked: bool = False

    @property
    def sojourn_ns(self) -> int | None:
        """Time in the queue of a packet that left it."""
        return None if self.dequeue_ns is None or self.enqueue_ns is None else self.dequeue_ns - self.enqueue_ns


@dataclass
class Simulation:
    """A log: its events in the order of time, each with its processor, and what became of each packet.

    ``owners`` names the packet of each event by its place in ``packets``.
    """

    events: list[tuple[int, int, bytes]] = field(default_factory=list)
    owners: list[tuple[int, bool]] = field(default_factory=list)
    packets: list[Planted] = field(default_factory=list)
    drops: int = 0


def simulate(
    seed: int, *, packets: int = 200, limit: int = 8, flows: int = 3, cpus: int = 4, drop_share: float = 0.1
) -> Simulation:
    """Run a queue of ``limit`` packets, one in ten of which is dropped out of it, with buffers that are used again."""
    chance = random.Random(seed)
    run = Simulation()
    queue: list[tuple[int, int]] = []
    free_buffers = [0xFFFF888000000000 + 256 * number for number in range(limit + 3)]
    now, next_arrival, next_departure = 1_000_000, 1_000_000, 0

    def note(enqueue: bool, skb: int, owner: int, returned: int = 0) -> None:
        planted = run.packets[owner]
        packet = frame(planted.flow, planted.identification, ce=planted.marked and not enqueue)
        written = event_record(
            now, enqueue=enqueue, skb=skb, queued=len(queue), returned=returned, drops=run.drops, packet=packet
        )
        run.events.append((now, chance.randrange(cpus), written))
        run.owners.append((owner, enqueue))

    while len(run.packets) < packets or (queue and chance.random() < 0.95):
        arrival = len(run.packets) < packets and (not queue or next_arrival <= next_departure)
        now = max(now + 1, next_arrival if arrival else next_departure)
        if arrival:
            owner = len(run.packets)
            run.packets.append(Planted("dequeued", chance.randrange(flows), owner))
            skb = free_buffers.pop(chance.randrange(len(free_buffers)))
            if len(queue) == limit:
                run.packets[owner].fate = "dropped_at_enqueue"
                run.drops += 1
                note(True, skb, owner, returned=1)
                free_buffers.append(skb)
            else:
                run.packets[owner].enqueue_ns = now
                if not queue:
                    next_departure = now + LINK_NS
                queue.append((skb, owner))
                note(True, skb, owner)
            next_arrival = now + chance.randrange(LINK_NS * 2)
            continue
        skb, owner = queue.pop(0)
        while len(queue) > 0 and chance.random() < drop_share:
            # As CoDel does it: at dequeue, without an event of its own.
            run.packets[owner].fate = "dropped_in_queue"
            run.drops += 1
            free_buffers.append(skb)
            skb, owner = queue.pop(0)
        run.packets[owner].dequeue_ns = now
        run.packets[owner].marked = chance.random() < 0.2
        note(False, skb, owner)
        free_buffers.append(skb)
        next_departure = now + LINK_NS
    for _, owner in queue:
        run.packets[owner].fate = "queued_at_end"
    _leave_unshown_drops_open(run)
    return run


def _leave_unshown_drops_open(run: Simulation) -> None:
    """Make drops out of the queue that nothing later in the log shows look as they do to a reader: still queued.

    A later packet of the same flow that leaves, the same buffer again, or an empty queue shows them.
    """
    opened: dict[int, int] = {}
    unshown = {owner for owner, packet in enumerate(run.packets) if packet.fate == "dropped_in_queue"}
    for (_, _, written), (owner, enqueue) in zip(run.events, run.owners, strict=True):
        skb = int.from_bytes(written[52:60], "little")
        queued = int.from_bytes(written[19:23], "little")
        previous = opened.pop(skb, None) if enqueue else None
        unshown.discard(-1 if previous is None else previous)
        if not enqueue:
            opened.pop(skb, None)
            flow = run.packets[owner].flow
            unshown -= {other for other in opened.values() if other < owner and run.packets[other].flow == flow}
        if queued == int(enqueue and run.packets[owner].fate != "dropped_at_enqueue"):
            unshown -= set(opened.values())
        if enqueue and run.packets[owner].fate != "dropped_at_enqueue":
            opened[skb] = owner
    for owner in unshown:
        run.packets[owner].fate = "queued_at_end"


def write(records: Sequence[bytes], *, offset: bool = True, end: bytes = b"") -> bytes:
    """Return a whole file: the clock's offset, the records, and what stands at the end."""
    head = record(2, str(CLOCK_OFFSET_NS).encode()) if offset else b""
    return head + b"".join(records) + end


def interleaved(run: Simulation, seed: int, *, within_ns: int) -> list[int]:
    """Return an order in which the processors' buffers may be read: each in order, apart by at most ``within_ns``."""
    chance = random.Random(seed)
    pending: dict[int, list[int]] = {}
    for place, (_, cpu, _) in enumerate(run.events):
        pending.setdefault(cpu, []).append(place)
    order: list[int] = []
    while pending:
        # No buffer runs ahead of the slowest by more than the window.
        earliest = min(run.events[places[0]][0] for places in pending.values())
        cpu = chance.choice([cpu for cpu, places in pending.items() if run.events[places[0]][0] - earliest < within_ns])
        for _ in range(chance.randrange(1, 40)):
            places = pending[cpu]
            if run.events[places[0]][0] - earliest >= within_ns:
                break
            order.append(places.pop(0))
            if not places:
                del pending[cpu]
                break
    return order
