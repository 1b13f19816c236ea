"""A damaged file is never "ok", also where what can be read of it is a content that the lake has."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
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


def test_a_copy_that_is_whole_is_ok_beside_a_damaged_original(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "a.gz", gzip.compress(content) + b"\x1f\x8b", 1)
    assert ingest(folder)["a.gz"].commit.status == "partial"
    write(folder / "b", content, 2)
    assert ingest(folder)["b"].commit.status == "ok"
    assert {attempt.disposition for attempt in ingest(folder).values()} == {"unchanged"}


def test_a_file_that_goes_back_to_what_its_copy_has_is_counted_once(tmp_path: Path, content: bytes) -> None:
    folder, is_capture = tmp_path / "in", not content.startswith(b"{")
    folder.mkdir()
    # Another capture, or the poll of another time.
    other = content[:-1] + b"!" if is_capture else content.splitlines(True)[0]
    for name in "ab":
        write(folder / name, content, 1)
    ingest(folder)
    first = rows(folder)
    for moment, state_of_a, more in ((2, other, True), (1, content, False), (3, other, True), (4, content, False)):
        write(folder / "a", state_of_a, moment)
        assert ingest(folder)["a"].disposition == "new"
        assert (rows(folder) > first) == more
        assert {attempt.disposition for attempt in ingest(folder).values()} == {"unchanged"}
    assert rows(folder) == first
    outcomes = rows_of(Lake(folder.parent / "lake"), "ingest_outcome")
    assert sorted(Path(str(row["source_path"])).name for row in outcomes) == ["a", "b"]


def with_another_checksum(stored: bytes) -> bytes:
    return stored[:-6] + bytes((stored[-6] ^ 0x55,)) + stored[-5:]


def test_damage_of_a_part_of_a_recording_comes_and_goes(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    stored = []
    for number in range(2):
        frames = [udp_frame(f"{number} {place}".encode()) for place in range(20)]
        write_pcap(tmp_path / "part", frames, (1_700_000_000 + 3 * number) * 10**9, 10**8)
        stored.append(gzip.compress((tmp_path / "part").read_bytes()))
        write(folder / f"t_0000{number}_2023111422132{3 * number}.pcap.gz", stored[number], 1)
    name = "t_00001_20231114221323.pcap.gz"
    assert ingest(folder)[name].commit.status == "ok"
    write(folder / name, with_another_checksum(stored[1]), 2)
    attempts = ingest(folder)
    assert {attempt.commit.reason for attempt in attempts.values()} == {"checksum", None}
    assert attempts[name].commit.reason == "checksum"
    assert {attempt.disposition for attempt in ingest(folder).values()} == {"unchanged"}
    write(folder / name, stored[1], 3)
    assert {attempt.commit.status for attempt in ingest(folder).values()} == {"ok"}


def test_damage_of_a_capture_of_a_pair_comes_and_goes(tmp_path: Path, sample: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for file in (sample / RUN).iterdir():
        if file.name in ("manifest.json", "before.pcap.xz"):
            shutil.copy2(file, folder)
    path, stored = (
        folder / "after.pcap.gz",
        gzip.compress(lzma.decompress((sample / RUN / "after.pcap.xz").read_bytes())),
    )
    write(path, stored, 1)
    pair = "before.pcap.xz+after.pcap.gz"
    assert ingest(folder)[pair].commit.status == "ok"
    for moment, (content, status) in enumerate([(stored + b"\x1f\x8b", "partial"), (stored, "ok")], 2):
        write(path, content, moment)
        attempts = ingest(folder)
        assert attempts[pair].commit.status == attempts[path.name].commit.status == status
        assert {attempt.disposition for attempt in ingest(folder).values()} == {"unchanged"}


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
