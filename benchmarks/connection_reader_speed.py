"""Speed and memory of reading connections: every reader, look-ups, pseudonyms, a large CSV into the lake.

Run with the number of rows of the CSV (0: the readers alone), and the folder to work in; what it writes there is
removed at the end:

    .venv/bin/python benchmarks/connection_reader_speed.py 10000000 /tmp

The connections are made up: addresses and RTTs at random. Rates are by processor time, so that other work on the
machine does not count; what passed on the clock stands beside. Each reader reads an input and a tenth of it, and its
rate is by the difference, so that the time to start is in none.
"""

from __future__ import annotations

import ipaddress
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import connection_files as made_up
import pyarrow as pa
import pyarrow.csv as pa_csv

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.enrichment.access_rules import bundled_rules
from sojourn_ingest.text_columns import text_buffers

PREFIXES = 1_000_000
LOOK_UPS = 2_000_000
#: Fewer for the readers, so that the table is not most of the memory.
PREFIXES_OF_READERS = 100_000

INGEST = """
import resource, sys, time
from pathlib import Path
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment, PrefixList
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below

lists = (PrefixList.load(Path(sys.argv[3])),)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lake = Lake(Path(sys.argv[2]))
started, cpu = time.perf_counter(), time.process_time()
with lake.writing():
    attempts = IngestSession(lake, Pseudonymiser(b"key"), enrichment=Enrichment(lists)).run(
        files_below([Path(sys.argv[1])]), lambda _: None)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - started, time.process_time() - cpu, before // 1024, peak // 1024,
      sum(attempt.commit.records_read for attempt in attempts))
"""


def _prefix_csv(path: Path, prefixes: int) -> None:
    numbers = random.Random(7)
    with path.open("w") as file:
        file.write("prefix,asn,country\n")
        for _ in range(prefixes):
            length = numbers.choice((16, 19, 20, 22, 23, 24, 24, 24))
            network = ipaddress.ip_network((numbers.getrandbits(32) >> (32 - length) << (32 - length), length))
            file.write(f"{network},{numbers.randrange(1, 400_000)},{numbers.choice(('DE', 'US', 'JP'))}\n")


def _rate(what: str, rows: int, seconds: float) -> None:
    print(f"{what}: {rows / seconds / 1e6:.2f} million/s ({rows:,} in {seconds:.2f} s of one core)")


def _look_ups(prefixes: Path) -> None:
    numbers = random.Random(8)
    addresses = pa.array([str(ipaddress.IPv4Address(numbers.getrandbits(32))) for _ in range(LOOK_UPS)])
    started = time.process_time()
    table = pa_csv.read_csv(prefixes)
    native = _native.PrefixTable(
        table.column("prefix").to_pylist(), table.column("asn").to_pylist(), table.column("country").to_pylist()
    )
    print(f"prefix table of {len(native):,} prefixes: made in {time.process_time() - started:.1f} s")
    for what, key_policy, tables in (
        ("longest-prefix match alone", "keep", [native]),
        ("pseudonyms alone", "pseudonymise", []),
        ("both", "pseudonymise", [native]),
    ):
        resolver = Pseudonymiser(b"key", "keep" if key_policy == "keep" else "pseudonymise").resolver(tables)
        started = time.process_time()
        resolver.resolve(*text_buffers(addresses))
        _rate(what, LOOK_UPS, time.process_time() - started)
    names = pa.array([f"host-{n}.adsl.example.net" if n % 4 == 0 else None for n in range(LOOK_UPS)])
    started = time.process_time()
    bundled_rules().technology(names, pa.repeat(pa.scalar(7), LOOK_UPS))
    _rate("access rules, a quarter of the rows with a name of its own", LOOK_UPS, time.process_time() - started)


@dataclass(frozen=True)
class Ingested:
    """What one ingest took: seconds, memory at most and before it began (MiB), and the records it read."""

    wall_s: float
    cpu_s: float
    before_mib: int
    peak_mib: int
    records: int


