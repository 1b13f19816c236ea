"""Synthetic tables of connections with their descriptions.

One is in each form and has rows that have to be refused, for tests of reading it in parts; the other is of hosts alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DESCRIPTION = """
sojourn_connections: 1
dataset: in-parts
title: Made-up connections
licence: CC0-1.0
synthetic: true
tables:
  - name: connections
    header: [when, ip, least, most, n]
    rtt_basis: smoothed
    sample_basis: rtt_samples
    fields:
      start_ns: { from: when, unit: s }
      client_address: { from: ip }
      rtt_min_us: { from: least, unit: ms }
      rtt_max_us: { from: most, unit: ms }
      rtt_samples: { from: n }
"""
#: Connections of hosts start this many seconds after 1970, and a few more: a date that a set clock shows.
_HOSTS_BEGIN_S = 1_700_000_000
HEADER = ("when", "ip", "least", "most", "n")


def described(*fields: str) -> str:
    """Return the description of a table with these fields beside its column start, in s."""
    return """
sojourn_connections: 1
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
""" + "".join(f"      {field}\n" for field in fields)


def _rows(count: int) -> list[dict[str, str]]:
    rows = [
        dict(zip(HEADER, (str(1_700_000_000 + i), f"192.0.2.{i % 250}", str(10 + i % 7), "50", str(i)), strict=True))
        for i in range(count)
    ]
    for place in range(0, count, 97):
        rows[place]["least"] = "60"  # above the maximum
    for place in range(0, count, 89):
        rows[place]["ip"] = "nobody"
    return rows


def write_tables(folder: Path, count: int) -> list[Path]:
    """Write CSV, JSON Lines and Parquet of so many rows with their description, and CSV that is damaged half way."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in-parts.yaml").write_text(DESCRIPTION)
    rows = _rows(count)
    lines = [",".join(row.values()) for row in rows]
    for place in range(13, count, 101):
        lines.insert(place, "too,few")
    csv = "\n".join([",".join(HEADER), *lines]) + "\n"
    (folder / "t.csv").write_text(csv)
    middle = csv.index("\n", len(csv) // 2) + 1
    (folder / "damaged.csv").write_bytes(csv[:middle].encode() + b"1,\xff\xfe,1,2,3\n" + csv[middle:].encode())
    documents = [json.dumps(row) for row in rows]
    documents[count // 3] = "nonsense"
    (folder / "t.jsonl").write_text("\n".join(documents))
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "t.parquet", row_group_size=max(1, count // 9))
    return [folder / name for name in ("t.csv", "t.jsonl", "t.parquet", "damaged.csv")]


def write_hosts(folder: Path, *hosts: str) -> None:
    """Write made-up.yaml and t.csv, where each host has a connection: the first at second 1, the next at second 2."""
    (folder / "made-up.yaml").write_text(described("client_host: { from: host }"))
    (folder / "t.csv").write_text("start,host\n" + host_lines(1, *hosts))


def host_lines(second: int, *hosts: str) -> str:
    """Return lines of t.csv, where each host has a connection: the first at ``second``, the next a second later."""
    return "".join(f"{_HOSTS_BEGIN_S + place},{host}\n" for place, host in enumerate(hosts, start=second))


def host_start_ns(second: int) -> int:
    """Return when the connection starts that :func:`host_lines` has at ``second``, in ns since 1970."""
    return (_HOSTS_BEGIN_S + second) * 10**9
