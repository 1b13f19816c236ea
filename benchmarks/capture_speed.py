"""Speed of `sojourn ingest` against tcptrace, NFStream and tshark, as users run them, in CPU seconds per packet.

Two captures are generated, both at snaplen 96: 2 million packets of 32 long TCP connections, and 1 million short
connections of 4 packets. A third is the mix: the testbed's captures joined, two thirds TCP, one third RTP over UDP,
those before the bottleneck first and those after it a day later, and all of them again on later days, so that no packet
is a copy, and the time is long beside what two starts differ by. A fourth joins the Ethernet captures of an archive of
many protocols. Each is read plain and compressed with gzip, zstd and xz. Every tool runs as a process of its own; its
CPU time is user and system time of the process and its children, less that of the same command on a capture of one
packet (interpreters and tables that are loaded once), its start-up. Sojourn ingests into a new lake: it plans,
hashes the content, decodes, writes Parquet, and commits. The others read compressed captures from a decompressor
(`gzip -dc` and its like), NFStream from the file that it leaves. tshark reads the first part only, since its time and
memory grow beyond patience; figures are per packet.
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from raw_results import Results

SNAP_BYTES = 96
TSHARK_PACKETS = 1_000_000
LONG_PACKETS = 2_000_000
LONG_FLOWS = 32
SHORT_FLOWS = 1_000_000
PACKETS_OF_A_SHORT_FLOW = 4
ROUNDS_OF_THE_MIX = 5
ROUNDS_OF_THE_ARCHIVE = 40
HEADER_BYTES = 14 + 20 + 32
NANOSECOND_MAGIC = 0xA1B23C4D

RECORD = np.dtype(
    [
        ("seconds", "<u4"), ("fraction", "<u4"), ("captured", "<u4"), ("wire", "<u4"), ("ethernet", "V12"),
        ("ethertype", ">u2"), ("version", "u1"), ("tos", "u1"), ("total", ">u2"), ("id", ">u2"), ("fragment", ">u2"),
        ("ttl", "u1"), ("protocol", "u1"), ("checksum", ">u2"), ("source", ">u4"), ("destination", ">u4"),
        ("source_port", ">u2"), ("destination_port", ">u2"), ("sequence", ">u4"), ("acknowledgement", ">u4"),
        ("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("tcp_checksum", ">u2"), ("urgent", ">u2"),
        ("nops", ">u2"), ("kind", ">u2"), ("value", ">u4"), ("echo", ">u4"),
        ("payload", f"V{SNAP_BYTES - HEADER_BYTES}"),
    ]
)  # fmt: skip

Integers = npt.NDArray[np.int64]


def _records(
    times_us: Integers, client: Integers, port: Integers, forward: npt.NDArray[np.bool_], sequence: Integers,
    acknowledgement: Integers, payload: Integers, flags: Integers,
) -> npt.NDArray[np.void]:  # fmt: skip
    """Return records in the order of time."""
    order = np.argsort(times_us, kind="stable")
    rows = np.zeros(len(order), RECORD)
    server = np.int64(0x0A000001)
    times_us, forward = times_us[order], forward[order]
    rows["seconds"], rows["fraction"] = 1_700_000_000 + times_us // 1_000_000, times_us % 1_000_000
    rows["captured"] = SNAP_BYTES
    rows["wire"] = np.maximum(payload[order] + HEADER_BYTES, SNAP_BYTES)
    rows["ethertype"], rows["version"], rows["ttl"], rows["protocol"] = 0x0800, 0x45, 64, 6
    rows["total"], rows["id"] = payload[order] + HEADER_BYTES - 14, np.arange(len(order)) & 0xFFFF
    rows["source"] = np.where(forward, client[order], server)
    rows["destination"] = np.where(forward, server, client[order])
    rows["source_port"] = np.where(forward, port[order], 443)
    rows["destination_port"] = np.where(forward, 443, port[order])
    rows["sequence"], rows["acknowledgement"] = sequence[order] & 0xFFFFFFFF, acknowledgement[order] & 0xFFFFFFFF
    rows["offset"], rows["flags"], rows["window"] = 0x80, flags[order], 500
    rows["nops"], rows["kind"] = 0x0101, 0x080A
    rows["value"], rows["echo"] = times_us // 1000, np.maximum(times_us // 1000 - 20, 0)
    return rows


def _write(path: Path, rows: npt.NDArray[np.void]) -> None:
    header = bytes.fromhex("d4c3b2a1020004000000000000000000") + SNAP_BYTES.to_bytes(4, "little") + b"\1\0\0\0"
    with path.open("wb") as handle:
        handle.write(header)
        handle.write(rows.tobytes())


def long_flows(path: Path, packets: int = LONG_PACKETS) -> int:
    """Write connections of two data segments and one acknowledgement 20 ms later, over and over."""
    rounds = packets // (3 * LONG_FLOWS)
    flow, number = (grid.ravel() for grid in np.meshgrid(np.arange(LONG_FLOWS), np.arange(rounds)))
    base_us = number * 1000 + flow * 7
    sent = 1448 * 2 * number
    parts = []
    for place, (delay_us, forward, sequence, payload) in enumerate(
        [(0, True, sent, 1448), (10, True, sent + 1448, 1448), (20_000, False, np.zeros_like(sent), 0)]
    ):
        acknowledgement = sent + 2896 if place == 2 else np.zeros_like(sent)
        parts.append((base_us + delay_us, flow, sequence, acknowledgement, np.full_like(sent, payload), forward))
    times, flows, sequences, acknowledgements, payloads = (
        np.concatenate([part[column] for part in parts]) for column in range(5)
    )
    forward_all = np.concatenate([np.full(len(number), part[5]) for part in parts])
    flags = np.full(len(times), 0x10)
    _write(
        path,
        _records(
            times, 0x0A010000 + flows, 40_000 + flows, forward_all, sequences + 1000, acknowledgements + 1000, payloads,
            flags,
        ),
    )  # fmt: skip
    return len(times)


def short_flows(path: Path, flows: int = SHORT_FLOWS) -> int:
    """Write connections of a SYN, its answer, a request and a reset, 5000 of them a second."""
    number = np.arange(flows)
    zero = np.zeros_like(number)
    steps = [
        (0, True, zero, zero, 0, 0x02),
        (20_000, False, zero, zero + 1, 0, 0x12),
        (20_010, True, zero + 1, zero + 1, 300, 0x18),
        (40_000, False, zero + 1, zero + 301, 0, 0x14),
    ]
    columns = [
        (number * 200 + delay, zero + way, sequence, acknowledgement, zero + payload, zero + flag)
        for delay, way, sequence, acknowledgement, payload, flag in steps
    ]
    times, ways, sequences, acknowledgements, payloads, flags = (
        np.concatenate([column[place] for column in columns]) for place in range(6)
    )
    who = np.tile(number, len(steps))
    _write(
        path,
        _records(
            times, 0x0A010000 + who // 50_000, 10_000 + who % 50_000, ways.astype(bool), sequences, acknowledgements,
            payloads, flags,
        ),
    )  # fmt: skip
    return len(times)


def mix(path: Path, testbed: Path, rounds: int = ROUNDS_OF_THE_MIX) -> int:
    """Join the captures of the testbed's runs, in the order of time, so many times; return the number of packets."""
    packets = 0
    with path.open("wb") as handle:
        handle.write(struct.pack("<IHHiIII", NANOSECOND_MAGIC, 2, 4, 0, 0, SNAP_BYTES, 1))
        folders = [folder for folder in testbed.iterdir() if (folder / "manifest.json").exists()]
        for day, name in enumerate(("before.pcap", "after.pcap") * rounds):
            runs = [_plain(folder / name) for folder in folders]
            for content in sorted(runs, key=lambda run: struct.unpack("<II", run[24:32])):
                packets += _shifted(handle, content, day * 86_400)
    return packets


