"""Speed and memory of reading connections: look-ups, pseudonyms, a large CSV into the lake, tcp-info archives.

Run with the number of rows of the CSV, and the folder to work in; what it writes there is removed at the end:

    .venv/bin/python ingest/benchmarks/snapshot_speed.py 10000000 /tmp

The connections are made up: addresses and RTTs at random. Rates are by processor time, so that other work on the
machine does not count; what passed on the clock stands beside.
"""

from __future__ import annotations

import ipaddress
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.enrichment.access_rules import bundled_rules
from sojourn_ingest.text_columns import text_buffers

PREFIXES = 1_000_000
LOOK_UPS = 2_000_000

DESCRIPTION = """sojourn_snapshots: 1
dataset: made-up
title: Made-up connections
licence: CC0-1.0
synthetic: true
tables:
  - name: connections
    rtt_basis: smoothed
    sample_basis: rtt_samples
    fields:
      start_ns: { from: start, unit: s }
      client_address: { from: address }
      client_name: { from: name }
      rtt_min_us: { from: least, unit: ms }
      rtt_avg_us: { from: mean, unit: ms }
      rtt_max_us: { from: most, unit: ms }
      rtt_samples: { from: samples }
      sent_bytes: { from: bytes, unit: bytes }
"""

ROWS = """
    select 1321009871 + range % 86400 || '.' || lpad((range % 1000)::varchar, 3, '0') as start,
        (1 + hash(range) % 223) || '.' || (hash(range + 1) % 256) || '.' || (hash(range + 2) % 256) || '.'
            || (hash(range + 3) % 256) as address,
        case when range % 4 = 0 then 'host-' || range % 100000 || '.adsl.example.net' else '' end as name,
        20 + range % 50 as least, 45.5 + range % 50 as mean, 90 + range % 400 as most,
        10 + range % 90 as samples, 5000 + hash(range) % 100000 as bytes
    from range({rows})
"""

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


def _prefix_csv(path: Path) -> None:
    numbers = random.Random(7)
    with path.open("w") as file:
        file.write("prefix,asn,country\n")
        for _ in range(PREFIXES):
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


def _csv(rows: int, folder: Path, prefixes: Path) -> None:
    data = folder / "data"
    data.mkdir()
    duckdb.sql(f"copy ({ROWS.format(rows=rows)}) to '{data / 'connections.csv'}' (header)")
    (data / "made-up.yaml").write_text(DESCRIPTION)
    size = (data / "connections.csv").stat().st_size
    command = [sys.executable, "-c", INGEST, str(data), str(folder / "lake"), str(prefixes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    seconds, cpu, before, peak = float(done[0]), float(done[1]), int(done[2]), int(done[3])
    lake = sum(file.stat().st_size for file in (folder / "lake").rglob("*.parquet"))
    _rate(f"CSV of {size / 1e9:.2f} GB into the lake", rows, cpu)
    print(
        f"  {size / cpu / 1e6:.0f} MB/s; {seconds:.0f} s passed; lake {lake / 1e9:.2f} GB; memory at most {peak} MiB, "
        f"of which {before} MiB were there before it began (Python, Arrow, prefix table)"
    )


def _main(rows: int, base: Path) -> None:
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        prefixes = folder / "prefixes.csv"
        _prefix_csv(prefixes)
        _look_ups(prefixes)
        _csv(rows, folder, prefixes)
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB; mark {Enrichment().mark}")


if __name__ == "__main__":
    _main(int(sys.argv[1]), Path(sys.argv[2]))
