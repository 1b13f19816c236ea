"""A damaged file is never "ok", also where what can be read of it is a content that the lake has."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import udp_frame, write_pcap
from ingested_files import rows_of
from native_inputs import zstd

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import Attempt, IngestSession, files_below, state

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstd}


RUN = "1000k_rtt50_codel_bbr_video_appfirst_rep1"


def polls(sample: Path) -> bytes:
    with lzma.open(sample / RUN / "qdisc_stats.jsonl.xz") as handle:
        return b"".join(handle.readline() for _ in range(20))


def capture(folder: Path) -> bytes:
    path = folder / "whole.pcap"
    write_pcap(path, [udp_frame(f"{number}".encode()) for number in range(20)], 1_700_000_000 * 10**9, 10**8)
    return path.read_bytes()


@pytest.fixture(params=["polls", "capture", "capture hashed as it is read"])
def content(request: pytest.FixtureRequest, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    if "hashed" in request.param:
        monkeypatch.setattr(state, "HASHED_FIRST_BYTES", 0)
    return polls(sample) if request.param == "polls" else capture(tmp_path)


def ingest(folder: Path) -> dict[str, Attempt]:
    lake = Lake(folder.parent / "lake")
    with lake.writing():
        attempts = IngestSession(lake, Pseudonymiser(b"key")).run(files_below([folder]), lambda _: None)
    return {attempt.path.name: attempt for attempt in attempts}


def rows(folder: Path) -> int:
    lake = Lake(folder.parent / "lake")
    return len(rows_of(lake, "queue_counter")) + len(rows_of(lake, "flow"))


def write(path: Path, stored: bytes, moment: int) -> None:
    path.write_bytes(stored)
    os.utime(path, (moment, moment))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damage_behind_the_same_content_comes_and_goes(tmp_path: Path, content: bytes, compression: str) -> None:
    folder, compress = tmp_path / "in", COMPRESSIONS[compression]
    folder.mkdir()
    path = folder / f"f.{compression}"
    whole = compress(content)
    damaged = whole + compress(content)[:8]
    write(path, whole, 1)
    assert ingest(folder)[path.name].commit.status == "ok"
    first = rows(folder)
    assert first > 0
    write(path, damaged, 2)
    commit = ingest(folder)[path.name].commit
    assert (commit.status, commit.reason) == ("partial", "compression")
    assert rows(folder) == first
    write(path, damaged, 3)
    assert ingest(folder)[path.name].disposition == "unchanged"
    write(path, whole, 4)
    commit = ingest(folder)[path.name].commit
    assert (commit.status, commit.reason, rows(folder)) == ("ok", None, first)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_copy_has_its_own_damage(tmp_path: Path, content: bytes, compression: str) -> None:
    folder, compress = tmp_path / "in", COMPRESSIONS[compression]
    folder.mkdir()
    write(folder / "a", content, 1)
    ingest(folder)
    first = rows(folder)
    write(folder / f"b.{compression}", compress(content) + compress(content)[:8], 2)
    commit = ingest(folder)[f"b.{compression}"].commit
    assert commit.duplicate_of is not None
    assert (commit.status, commit.reason) == ("partial", "compression")
    assert rows(folder) == first