def protocols(path: Path, archive: Path, rounds: int = ROUNDS_OF_THE_ARCHIVE) -> int:
    """Join the Ethernet captures of an archive, each a second after the one before; return the number of packets."""
    contents = []
    for capture in sorted(file for file in archive.rglob("*") if file.suffix in (".pcap", ".pcapng", ".cap")):
        # Of a capture that is cut, editcap writes the packets before; of what it cannot read, nothing.
        content = subprocess.run(["editcap", "-F", "nsecpcap", capture, "-"], capture_output=True, check=False).stdout
        times = _times_s(content) if content[20:24] == struct.pack("<I", 1) else []
        if times and max(times) - min(times) < 86_400:
            contents.append((content, times))
    if not contents:
        raise SystemExit(f"{archive}: no capture of Ethernet below this folder")
    packets, begin_s = 0, 1_600_000_000
    with path.open("wb") as handle:
        handle.write(struct.pack("<IHHiIII", NANOSECOND_MAGIC, 2, 4, 0, 0, 262_144, 1))
        for content, times in contents * rounds:
            packets += _shifted(handle, content, begin_s - min(times))
            begin_s += max(times) - min(times) + 1
    return packets


def _times_s(content: bytes) -> list[int]:
    times, place = [], 24
    while place + 16 <= len(content):
        time_s, _, captured = struct.unpack_from("<III", content, place)
        times.append(time_s)
        place += 16 + captured
    return times


