"""Write and read the small lakes that tests damage."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below

PING = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n" + "".join(
    f"[170000000{n}.5] 64 bytes from 192.0.2.1: icmp_seq={n} ttl=64 time={n}.25 ms\n" for n in range(1, 6)
)


def ingest(var: Path, folder: Path) -> None:
    lake = Lake(var / "lake")
    with lake.writing():
        IngestSession(lake, Pseudonymiser(b"key")).run(files_below([folder]), lambda _: None)


def facts(var: Path) -> list[tuple[str, float]]:
    lake = Lake(var / "lake")
    rows = [row for path in lake.files("series") for row in pq.read_table(path).to_pylist()]
    return sorted((row["source_hash"], row["value"]) for row in rows if row["value"] is not None)


def file_of(var: Path, path: Path, table: str = "series") -> Path:
    lake = Lake(var / "lake")
    commits = [commit for commit in lake.live() if commit.source_path == str(path)]
    return next(lake.root / file.path for commit in commits for file in commit.files if file.table == table)


def numbered(var: Path) -> dict[int, Path]:
    """Return the commits that are objects of their own, by their number in the chain."""
    commits = [commit for commit in Lake(var / "lake").live() if commit.link]
    return {commit.link.number: var / "lake" / "commits" / f"{commit.name}.json" for commit in commits if commit.link}


def head_of(var: Path) -> Path:
    (head,) = (var / "lake" / "heads").iterdir()
    return head


def objects_of(var: Path) -> list[Path]:
    """Return what a writer may remove: data, commits, packs and heads."""
    return sorted(path for path in (var / "lake").rglob("*") if path.is_file() and path.name != "lock")