def _ingest(data: Path, lake: Path, prefixes: Path) -> Ingested:
    command = [sys.executable, "-c", INGEST, str(data), str(lake), str(prefixes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return Ingested(float(done[0]), float(done[1]), int(done[2]), int(done[3]), int(done[4]))


def _csv(rows: int, folder: Path, prefixes: Path) -> None:
    data = folder / "data"
    data.mkdir()
    made_up.write_table(data, rows, "csv")
    size = (data / "connections.csv").stat().st_size
    took = _ingest(data, folder / "lake", prefixes)
    lake = sum(file.stat().st_size for file in (folder / "lake").rglob("*.parquet"))
    _rate(f"CSV of {size / 1e9:.2f} GB into the lake", rows, took.cpu_s)
    print(
        f"  {size / took.cpu_s / 1e6:.0f} MB/s; {took.wall_s:.0f} s passed; lake {lake / 1e9:.2f} GB; memory at most "
        f"{took.peak_mib} MiB, of which {took.before_mib} MiB were there before it began (Python, Arrow, prefix table)"
    )


@dataclass(frozen=True)
class Reader:
    """One kind of input: what is counted of it, how many of these are written, and what one of them stands for."""

    name: str
    unit: str
    count: int
    write: Callable[[Path, int], None]
    each: int = 1


READERS = (
    Reader("described table, CSV", "rows", 5_000_000, partial(made_up.write_table, form="csv")),
    Reader("described table, Parquet", "rows", 5_000_000, partial(made_up.write_table, form="parquet")),
    Reader("described table, JSON Lines", "rows", 3_000_000, partial(made_up.write_table, form="jsonl")),
    Reader("NDT7 results in a tar", "members", 30_000, made_up.write_ndt7),
    Reader("NDT7 results, each gzip", "members", 20_000, made_up.write_ndt7_gzip),
    Reader("NDT5 results in a tar", "members", 100_000, made_up.write_ndt5),
    Reader("tcp-info files (zstd) in a tar", "polls", 40_000, made_up.write_tcp_info, made_up.POLLS_OF_TCP_INFO),
    Reader("SideStream table", "rows", 600_000, made_up.write_sidestream),
    Reader("SideStream tables in a tar", "rows", 1_000, made_up.write_sidestream_archive, made_up.ROWS_OF_SIDESTREAM),
    Reader("polls of `ss -tin`", "sockets", 20_000, made_up.write_ss_polls, made_up.SOCKETS_OF_A_POLL),
    Reader("flent files (gzip) in a tar", "RTT polls", 300, made_up.write_flent, 8 * made_up.POLLS_OF_FLENT),
)


def _readers(folder: Path) -> None:
    prefixes = folder / "fewer-prefixes.csv"
    _prefix_csv(prefixes, PREFIXES_OF_READERS)
    print(f"made-up inputs; load {os.getloadavg()[0]:.1f}; {PREFIXES_OF_READERS:,} prefixes")
    print("| input | MB | CPU s | a second and core | MB/s | peak MiB | before it began | peak MiB of a tenth |")
    print("|---|---|---|---|---|---|---|---|")
    for reader in READERS:
        took: list[Ingested] = []
        sizes: list[int] = []
        for count in (reader.count // 10, reader.count):
            data, lake = folder / "data", folder / "lake"
            data.mkdir()
            reader.write(data, count)
            sizes.append(sum(file.stat().st_size for file in data.iterdir()))
            took.append(_ingest(data, lake, prefixes))
            shutil.rmtree(data)
            shutil.rmtree(lake)
        seconds = took[1].cpu_s - took[0].cpu_s
        count = (reader.count - reader.count // 10) * reader.each
        rate = f"{count / seconds:,.0f} {reader.unit}"
        speed = f"{(sizes[1] - sizes[0]) / seconds / 1e6:.1f}"
        memory = f"{took[1].peak_mib} | {took[1].before_mib} | {took[0].peak_mib}"
        print(
            f"| {reader.name} | {sizes[1] / 1e6:.0f} | {took[1].cpu_s:.1f} | {rate} | {speed} | {memory} |", flush=True
        )


def _main(rows: int, base: Path) -> None:
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        _readers(folder)
        if rows:
            prefixes = folder / "prefixes.csv"
            _prefix_csv(prefixes, PREFIXES)
            _look_ups(prefixes)
            _csv(rows, folder, prefixes)
    print(
        f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB; "
        f"fingerprint {Enrichment().fingerprint}"
    )


if __name__ == "__main__":
    _main(int(sys.argv[1]), Path(sys.argv[2]))