def _plain(path: Path) -> bytes:
    if path.exists():
        return path.read_bytes()
    return gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes())


def _shifted(handle: BinaryIO, content: bytes, seconds: int) -> int:
    """Write the records of a little-endian nanosecond capture, so much later; return how many."""
    if int.from_bytes(content[:4], "little") != NANOSECOND_MAGIC:
        raise SystemExit("a capture is not a nanosecond pcap in little-endian order")
    records = bytearray(content[24:])
    place = count = 0
    while place < len(records):
        (time_s,) = struct.unpack_from("<I", records, place)
        struct.pack_into("<I", records, place, time_s + seconds)
        place += 16 + int(struct.unpack_from("<I", records, place + 8)[0])
        count += 1
    handle.write(records)
    return count


def first_packets(source: Path, target: Path, packets: int) -> int:
    """Copy the first packets of a little-endian capture; return how many there are."""
    with source.open("rb") as handle, target.open("wb") as part:
        part.write(handle.read(24))
        for count in range(packets):
            header = handle.read(16)
            if len(header) < 16:
                return count
            part.write(header + handle.read(int.from_bytes(header[8:12], "little")))
    return packets


NFSTREAM = """
import sys
from nfstream import NFStreamer
flows = NFStreamer(source=sys.argv[1], statistical_analysis=False, n_dissections=0, n_meters=1)
print(sum(1 for _ in flows))
"""


CAPTURES = ("long", "short", "mix", "protocols")
#: Suffix of the file's name, by form.
FORMS = {"plain": "", "gzip": ".gz", "zstd": ".zst", "xz": ".xz"}
#: What unpacks and packs each form to standard output, by the suffix of the file's name.
DECOMPRESSORS = {".gz": "gzip -dc", ".zst": "zstd -qdc", ".xz": "xz -dc"}
COMPRESSORS = {".gz": "gzip -c", ".zst": "zstd -qc", ".xz": "xz -1 -c"}


@dataclass(frozen=True)
class Cost:
    """What one command took: CPU time of it and its children, time by the clock, and the largest peak among them."""

    cpu_s: float
    clock_s: float
    peak_mb: float


def commands(folder: Path, nfstream_python: str) -> dict[str, Callable[[Path], str]]:
    """Return, by tool, the command of a shell that reads a capture as a user would."""
    sojourn, unpacked = Path(sys.executable).with_name("sojourn"), folder / "unpacked.pcap"
    nfstream = f"{nfstream_python} -c {shlex.quote(NFSTREAM)}"

    def piped(path: Path, reads: str, standard_input: str) -> str:
        unpack = DECOMPRESSORS.get(path.suffix)
        return f"{reads} {path}" if unpack is None else f"{unpack} {path} | {reads} {standard_input}"

    def from_a_file(path: Path, reads: str) -> str:
        unpack = DECOMPRESSORS.get(path.suffix)
        return f"{reads} {path}" if unpack is None else f"{unpack} {path} > {unpacked} && {reads} {unpacked}"

    return {
        "sojourn ingest": lambda path: f"{sojourn} ingest --var {folder / 'var'} {path}",
        "tcptrace": lambda path: piped(path, "tcptrace -lrn", "stdin"),
        "NFStream": lambda path: from_a_file(path, nfstream),
        "tshark": lambda path: piped(path, "tshark -q -n -z conv,tcp -r", "-"),
    }


