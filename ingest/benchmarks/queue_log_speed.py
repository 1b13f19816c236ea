"""How fast queue logs become Parquet: 10 million events generated here, in the binary form and as text.

The data are synthetic: packets of 64 flows on four processors through a queue that is never empty. Each reading is
a process of its own; CPU time includes pseudonyms and the Parquet files. Run by ``make bench-queue``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from capture_speed import best

PACKETS_A_BLOCK = 200_000
WAITING = 40
INTERVAL_NS = 10_000
FRAME_BYTES = 64
BUFFERS = 4096

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


def events(first: int, packets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return packet number, whether it is its enqueue, and time (ns) of each event of some packets, in order."""
    number = np.arange(first, first + packets)
    enqueue_ns = 1_000_000_000 + number * INTERVAL_NS
    dequeue_ns = enqueue_ns + WAITING * INTERVAL_NS + INTERVAL_NS // 2
    times = np.concatenate([enqueue_ns, dequeue_ns])
    order = np.argsort(times, kind="stable")
    return np.tile(number, 2)[order], np.repeat([True, False], packets)[order], times[order]


def frames(number: np.ndarray) -> np.ndarray:
    """Return Ethernet, IPv4 and UDP headers of packets of 64 flows."""
    found = np.zeros((len(number), FRAME_BYTES), np.uint8)
    found[:, 12] = 8
    found[:, 14] = 0x45
    found[:, 16:18] = (1486 >> 8, 1486 & 255)
    found[:, 18], found[:, 19] = number >> 8 & 255, number & 255
    found[:, 22:24] = (64, 17)
    found[:, 26:34] = (10, 0, 0, 1, 10, 0, 0, 2)
    found[:, 34], found[:, 35] = 40, number % 64
    found[:, 36:40] = (19, 140, 5, 180)
    return found


def write_qmon(path: Path, packets: int) -> None:
    """Write a binary log; four processors' buffers are read one after the other."""
    with path.open("wb") as handle:
        offset = b"1700000000000000000"
        handle.write((3 + len(offset)).to_bytes(2, "little") + b"\2" + offset)
        for first in range(0, packets, PACKETS_A_BLOCK):
            number, enqueue, times = events(first, min(PACKETS_A_BLOCK, packets - first))
            block = np.zeros(len(number), QMON_EVENT)
            block["size"], block["handle"], block["limit"] = QMON_EVENT.itemsize, 0x10000, 1000
            block["time"], block["event"] = times, enqueue
            block["packets"], block["backlog"] = WAITING, WAITING * 1500
            block["skb"] = np.uint64(0xFFFF888000000000) + (number % BUFFERS * 256).astype(np.uint64)
            block["length"], block["name_bytes"], block["name"] = 1500, 16, b"eth0"
            block["captured_bytes"], block["frame"] = FRAME_BYTES, frames(number)
            # Stretches of 250 events, each by processor.
            place = np.arange(len(number))
            handle.write(block[np.lexsort((place, place % 4, place // 250))].tobytes())


def write_bpftrace(path: Path, packets: int) -> None:
    """Write the same as lines of the bpftrace probe."""
    tail = "40 3 17 10.0.0.1 {} 10.0.0.2 35859 {} 2753847424"
    tails = [tail.format(port, number) for number, port in enumerate(range(64))]
    with path.open("w") as handle:
        handle.write("# queue.bt start 1\n")
        for first in range(0, packets, PACKETS_A_BLOCK):
            number, enqueue, times = events(first, min(PACKETS_A_BLOCK, packets - first))
            stay = WAITING * INTERVAL_NS + INTERVAL_NS // 2
            handle.writelines(
                f"E {at} {0xFFFF888000000000 + n % BUFFERS * 256:x} 1500 40 60000 {tails[n % 64]} 0 0 - 8\n"
                if came
                else f"D {at} {0xFFFF888000000000 + n % BUFFERS * 256:x} 1500 40 60000 {tails[n % 64]} {stay} 0 - 8\n"
                for n, came, at in zip(number.tolist(), enqueue.tolist(), times.tolist(), strict=True)
            )


def write_json(path: Path, packets: int) -> None:
    """Write the same as the testbed's JSON Lines."""
    tail = '"netns":40,"ifindex":3,"ethertype":"0x0800","proto":17,"src":"10.0.0.1","sport":{},"dst":"10.0.0.2",'
    tails = [tail.format(port) + f'"dport":5004,"ip_id":{number}' for number, port in enumerate(range(64))]
    with path.open("w") as handle:
        for first in range(0, packets, PACKETS_A_BLOCK):
            number, enqueue, times = events(first, min(PACKETS_A_BLOCK, packets - first))
            handle.writelines(
                f'{{"ts_ns":{at},"mono_ns":{at},"event":"{"enqueue" if came else "dequeue"}",'
                f'"skb":"{0xFFFF888000000000 + n % BUFFERS * 256:#x}","len":1500,"qlen":40,"backlog":60000,'
                f"{tails[n % 64]}}}\n"
                for n, came, at in zip(number.tolist(), enqueue.tolist(), times.tolist(), strict=True)
            )


FORMS: dict[str, tuple[Callable[[Path, int], None], float]] = {
    "binary (BCC queue monitor)": (write_qmon, 2e6),
    "bpftrace text": (write_bpftrace, 0.5e6),
    "JSON Lines": (write_json, 0.5e6),
}


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    print(f"{machine}, Python {platform.python_version()}\n")
    print(
        "| form | events | MiB | CPU s | of it to start | million events/s of CPU | goal | peak MB | MB for a tenth |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    missed = []
    for form, (write, goal) in FORMS.items():
        with tempfile.TemporaryDirectory(prefix="sojourn-benchmark-") as name:
            folder = Path(name)

            def command(packets: int, folder: Path = folder, write: Callable[[Path, int], None] = write) -> list[str]:
                path = folder / f"log-{packets}"
                # In a process of its own: a child begins with the peak memory of the process that starts it.
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    pool.apply(write, (path, packets))
                return [sys.executable, "-c", SOJOURN, str(path), str(folder / "lake"), str(2 * packets)]

            start = best(command(1), options.repetitions)
            tenth = best(command(options.events // 20), 1)
            whole = command(options.events // 2)
            cost = best(whole, options.repetitions)
            speed = options.events / (cost.cpu_s - start.cpu_s)
            size = Path(whole[3]).stat().st_size / 2**20
        if speed < goal:
            missed.append(form)
        print(
            f"| {form} | {options.events:,} | {size:.0f} | {cost.cpu_s:.2f} | {start.cpu_s:.2f} | {speed / 1e6:.2f} | "
            f"{goal / 1e6:g}{', missed' if speed < goal else ''} | {cost.peak_mb:.0f} | {tenth.peak_mb:.0f} |",
            flush=True,
        )
    if missed:
        raise SystemExit(f"slower than the goal: {', '.join(missed)}")


if __name__ == "__main__":
    main()
