"""How fast queue logs become Parquet: 10 million events generated here, in the binary form and as text.

The data are synthetic: 64 flows of unequal rates come at random times to a first-in first-out queue of a constant
rate, one packet of a hundred is refused, and four processors' buffers are read in turn. Each reading is a process of
its own; CPU time includes pseudonyms and the Parquet files. Run by ``make bench-queue``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from capture_speed import best
from raw_results import Results

PACKETS_A_BLOCK = 200_000
#: Reading fewer events takes less time than the start varies by.
LEAST_JUDGED_EVENTS = 1_000_000
ARRIVAL_NS = 10_000
#: Of the time: what leaves is as fast as what comes, so that the queue wanders between empty and long.
BUSY = 0.98
REFUSED_ONE_IN = 100
EVENTS_OF_A_HUNDRED = 199
FLOWS = 64
TCP_FLOWS = 48
FRAME_BYTES = 64
BUFFERS = 8192
FIRST_BUFFER = 0xFFFF888000000000
BUFFER_BYTES = 256

SOJOURN = """
import sys
from pathlib import Path
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, Reading, Source
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.lake.writer import FactWriter
path = Path(sys.argv[1])
context = Context(Pseudonymiser(b"key"), lambda path: "")
with path.open("rb") as handle:
    source = Source(path, "none", handle.read(65536), path.stat().st_size)
reading = Reading()
with FactWriter(Path(sys.argv[2]), "0" * 64, "benchmark") as writer:
    for table, batch in Registry().recognise(source).read(source, context, reading):
        writer.write(table, batch)
    writer.finish()