def run(command: str, fresh: Path) -> Cost:
    """Run a command of a shell without what an earlier one left in ``fresh``; return what it took."""
    shutil.rmtree(fresh, ignore_errors=True)
    began = time.perf_counter()
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} failed: {message.decode(errors='replace')[-500:]}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024)


def best_in_turn(first: str, second: str, fresh: Path, repetitions: int) -> tuple[Cost, Cost]:
    """Run two commands in turn and return of each the run with the minimum CPU time.

    Other work on the machine only adds to a time, and in turn it adds to both: their difference is taken.
    """
    pairs = [(run(first, fresh), run(second, fresh)) for _ in range(repetitions)]
    return min((pair[0] for pair in pairs), key=_cpu_s), min((pair[1] for pair in pairs), key=_cpu_s)


def _cpu_s(cost: Cost) -> float:
    return cost.cpu_s


def main() -> None:
    """Measure, print tables in Markdown, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nfstream-python", required=True, help="Python of an environment that has NFStream")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--long-packets", type=int, default=LONG_PACKETS, help="packets of the long connections")
    parser.add_argument("--testbed", type=Path, help="folder of the testbed's runs, for the mix; without it, no mix")
    parser.add_argument("--archive", type=Path, help="folder of captures of many protocols; without it, none of them")
    parser.add_argument("--short-flows", type=int, default=SHORT_FLOWS, help="short connections, of 4 packets each")
    parser.add_argument("--captures", nargs="+", choices=CAPTURES, default=CAPTURES, help="default: all")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS), help="default: all")
    options = parser.parse_args()
    for tool in ("tcptrace", "tshark", "editcap", "gzip", "zstd", "xz"):
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is missing; install its Debian package")
    with tempfile.TemporaryDirectory(prefix="sojourn-benchmark-") as name:
        _measure(Path(name), options)


def _measure(folder: Path, options: argparse.Namespace) -> None:
    results = Results("capture")
    captures: dict[str, tuple[str, Callable[[Path, Any], int], Any]] = {
        "long": (f"packets of {LONG_FLOWS} long connections", long_flows, options.long_packets),
        "short": (f"packets of {options.short_flows:,} short connections", short_flows, options.short_flows),
    }
    if options.testbed is not None:
        captures["mix"] = ("packets of the mix", mix, options.testbed)
    if options.archive is not None:
        captures["protocols"] = ("packets of many protocols", protocols, options.archive)
    for title, write, size in (captures[name] for name in CAPTURES if name in captures and name in options.captures):
        capture, part, tiny = folder / "whole.pcap", folder / "part.pcap", folder / "tiny.pcap"
        # In a process of its own: a child begins with the peak memory of the process that starts it.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            packets = pool.apply(write, (capture, size))
        part_packets = first_packets(capture, part, TSHARK_PACKETS)
        first_packets(capture, tiny, 1)
        for suffix in (FORMS[form] for form in options.forms):
            for path in (capture, part, tiny) if suffix else ():
                run(f"{COMPRESSORS[suffix]} {path} > {path}{suffix}", folder / "var")
            read = Path(f"{capture}{suffix}")
            table = results.table(
                f"{packets:,} {title}, {suffix.removeprefix('.') or 'plain'}, {read.stat().st_size / 2**20:.0f} MiB",
                {
                    "command": "", "packets": ",", "CPU s": ".2f", "of it to start": ".2f", "ns a packet": ".0f",
                    "times Sojourn": ".1f", "s by the clock": ".2f", "peak MB": ".0f",
                },
            )  # fmt: skip
            own_ns = None
            for tool, command in commands(folder, options.nfstream_python).items():
                whole, count = (part, part_packets) if tool == "tshark" else (capture, packets)
                cheap = tool == "sojourn ingest" or (tool == "tcptrace" and write is not short_flows)
                rounds = options.repetitions if cheap else 1
                starting, reading = (command(Path(f"{path}{suffix}")) for path in (tiny, whole))
                start, cost = best_in_turn(starting, reading, folder / "var", rounds)
                each_ns = (cost.cpu_s - start.cpu_s) / count * 1e9
                own_ns = own_ns or each_ns
                table.row(tool, count, cost.cpu_s, start.cpu_s, each_ns, each_ns / own_ns, cost.clock_s, cost.peak_mb)


if __name__ == "__main__":
    main()
