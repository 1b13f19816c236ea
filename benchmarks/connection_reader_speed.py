"""Speed and memory of reading connections: every reader, look-ups, pseudonyms, a large CSV into the lake.

Run with the number of rows of the CSV (0: the readers alone), and the folder to work in; what it writes there is
removed at the end. With ``--part 100`` each reader reads a hundredth, to see that everything works::

    .venv/bin/python benchmarks/connection_reader_speed.py 10000000 /tmp

The connections are made up: addresses and RTTs at random. Rates are by processor time, so that other work on the
machine does not count; what passed on the clock stands beside. Each reader reads an input and a tenth of it, and its
rate is by the difference, so that the time to start is in none.
"""

from __future__ import annotations

import argparse
import ipaddress
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
from raw_results import Results, Table

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment, PrefixList
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


def _rate(steps: Table, what: str, rows: int, seconds: float) -> None:
    steps.row(what, rows, seconds, rows / seconds / 1e6)


def _look_ups(steps: Table, prefixes: Path) -> None:
    numbers = random.Random(8)
    addresses = pa.array([str(ipaddress.IPv4Address(numbers.getrandbits(32))) for _ in range(LOOK_UPS)])
    started = time.process_time()
    table = PrefixList.load(prefixes).table
    _rate(steps, "prefix table, made of prefixes", len(table), time.process_time() - started)
    for what, key_policy, tables in (
        ("longest-prefix match alone", "keep", [table]),
        ("pseudonyms alone", "pseudonymise", []),
        ("both", "pseudonymise", [table]),
    ):
        resolver = Pseudonymiser(b"key", "keep" if key_policy == "keep" else "pseudonymise").resolver(tables)
        started = time.process_time()
        resolver.resolve(*text_buffers(addresses))
        _rate(steps, what, LOOK_UPS, time.process_time() - started)
    names = pa.array([f"host-{n}.adsl.example.net" if n % 4 == 0 else None for n in range(LOOK_UPS)])
    started = time.process_time()
    bundled_rules().technology(names, pa.repeat(pa.scalar(7), LOOK_UPS))
    _rate(steps, "access rules, a quarter of the rows with a name of its own", LOOK_UPS, time.process_time() - started)


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


def _csv(results: Results, steps: Table, rows: int, folder: Path, prefixes: Path) -> None:
    data = folder / "data"
    data.mkdir()
    made_up.write_table(data, rows, "csv")
    size = (data / "connections.csv").stat().st_size
    took = _ingest(data, folder / "lake", prefixes)
    lake = sum(file.stat().st_size for file in (folder / "lake").rglob("*.parquet"))
    _rate(steps, f"CSV of {size / 1e9:.2f} GB into the lake", rows, took.cpu_s)
    results.note(
        f"CSV: {size / took.cpu_s / 1e6:.0f} MB/s; {took.wall_s:.0f} s passed; lake {lake / 1e9:.2f} GB; memory at "
        f"most {took.peak_mib} MiB, of which {took.before_mib} MiB were there before it began (Python, Arrow, prefixes)"
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


def _readers(results: Results, folder: Path, part: int) -> None:
    prefixes = folder / "fewer-prefixes.csv"
    _prefix_csv(prefixes, PREFIXES_OF_READERS)
    table = results.table(
        f"Readers, over made-up inputs, with {PREFIXES_OF_READERS:,} prefixes",
        {
            "input": "", "MB": ".0f", "CPU s": ".1f", "a second and core": ",.0f", "of": "", "MB/s": ".1f",
            "peak MiB": ",", "before it began": ",", "peak MiB of a tenth": ",",
        },
    )  # fmt: skip
    for reader in READERS:
        took: list[Ingested] = []
        sizes: list[int] = []
        whole = max(reader.count // part, 10)
        for count in (whole // 10, whole):
            data, lake = folder / "data", folder / "lake"
            data.mkdir()
            reader.write(data, count)
            sizes.append(sum(file.stat().st_size for file in data.iterdir()))
            took.append(_ingest(data, lake, prefixes))
            shutil.rmtree(data)
            shutil.rmtree(lake)
        seconds = took[1].cpu_s - took[0].cpu_s
        count = (whole - whole // 10) * reader.each
        speed = (sizes[1] - sizes[0]) / seconds / 1e6
        table.row(
            reader.name, sizes[1] / 1e6, took[1].cpu_s, count / seconds, reader.unit, speed,
            took[1].peak_mib, took[1].before_mib, took[0].peak_mib,
        )  # fmt: skip


def main() -> None:
    """Measure, print tables in Markdown, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, help="rows of the large CSV; 0 for none, and no look-ups")
    parser.add_argument("base", type=Path, help="folder to work in")
    parser.add_argument("--part", type=int, default=1, help="readers read this part of their inputs, such as 100")
    options = parser.parse_args()
    results = Results("connection-files")
    with tempfile.TemporaryDirectory(dir=options.base) as name:
        folder = Path(name)
        _readers(results, folder, options.part)
        if options.rows:
            prefixes = folder / "prefixes.csv"
            _prefix_csv(prefixes, PREFIXES)
            steps = results.table(
                "Steps, by processor time of one core",
                {"step": "", "rows": ",", "CPU s": ".2f", "million a second and core": ".2f"},
            )
            _look_ups(steps, prefixes)
            _csv(results, steps, options.rows, folder, prefixes)
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    results.note(f"This process: {mib} MiB; fingerprint of the look-ups {Enrichment().fingerprint}.")


if __name__ == "__main__":
    main()