assert reading.fault is None and not reading.refused, (reading.fault, reading.refused)
assert reading.records_read == int(sys.argv[3]), reading.records_read
"""

QMON_EVENT = np.dtype(
    [
        ("size", "<u2"), ("type", "u1"), ("time", "<u8"), ("handle", "<u4"), ("limit", "<u4"), ("packets", "<u4"),
        ("stat_packets", "<u4"), ("backlog", "<u4"), ("drops", "<u4"), ("requeues", "<u4"), ("overlimits", "<u4"),
        ("event", "u1"), ("misc", "<u8"), ("skb", "<u8"), ("length", "<u2"), ("name_bytes", "u1"),
        ("captured_bytes", "<u2"), ("name", "S16"), ("frame", "u1", (FRAME_BYTES,)),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Events:
    """Events of some packets in the order of time: arrays of one value for each event."""

    packet: np.ndarray
    time_ns: np.ndarray
    enqueue: np.ndarray
    refused: np.ndarray
    sojourn_ns: np.ndarray
    #: Length of the queue after the event.
    packets: np.ndarray
    backlog_bytes: np.ndarray
    length: np.ndarray
    flow: np.ndarray
    buffer: np.ndarray

    def __len__(self) -> int:
        return len(self.packet)

    @property
    def udp(self) -> np.ndarray:
        """Whether the packet is of UDP; the others are of TCP."""
        return self.flow >= TCP_FLOWS

    @property
    def word(self) -> np.ndarray:
        """TCP sequence number, or the first bytes of the UDP payload."""
        return self.packet * 1448 & 0xFFFFFFFF


def events(first: int, packets: int) -> Events:
    """Return what happens to some packets; those before them have left by then."""
    random = np.random.default_rng(first)
    number = np.arange(first, first + packets)
    flow = (random.random(packets) ** 2 * FLOWS).astype(np.int64)
    length = np.where(random.random(packets) < 2 / 3, 1514, random.integers(66, 1514, packets))
    # A twentieth more than the packets take, so that a block ends before the next one begins.
    arrival_ns = first * ARRIVAL_NS * 21 // 20 + random.exponential(ARRIVAL_NS, packets).cumsum().astype(np.int64)
    refused = number % REFUSED_ONE_IN == REFUSED_ONE_IN - 1
    # Lindley's recursion: a packet leaves its own service after the later of its arrival and the one before it.
    service_ns = np.where(refused, 0, length * (ARRIVAL_NS * BUSY / length.mean())).astype(np.int64)
    until_ns = service_ns.cumsum()
    leave_ns = until_ns + np.maximum.accumulate(arrival_ns - until_ns + service_ns)
    came = np.tile([True, False], (packets, 1)).T.ravel()
    stays = np.concatenate([np.ones(packets, bool), ~refused])
    when = np.concatenate([arrival_ns, leave_ns])
    order = np.argsort(when, kind="stable")
    order = order[stays[order]]
    of = order % packets
    enqueue = came[order]
    change = np.where(refused[of], 0, np.where(enqueue, 1, -1))
    return Events(
        packet=number[of],
        time_ns=1_000_000_000 + when[order],
        enqueue=enqueue,
        refused=refused[of],
        sojourn_ns=(leave_ns - arrival_ns)[of],
        packets=change.cumsum(),
        backlog_bytes=(change * length[of]).cumsum(),
        length=length[of],
        flow=flow[of],
        # The kernel gives buffers out in no order.
        buffer=FIRST_BUFFER + (number[of] * 5167 % BUFFERS * BUFFER_BYTES).astype(np.uint64),
    )


def blocks(wanted: int) -> Iterator[Events]:
    """Yield about the wanted number of events."""
    packets = max(1, wanted * 100 // EVENTS_OF_A_HUNDRED)
    for first in range(0, packets, PACKETS_A_BLOCK):
        yield events(first, min(PACKETS_A_BLOCK, packets - first))


def high_low(number: np.ndarray) -> np.ndarray:
    """Return two bytes of each number, in network order."""
    return number.astype(">u2").view(np.uint8).reshape(-1, 2)


def frames(of: Events) -> np.ndarray:
    """Return the beginning of packets: Ethernet, IPv4, and TCP or UDP."""
    content = np.zeros((len(of), FRAME_BYTES), np.uint8)
    content[:, 12] = 8
    content[:, 14] = 0x45
    content[:, 16:18] = high_low(of.length - 14)
    content[:, 18:20] = high_low(of.packet & 0xFFFF)
    content[:, 22], content[:, 23] = 64, np.where(of.udp, 17, 6)
    content[:, 26:34] = (10, 0, 0, 1, 10, 0, 0, 2)
    content[:, 34:36] = high_low(10_240 + of.flow)
    content[:, 36:38] = (19, 140)
    word = of.word.astype(">u4").view(np.uint8).reshape(-1, 4)
    content[:, 38:42] = np.where(of.udp[:, None], np.insert(high_low(of.length - 34), [2, 2], 0, axis=1), word)
    content[:, 42:46] = np.where(of.udp[:, None], word, 0)
    content[:, 46] = np.where(of.udp, 0, 0x50)
    content[:, 47] = np.where(of.udp, 0, 0x10)
    return content


def write_qmon(path: Path, wanted: int) -> int:
    """Write a binary log, four processors' buffers read one after the other; return the number of events."""
    written = 0
    with path.open("wb") as handle:
        offset = b"1700000000000000000"
        handle.write((3 + len(offset)).to_bytes(2, "little") + b"\2" + offset)
        for of in blocks(wanted):
            block = np.zeros(len(of), QMON_EVENT)
            block["size"], block["handle"], block["limit"] = QMON_EVENT.itemsize, 0x10000, 10_000
            block["time"], block["event"], block["misc"] = of.time_ns, of.enqueue, of.refused
            block["packets"], block["stat_packets"], block["backlog"] = of.packets, of.packets, of.backlog_bytes
            block["skb"], block["length"] = of.buffer, of.length
            block["name_bytes"], block["name"] = 16, b"eth0"
            block["captured_bytes"], block["frame"] = FRAME_BYTES, frames(of)
            # Stretches of 250 events, each by processor.
            place = np.arange(len(of))
            handle.write(block[np.lexsort((place, place % 4, place // 250))].tobytes())
            written += len(of)
    return written


def values(of: Events) -> Iterator[tuple[int | bool, ...]]:
    """Yield of each event what the lines of text say."""
    columns = (of.packet, of.time_ns, of.enqueue, of.refused, of.sojourn_ns, of.packets, of.backlog_bytes, of.length)
    columns += (of.flow, of.buffer, of.word)
    return zip(*(column.tolist() for column in columns), strict=True)


def write_bpftrace(path: Path, wanted: int) -> int:
    """Write the same as lines of the bpftrace probe; return the number of events."""
    flows = [f"{17 if flow >= TCP_FLOWS else 6} 10.0.0.1 {40 + flow * 256} 10.0.0.2 35859" for flow in range(FLOWS)]

    def line(event: tuple[int | bool, ...]) -> str:
        packet, at, enqueue, refused, sojourn, packets, backlog, length, flow, buffer, word = event
        head = f"{at} {buffer:x} {length} {packets} {backlog} 4026532205 3 {flows[flow]} {packet & 0xFFFF} {word}"
        if refused:
            return f"X {head} 0 45 kfree_skb_list_reason 8\n"
        return f"E {head} 0 0 - 8\n" if enqueue else f"D {head} {sojourn} 0 - 8\n"

    written = 0
    with path.open("w") as handle:
        handle.write("# queue.bt start 1\n")
        for of in blocks(wanted):
            handle.writelines(map(line, values(of)))
            written += len(of)
    return written


def write_json(path: Path, wanted: int) -> int:
    """Write the same as the testbed's JSON Lines; return the number of events."""
    flows = [
        f'"netns":4026532205,"ifindex":3,"ethertype":"0x0800","proto":{17 if flow >= TCP_FLOWS else 6},'
        f'"src":"10.0.0.1","sport":{10_240 + flow},"dst":"10.0.0.2","dport":5004'
        for flow in range(FLOWS)
    ]

    def line(event: tuple[int | bool, ...]) -> str:
        packet, at, enqueue, refused, sojourn, packets, backlog, length, flow, buffer, word = event
        name = "drop" if refused else "enqueue" if enqueue else "dequeue"
        end = "}"
        if refused:
            end = ',"drop_kind":"overlimit","drop_reason":45,"drop_location":"kfree_skb_list_reason"}'
        elif not enqueue:
            end = f',"sojourn_ns":{sojourn}}}'
        return (
            f'{{"ts_ns":{at + 1_700_000_000_000_000_000},"mono_ns":{at},"event":"{name}","skb":"{buffer:#x}",'
            f'"len":{length},"qlen":{packets},"backlog":{backlog},{flows[flow]},"ip_id":{packet & 0xFFFF},'
            f'"tcp_seq":{word}{end}\n'
        )

    written = 0
    with path.open("w") as handle:
        for of in blocks(wanted):
            handle.writelines(map(line, values(of)))
            written += len(of)
    return written


FORMS: dict[str, tuple[Callable[[Path, int], int], float]] = {
    "binary (BCC queue monitor)": (write_qmon, 2e6),
    "bpftrace text": (write_bpftrace, 0.5e6),
    "JSON Lines": (write_json, 0.5e6),
}


def main() -> None:
    """Measure, print a table in Markdown, and keep the results; exit with a message where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    table = Results("queue").table(
        "Queue logs into Parquet",
        {
            "form": "", "events": ",", "MiB": ".0f", "CPU s": ".2f", "of it to start": ".2f",
            "million events/s of CPU": ".2f", "goal": "g", "peak MB": ".0f", "MB for a tenth": ".0f",
        },
    )  # fmt: skip
    missed = []
    for form, (write, goal) in FORMS.items():
        with tempfile.TemporaryDirectory(prefix="sojourn-benchmark-") as name:
            folder = Path(name)

            def command(wanted: int, folder: Path = folder, write: Callable[[Path, int], int] = write) -> list[str]:
                path = folder / f"log-{wanted}"
                # In a process of its own: a child begins with the peak memory of the process that starts it.
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    written = pool.apply(write, (path, wanted))
                return [sys.executable, "-c", SOJOURN, str(path), str(folder / "lake"), str(written)]

            start = best(command(1), options.repetitions)
            tenth = best(command(options.events // 10), 1)
            whole = command(options.events)
            cost = best(whole, options.repetitions)
            events_read = int(whole[-1])
            speed = events_read / (cost.cpu_s - start.cpu_s)
            size = Path(whole[3]).stat().st_size / 2**20
        if speed < goal and options.events >= LEAST_JUDGED_EVENTS:
            missed.append(form)
        million = speed / 1e6
        table.row(form, events_read, size, cost.cpu_s, start.cpu_s, million, goal / 1e6, cost.peak_mb, tenth.peak_mb)
    if missed:
        raise SystemExit(f"slower than the goal: {', '.join(missed)}")


if __name__ == "__main__":
    main()
